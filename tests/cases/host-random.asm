; The generator is the same on every platform, and its seed is 0 unless a program says another.
fun draw() {
    n = 0
next:
    x = call random_int(6)
    call print_int(x)
    n = add n, 1
    jlt n, 20, next
    bits = call random_bits()
    call print(" ")
    call print_int(bits)
    x: i = call random_float()
    call print(" ")
    call print_float(x)
    call print("\n")
    ret
}

fun main() {
    call draw()
    call draw()
    call random_seed(0)
    call draw()
    call random_seed(7)
    call draw()
    try failed(e) {
        x = call random_int(0)
    }
    ret
failed:
    call print_line("below 0 there is none")
    ret
}
