; Exceptions through frames, out of fused ops and into nested ranges.
fun count(n: i) -> i {
    jgt n, 0, more
    m = 1
    m = quot m, n
    ret m
more:
    n = sub n, 1
    m = call count(n)
    m = add m, n
    ret m
}

fun main() {
    n = 10
again:
    try outer(e) {
        try inner(e) {
            x = call count(n)
            call print_int(x)
            jmp on
        }
inner:
        c = ld_i e, 0
        call print_int(c)
on:     big = 9223372036854775807
        big = add_ovf big, n
    }
outer:
    n = sub n, 1
    jgt n, 0, again
    xs = i64 [1, 2, 3]
    n = get_i xs, n
    s = str_of_int n
    raise s
}
