; A tracker at rate 1 sees every block, in the order of what happens to them.

.file "memprof.sml"

closure fun alloc_minor{out: r}(samples: i, size: i, source: i) -> (i, r) {
    call print("minor ")
    call print_int(samples)
    call print(" ")
    call print_int(size)
    call print(" ")
    call print_int(source)
    depth: i = call memprof_depth()
    index = 0
frames:
    jge index, depth, done
    call print(" | ")
    frame: r = call memprof_frame(index)
    call print(frame)
    index = add index, 1
    jmp frames
done:
    call print("\n")
    tag = str_of_int size
    ret 1, tag
}

closure fun alloc_major(samples: i, size: i, source: i) -> (i, r) {
    call print("major ")
    call print_int(samples)
    call print(" ")
    call print_int(size)
    call print("\n")
    tag = str_of_int size
    ret 1, tag
}

closure fun promote(value: r) -> (i, r) {
    call print("promote ")
    call print(value)
    call print("\n")
    value = cat value, value
    ret 1, value
}

closure fun dealloc_minor(value: r) {
    call print("dealloc_minor ")
    call print(value)
    call print("\n")
    ret
}

closure fun dealloc_major(value: r) {
    call print("dealloc_major ")
    call print(value)
    call print("\n")
    ret
}

.line 100
fun cons(x: i, xs: r) -> r {
    .line 101
    cell = new 1, [xs], [x]
    ret cell
}

.line 200
fun main() {
    none = null
    a = closure alloc_minor, [none], []
    b = closure alloc_major, [], []
    c = closure promote, [], []
    d = closure dealloc_minor, [], []
    e = closure dealloc_major, [], []
    tracker = new 0, [a, b, c, d, e], []
    rate = 1.0
    all = 1000
    seed = 0
    .line 210
    profile: i = call memprof_start(rate, all, seed, tracker)
    .line 211
    xs: r = call cons(1, none)
    call print("kept\n")
    .line 212
    ys: r = call cons(2, xs)
    ys = null
    .line 213
    length = 1000
    zero = 0
    big = new_i length, zero
    .line 214
    call gc()
    call print("collected\n")
    xs = null
    big = null
    .line 215
    call gc()
    call memprof_stop()
    xs = new 7, [], []
    call memprof_discard(profile)
    call gc()
    try failed(e) {
        call memprof_discard(profile)
    }
    ret
failed:
    why: r = call memprof_error()
    call print(why)
    call print("\n")
    ret
}
