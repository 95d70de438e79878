; tak(24, 16, 8), 20 times: calls with three arguments, and a tail call.

fun tak(x: i, y: i, z: i) -> i {
    jlt y, x, smaller
    ret z
smaller:
    a = sub x, 1
    a = call tak(a, y, z)
    b = sub y, 1
    b = call tak(b, z, x)
    c = sub z, 1
    c = call tak(c, x, y)
    tail_call tak(a, b, c)
}

fun main() {
    sum = 0
    left = 20
next:
    n = call tak(24, 16, 8)
    sum = add sum, n
    left = sub left, 1
    jgt left, 0, next
    call print_int(sum)
    call print("\n")
    ret
}
