; Functions of doubles. Literals of integers are doubles where a host says `f`.
fun show(x: f) {
    s = call format_general(x, 12)
    call print_line(s)
    ret
}

fun main() {
    x: f = call tan(0.5)
    call show(x)
    x = call asin(1)
    call show(x)
    x = call acos(-1)
    call show(x)
    x = call atan(1)
    call show(x)
    x = call atan2(1, -1)
    call show(x)
    x = call sinh(1)
    call show(x)
    x = call cosh(1)
    call show(x)
    x = call tanh(1)
    call show(x)
    x = call log2(8)
    call show(x)
    x = call log10(0.001)
    call show(x)
    x = call cbrt(-27)
    call show(x)
    x = call hypot(3, 4)
    call show(x)
    x = call next_after(1, 2)
    s = str_of_float x
    call print_line(s)
    part, exponent = call frexp(-48)
    call show(part)
    call print_int(exponent)
    call print("\n")
    x = call ldexp(0.75, 6)
    call show(x)
    x = call ldexp(1, -1075)
    call show(x)
    x = call acos(2)
    call show(x)
    ret
}
