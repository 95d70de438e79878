; Call stacks: where each kind of allocation stands, cuts, tail calls (S22). Upstream: callstacks.

.file "stacks.sml"

closure fun alloc(n: i, size: i, source: i) -> (i, r) {
    depth: i = call memprof_depth()
    call print_int(depth)
    call print(":")
    call print_int(size)
    call print("/")
    call print_int(source)
    index = 0
frames:
    jge index, depth, done
    call print(" | ")
    frame: r = call memprof_frame(index)
    call print(frame)
    index = add index, 1
    jmp frames
done:
    ; There is nothing beyond.
    try beyond(e) {
        frame = call memprof_frame(index)
    }
    call print(" and more?")
beyond:
    try before(e) {
        frame = call memprof_frame(-1)
    }
    call print(" and less?")
before:
    call print("\n")
    nil = null
    ret 1, nil
}

; In other callbacks, and outside, there is no call stack.
closure fun promote(value: r) -> (i, r) {
    depth: i = call memprof_depth()
    call print("promoted: ")
    call print_int(depth)
    call print("\n")
    ret 0, value
}

fun start(size: i) -> i {
    nil = null
    a = closure alloc, [], []
    p = closure promote, [], []
    t = new 0, [a, a, p, nil, nil], []
    seed = 0
    profile: i = call memprof_start(1.0, size, seed, t)
    ret profile
}

fun stop(profile: i) {
    call memprof_stop()
    call memprof_discard(profile)
    ret
}

closure fun captures{k: i}() -> i {
    k = cap k
    ret k
}

data numbers = i64 [1, 2, 3]

.line 100
fun kinds() {
    n = 3
    length = 600
    x = float 1.5
    nil = null
    zero = 0
    .line 101
    a = new 1, [nil], [n]
    .line 102
    b = closure captures, [], [n]
    .line 103
    c = new_r n, nil
    .line 104
    c = new_i n, n
    .line 105
    c = new_f n, x
    .line 106
    c = new_b n, n
    .line 107
    c = new_i length, n
    .line 108
    c = new_r length, a
    .line 109
    d = data numbers
    .line 110
    s = str_of_int n
    .line 111
    s = cat s, s
    .line 112
    t = str_of_float x
    .line 113
    one = 1
    t = sub_str s, zero, one
    .line 114
    c = new_b n, n
    .line 115
    t = str_of_bytes c
    .line 116
    ok: i, u = call read_line()
    .line 117
    u = call memprof_error()
    .line 118
    token: i = call external_alloc(100)
    .line 119
    call external_free(token)
    .line 120
    try divided(e) {
        n = div n, zero
    }
divided:
    .line 121
    try failed(e) {
        match_fail
    }
failed:
    .line 122
    call gc()
    ret
}

.line 200
fun outer(n: i) {
    .line 201
    call middle(n)
    n = add n, 1
    ret
}

.line 210
fun middle(n: i) {
    .line 211
    tail_call leaf(n)
}

.line 220
fun leaf(n: i) {
    .line 221
    cell = new 1, [], [n]
    ret
}

.line 300
fun down(n: i) {
    .line 301
    jeq n, 0, bottom
    n = sub n, 1
    .line 302
    call down(n)
    n = add n, 1
    ret
bottom:
    .line 303
    cell = new 1, [], [n]
    ret
}

.line 400
fun main() {
    depth: i = call memprof_depth()
    call print_int(depth)
    call print("\n")
    .line 401
    profile = call start(1000)
    .line 402
    call kinds()
    call print("tail calls\n")
    .line 403
    call outer(1)
    call stop(profile)
    size = 0
sizes:
    call print("cut to ")
    call print_int(size)
    call print("\n")
    profile = call start(size)
    .line 404
    call down(10)
    call stop(profile)
    jeq size, 0, one
    jeq size, 1, three
    jeq size, 3, twelve
    jeq size, 12, all
    ret
one:
    size = 1
    jmp sizes
three:
    size = 3
    jmp sizes
twelve:
    size = 12
    jmp sizes
all:
    size = 9223372036854775807
    jmp sizes
}
