; Orders of start, stop and discard with their messages, and what start checks (S8, S9, S11).
; Upstream: start_stop.

fun failed(what: r) {
    why: r = call memprof_error()
    call print(what)
    call print(why)
    call print("\n")
    ret
}

fun try_start(rate: f, size: i, tracker: r) -> i {
    seed = 0
    try no(e) {
        profile: i = call memprof_start(rate, size, seed, tracker)
    }
    call print("  start\n")
    ret profile
no:
    call failed("  start: ")
    ret 0
}

fun start() -> i {
    nil = null
    tracker = new 0, [nil, nil, nil, nil, nil], []
    profile = call try_start(1.0, 10, tracker)
    ret profile
}

fun stop() {
    try no(e) {
        call memprof_stop()
    }
    call print("  stop\n")
    ret
no:
    call failed("  stop: ")
    ret
}

fun discard(profile: i) {
    try no(e) {
        call memprof_discard(profile)
    }
    call print("  discard\n")
    ret
no:
    call failed("  discard: ")
    ret
}

closure fun wrong(value: r) -> i {
    ret 1
}

fun main() {
    call print("1 stop\n")
    call stop()
    call print("2 start, stop, stop\n")
    a: i = call start()
    call stop()
    call stop()
    call discard(a)
    call print("3 start, start, stop\n")
    a = call start()
    b: i = call start()
    call stop()
    call discard(a)
    call print("4 start, discard, stop, discard\n")
    a = call start()
    call discard(a)
    call stop()
    call discard(a)
    call print("5 start, stop, discard, discard\n")
    a = call start()
    call stop()
    call discard(a)
    call discard(a)
    call print("6 start, stop, start, stop, discard both\n")
    a = call start()
    call stop()
    b = call start()
    call stop()
    call discard(a)
    call discard(b)
    call print("7 the same, discarded the other way round\n")
    a = call start()
    call stop()
    b = call start()
    call stop()
    call discard(b)
    call discard(a)
    call print("8 start, stop, start, discard the first, stop, discard\n")
    a = call start()
    call stop()
    b = call start()
    call discard(a)
    call stop()
    call discard(b)
    call print("9 start, stop, start, discard the second, stop, discard both\n")
    a = call start()
    call stop()
    b = call start()
    call discard(b)
    call stop()
    call discard(b)
    call discard(a)
    call print("10 start, stop, discard, start, discard the first, stop, discard\n")
    a = call start()
    call stop()
    call discard(a)
    b = call start()
    call discard(a)
    call stop()
    call discard(b)
    call print("11 discard of what never was\n")
    call discard(0)
    call discard(-1)
    call discard(12345)
    call print("what start checks, in its order\n")
    nil = null
    good = new 0, [nil, nil, nil, nil, nil], []
    c = closure wrong, [], []
    wrong = new 0, [nil, nil, c, nil, nil], []
    short = new 0, [nil, nil, nil, nil], []
    number = imm 5
    odd = new 0, [nil, number, nil, nil, nil], []
    a = call start()
    x = call try_start(-0.5, 10, good)
    x = call try_start(1.5, -1, nil)
    rate = float nan
    x = call try_start(rate, -1, good)
    rate = float inf
    x = call try_start(rate, 10, good)
    x = call try_start(0.5, -1, nil)
    x = call try_start(0.5, 10, nil)
    x = call try_start(0.5, 10, wrong)
    x = call try_start(0.5, 10, short)
    x = call try_start(0.5, 10, odd)
    x = call try_start(0.5, 10, good)
    call stop()
    call discard(a)
    call print("rates that sample nothing\n")
    a = call try_start(-0.0, 0, good)
    call stop()
    call discard(a)
    a = call try_start(1e-300, 0, good)
    on: i = call memprof_is_sampling()
    call print_int(on)
    call print("\n")
    call stop()
    on = call memprof_is_sampling()
    call print_int(on)
    call print("\n")
    call discard(a)
    ret
}
