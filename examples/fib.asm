; Fibonacci numbers, the slow way: parameters, results, jumps and recursion.
;
; A register is a name. Its class is that of what is written to it: `i` for integers and other
; raw words, `f` for doubles, `r` for references. Give another number than 20 as an argument:
;
;     vm examples/fib.asm 30

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
    n = call argument_or(20)
    call print("fib ")
    call print_int(n)
    call print(" = ")
    n = call fib(n)
    call print_int(n)
    call print("\n")
    ret
}

; The number in the first argument, or this one when there is none.
fun argument_or(number: i) -> i {
    count = call arg_count()
    jeq count, 0, default
    text = call arg(0)
    given, ok = int_of_str text
    jeq ok, 0, default
    ret given
default:
    ret number
}
