; Exceptions out of each kind of callback (S15, S16): where they arrive, what is told afterwards of
; the block (nothing), and that the profile goes on. Upstream: exception_callback,
; exception_callback_minor.

fun say(what: r, n: i) {
    call print(what)
    call print_int(n)
    call print("\n")
    ret
}

; Raises in the callback of this place, once.
fun maybe_raise(state: r, place: i) {
    wanted = ld_i state, 0
    jne wanted, place, no
    off = -1
    st_i state, 0, off
    x = new 77, [], [place]
    raise x
no:
    ret
}

closure fun alloc_minor{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    call say("  alloc_minor ", size)
    call maybe_raise(state, 0)
    value = str_of_int size
    ret 1, value
}

closure fun alloc_major{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    call say("  alloc_major ", size)
    call maybe_raise(state, 1)
    value = str_of_int size
    ret 1, value
}

closure fun promote{state: r}(value: r) -> (i, r) {
    state = cap state
    call print("  promote ")
    call print(value)
    call print("\n")
    call maybe_raise(state, 2)
    ret 1, value
}

closure fun dealloc_minor{state: r}(value: r) {
    state = cap state
    call print("  dealloc_minor ")
    call print(value)
    call print("\n")
    call maybe_raise(state, 3)
    ret
}

closure fun dealloc_major{state: r}(value: r) {
    state = cap state
    call print("  dealloc_major ")
    call print(value)
    call print("\n")
    call maybe_raise(state, 4)
    ret
}

fun tracker(state: r) -> r {
    a = closure alloc_minor, [state], []
    b = closure alloc_major, [state], []
    c = closure promote, [state], []
    d = closure dealloc_minor, [state], []
    e = closure dealloc_major, [state], []
    t = new 0, [a, b, c, d, e], []
    ret t
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

; A block of two words that dies at once.
fun waste() {
    a = 1
    b = 2
    dead = new 1, [], [a, b]
    ret
}

fun work(state: r) {
    profile = ld_i state, 1
    three = 3
    length = 600
    try first(e) {
        kept = new 1, [], [three, three, three]
    }
    call print("small: fine\n")
    jmp large
first:
    x = ld_i e, 0
    call say("small: caught ", x)
    kept = null
large:
    try second(e) {
        big = new_i length, three
    }
    call print("large: fine\n")
    jmp wasted
second:
    x = ld_i e, 0
    call say("large: caught ", x)
    big = null
wasted:
    try third(e) {
        call waste()
    }
    call print("wasted: fine\n")
    jmp collect
third:
    x = ld_i e, 0
    call say("wasted: caught ", x)
collect:
    try fourth(e) {
        call gc()
    }
    call print("collection: fine\n")
    jmp after
fourth:
    x = ld_i e, 0
    call say("collection: caught ", x)
    e = null
after:
    ; Both were needed up to here.
    both = new 2, [kept, big], []
    ret
}

fun scenario(place: i) {
    call say("raising in ", place)
    nil = null
    zero = 0
    state = new 0, [], [place, zero]
    t = call tracker(state)
    rate = 1.0
    all = 1000
    profile: i = call memprof_start(rate, all, zero, t)
    st_i state, 1, profile
    call work(state)
    call scrub()
    try caught(e) {
        call gc()
    }
    call print("last collection: fine\n")
    jmp on
caught:
    x = ld_i e, 0
    call say("last collection: caught ", x)
    e = null
on:
    ; The profile has not been stopped by any of it.
    call waste()
    is_on: i = call memprof_is_sampling()
    call say("sampling ", is_on)
    call memprof_stop()
    call memprof_discard(profile)
    call gc()
    ret
}

fun main() {
    call scenario(0)
    call scenario(1)
    call scenario(2)
    call scenario(3)
    call scenario(4)
    ret
}
