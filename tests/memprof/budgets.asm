; Allocation budgets fault at exactly the word beyond: records, arrays small and large, strings,
; results of host functions, closures; nested, in recursion, with exceptions, in callbacks.

fun say(what: r, n: i) {
    call print(what)
    call print_int(n)
    call print("\n")
    ret
}

; Makes one thing of a kind, and gives how many words it took by the word clock.
fun make(kind: i) -> i {
    n = 3
    length = 600
    x = float 1.5
    nil = null
    zero = 0
    two = 2
    text = "abcdefghijklmnop"
    small = new_b n, n
    before: i = call word_clock()
    switch kind, [record, closed, refs, ints, doubles, bytes, large, wide, constant, of_int, joined, of_float, part, of_bytes, line, outside]
record:
    a = new 1, [nil], [n]
    jmp done
closed:
    a = closure captures, [], [n]
    jmp done
refs:
    a = new_r n, nil
    jmp done
ints:
    a = new_i n, n
    jmp done
doubles:
    a = new_f n, x
    jmp done
bytes:
    a = new_b n, n
    jmp done
large:
    a = new_i length, n
    jmp done
wide:
    a = new_r length, nil
    jmp done
constant:
    a = data i64 [1, 2, 3]
    jmp done
of_int:
    a = str_of_int n
    jmp done
joined:
    a = cat text, text
    jmp done
of_float:
    a = str_of_float x
    jmp done
part:
    a = sub_str text, zero, two
    jmp done
of_bytes:
    a = str_of_bytes small
    jmp done
line:
    ok: i, a = call read_line()
    jmp done
outside:
    token: i = call external_alloc(100)
    call external_free(token)
done:
    after: i = call word_clock()
    after = sub after, before
    ret after
}

closure fun captures{k: i}() -> i {
    k = cap k
    ret k
}

; What `make` takes besides the thing itself: its byte array of 2 words and a header.
fun exact(kind: i, words: i) -> i {
    call budget_start(words)
    try over(e) {
        n: i = call make(kind)
    }
    left: i = call budget_end()
    ret left
over:
    code = ld_i e, 0
    left = call budget_end()
    jne left, 0, odd
    code = rsub_imm code, 0
    ret code
odd:
    ret -1000
}

fun kinds() {
    kind = 0
next:
    words: i = call make(kind)
    call print_int(words)
    call print(" words: ")
    all = add words, 3
    n: i = call exact(kind, all)
    call print_int(n)
    call print(" left, ")
    all = add words, 2
    n = call exact(kind, all)
    call print_int(n)
    call print(" with one word less, ")
    all = add words, 7
    n = call exact(kind, all)
    call print_int(n)
    call print(" left of 4 more\n")
    kind = add kind, 1
    jlt kind, 16, next
    ret
}

; Budgets of callers and callees: the inner one ends first, then the outer one.
fun allocate(n: i) {
next:
    jle n, 0, done
    cell = new 1, [], [n]
    n = sub n, 1
    jmp next
done:
    ret
}

fun inner() -> i {
    call budget_start(10)
    try over(e) {
        call allocate(100)
    }
    ret -1
over:
    left: i = call budget_end()
    ret left
}

fun nested() {
    call budget_start(100)
    a: i = call inner()
    call say("inner left ", a)
    ; 10 words and the fault's two are gone.
    b: i = call budget_end()
    call say("outer left ", b)
    call budget_start(15)
    a = call inner()
    b = call budget_end()
    call say("outer left, of 15: ", b)
    call budget_start(5)
    try over(e) {
        a = call inner()
    }
    call print("the outer one is smaller, and the inner one catches\n")
    jmp on
over:
    call print("wrong\n")
    ret
on:
    b = call budget_end()
    call say("left ", b)
    ret
}

; A budget ends with the function that asked for it when an exception leaves it, and does not stand
; in the caller's way when it returns.
fun leaves_by_exception() {
    call budget_start(10)
    call allocate(100)
    ret
}

fun leaves_by_return() {
    call budget_start(10)
    ret
}

fun end_of_budgets() {
    try over(e) {
        call leaves_by_exception()
    }
    call print("wrong\n")
    ret
over:
    call allocate(100)
    call print("after an exception: unlimited\n")
    call budget_start(1000)
    call leaves_by_return()
    n = 99
next:
    cell = new 1, [], [n]
    n = sub n, 1
    jge n, 0, next
    left: i = call budget_end()
    call say("after a return: the caller's own, left ", left)
    try none(e) {
        left = call budget_end()
    }
    call print("wrong\n")
    ret
none:
    code = ld_i e, 0
    call say("no budget: fault ", code)
    try negative(e) {
        call budget_start(-1)
    }
    call print("wrong\n")
    ret
negative:
    code = ld_i e, 0
    call say("negative: fault ", code)
    call budget_start(0)
    try zero(e) {
        x = new 1, [], []
    }
    call print("wrong\n")
    ret
zero:
    code = ld_i e, 0
    call say("none at all: fault ", code)
    left = call budget_end()
    call say("left ", left)
    ret
}

fun deep(n: i) {
    jle n, 0, bottom
    m = sub n, 1
    call deep(m)
    cell = new 1, [], [n]
    ret
bottom:
    ret
}

fun recursion() {
    call budget_start(100)
    try over(e) {
        call deep(1000)
    }
    call print("wrong\n")
    ret
over:
    call print("raised out of 950 calls\n")
    left: i = call budget_end()
    call say("left ", left)
    ret
}

; A callback's allocations count for no budget, neither the program's nor its own.
closure fun alloc(n: i, size: i, source: i) -> (i, r) {
    call budget_start(5)
    call allocate(100)
    left: i = call budget_end()
    call say("in the callback: left ", left)
    call budget_start(7)
    nil = null
    ret 0, nil
}

fun with_callbacks() {
    a = closure alloc, [], []
    nil = null
    t = new 0, [a, a, nil, nil, nil], []
    seed = 0
    all = 10
    rate = 1.0
    profile: i = call memprof_start(rate, all, seed, t)
    call budget_start(5)
    try over(e) {
        call allocate(3)
    }
    call print("wrong\n")
    ret
over:
    left: i = call budget_end()
    call say("left ", left)
    call memprof_stop()
    call memprof_discard(profile)
    call allocate(100)
    ret
}

fun main() {
    call kinds()
    call nested()
    call end_of_budgets()
    call recursion()
    call with_callbacks()
    ret
}
