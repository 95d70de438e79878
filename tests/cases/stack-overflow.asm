; args: --max-stack 64K
fun deep(n: i) -> i {
    n = add n, 1
    m = call deep(n)
    m = add m, n
    ret m
}
fun main() {
    n = call deep(0)
    ret
}
