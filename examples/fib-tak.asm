; Two workloads in one program, each profiled into a unit of its own (MLton's MLton.Profile).
;
; `fib 38` runs twice and `tak (18, 12, 6)` 500 times, which takes a second or two. Another number
; than 38 and another one than 500 may be given as arguments. With `--profile KIND`, what happens
; in `fib` goes to mlmon.fib.out, what happens in `tak` to mlmon.tak.out, and the rest to mlmon.out.
;
; A typed language's compiler, which sees one polymorphic function `wrap`, may make one of it for
; each type, as here: `wrap` and `wrap'` have the same body for different signatures. What `wrap`
; gives is a closure that has captured the function it wraps and the unit to run it under. The
; closure switches back also when the function raises an exception.

.file "fib-tak.sml"

.line 6
fun wrap(f: r, data: i) -> r {
    .line 7
    closure fun fn{f: r, data: i}(x: i) -> i {
        data = cap data
        before = call profile_switch(data)
        try raised(e) {
            f = cap f
            result: i = call_closure f(x)
        }
        before = call profile_switch(before)
        ret result
    raised:
        before = call profile_switch(before)
        raise e
    }
    wrapped = closure fn, [f], [data]
    ret wrapped
}

.line 6
fun wrap'(f: r, data: i) -> r {
    .line 7
    closure fun fn{f: r, data: i}(x: i, y: i, z: i) -> i {
        data = cap data
        before = call profile_switch(data)
        try raised(e) {
            f = cap f
            result: i = call_closure f(x, y, z)
        }
        before = call profile_switch(before)
        ret result
    raised:
        before = call profile_switch(before)
        raise e
    }
    wrapped = closure fn, [f], [data]
    ret wrapped
}

; In a closure's function, `self` is the closure: this is how it calls itself.
.line 10
closure fun fib(n: i) -> i {
    .line 12
    jge n, 2, recursive
    ret n
recursive:
    a = sub n, 1
    a: i = call_closure self(a)
    b = sub n, 2
    b: i = call_closure self(b)
    a = add a, b
    ret a
}

; The last of the four calls is made a loop, as a compiler may: a jump is not counted as a call.
.line 15
closure fun tak(x: i, y: i, z: i) -> i {
again:
    .line 16
    jlt y, x, smaller
    ret z
smaller:
    .line 18
    a = sub x, 1
    a: i = call_closure self(a, y, z)
    .line 19
    b = sub y, 1
    b: i = call_closure self(b, z, x)
    .line 20
    c = sub z, 1
    c: i = call_closure self(c, x, y)
    .line 18
    x = a
    y = b
    z = c
    jmp again
}

.line 24
fun f(fib: r, x: i, n: i) {
    jeq n, 0, done
    .line 25
    result: i = call_closure fib(x)
    n = sub n, 1
    tail_call f(fib, x, n)
done:
    ret
}

.line 29
fun g(tak: r, n: i) {
    jeq n, 0, done
    .line 30
    result: i = call_closure tak(18, 12, 6)
    n = sub n, 1
    tail_call g(tak, n)
done:
    ret
}

fun main() {
    fib_of = 38
    tak_runs = 500
    count = call arg_count()
    jlt count, 1, start
    text = call arg(0)
    fib_of, ok = int_of_str text
    jlt count, 2, start
    text = call arg(1)
    tak_runs, ok = int_of_str text
start:
    .line 13
    fib = closure fib, [], []
    fib_data = call profile_new()
    fib = call wrap(fib, fib_data)
    .line 21
    tak = closure tak, [], []
    tak_data = call profile_new()
    tak = call wrap'(tak, tak_data)
    .line 26
    call f(fib, fib_of, 2)
    .line 31
    call g(tak, tak_runs)
    .line 36
    call done(fib_data, "mlmon.fib.out")
    .line 37
    call done(tak_data, "mlmon.tak.out")
    ret
}

.line 33
fun done(data: i, file: r) {
    .line 34
    call profile_write(data, file)
    call profile_free(data)
    ret
}
