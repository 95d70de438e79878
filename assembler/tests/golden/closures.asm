; Closures, exceptions, tables, several results, and constants of each kind.
data primes = i64 [2, 3, 5, 7]
data halves = f64 [0.5, -0.0, 1e100, nan, inf]
data raw = bytes [0, 255, 'a']
data greeting = text "hello, \u{4e16}\n"

host shout(r, i) -> (i, r)

closure fun add_k{k: i, xs: r}(n: i) -> i {
    k = cap k
    n = add n, k
    ret n
}

fun apply(f: r, g: r, n: i) -> (i, r) {
    try oops(e) {
        m: i = call_closure f(n)
        try inner(e2) {
            x: r, y: i = call_closure g(m, 3, "abc", f)
        }
    }
    ret y, x
inner:
    ret 0, e2
oops:
    raise e
}

fun swap(a: i, b: i, f: r, g: r) -> i {
    tail_call_closure g(b, a, f, null)
}

fun kind(n: i) -> r {
    switch n, [zero, one, zero]
    ret "many"
zero:
    ret "zero"
one:
    ret "one"
}

source s = "hand-made" "closures.asm" 1
fun area(radius: f) -> f {
    enter s
    pi = 3.141592653589793
    a = fmul radius, radius
    a = fmul a, pi
    leave s
    ret a
}

export fun main() {
    xs = null
    k = 0x10
    c = closure add_k, [xs], [k]
    n, what = call apply(c, c, k)
    n, what = call shout(what, n)
    call print(what)
    d = data primes
    d = data halves
    d = data raw
    t = text greeting
    call print(t)
    d = data bytes "inline"
    x = call area(2)
    call print_float(x)
    t = call kind(1)
    call print(t)
    i9 = 1
    i9 = call swap(i9, 2, c, c)
    ret
}
.metadata "made by", "hand"
