; args: --gc-stress --nursery 16K
; Globals of both classes keep what functions store in them, and what references name lives on.
global count: i = 40
global half: f = 0.5
global low: i = 0x8000000000000000
global nothing: r
global small: r = -3
global word: r = "constant"
global pair: r = point
global last: i
data point = record 7 [9, null, "in it"] [1, 2]

fun bump(by: i) {
    n = ld_gi count
    n = add n, by
    st_gi count, n
    ret
}
closure fun bumper{}(by: i) {
    call bump(by)
    ret
}
fun build(n: i) {
    xs = ld_gr nothing
again:
    s = str_of_int n
    xs = new 1, [xs, s], [n]
    st_gr nothing, xs
    n = sub n, 1
    jgt n, 0, again
    ret
}
fun show_list() {
    xs = ld_gr nothing
next:
    jnull xs, done
    s = ld_r xs, 1
    call print(s)
    call print(" ")
    xs = ld_r xs, 0
    jmp next
done:
    call print("\n")
    ret
}
fun main() -> i {
    n = ld_gi low
    call print_int(n)
    call print(" ")
    n = ld_gi last
    call print_int(n)
    call print(" ")
    x = ld_gi half
    x = fadd x, 1.0
    st_gi half, x
    x = ld_gi half
    call print_float(x)
    call print(" ")
    r = ld_gr nothing
    n = is_null r
    call print_int(n)
    call print(" ")
    r = ld_gr small
    n = of_imm r
    call print_int(n)
    call print(" ")
    r = ld_gr word
    call print(r)
    r = ld_gr pair
    r = ld_r r, 2
    call print(r)
    call print("\n")
    call build(8)
    call show_list()
    call bump(1)
    c = closure bumper, [], []
    call_closure c(1)
    st_gr nothing, "replaced"
    r = ld_gr nothing
    call print(r)
    try caught(e) {
        st_gi count, 100
        n = quot 1, 0
    }
    match_fail
caught:
    st_gr nothing, e
    call build(0)
    r = ld_gr nothing
    r = ld_r r, 0
    n = tag r
    call print_int(n)
    call bump(-58)
    n = ld_gi count
    call print_int(n)
    ret n
}
