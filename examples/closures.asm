; Closures: functions as values, with what they have captured.
;
; `closure f, [refs], [ints]` makes one from a function that lists its captures in braces, and
; `cap` reads a capture in it. A call through a closure says by its arguments and results which
; signature it expects; a closure of another one is a fault.

; A list is null, or a record of a tail and a head.

fun range(from: i, to: i) -> r {
    xs = null
    jge from, to, done
cell:
    to = sub to, 1
    xs = new 1, [xs], [to]
    jlt from, to, cell
done:
    ret xs
}

fun map(f: r, xs: r) -> r {
    jnull xs, empty
    x = ld_i xs, 0
    x: i = call_closure f(x)
    tail = ld_r xs, 0
    tail = call map(f, tail)
    ys = new 1, [tail], [x]
    ret ys
empty:
    ret null
}

fun fold(f: r, total: i, xs: r) -> i {
    jnull xs, done
next:
    x = ld_i xs, 0
    total: i = call_closure f(total, x)
    xs = ld_r xs, 0
    jnonnull xs, next
done:
    ret total
}

; The function that adds `n`.
fun adder(n: i) -> r {
    closure fun add{n: i}(x: i) -> i {
        n = cap n
        x = add x, n
        ret x
    }
    f = closure add, [], [n]
    ret f
}

; The function that applies `g`, then `f`.
fun compose(f: r, g: r) -> r {
    closure fun both{f: r, g: r}(x: i) -> i {
        g = cap g
        x: i = call_closure g(x)
        f = cap f
        tail_call_closure f(x)
    }
    h = closure both, [f, g], []
    ret h
}

closure fun square(x: i) -> i {
    x = mul x, x
    ret x
}

closure fun plus(x: i, y: i) -> i {
    x = add x, y
    ret x
}

fun show(xs: r) {
    jnull xs, done
next:
    x = ld_i xs, 0
    call print_int(x)
    call print(" ")
    xs = ld_r xs, 0
    jnonnull xs, next
done:
    call print("\n")
    ret
}

fun main() {
    xs = call range(0, 10)
    call show(xs)

    square = closure square, [], []
    ys = call map(square, xs)
    call show(ys)

    add_3 = call adder(3)
    f = call compose(square, add_3)
    ys = call map(f, xs)
    call show(ys)

    plus = closure plus, [], []
    total = call fold(plus, 0, ys)
    call print_int(total)
    call print("\n")
    ret
}
