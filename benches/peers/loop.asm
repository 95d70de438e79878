; A counting loop of 10^8 rounds around an `if` that no branch prediction can learn: whether
; doubling modulo a prime wraps around.

fun loop(count: i, prime: i) -> i {
    x = 1
    n = 1
next:
    x = add x, x
    jlt x, prime, skip
    x = sub x, prime
skip:
    n = add n, 1
    jle n, count, next
    ret x
}

fun main() {
    x = call loop(100_000_000, 1_000_000_007)
    call print_int(x)
    call print("\n")
    ret
}
