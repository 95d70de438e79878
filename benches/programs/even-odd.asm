; Mutual tail calls.
fun even(n: i) -> i {
    jne n, 0, more
    ret 1
more:
    n = sub n, 1
    tail_call odd(n)
}
fun odd(n: i) -> i {
    jne n, 0, more
    ret 0
more:
    n = sub n, 1
    tail_call even(n)
}
fun main() -> i {
    x = call even(100000)
    ret x
}
