; Several errors are reported in one run, each with its line.
fun main() {
    x = ad 1, 2
    jmp nowhere
    y = add x
    call missing(x)
    ret
}
