; A tracker that raises in every callback: after the first exception the other events are handled
; where that has been caught, and there they raise outside of the handler that caught it (S16).

closure fun alloc(n: i, size: i, source: i) -> (i, r) {
    value = str_of_int size
    ret 1, value
}

closure fun promote(value: r) -> (i, r) {
    call print("promote ")
    call print(value)
    call print("\n")
    raise value
}

fun inner() {
    try caught(e) {
        call gc()
    }
    call print("not raised\n")
    ret
caught:
    call print("caught inside: ")
    call print(e)
    call print("\n")
    ret
}

fun middle() {
    try caught(e) {
        call inner()
    }
    call print("inner returns\n")
    ret
caught:
    call print("caught in the middle: ")
    call print(e)
    call print("\n")
    ret
}

fun outer() {
    n = 1
    a = new 1, [], [n]
    b = new 1, [], [n, n]
    c = new 1, [], [n, n, n]
    try caught(e) {
        call middle()
    }
    call print("middle returns\n")
    jmp done
caught:
    call print("caught outside: ")
    call print(e)
    call print("\n")
done:
    a = new 2, [a, b, c], []
    ret
}

fun main() {
    nil = null
    a = closure alloc, [], []
    p = closure promote, [], []
    t = new 0, [a, a, p, nil, nil], []
    seed = 0
    all = 1000
    rate = 1.0
    profile: i = call memprof_start(rate, all, seed, t)
    try caught(e) {
        call outer()
    }
    call print("outer returns\n")
    on: i = call memprof_is_sampling()
    call print_int(on)
    call print("\n")
    call memprof_stop()
    call memprof_discard(profile)
    ret
caught:
    call print("caught at last: ")
    call print(e)
    call print("\n")
    ret
}
