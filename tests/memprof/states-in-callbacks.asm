; Stop, start and discard inside each kind of callback (S11, S12). One line for each: the events in
; order, each with its block's size, and between brackets what the callback did.
; Upstream: stop_start_in_callback, discard_in_callback.

; Fields of the state: the callback's place, the action, the profile, the new profile.
fun act(state: r, place: i) {
    wanted = ld_i state, 0
    jne wanted, place, no
    off = -1
    st_i state, 0, off
    action = ld_i state, 1
    call print("[")
    switch action, [stop, stop_start, stop_discard, all, start, discard]
stop:
    call try_stop()
    jmp done
stop_start:
    call try_stop()
    call try_start(state)
    jmp done
stop_discard:
    call try_stop()
    call try_discard(state)
    jmp done
all:
    call try_stop()
    call try_discard(state)
    call try_start(state)
    jmp done
start:
    call try_start(state)
    jmp done
discard:
    call try_discard(state)
done:
    one = 1
    ; What a callback allocates is not sampled, whatever it has started.
    x = new 9, [], [one, one, one, one, one, one, one]
    call print("]")
no:
    ret
}

fun failed() {
    why: r = call memprof_error()
    call print("{")
    call print(why)
    call print("}")
    ret
}

fun try_stop() {
    try no(e) {
        call memprof_stop()
    }
    call print("stop ")
    ret
no:
    call failed()
    ret
}

fun try_start(state: r) {
    t = ld_r state, 0
    rate = 1.0
    all = 1000
    seed = 0
    try no(e) {
        profile: i = call memprof_start(rate, all, seed, t)
    }
    st_i state, 3, profile
    call print("start ")
    ret
no:
    call failed()
    ret
}

fun try_discard(state: r) {
    profile = ld_i state, 2
    try no(e) {
        call memprof_discard(profile)
    }
    call print("discard ")
    ret
no:
    call failed()
    ret
}

fun tell(letter: r, value: r) {
    call print(" ")
    call print(letter)
    call print(value)
    ret
}

closure fun alloc_minor{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    value = str_of_int size
    call tell("a", value)
    call act(state, 0)
    ret 1, value
}

closure fun alloc_major{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    value = str_of_int size
    call tell("A", value)
    call act(state, 1)
    ret 1, value
}

closure fun promote{state: r}(value: r) -> (i, r) {
    state = cap state
    call tell("p", value)
    call act(state, 2)
    ret 1, value
}

closure fun dealloc_minor{state: r}(value: r) {
    state = cap state
    call tell("d", value)
    call act(state, 3)
    ret
}

closure fun dealloc_major{state: r}(value: r) {
    state = cap state
    call tell("D", value)
    call act(state, 4)
    ret
}

fun scrub() {
    r0 = null
    r1 = null
    r2 = null
    r3 = null
    r4 = null
    r5 = null
    ret
}

; Blocks of 2, 3 and 600 words and 1 are kept over a collection; one of 4 words is not.
fun work() {
    n = 7
    length = 600
    a = new 1, [], [n, n]
    b = new 1, [a], [n, n]
    dead = new 1, [b], [n, n, n]
    dead = null
    big = new_i length, n
    call gc()
    a = new 1, [b], [n, n, n, n]
    call gc()
    n = len big
    ret
}

fun scenario(place: i, action: i) {
    call print_int(place)
    call print("/")
    call print_int(action)
    call print(":")
    zero = 0
    nil = null
    state = new 0, [nil], [place, action, zero, zero]
    a = closure alloc_minor, [state], []
    b = closure alloc_major, [state], []
    c = closure promote, [state], []
    d = closure dealloc_minor, [state], []
    e = closure dealloc_major, [state], []
    t = new 0, [a, b, c, d, e], []
    st_r state, 0, t
    rate = 1.0
    all = 1000
    profile: i = call memprof_start(rate, all, zero, t)
    st_i state, 2, profile
    call work()
    call scrub()
    call gc()
    call print(" |")
    on: i = call memprof_is_sampling()
    call print_int(on)
    jeq on, 0, off
    call memprof_stop()
off:
    call print(" ")
    call try_discard(state)
    profile = ld_i state, 3
    jeq profile, 0, none
    st_i state, 2, profile
    call try_discard(state)
none:
    call gc()
    call print("\n")
    ret
}

fun main() {
    place = 0
places:
    action = 0
actions:
    call scenario(place, action)
    action = add action, 1
    jlt action, 6, actions
    place = add place, 1
    jlt place, 5, places
    ret
}
