; Units of profile data, switched with calls open.
fun work(n: i, u: i) -> i {
    jgt n, 0, more
    old: i = call profile_switch(u)
    x = new 1, [], [n]
    ret old
more:
    n = sub n, 1
    old = call work(n, u)
    x = new 1, [], [old]
    old = ld_i x, 0
    ret old
}

fun main() {
    u: i = call profile_new()
    v: i = call profile_current()
    n = 8
again:
    old = call work(n, u)
    old = call work(n, old)
    try no(e) {
        call profile_free(u)
        call profile_free(v)
    }
no:
    u: i = call profile_new()
    on: i = call profile_is_on()
    call print_int(on)
    c: i = call word_clock()
    call print_int(c)
    n = sub n, 1
    jgt n, 0, again
    ret
}
