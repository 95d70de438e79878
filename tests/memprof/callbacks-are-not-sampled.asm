; Nothing that a callback allocates is sampled, and it advances no word clock (S19). What a
; callback does with collections, host functions and closures is the program's own business.

closure fun alloc{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    count = ld_i state, 0
    count = add count, n
    st_i state, 0, count
    before: i = call word_clock()
    call churn(count)
    after: i = call word_clock()
    before = sub after, before
    moved = ld_i state, 1
    moved = add moved, before
    st_i state, 1, moved
    ret 0, state
}

; Allocates in all ways, large objects and memory outside the heap too.
fun churn(n: i) {
    length = 700
    nil = null
    zero = 0
    a = new_i length, n
    b = new 1, [a], [n]
    s = str_of_int n
    s = cat s, s
    c = closure helper, [], [n]
    m: i = call_closure c()
    ok: i, t = call read_line()
    token: i = call external_alloc(4000)
    call external_free(token)
    try divided(e) {
        n = div n, zero
    }
divided:
    call gc()
    n = len a
    ret
}

closure fun helper{k: i}() -> i {
    k = cap k
    x = new 1, [], [k]
    k = ld_i x, 0
    ret k
}

fun work(n: i) -> r {
    kept = null
next:
    jle n, 0, done
    kept = new 1, [kept], [n]
    n = sub n, 1
    jmp next
done:
    ret kept
}

fun main() {
    nil = null
    zero = 0
    state = new 0, [], [zero, zero]
    a = closure alloc, [state], []
    t = new 0, [a, a, nil, nil, nil], []
    all = 1000
    rate = 1.0
    profile: i = call memprof_start(rate, all, zero, t)
    before: i = call word_clock()
    kept: r = call work(200)
    after: i = call word_clock()
    call memprof_stop()
    call memprof_discard(profile)
    after = sub after, before
    call print("words: ")
    call print_int(after)
    call print("\nsamples: ")
    n = ld_i state, 0
    call print_int(n)
    call print("\nwords in callbacks: ")
    n = ld_i state, 1
    call print_int(n)
    call print("\nfirst of the list: ")
    n = ld_i kept, 0
    call print_int(n)
    call print("\n")
    ret
}
