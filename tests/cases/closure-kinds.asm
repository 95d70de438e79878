; A closure of another signature is refused with a fault, not with a crash.
closure fun one{k: i}(n: i) -> i {
    k = cap k
    n = add n, k
    ret n
}
fun main() {
    k = 10
    f = closure one, [], [k]
    n: i = call_closure f(5)
    call print_int(n)
    call print("\n")
    m: i = call_closure f(5, 6)
    ret
}
