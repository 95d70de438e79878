; Enter and Leave must nest: checkProf is part of the verifier.
.instrumented
source s3 = "a" "x.ml" 1
source s4 = "b" "x.ml" 2
fun main() {
    enter s3
    enter s4
    leave s3
    leave s4
    ret
}
