; A program ends with its own exit code; what it printed is there.
fun main() {
    call print("bye\n")
    call exit(7)
    ret
}
