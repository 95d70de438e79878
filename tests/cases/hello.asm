; A program prints, and its exit code is 0.
fun main() {
    call print("hello\n")
    ret
}
