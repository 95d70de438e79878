; args: --fuel 1000
fun main() {
again:
    jmp again
}
