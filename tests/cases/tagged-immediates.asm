; Arithmetic and jumps on immediates of 63 bits; a fault shows its code.
fun show(r: r) {
    n = of_imm r
    call print_int(n)
    call print(" ")
    ret
}
fun fault(e: r) {
    code = ld_i e, 0
    call print("!")
    call print_int(code)
    call print(" ")
    ret
}
fun all(a: r, b: r) {
    try add_failed(e) {
        c = tadd a, b
        call show(c)
    }
    jmp subs
add_failed:
    call fault(e)
subs:
    try sub_failed(e) {
        c = tsub a, b
        call show(c)
    }
    jmp muls
sub_failed:
    call fault(e)
muls:
    try mul_failed(e) {
        c = tmul a, b
        call show(c)
    }
    jmp ups
mul_failed:
    call fault(e)
ups:
    try up_failed(e) {
        c = tadd_imm a, 1
        call show(c)
    }
    jmp downs
up_failed:
    call fault(e)
downs:
    try down_failed(e) {
        c = tadd_imm a, -1
        call show(c)
    }
    jmp less
down_failed:
    call fault(e)
less:
    try less_failed(e) {
        jtlt a, b, is_less
    }
    jmp le
is_less:
    call print("< ")
    jmp le
less_failed:
    call fault(e)
le:
    try le_failed(e) {
        jtle a, b, is_le
    }
    jmp done
is_le:
    call print("<= ")
    jmp done
le_failed:
    call fault(e)
done:
    call print("\n")
    ret
}
fun main() {
    max = to_imm 0x3fffffffffffffff
    min = to_imm -0x4000000000000000
    one = imm 1
    less = imm -1
    two = imm 2
    call all(one, two)
    call all(two, two)
    call all(max, one)
    call all(max, max)
    call all(min, less)
    call all(min, one)
    call all(min, min)
    call all(max, min)
    call all(null, one)
    call all(one, "text")
    ret
}
