; Memory profiles of the program's own: callbacks that allocate and raise, around calls that are
; deep, tail calls, and faults raised by ops that no op follows.
closure fun allocated(samples: i, words: i, source: i) -> (i, r) {
    d: i = call memprof_depth()
    i = 1
    try no(e) {
        s: r = call memprof_frame(i)
        call print(s)
    }
    x = new 3, [s], [d]
    ret 1, x
no:
    x = null
    ret 1, x
}

closure fun promoted(value: r) -> (i, r) {
    x = new 4, [value], []
    ret 1, x
}

closure fun died(value: r) {
    raise value
}

closure fun nowhere() {
    x = null
    tail_call_closure x()
}

fun deep(n: i) -> r {
    jgt n, 0, go
    x = new 1, [], [n]
    ret x
go: m = sub n, 1
    y = call deep(m)
    x = new 2, [y], [n]
    ret x
}

fun main() {
    z = 0
    nothing = null
    al = closure allocated, [], []
    pr = closure promoted, [], []
    de = closure died, [], []
    tracker = new 0, [al, al, pr, de, nothing], []
    rate = 0.5
    depth = 1000000
    p: i = call memprof_start(rate, depth, z, tracker)
    w = 100
again:
    try caught(e) {
        n = 20
        x = call deep(n)
        call gc()
        call budget_start(w)
        x = call deep(n)
        w: i = call budget_end()
        f = closure nowhere, [], []
        call_closure f()
    }
caught:
    w = add w, 50
    jlt w, 1000, again
    call memprof_stop()
    call memprof_discard(p)
    tail_call_closure nothing()
}
