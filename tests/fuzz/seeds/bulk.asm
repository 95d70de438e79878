; Ops that handle more than is done at once, and what may happen between their parts.
fun main() {
again:
    z = 0
    one = 1
    n = 40000
    a = new_i n, z
    b = new_i n, one
    copy a, z, b, z, n
    m = sub n, one
    copy b, z, b, one, m
    x = get_i b, one
    call print_int(x)
    k = 300000
    c = new_b k, z
    d = new_b k, one
    copy c, z, d, z, k
    x = get_b d, one
    call print_int(x)
    s = str_of_bytes c
    s = cat s, s
    t = sub_str s, one, k
    o = cmp s, t
    call print_int(o)
    f = new_f m, z
    try failed(e) {
        g: i = call external_alloc(n)
        call external_free(g)
        nothing = null
        rs = new_r n, nothing
        set_r rs, one, t
        qs = new_r n, rs
        copy rs, z, qs, one, n
    }
failed:
    call gc()
    jmp again
}
