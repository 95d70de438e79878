; The primes below 2 * 10^6, five times: array reads, array writes and loops.

fun sieve(limit: i) -> i {
    zero = 0
    one = 1
    is_composite = new_b limit, zero
    count = 0
    n = 2
next:
    composite = get_b is_composite, n
    jne composite, 0, skip
    count = add count, 1
    multiple = add n, n
    jge multiple, limit, skip
cross_out:
    set_b is_composite, multiple, one
    multiple = add multiple, n
    jlt multiple, limit, cross_out
skip:
    n = add n, 1
    jlt n, limit, next
    ret count
}

fun main() {
    sum = 0
    left = 5
next:
    count = call sieve(2_000_000)
    sum = add sum, count
    left = sub left, 1
    jgt left, 0, next
    call print_int(sum)
    call print("\n")
    ret
}
