; Numbers as text, in every form, and what makes no sense is a fault.
fun both(x: f) {
    s = call format_fixed(x, 3)
    call print(s)
    call print(" ")
    s = call format_scientific(x, 3)
    call print(s)
    call print(" ")
    s = call format_general(x, 3)
    call print(s)
    call print(" ")
    e, s = call shortest_digits(x)
    call print(s)
    call print(" ")
    call print_int(e)
    call print("\n")
    ret
}

fun in_radix(n: i, radix: i) {
    try failed(e) {
        s = call format_int(n, radix)
        call print(s)
        call print(" ")
        s = call format_word(n, radix)
        call print_line(s)
    }
    ret
failed:
    n = ld_i e, 0
    call print("fault ")
    call print_int(n)
    call print("\n")
    ret
}

fun digits(x: f, n: i) {
    try failed(e) {
        s = call format_fixed(x, n)
        n = len s
        call print_int(n)
        call print("\n")
    }
    ret
failed:
    call print_line("fault")
    ret
}

fun main() {
    call both(0)
    call both(0.0005)
    call both(-1234.5678)
    call both(1e22)
    call both(5e-324)
    call both(inf)
    call both(nan)
    call in_radix(255, 16)
    call in_radix(-1, 16)
    call in_radix(-9223372036854775808, 2)
    call in_radix(1295, 36)
    call in_radix(1, 1)
    call in_radix(1, 37)
    call digits(0.1, 1100)
    call digits(0.1, 1101)
    call digits(0.1, -1)
    call digits(2.5, 0)
    s = call format_fixed(2.5, 0)
    call print_line(s)
    s = call format_fixed(3.5, 0)
    call print_line(s)
    ret
}
