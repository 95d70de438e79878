; Calls: the 22nd Fibonacci number.
fun fib(n: i) -> i {
    jge n, 2, rec
    ret n
rec:
    a = add n, -1
    a = call fib(a)
    b = add n, -2
    b = call fib(b)
    a = add a, b
    ret a
}
fun main() -> i {
    x = call fib(22)
    ret x
}
