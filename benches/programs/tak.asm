; Calls with three arguments, the last a tail call.
fun tak(x: i, y: i, z: i) -> i {
    jlt y, x, rec
    ret z
rec:
    a = sub x, 1
    a = call tak(a, y, z)
    b = sub y, 1
    b = call tak(b, z, x)
    c = sub z, 1
    c = call tak(c, x, y)
    tail_call tak(a, b, c)
}
fun main() -> i {
    x = call tak(14, 8, 2)
    ret x
}
