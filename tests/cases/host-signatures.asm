; A host function that wants a double says so: integers are read as doubles there, and a double is
; refused where an integer is wanted.
host shout(r, i)

fun main() {
    call print_float(2)
    call print_int(2.5)
    s = call format_fixed("2", 3)
    s = call format_fixed(2.5, nan)
    call shout("a", 1.0)
    x = call pow(9007199254740993, 2)
    x = call pow(2)
    x, y = call frexp(1.5, 2)
    call print_float(null)
    ret
}
