; The N-th allocation callback raises, for N from 1 to 10, while blocks of 2, 3 and 4 words are
; allocated one after the other: every callback has raised or its block's death is told, and all
; words add up (S15, S17). Upstream: exception_comballoc.

; Fields of the state: callbacks until one raises; callbacks, words, raises, words of those,
; deaths, words of those.
fun count(state: r, size: i) {
    n = ld_i state, 1
    n = add n, 1
    st_i state, 1, n
    n = ld_i state, 2
    n = add n, size
    st_i state, 2, n
    ret
}

closure fun alloc{state: r}(samples: i, size: i, source: i) -> (i, r) {
    state = cap state
    call count(state, samples)
    n = ld_i state, 0
    n = sub n, 1
    st_i state, 0, n
    jne n, 0, calm
    n = ld_i state, 3
    n = add n, 1
    st_i state, 3, n
    n = ld_i state, 4
    n = add n, samples
    st_i state, 4, n
    raise state
calm:
    value = imm 0
    value = to_imm samples
    ret 1, value
}

closure fun dealloc{state: r}(value: r) {
    state = cap state
    n = ld_i state, 5
    n = add n, 1
    st_i state, 5, n
    words = of_imm value
    n = ld_i state, 6
    n = add n, words
    st_i state, 6, n
    ret
}

closure fun promote(value: r) -> (i, r) {
    ret 1, value
}

fun tree(n: i) {
    a = new 1, [], [n]
    b = new 2, [a], [n]
    c = new 3, [a, b], [n]
    ret
}

fun trees(n: i) {
    k = 0
next:
    call tree(k)
    k = add k, 1
    jlt k, n, next
    ret
}

fun round(state: r, n: i) {
    st_i state, 0, n
    zero = 0
    a = closure alloc, [state], []
    p = closure promote, [], []
    d = closure dealloc, [state], []
    t = new 0, [a, a, p, d, d], []
    all = 1000
    rate = 1.0
    profile: i = call memprof_start(rate, all, zero, t)
    try caught(e) {
        call trees(4)
    }
    call print("not raised\n")
caught:
    e = null
    call memprof_stop()
    call scrub()
    call gc()
    call memprof_discard(profile)
    ret
}

fun scrub() {
    r0 = null
    r1 = null
    r2 = null
    r3 = null
    ret
}

fun say(what: r, n: i, m: i) {
    call print(what)
    call print_int(n)
    call print(", words ")
    call print_int(m)
    call print("\n")
    ret
}

fun main() {
    zero = 0
    state = new 0, [], [zero, zero, zero, zero, zero, zero, zero]
    n = 1
next:
    call round(state, n)
    n = add n, 1
    jle n, 10, next
    n = ld_i state, 1
    m = ld_i state, 2
    call say("allocations ", n, m)
    n = ld_i state, 3
    m = ld_i state, 4
    call say("raised ", n, m)
    n = ld_i state, 5
    m = ld_i state, 6
    call say("died ", n, m)
    ret
}
