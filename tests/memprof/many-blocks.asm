; Thousands of blocks: most die within one callback, others are promoted while it runs, and the
; table grows and shrinks meanwhile. Counts must come out even. Upstream: minor_heap_edge,
; moved_while_blocking.

; Fields of the state: alloc, promote, dealloc_minor, dealloc_major, and references to the lists
; that callbacks drop.
closure fun alloc{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    n = ld_i state, 0
    n = add n, 1
    st_i state, 0, n
    value = str_of_int n
    ret 1, value
}

closure fun promote{state: r}(value: r) -> (i, r) {
    state = cap state
    n = ld_i state, 1
    n = add n, 1
    st_i state, 1, n
    jne n, 100, quiet
    ; Thousands of promotions are pending. All these blocks die now.
    nil = null
    st_r state, 0, nil
    call gc()
    call print("gone while one promotion is told\n")
quiet:
    value = cat value, value
    ret 1, value
}

closure fun dealloc_minor{state: r}(value: r) {
    state = cap state
    n = ld_i state, 2
    n = add n, 1
    st_i state, 2, n
    ret
}

closure fun dealloc_major{state: r}(value: r) {
    state = cap state
    n = ld_i state, 3
    n = add n, 1
    st_i state, 3, n
    jne n, 100, quiet
    call gc()
quiet:
    k = len value
    k = and k, 1
    jeq k, 0, even
    call print("a value that promotion has not made\n")
even:
    ret
}

fun build(state: r, n: i) {
    kept = null
next:
    kept = new 1, [kept], [n]
    dead = new 2, [], [n, n]
    n = sub n, 1
    jgt n, 0, next
    st_r state, 0, kept
    ret
}

fun scrub() {
    r0 = null
    r1 = null
    r2 = null
    r3 = null
    ret
}

fun report(state: r, what: r) {
    call print(what)
    n = ld_i state, 0
    call print_int(n)
    call print(" allocated, promoted + died young ")
    n = ld_i state, 1
    m = ld_i state, 2
    n = add n, m
    call print_int(n)
    call print(", promoted - died old ")
    n = ld_i state, 1
    m = ld_i state, 3
    n = sub n, m
    call print_int(n)
    call print("\n")
    ret
}

fun main() {
    zero = 0
    nil = null
    state = new 0, [nil], [zero, zero, zero, zero]
    a = closure alloc, [state], []
    p = closure promote, [state], []
    d = closure dealloc_minor, [state], []
    e = closure dealloc_major, [state], []
    t = new 0, [a, a, p, d, e], []
    all = 1000
    rate = 1.0
    profile: i = call memprof_start(rate, all, zero, t)
    round = 1
rounds:
    st_i state, 1, zero
    st_i state, 0, zero
    st_i state, 2, zero
    st_i state, 3, zero
    call build(state, 2000)
    call scrub()
    call gc()
    st_r state, 0, nil
    call scrub()
    call gc()
    call report(state, "round: ")
    round = add round, 1
    jle round, 3, rounds
    call memprof_stop()
    call memprof_discard(profile)
    ret
}
