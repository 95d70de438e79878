; Dates in UTC and back.
fun part(n: i) {
    call print_int(n)
    call print(" ")
    ret
}

fun date(seconds: i) {
    y, mo, d, h, mi, s, w, yd = call date_utc(seconds)
    call part(y)
    call part(mo)
    call part(d)
    call part(h)
    call part(mi)
    call part(s)
    call part(w)
    call part(yd)
    same = call seconds_utc(y, mo, d, h, mi, s)
    same = sub same, seconds
    call print_int(same)
    call print("\n")
    ret
}

fun main() {
    call date(0)
    call date(-1)
    call date(951868799)
    call date(1709164800)
    call date(253402300800)
    call date(-62167219200)
    s = call seconds_utc(2024, 14, 0, 25, 0, 0)
    call date(s)
    try failed(e) {
        s = call seconds_utc(9223372036854775807, 1, 1, 0, 0, 0)
    }
    ret
failed:
    call print_line("no such year")
    ret
}
