; Profiles that begin and end deep in a recursion: each has the whole call stacks, though the ones
; before it took what was known of the stack with them when they were discarded.

closure fun alloc(n: i, size: i, source: i) -> (i, r) {
    depth: i = call memprof_depth()
    call print_int(depth)
    call print(" ")
    last = sub depth, 1
    frame: r = call memprof_frame(last)
    call print(frame)
    call print("\n")
    nil = null
    ret 0, nil
}

fun start() -> i {
    nil = null
    a = closure alloc, [], []
    t = new 0, [a, a, nil, nil, nil], []
    zero = 0
    all = 1000
    rate = 1.0
    profile: i = call memprof_start(rate, all, zero, t)
    ret profile
}

fun deep(n: i) {
    jle n, 0, bottom
    m = sub n, 1
    call deep(m)
    ; On the way back, now and then.
    sixteen = 16
    k = rem n, sixteen
    jne k, 0, no
    call sampled(n)
no:
    n = add n, 1
    ret
bottom:
    call sampled(n)
    call sampled(n)
    n = add n, 1
    ret
}

.line 100
fun sampled(n: i) {
    profile = call start()
    .line 101
    a = new 1, [], [n]
    call memprof_stop()
    call memprof_discard(profile)
    n = add n, 1
    ret
}

.line 200
fun main() {
    .line 201
    call deep(64)
    .line 202
    call deep(20)
    ret
}
