; A callback is done before the next op, whatever has allocated: the op behind reads what the
; callback has written. Results of host functions are told behind the call, not inside it (S18).
; Upstream: minor_no_postpone.

closure fun alloc{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    count = ld_i state, 0
    count = add count, 1
    st_i state, 0, count
    nil = null
    ret 0, nil
}

closure fun captures{k: i}() -> i {
    k = cap k
    ret k
}

fun say(what: r, n: i) {
    call print(what)
    call print_int(n)
    call print("\n")
    ret
}

fun kinds(state: r) {
    n = 3
    length = 600
    x = float 1.5
    nil = null
    zero = 0
    text = "abc"
    a = new 1, [nil], [n]
    k = ld_i state, 0
    call say("record ", k)
    a = closure captures, [], [n]
    k = ld_i state, 0
    call say("closure ", k)
    a = new_i n, n
    k = ld_i state, 0
    call say("array ", k)
    a = new_i length, n
    k = ld_i state, 0
    call say("large array ", k)
    a = data i64 [1, 2]
    k = ld_i state, 0
    call say("constant ", k)
    a = str_of_int n
    k = ld_i state, 0
    call say("number ", k)
    a = cat text, text
    k = ld_i state, 0
    call say("string ", k)
    a = str_of_float x
    k = ld_i state, 0
    call say("double ", k)
    ok: i, a = call read_line()
    k = ld_i state, 0
    call say("line ", k)
    token: i = call external_alloc(64)
    k = ld_i state, 0
    call say("outside ", k)
    ; The fault is a record, and told where it is caught.
    try divided(e) {
        n = div n, zero
    }
divided:
    k = ld_i state, 0
    call say("fault ", k)
    ret
}

; The op behind an allocation is a jump, a return, a call, another allocation.
fun returns(n: i) -> r {
    a = new 1, [], [n]
    ret a
}

fun others(state: r) {
    n = 0
again:
    a = new 1, [], [n]
    jmp on
on:
    n = add n, 1
    b = new 1, [a], [n]
    c = new 1, [a, b], [n]
    jlt n, 3, again
    k = ld_i state, 0
    call say("three rounds of three ", k)
    a: r = call returns(n)
    k = ld_i a, 0
    call say("a result as it was ", k)
    k = ld_i state, 0
    call say("and its block ", k)
    ret
}

fun main() {
    zero = 0
    nil = null
    state = new 0, [], [zero]
    a = closure alloc, [state], []
    t = new 0, [a, a, nil, nil, nil], []
    all = 10
    rate = 1.0
    profile: i = call memprof_start(rate, all, zero, t)
    call kinds(state)
    call others(state)
    call memprof_stop()
    call memprof_discard(profile)
    ret
}
