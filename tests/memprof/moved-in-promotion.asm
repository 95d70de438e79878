; While one block's promotion is told, a collection ends the lives of others, also of those that an
; older profile tracks; each is told afterwards, in the order of allocation, to its own tracker
; (S10, S13). A value that is given when the profile has been discarded is thrown away; what the
; callback raises is not (S11). Upstream: moved_while_blocking.

closure fun alloc{name: r}(n: i, size: i, source: i) -> (i, r) {
    name = cap name
    value = str_of_int size
    value = cat name, value
    ret 1, value
}

closure fun promote{name: r, kept: r}(value: r) -> (i, r) {
    kept = cap kept
    call print("promote ")
    call print(value)
    call print(" begins\n")
    nil = null
    st_r kept, 0, nil
    call gc()
    action = ld_i kept, 0
    once = 0
    st_i kept, 0, once
    call print("promote ")
    call print(value)
    call print(" ends\n")
    jeq action, 0, done
    call memprof_stop()
    profile = ld_i kept, 2
    jle action, 2, other
    profile = ld_i kept, 1
other:
    call memprof_discard(profile)
    call print("discarded\n")
    jeq action, 1, done
    jeq action, 3, done
    raise value
done:
    ret 1, value
}

closure fun dealloc{kind: r}(value: r) {
    kind = cap kind
    call print(kind)
    call print(value)
    call print("\n")
    ret
}

fun start(name: r, kept: r) -> i {
    young = "died young "
    old = "died old "
    a = closure alloc, [name], []
    p = closure promote, [name, kept], []
    d = closure dealloc, [young], []
    e = closure dealloc, [old], []
    t = new 0, [a, a, p, d, e], []
    zero = 0
    all = 10
    rate = 1.0
    profile: i = call memprof_start(rate, all, zero, t)
    ret profile
}

; Three large arrays that only `kept` holds.
fun three(kept: r) {
    n = 600
    zero = 0
    a = new_i n, zero
    n = 601
    b = new_i n, zero
    n = 602
    c = new_i n, zero
    list = new 1, [a, b, c], []
    st_r kept, 0, list
    ret
}

fun scrub() {
    r0 = null
    r1 = null
    r2 = null
    r3 = null
    r4 = null
    ret
}

fun scenario(action: i) {
    nil = null
    zero = 0
    kept = new 0, [nil], [action, zero, zero]
    old = call start("old ", kept)
    st_i kept, 1, old
    call three(kept)
    call memprof_stop()
    new = call start("new ", kept)
    st_i kept, 2, new
    last = new 9, [], [action]
    call scrub()
    try raised(e) {
        call gc()
    }
    call print("collected\n")
    jmp on
raised:
    call print("raised ")
    call print(e)
    call print("\n")
    e = null
on:
    n = tag last
    last = null
    call gc()
    is_on: i = call memprof_is_sampling()
    jeq is_on, 0, off
    call memprof_stop()
off:
    try first(e) {
        call memprof_discard(old)
    }
first:
    try second(e) {
        call memprof_discard(new)
    }
second:
    ret
}

fun main() {
    call print("promotion:\n")
    call scenario(0)
    call print("with a discard of the other profile:\n")
    call scenario(1)
    call print("with that and an exception:\n")
    call scenario(2)
    call print("with a discard of its own profile:\n")
    call scenario(3)
    call print("with that and an exception:\n")
    call scenario(4)
    ret
}
