; Exceptions: raised, handled, raised again, and those that the machine raises.
;
; `try handler(e) { ... }` sends what is raised between its braces, or in what is called there, to
; the label `handler`, with the exception in `e`. Any reference can be raised. A fault arrives as
; a record with the tag 65535 and its code in field 0: 1 overflow, 2 division by zero, 3 index out
; of bounds, 4 wrong kind of value, 5 no case of a match fits, 6 a host function failed.

fun divide(a: i, b: i) -> i {
    a = quot a, b
    ret a
}

fun double(a: i) -> i {
    a = add_ovf a, a
    ret a
}

fun element(n: i) -> i {
    numbers = i64 [10, 20, 30]
    n = get_i numbers, n
    ret n
}

fun head(xs: r) -> i {
    x = ld_i xs, 0
    ret x
}

fun day(n: i) -> r {
    switch n, [monday, tuesday]
    match_fail
monday:
    ret "Monday"
tuesday:
    ret "Tuesday"
}

; What went wrong, in words.
fun describe(e: r) -> r {
    code = ld_i e, 0
    switch code, [other, overflow, division, bounds, kind, match]
other:
    ret "something else"
overflow:
    ret "overflow"
division:
    ret "division by zero"
bounds:
    ret "index out of bounds"
kind:
    ret "wrong kind of value"
match:
    ret "no case of a match fits"
}

fun report(e: r) {
    text = call describe(e)
    call print(text)
    call print("\n")
    ret
}

; Calls a closure. If it raises, control comes back here, and goes on at `caught`.
fun attempt(f: r) {
    try caught(e) {
        call_closure f()
    }
    ret
caught:
    call report(e)
    ret
}

closure fun divisions() {
    n = call divide(7, 2)
    call print_int(n)
    call print("\n")
    n = call divide(7, 0)
    call print("this is not reached\n")
    ret
}

closure fun overflows() {
    n = call double(9223372036854775807)
    ret
}

closure fun indices() {
    n = call element(3)
    ret
}

closure fun kinds() {
    n = call head(null)
    ret
}

closure fun matches() {
    name = call day(1)
    call print(name)
    call print("\n")
    name = call day(2)
    ret
}

fun faults() {
    f = closure divisions, [], []
    call attempt(f)
    f = closure overflows, [], []
    call attempt(f)
    f = closure indices, [], []
    call attempt(f)
    f = closure kinds, [], []
    call attempt(f)
    f = closure matches, [], []
    call attempt(f)
    ret
}

; Raises a record with the tag 7 from below 1000 frames, which all end at once.
fun deep(n: i) -> i {
    jeq n, 0, bottom
    m = sub n, 1
    m = call deep(m)
    n = add n, m
    ret n
bottom:
    n = 42
    e = new 7, [], [n]
    raise e
}

; The inner handler keeps what it knows, and passes on all else.
fun nested(e: r) {
    try outer(caught) {
        try inner(caught) {
            raise e
        }
    inner:
        kind = tag caught
        jeq kind, 7, known
        raise caught
    }
known:
    call print("inner handler\n")
    ret
outer:
    call print("outer handler\n")
    ret
}

fun main() {
    call faults()
    try caught(e) {
        n = call deep(1000)
        call print("this is not reached\n")
    }
    ret
caught:
    kind = tag e
    n = ld_i e, 0
    call print("tag ")
    call print_int(kind)
    call print(", value ")
    call print_int(n)
    call print("\n")
    call nested(e)
    e = new 8, [], []
    call nested(e)
    ret
}
