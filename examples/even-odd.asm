; Is a number even? Two functions that call each other ten million deep, on no stack at all.
;
; A call whose result is returned as it is is a tail call: the callee takes over the caller's
; frame. The assembler finds such calls by itself; `tail_call` insists on it.

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
    ; This is a tail call, too, since nothing is left to do but to return.
    is_even = call even(n)
    ret is_even
zero:
    ret 0
}

fun main() {
    n = call argument_or(10_000_000)
    call print_int(n)
    is_even = call even(n)
    jeq is_even, 0, odd
    call print(" is even\n")
    ret
odd:
    call print(" is odd\n")
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
