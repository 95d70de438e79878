; Closures: a function mapped over a list, then folded, a hundred times.
closure fun adder{k: i}(n: i) -> i {
    k = cap k
    n = add n, k
    ret n
}
closure fun plus{}(a: i, b: i) -> i {
    a = add a, b
    ret a
}
fun map(f: r, xs: r) -> r {
    jnonnull xs, cell
    ret xs
cell:
    x = ld_i xs, 0
    x: i = call_closure f(x)
    tail = ld_r xs, 0
    tail = call map(f, tail)
    tail = new 1, [tail], [x]
    ret tail
}
fun fold(f: r, sum: i, xs: r) -> i {
again:
    jnull xs, done
    x = ld_i xs, 0
    sum = call_closure f(sum, x)
    xs = ld_r xs, 0
    jmp again
done:
    ret sum
}
fun main() -> i {
    xs = null
    n = 100
build:
    xs = new 1, [xs], [n]
    n = sub n, 1
    jgt n, 0, build
    f = closure adder, [], [n]
    g = closure plus, [], []
    rounds = 100
    sum = 0
again:
    ys = call map(f, xs)
    s = call fold(g, 0, ys)
    sum = add sum, s
    rounds = sub rounds, 1
    jgt rounds, 0, again
    ret sum
}
