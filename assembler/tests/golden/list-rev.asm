; MLton's example list-rev: naive reverse by append.
.file "list-rev.sml"
.line 1
fun append(xs: r, ys: r) -> r {
    .line 2
    jnonnull xs, cons
    ret ys
cons:
    .line 4
    x = ld_i xs, 0
    t = ld_r xs, 0
    t = call append(t, ys)
    t = new 1, [t], [x]
    ret t
}

.line 6
fun rev(xs: r) -> r {
    .line 7
    jnonnull xs, cons
    ret null
cons:
    .line 9
    x = ld_i xs, 0
    t = ld_r xs, 0
    t = call rev(t)
    nil = null
    y = new 1, [nil], [x]
    t = call append(t, y)
    ret t
}

.line 11
fun upto(n: i, from: i) -> r {
    jlt from, n, more
    ret null
more:
    next = add from, 1
    t = call upto(n, next)
    t = new 1, [t], [from]
    ret t
}

.line 13
fun main() {
    xs = call upto(1000, 0)
    xs = call rev(xs)
    x = ld_i xs, 0
    call print_int(x)
    ret
}
