; args: --max-heap 4M --nursery 256K
fun main() {
    xs = null
    n = 0
more:
    xs = new 1, [xs], [n]
    jmp more
}
