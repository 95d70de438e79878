; What a tracker keeps with a block is held strongly and moves with collections, whichever end is
; young or old; every kind of callback collects (S14). Upstream: arrays_in_minor (42 becomes 17),
; moved_while_blocking.

; A value is a list of three cells around a number, so that a lost one is seen.
fun value(n: i) -> r {
    nil = null
    v = new 5, [nil], [n]
    v = new 5, [v], [n]
    v = new 5, [v], [n]
    ret v
}

fun check(v: r, n: i, state: r) {
    a = ld_i v, 0
    v = ld_r v, 0
    b = ld_i v, 0
    v = ld_r v, 0
    c = ld_i v, 0
    v = ld_r v, 0
    jnonnull v, bad
    jne a, n, bad
    jne b, n, bad
    jne c, n, bad
    good = ld_i state, 5
    good = add good, 1
    st_i state, 5, good
    ret
bad:
    call print("a value is not what it was\n")
    ret
}

fun count(state: r, place: i) {
    switch place, [a, b, c, d, e]
a:
    n = ld_i state, 0
    n = add n, 1
    st_i state, 0, n
    ret
b:
    n = ld_i state, 1
    n = add n, 1
    st_i state, 1, n
    ret
c:
    n = ld_i state, 2
    n = add n, 1
    st_i state, 2, n
    ret
d:
    n = ld_i state, 3
    n = add n, 1
    st_i state, 3, n
    ret
e:
    n = ld_i state, 4
    n = add n, 1
    st_i state, 4, n
    ret
}

; Collects now and then; fills the nursery between.
fun disturb(n: i) {
    k = and n, 15
    jne k, 0, no
    call gc()
no:
    x: r = call value(n)
    ret
}

closure fun alloc_minor{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    call count(state, 0)
    k = ld_i state, 0
    v: r = call value(42)
    call disturb(k)
    ret 1, v
}

closure fun alloc_major{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    call count(state, 1)
    k = ld_i state, 1
    v: r = call value(17)
    call disturb(k)
    ret 1, v
}

closure fun promote{state: r}(value: r) -> (i, r) {
    state = cap state
    call count(state, 2)
    k = ld_i state, 2
    call check(value, 42, state)
    call disturb(k)
    call check(value, 42, state)
    value = call value(17)
    ret 1, value
}

closure fun dealloc_minor{state: r}(value: r) {
    state = cap state
    call count(state, 3)
    k = ld_i state, 3
    call disturb(k)
    call check(value, 42, state)
    ret
}

closure fun dealloc_major{state: r}(value: r) {
    state = cap state
    call count(state, 4)
    k = ld_i state, 4
    call disturb(k)
    call check(value, 17, state)
    ret
}

; Keeps every other block, and some large ones.
fun work(n: i) -> r {
    kept = null
    length = 600
next:
    jle n, 0, done
    kept = new 1, [kept], [n]
    dead = new 2, [kept], [n]
    k = and n, 63
    jne k, 0, on
    dead = new_i length, n
    call gc()
    kept = new 3, [kept, dead], [n]
on:
    n = sub n, 1
    jmp next
done:
    ret kept
}

fun build_and_drop(n: i) {
    kept: r = call work(n)
    kept = null
    ret
}

fun scrub() {
    r0 = null
    r1 = null
    r2 = null
    r3 = null
    r4 = null
    ret
}

fun say(what: r, n: i) {
    call print(what)
    call print_int(n)
    call print("\n")
    ret
}

fun main() {
    zero = 0
    state = new 0, [], [zero, zero, zero, zero, zero, zero]
    a = closure alloc_minor, [state], []
    b = closure alloc_major, [state], []
    c = closure promote, [state], []
    d = closure dealloc_minor, [state], []
    e = closure dealloc_major, [state], []
    t = new 0, [a, b, c, d, e], []
    all = 1000
    rate = 1.0
    profile: i = call memprof_start(rate, all, zero, t)
    call build_and_drop(500)
    call memprof_stop()
    call scrub()
    call gc()
    call gc()
    am = ld_i state, 0
    call say("alloc_minor ", am)
    aM = ld_i state, 1
    call say("alloc_major ", aM)
    p = ld_i state, 2
    dm = ld_i state, 3
    dM = ld_i state, 4
    sum = add p, dm
    call say("promote + dealloc_minor ", sum)
    sum = add p, aM
    sum = sub sum, dM
    call say("promote + alloc_major - dealloc_major ", sum)
    good = ld_i state, 5
    ; Two in each promotion, one in each death.
    sum = add p, p
    sum = add sum, dm
    sum = add sum, dM
    sum = sub good, sum
    call say("values that were lost ", sum)
    call memprof_discard(profile)
    ret
}
