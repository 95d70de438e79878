; A fault that nobody handles: a message, the calls that were open, exit code 1.
.file "sum.ml"
.line 3
fun divide(n: i) -> i {
    .line 4
    zero = 0
    n = quot n, zero
    ret n
}
.line 7
fun main() {
    .line 8
    n = call divide(5)
    call print_int(n)
    ret
}
