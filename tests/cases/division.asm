; Division rounds to zero or to minus infinity, as asked.
fun show(a: i, b: i) {
    c = quot a, b
    call print_int(c)
    call print(" ")
    c = rem a, b
    call print_int(c)
    call print(" ")
    c = div a, b
    call print_int(c)
    call print(" ")
    c = modulo a, b
    call print_int(c)
    call print("\n")
    ret
}
fun main() {
    call show(7, 2)
    call show(-7, 2)
    call show(7, -2)
    call show(-7, -2)
    ret
}
