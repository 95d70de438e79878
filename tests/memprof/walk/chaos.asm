; Whatever can be done with memory profiles, at random, by the program and by its callbacks:
; `chaos.rs`. Fields of the state: random number of the program, of the callbacks; checksum; how
; often something was wrong; callbacks, exceptions out of them, starts, stops, discards, deaths; the
; profile started last, the one before; the memory outside the heap; callbacks that run;
; how many more of them may raise.
; References: what is kept; the tracker.

fun random(state: r) -> i {
    x = ld_i state, 0
    factor = 6364136223846793005
    x = mul x, factor
    addend = 1442695040888963407
    x = add x, addend
    st_i state, 0, x
    x = shr x, 33
    ret x
}

fun random_in_callback(state: r) -> i {
    x = ld_i state, 1
    factor = 6364136223846793005
    x = mul x, factor
    addend = 1442695040888963407
    x = add x, addend
    st_i state, 1, x
    x = shr x, 33
    ret x
}

fun wrong(state: r) {
    n = ld_i state, 3
    n = add n, 1
    st_i state, 3, n
    ret
}

; A value: how far its block has come, 0 young, 1 born old, 2 promoted, 3 dead, behind a cell that
; is lost if the value is.
fun value(state: r, stage: i) -> r {
    inner = new 6, [state], [stage]
    v = new 5, [inner], [stage]
    ret v
}

fun stage(state: r, v: r) -> i {
    tag = tag v
    jne tag, 5, bad
    n = ld_i v, 0
    inner = ld_r v, 0
    tag = tag inner
    jne tag, 6, bad
    s = ld_r inner, 0
    jsame s, state, good
bad:
    call wrong(state)
    ret 9
good:
    ret n
}

; A callback begins: no other may be running.
fun begin(state: r) {
    n = ld_i state, 4
    n = add n, 1
    st_i state, 4, n
    running = ld_i state, 13
    jeq running, 0, alone
    call wrong(state)
alone:
    running = 1
    st_i state, 13, running
    ret
}

fun end(state: r) {
    running = 0
    st_i state, 13, running
    ret
}

; Gives 0 when the callback should return nothing.
fun disturb(state: r) -> i {
    x: i = call random_in_callback(state)
    x = and x, 63
    switch x, [raised, raised, stopped, started, discarded, collected, collected, deep, deep, text, text, large, caught, caught, none, none, budget, restarted, outside]
    ret 1
raised:
    may = ld_i state, 14
    jle may, 0, none
    may = sub may, 1
    st_i state, 14, may
    n = ld_i state, 5
    n = add n, 1
    st_i state, 5, n
    call end(state)
    e: r = call value(state, 7)
    raise e
stopped:
    call stop(state)
    ret 1
started:
    call start(state)
    ret 1
discarded:
    call discard(state)
    ret 1
restarted:
    call stop(state)
    call start(state)
    ret 1
collected:
    call gc()
    ret 1
deep:
    call dig(100)
    ret 1
text:
    s = str_of_int x
    s = cat s, s
    ret 1
large:
    n = 700
    a = new_i n, x
    ret 1
caught:
    try inside(e) {
        call fail(200)
    }
inside:
    ret 1
none:
    ret 0
budget:
    call budget_start(3)
    call dig(3)
    left: i = call budget_end()
    jeq left, 3, exact
    call wrong(state)
exact:
    ret 1
outside:
    token: i = call external_alloc(1000)
    call external_free(token)
    ret 1
}

fun dig(n: i) {
    jle n, 0, bottom
    n = sub n, 1
    call dig(n)
    cell = new 1, [], [n]
bottom:
    ret
}

fun fail(n: i) {
    jle n, 0, bottom
    n = sub n, 1
    call fail(n)
    cell = new 1, [], [n]
    ret
bottom:
    cell = new 2, [], [n]
    raise cell
}

closure fun alloc_minor{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    call begin(state)
    ok: i = call disturb(state)
    v: r = call value(state, 0)
    call end(state)
    ret ok, v
}

closure fun alloc_major{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    call begin(state)
    ok: i = call disturb(state)
    v: r = call value(state, 1)
    call end(state)
    ret ok, v
}

closure fun promote{state: r}(v: r) -> (i, r) {
    state = cap state
    call begin(state)
    n: i = call stage(state, v)
    jeq n, 0, young
    call wrong(state)
young:
    two = 2
    st_i v, 0, two
    ok: i = call disturb(state)
    n = call stage(state, v)
    jeq n, 2, still
    call wrong(state)
still:
    call end(state)
    ret ok, v
}

closure fun dealloc_minor{state: r}(v: r) {
    state = cap state
    call begin(state)
    n: i = call stage(state, v)
    jeq n, 0, young
    call wrong(state)
young:
    call die(state, v)
    ret
}

closure fun dealloc_major{state: r}(v: r) {
    state = cap state
    call begin(state)
    n: i = call stage(state, v)
    jeq n, 1, old
    jeq n, 2, old
    call wrong(state)
old:
    call die(state, v)
    ret
}

fun die(state: r, v: r) {
    n = ld_i state, 9
    n = add n, 1
    st_i state, 9, n
    three = 3
    st_i v, 0, three
    ok: i = call disturb(state)
    call end(state)
    ret
}

fun start(state: r) {
    t = ld_r state, 1
    x: i = call random(state)
    seed = x
    size = and x, 31
    x = and x, 3
    rate = float 1.0
    jeq x, 0, on
    rate = float 0.3
    jeq x, 1, on
    rate = float 0.02
on:
    try failed(e) {
        profile: i = call memprof_start(rate, size, seed, t)
    }
    before = ld_i state, 10
    st_i state, 11, before
    st_i state, 10, profile
    n = ld_i state, 6
    n = add n, 1
    st_i state, 6, n
failed:
    ret
}

fun stop(state: r) {
    try failed(e) {
        call memprof_stop()
    }
    n = ld_i state, 7
    n = add n, 1
    st_i state, 7, n
failed:
    ret
}

; Discards the profile before the last one, and then perhaps that.
fun discard(state: r) {
    old = ld_i state, 11
    try failed(e) {
        call memprof_discard(old)
    }
    n = ld_i state, 8
    n = add n, 1
    st_i state, 8, n
    ret
failed:
    last = ld_i state, 10
    try failed_again(e) {
        call memprof_discard(last)
    }
    n = ld_i state, 8
    n = add n, 1
    st_i state, 8, n
failed_again:
    ret
}

fun act(state: r, depth: i) {
    x: i = call random(state)
    c = ld_i state, 2
    c = mul c, 31
    c = add c, x
    st_i state, 2, c
    x = and x, 31
    switch x, [start, start, stop, discard, small, small, small, kept, kept, kept, drop, large, large, collect, text, line, token, free, divide, raise, deep, deep, deep, deep, dig, fault]
    jmp small
start:
    call start(state)
    ret
stop:
    call stop(state)
    ret
discard:
    call discard(state)
    ret
small:
    cell = new 1, [state], [x]
    dead = new 2, [cell], [x, x, x]
    ret
kept:
    old = ld_r state, 0
    cell = new 3, [old], [x]
    st_r state, 0, cell
    ret
drop:
    nil = null
    st_r state, 0, nil
    ret
large:
    n = 600
    old = ld_r state, 0
    cell = new_r n, old
    st_r state, 0, cell
    ret
collect:
    call gc()
    ret
text:
    s = str_of_int c
    s = cat s, s
    ret
line:
    ok: i, s = call read_line()
    ret
token:
    ; What was there before is not freed: whether its number is 0 depends on who samples.
    t = call external_alloc(320)
    st_i state, 12, t
    ret
free:
    t = ld_i state, 12
    zero = 0
    st_i state, 12, zero
    call external_free(t)
    ret
divide:
    zero = 0
    try divided(e) {
        x = div x, zero
    }
divided:
    ret
raise:
    cell = new 4, [state], [x]
    raise cell
deep:
    jgt depth, 300, small
    depth = add depth, 1
    call act(state, depth)
    try inside(e) {
        call act(state, depth)
    }
inside:
    call act(state, depth)
    ; Not a tail call.
    depth = add depth, 1
    ret
dig:
    call dig(60)
    ret
fault:
    call fail(60)
    ret
}

; What callbacks raise where an exception is caught arrives one handler further out (S16).
fun nest(state: r, n: i) {
    jle n, 0, bottom
    n = sub n, 1
    try caught(e) {
        call nest(state, n)
    }
caught:
    ret
bottom:
    call act(state, 0)
    n = add n, 1
    ret
}

; The checksum, how often something was wrong, and how often things happened.
export fun chaos(seed: i, steps: i) -> (i, i, i, i, i, i, i, i) {
    nil = null
    zero = 0
    other = xor seed, 77
    state = new 0, [nil, nil], [seed, other, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero]
    a = closure alloc_minor, [state], []
    b = closure alloc_major, [state], []
    c = closure promote, [state], []
    d = closure dealloc_minor, [state], []
    e = closure dealloc_major, [state], []
    t = new 0, [a, b, c, d, e], []
    st_r state, 1, t
again:
    jle steps, 0, done
    steps = sub steps, 1
    may = 5
    st_i state, 14, may
    call nest(state, 8)
    jmp again
done:
    st_i state, 14, zero
    call finish(state)
    q0 = ld_i state, 2
    q1 = ld_i state, 3
    q2 = ld_i state, 4
    q3 = ld_i state, 5
    q4 = ld_i state, 6
    q5 = ld_i state, 7
    q6 = ld_i state, 8
    q7 = ld_i state, 9
    ret q0, q1, q2, q3, q4, q5, q6, q7
}

; Stops and discards what is left, though callbacks may start again.
fun finish(state: r) {
    tries = 20
again:
    tries = sub tries, 1
    jlt tries, 0, done
    call stop(state)
    call discard(state)
    call discard(state)
    jmp again
done:
    ret
}

fun main() { ret }
