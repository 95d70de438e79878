; Memory outside the heap: sampled without a header, never promoted, freed once (S6, S7).
; Upstream: custom.

fun tell(what: r, n: i) {
    call print(what)
    call print_int(n)
    call print(" ")
    ret
}

closure fun alloc_minor(n: i, size: i, source: i) -> (i, r) {
    call tell("minor ", size)
    nil = null
    ret 0, nil
}

closure fun alloc_major(n: i, size: i, source: i) -> (i, r) {
    call tell("alloc ", size)
    call tell("samples ", n)
    call tell("source ", source)
    value = str_of_int size
    ret 1, value
}

closure fun promote(value: r) -> (i, r) {
    call print("promoted? ")
    ret 1, value
}

closure fun dealloc_minor(value: r) {
    call print("died young? ")
    ret
}

closure fun dealloc_major(value: r) {
    call print("died ")
    call print(value)
    call print(" ")
    ret
}

closure fun choosy(n: i, size: i, source: i) -> (i, r) {
    call tell("not wanted ", size)
    nil = null
    ret 0, nil
}

closure fun raising(n: i, size: i, source: i) -> (i, r) {
    nil = null
    raise nil
}

fun start(major: r) -> i {
    nil = null
    a = closure alloc_minor, [], []
    c = closure promote, [], []
    d = closure dealloc_minor, [], []
    e = closure dealloc_major, [], []
    t = new 0, [a, major, c, d, e], []
    seed = 0
    all = 10
    rate = 1.0
    profile: i = call memprof_start(rate, all, seed, t)
    ret profile
}

fun free(token: i) {
    try failed(e) {
        call external_free(token)
    }
    call print("freed\n")
    ret
failed:
    code = ld_i e, 0
    call tell("fault", code)
    call print("\n")
    ret
}

fun allocate(bytes: i) -> i {
    before: i = call word_clock()
    try failed(e) {
        token: i = call external_alloc(bytes)
    }
    after: i = call word_clock()
    after = sub after, before
    call tell("words ", after)
    ret token
failed:
    code = ld_i e, 0
    call tell("fault ", code)
    ret -1
}

fun main() {
    call print("nobody samples: ")
    token = call allocate(100)
    call tell("token", token)
    call free(token)
    major = closure alloc_major, [], []
    profile = call start(major)
    call print("lives: ")
    token = call allocate(100)
    call gc()
    call free(token)
    call print("freed twice: ")
    call free(token)
    call print("of no bytes: ")
    token = call allocate(0)
    call free(token)
    call print("of one byte: ")
    token = call allocate(1)
    call free(token)
    call print("never given: ")
    call free(12345)
    call print("negative: ")
    token = call allocate(-1)
    call print("\ntoo much: ")
    token = call allocate(4294967297)
    call print("\nmost: ")
    token = call allocate(4294967296)
    call free(token)
    call print("freed after a stop: ")
    token = call allocate(200)
    call memprof_stop()
    call free(token)
    call memprof_discard(profile)
    profile = call start(major)
    call print("freed after a discard: ")
    token = call allocate(300)
    call memprof_stop()
    call memprof_discard(profile)
    call free(token)
    call free(token)
    call print("freed while another profile samples: ")
    profile = call start(major)
    old = call allocate(400)
    call memprof_stop()
    second = call start(major)
    token = call allocate(500)
    call free(old)
    call free(token)
    call memprof_stop()
    call memprof_discard(second)
    call memprof_discard(profile)
    choosy = closure choosy, [], []
    profile = call start(choosy)
    token = call allocate(600)
    call free(token)
    call memprof_stop()
    call memprof_discard(profile)
    raising = closure raising, [], []
    profile = call start(raising)
    call print("a callback that raises: ")
    try caught(e) {
        token = call external_alloc(700)
    }
    call print("wrong")
caught:
    call print("caught\n")
    call memprof_stop()
    call memprof_discard(profile)
    ret
}
