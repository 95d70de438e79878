; A random walk over the stack, with and without a tracker: `walk.rs`.

fun Walk.random(state: r) -> i {
    x = ld_i state, 0
    factor = 6364136223846793005
    x = mul x, factor
    addend = 1442695040888963407
    x = add x, addend
    st_i state, 0, x
    x = shr x, 33
    ret x
}

; One more or fewer calls are open.
fun Walk.note(state: r, depth: i) {
    st_i state, 3, depth
    deepest = ld_i state, 4
    jle depth, deepest, no
    st_i state, 4, depth
no:
    ret
}

fun Walk.walk(state: r, depth: i) {
again:
    left = ld_i state, 1
    left = sub left, 1
    st_i state, 1, left
    jgt left, 0, on
    ret
on:
    x = call Walk.random(state)
    c = ld_i state, 2
    c = mul c, 31
    c = add c, x
    c = xor c, depth
    st_i state, 2, c
    below = add depth, 1
    jlt depth, 1500, deeper
    raise state
deeper:
    x = and x, 31
    st_i state, 3, depth
    switch x, [leave, leave, leave, fall, fall, tried, tried, closed, tail, record, record, record, array, text, large, call, call, call, call, call, call, call, call, call, dive, kept, kept, host, again, again, again, again]
leave:
    ret
fall:
    ; Now and then, out to whoever catches it.
    x = call Walk.random(state)
    x = and x, 3
    jne x, 0, again
    raise state
tried:
    try caught(e) {
        call Walk.walk(state, below)
    }
    jmp again
caught:
    e = null
    st_i state, 3, depth
    cell = new 4, [state], [depth]
    jmp again
closed:
    f = closure Walk.closed, [state], [below]
    call_closure f()
    jmp again
tail:
    tail_call Walk.tail(state, depth)
record:
    cell = new 1, [state], [depth]
    jmp again
array:
    n = 5
    a = new_i n, depth
    jmp again
text:
    s = str_of_int depth
    s = cat s, s
    jmp again
large:
    n = 600
    a = new_i n, depth
    jmp again
kept:
    old = ld_r state, 0
    x = call Walk.random(state)
    x = and x, 31
    jne x, 0, longer
    old = null
longer:
    cell = new 2, [old], [depth]
    st_r state, 0, cell
    jmp again
host:
    ok: i, line = call read_line()
    jmp again
call:
    call Walk.walk(state, below)
    jmp again
dive:
    call Walk.dive(state, below, 40)
    jmp again
}

; The same frame as the function that became this one.
fun Walk.tail(state: r, depth: i) {
    st_i state, 3, depth
    cell = new 3, [state], [depth]
    tail_call Walk.walk(state, depth)
}

closure fun Walk.closed{s: r, d: i}() {
    s = cap s
    d = cap d
    st_i s, 3, d
    cell = new 3, [s], [d]
    call Walk.walk(s, d)
    ret
}

fun Walk.dive(state: r, depth: i, n: i) {
    call Walk.note(state, depth)
    jle n, 0, bottom
    n = sub n, 1
    below = add depth, 1
    call Walk.dive(state, below, n)
    ; Not a tail call.
    n = add n, 1
    ret
bottom:
    tail_call Walk.walk(state, depth)
}

fun Walk.go(state: r) {
again:
    try caught(e) {
        call Walk.walk(state, 1)
    }
caught:
    e = null
    left = ld_i state, 1
    jgt left, 0, again
    ret
}

fun state(seed: i, steps: i, switches: i) -> r {
    nil = null
    zero = 0
    s = new 0, [nil], [seed, steps, zero, zero, zero, zero, zero, zero, zero, switches]
    ret s
}

; The checksum, the greatest depth, and how many words were allocated.
export fun walk_alone(seed: i, steps: i) -> (i, i, i) {
    zero = 0
    s: r = call state(seed, steps, zero)
    before: i = call word_clock()
    call Walk.go(s)
    after: i = call word_clock()
    after = sub after, before
    a = ld_i s, 2
    b = ld_i s, 4
    ret a, b, after
}

closure fun alloc{s: r}(n: i, size: i, source: i) -> (i, r) {
    s = cap s
    total = ld_i s, 5
    total = add total, n
    st_i s, 5, total
    ; Below `walk` are `Walk.go` and `walk_tracked`.
    depth: i = call memprof_depth()
    known = ld_i s, 3
    known = add known, 2
    jeq depth, known, right
    wrong = ld_i s, 6
    wrong = add wrong, 1
    st_i s, 6, wrong
right:
    call disturb(s, total)
    value = new 9, [s], [size]
    ret 1, value
}

closure fun promote{s: r}(value: r) -> (i, r) {
    s = cap s
    n = ld_i s, 7
    n = add n, 1
    st_i s, 7, n
    call disturb(s, n)
    ret 1, value
}

closure fun dealloc{s: r}(value: r) {
    s = cap s
    n = ld_i s, 8
    n = add n, 1
    st_i s, 8, n
    call disturb(s, n)
    ret
}

; What callbacks may do: allocate, collect, raise and catch, go deep, switch units.
fun disturb(s: r, n: i) {
    old = 0
    switches = ld_i s, 9
    jeq switches, 0, quiet
    unit: i = call profile_new()
    old = call profile_switch(unit)
quiet:
    k = and n, 7
    switch k, [nothing, raised, deep, text]
    jmp nothing
raised:
    try caught(e) {
        call fails(n)
    }
caught:
    jmp nothing
deep:
    call fails_never(70)
    jmp nothing
text:
    t = str_of_int n
    t = cat t, t
nothing:
    k = and n, 63
    jne k, 0, no
    call gc()
no:
    jeq switches, 0, done
    unit = call profile_switch(old)
    on: i = call profile_is_on()
    jeq on, 0, done
    call profile_free(unit)
done:
    ret
}

fun fails(n: i) {
    x = new 1, [], [n]
    raise x
}

fun fails_never(n: i) {
    jle n, 0, bottom
    n = sub n, 1
    call fails_never(n)
    x = new 1, [], [n]
bottom:
    ret
}

; The same, then what the tracker has counted.
export fun walk_tracked(seed: i, steps: i, rate: f, switches: i) -> (i, i, i, i, i, i, i) {
    s: r = call state(seed, steps, switches)
    a = closure alloc, [s], []
    p = closure promote, [s], []
    d = closure dealloc, [s], []
    t = new 0, [a, a, p, d, d], []
    size = 100000
    profile: i = call memprof_start(rate, size, seed, t)
    before: i = call word_clock()
    call Walk.go(s)
    after: i = call word_clock()
    call gc()
    call memprof_stop()
    call memprof_discard(profile)
    after = sub after, before
    c = ld_i s, 2
    b = ld_i s, 4
    samples = ld_i s, 5
    wrong = ld_i s, 6
    promoted = ld_i s, 7
    died = ld_i s, 8
    ret c, b, after, samples, wrong, promoted, died
}

fun main() { ret }
