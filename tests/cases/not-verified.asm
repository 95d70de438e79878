; Code that reads a register before it is written is refused before it runs.
fun main() {
    x = add i5, 1
    ret
}
