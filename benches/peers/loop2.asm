; The tightest loop: s += j; j++, 10^8 times.

fun loop(limit: i) -> i {
    sum = 0
    n = 1
next:
    sum = add sum, n
    n = add n, 1
    jle n, limit, next
    ret sum
}

fun main() {
    sum = call loop(100_000_000)
    call print_int(sum)
    call print("\n")
    ret
}
