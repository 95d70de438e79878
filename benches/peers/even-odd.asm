; 10^8 tail calls between two functions.

fun even(n: i) -> i {
    jeq n, 0, zero
    n = sub n, 1
    tail_call odd(n)
zero:
    ret 1
}

fun odd(n: i) -> i {
    jeq n, 0, zero
    n = sub n, 1
    tail_call even(n)
zero:
    ret 0
}

fun main() {
    is_even = call even(100_000_000)
    call print_int(is_even)
    call print("\n")
    ret
}
