; An exception with a value of the program's own is shown.
fun main() {
    text = "not found"
    n = 42
    inner = new 2, [], [n]
    e = new 7, [text, inner], [n]
    raise e
}
