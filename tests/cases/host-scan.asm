; Numbers that begin at a place of a string or a byte array: how many bytes, the number, whether it fits.
data seven = bytes "7.25"

fun ints(s: r, start: i, radix: i) {
    try failed(e) {
        used, n, fits = call scan_int(s, start, radix)
        call print_int(used)
        call print(" ")
        call print_int(n)
        call print(" ")
        call print_int(fits)
        call print("\n")
    }
    ret
failed:
    call print_line("fault")
    ret
}

fun floats(s: r, start: i) {
    used, x = call scan_float(s, start)
    call print_int(used)
    call print(" ")
    call print_float(x)
    call print("\n")
    ret
}

fun main() {
    call ints("x=-42;", 2, 10)
    call ints("x=-42;", 0, 10)
    call ints("ff", 0, 16)
    call ints("9223372036854775808", 0, 10)
    call ints("12", 2, 10)
    call ints("12", 3, 10)
    call ints("12", -1, 10)
    call ints("12", 0, 40)
    used, n, fits = call scan_word("ffffffffffffffff", 0, 16)
    call print_int(n)
    call print("\n")
    call floats("pi=3.14159, e", 3)
    call floats("1.5e", 0)
    call floats("-inf", 0)
    call floats("1e400", 0)
    call floats("none", 0)
    b = data seven
    call floats(b, 0)
    call floats("0.777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777777e-99999999999999999999999", 0)   ; 0
    ret
}
