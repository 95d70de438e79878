; fib(35): calls and returns.

fun fib(n: i) -> i {
    jge n, 2, recursive
    ret n
recursive:
    a = sub n, 1
    a = call fib(a)
    b = sub n, 2
    b = call fib(b)
    a = add a, b
    ret a
}

fun main() {
    n = call fib(35)
    call print_int(n)
    call print("\n")
    ret
}
