; A counting loop with a branch that follows no pattern.
fun main() -> i {
    sum = 0
    state = 12345
    n = 0
again:
    state = mul state, 1103515245
    state = add state, 12345
    state = and state, 2147483647
    bit = shr state, 16
    bit = and bit, 1
    jeq bit, 0, skip
    sum = add sum, n
skip:
    n = add n, 1
    jlt n, 100000, again
    ret sum
}
