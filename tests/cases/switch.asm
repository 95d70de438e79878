; A jump table; an index outside goes on with the next op.
fun name(n: i) -> r {
    switch n, [zero, one]
    ret "many"
zero:
    ret "zero"
one:
    ret "one"
}
fun main() {
    n = -1
again:
    s = call name(n)
    call print(s)
    call print(" ")
    n = add n, 1
    jlt n, 4, again
    call print("\n")
    ret
}
