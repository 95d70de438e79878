; The sieve of Eratosthenes: arrays and loops.
;
; The fastest loop tests at its bottom, since that is one jump for each time around. Before the
; first time, one jump may lead around a loop that is not to run at all. Indices are checked:
; one outside the array raises an exception.

fun sieve(limit: i) -> i {
    false = 0
    true = 1
    is_composite = new_b limit, false
    count = 0
    n = 2
    jge n, limit, done
next:
    composite = get_b is_composite, n
    jne composite, false, skip
    count = add count, 1
    ; Smaller multiples have a smaller prime factor, which has crossed them out.
    multiple = mul n, n
    jge multiple, limit, skip
cross_out:
    set_b is_composite, multiple, true
    multiple = add multiple, n
    jlt multiple, limit, cross_out
skip:
    n = add n, 1
    jlt n, limit, next
done:
    ret count
}

fun main() {
    limit = 100_000
    count = call sieve(limit)
    call print("There are ")
    call print_int(count)
    call print(" primes below ")
    call print_int(limit)
    call print(".\n")
    ret
}
