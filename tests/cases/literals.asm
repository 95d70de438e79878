; args: --gc-stress
; Literals of every kind where ops read registers, with a collection at every allocation.
closure fun both{k: f, s: r}() -> r {
    k = cap k
    s = cap s
    t = str_of_float k
    s = cat s, t
    ret s
}

fun show(n: i) {
    s = str_of_int n
    s = cat s, "\n"
    call print(s)
    ret
}

fun say(s: r) {
    s = cat "> ", s
    s = cat s, "\n"
    call print(s)
    ret
}

; The exception has a literal, and so has what raises a fault.
fun raised(n: i) -> r {
    try failed(e) {
        jlt 3, n, large
        n = rem n, 0
    large:
        raise "boom"
    }
failed:
    ret e
}

fun main() {
    x = rem 47, 10
    call show(x)
    x = sub 1, x
    call show(x)
    x = mul x, 6364136223846793005
    call show(x)
    a = new_i 10, 7
    set_i a, 3, 12345678901
    copy a, 0, a, 3, 2
    x = get_i a, 0
    call show(x)
    y = fmul 2, 1.25
    s = str_of_float y
    call say(s)
    rec = new 1, [null, "field"], [0, 2.5]
    st_i rec, 0, 9
    st_r rec, 0, "stored"
    s = ld_r rec, 0
    call say(s)
    s = ld_r rec, 1
    call say(s)
    c = closure both, ["captured "], [3]
    s: r = call_closure c()
    call say(s)
    e = call raised(9)
    call say(e)
    e = call raised(1)
    x = ld_i e, 0
    call show(x)
    x = len i64 [1, 2, 3]
    call show(x)
    switch 1, [zero, one]
zero:
    call say("zero")
one:
    jsame null, null, same
    call say("null is not itself")
same:
    jflt 1, inf, end
    call say("1 is not below infinity")
end:
    raise null
}
