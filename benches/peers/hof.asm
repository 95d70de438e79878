; `map` and `fold` with closures over a list of 1,000 elements, 15,000 times.

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

closure fun plus(x: i, y: i) -> i {
    x = add x, y
    ret x
}

fun main() {
    closure fun add{n: i}(x: i) -> i {
        n = cap n
        x = add x, n
        ret x
    }
    xs = null
    n = 1000
cell:
    xs = new 1, [xs], [n]
    n = sub n, 1
    jgt n, 0, cell
    plus = closure plus, [], []
    sum = 0
    n = 1
next:
    f = closure add, [], [n]
    ys = call map(f, xs)
    total = call fold(plus, 0, ys)
    sum = add sum, total
    n = add n, 1
    jle n, 15000, next
    call print_int(sum)
    call print("\n")
    ret
}
