; args: --gc-stress --nursery 16K
; Lists, arrays of references and strings survive when every allocation collects.
fun build(n: i) -> r {
    xs = null
again:
    text = str_of_int n
    xs = new 1, [xs, text], [n]
    n = sub n, 1
    jgt n, 0, again
    ret xs
}
fun main() {
    xs = call build(10)
    n = 200
    table = new_r n, xs
    n = 150
    ys = call build(3)
    set_r table, n, ys
    zs = call build(20)
    ys = get_r table, n
    text = ld_r ys, 1
    call print(text)
    n = 5
    ys = get_r table, n
    ys = ld_r ys, 0
    text = ld_r ys, 1
    call print(text)
    call print("\n")
    ret
}
