; Weak references before and after collections: to young, old and large objects, to what is no
; object, and to one another.
global kept: r
fun show(n: i) {
    call print_int(n)
    call print(" ")
    ret
}
fun is_gone(x: r) {
    x = ld_weak x
    n = is_null x
    call show(n)
    ret
}
fun record() -> r {
    x = new 1, [null], [5]
    w = weak x
    ret w
}
fun large() -> r {
    x = new_i 100000, 1
    w = weak x
    ret w
}
fun kept_one() -> r {
    x = new 2, [null], [6]
    st_gr kept, x
    w = weak x
    ret w
}
fun old() -> (r, r) {
    x = new 3, [null], [7]
    call gc()
    w = weak x
    call gc()
    ret w, x
}
fun chain() -> r {
    x = new 4, [null], [8]
    w = weak x
    v = weak w
    ret v
}
fun in_record() -> r {
    x = new 5, [null], [9]
    w = weak x
    st_r x, 0, w                ; a cycle through a weak reference
    ret w
}
fun churn() {
    n = 20000
again:
    x = new 1, [null, null], [n]
    n = sub n, 1
    jgt n, 0, again
    ret
}
fun main() {
    w0 = call record()
    w1 = call large()
    w2 = call kept_one()
    w3, x3 = call old()
    w4 = call chain()
    w5 = call in_record()
    x6 = new 6, [null], [10]
    w6 = weak x6
    call gc()
    call is_gone(w0)
    call is_gone(w1)
    call is_gone(w2)
    call is_gone(w3)
    call is_gone(w4)
    call is_gone(w5)
    call is_gone(w6)
    call print("\n")
    y = ld_weak w3
    n = same x3, y
    call show(n)
    y = ld_weak w6
    n = same x6, y
    call show(n)
    n = ld_i y, 0
    call show(n)
    y = ld_weak w2
    n = ld_i y, 0
    call show(n)
    y = null
    st_gr kept, null
    call churn()
    call gc()
    call is_gone(w2)
    call is_gone(w3)
    call is_gone(w6)
    call print("\n")
    n = ld_i x3, 0
    call show(n)
    n = ld_i x6, 0
    call show(n)
    w = weak null
    call gc()
    call is_gone(w)
    x = imm -5
    w = weak x
    call gc()
    x = ld_weak w
    n = of_imm x
    call show(n)
    w = weak "constant"
    call gc()
    x = ld_weak w
    call print(x)
    call print(" ")
    x = weak null
    w = weak w
    n = kind w
    call show(n)
    n = kind x
    call show(n)
    try record_failed(e) {
        x = new 1, [null], []
        x = ld_weak x
    }
    match_fail
record_failed:
    n = ld_i e, 0
    call show(n)
    try null_failed(e) {
        x = ld_weak null
    }
    match_fail
null_failed:
    n = ld_i e, 0
    call show(n)
    call print("\n")
    x = new 7, [], [11]
    w = weak x
    raise w
}
