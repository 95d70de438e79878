; Arithmetic with constant operands at both ends of what 64 bits hold; a fault shows its code.
fun show(n: i) {
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
fun divisions(a: i) {
    try quot_failed(e) {
        q = quot_imm a, -1
        call show(q)
    }
    jmp rems
quot_failed:
    call fault(e)
rems:
    q = rem_imm a, -1
    call show(q)
    try div_failed(e) {
        q = div_imm a, -1
        call show(q)
    }
    jmp mods
div_failed:
    call fault(e)
mods:
    q = modulo_imm a, -1
    call show(q)
    q = quot_imm a, 3
    call show(q)
    q = rem_imm a, 3
    call show(q)
    q = div_imm a, 3
    call show(q)
    q = modulo_imm a, 3
    call show(q)
    q = div_imm a, -3
    call show(q)
    q = modulo_imm a, -3
    call show(q)
    q = udiv_imm a, -1
    call show(q)
    q = urem_imm a, -1
    call show(q)
    call print("\n")
    ret
}
fun by_zero(op: i) {
    try failed(e) {
        switch op, [quot, rem, div, modulo, udiv, urem]
    quot:
        q = quot_imm op, 0
        ret
    rem:
        q = rem_imm op, 0
        ret
    div:
        q = div_imm op, 0
        ret
    modulo:
        q = modulo_imm op, 0
        ret
    udiv:
        q = udiv_imm op, 0
        ret
    urem:
        q = urem_imm op, 0
        ret
    }
failed:
    call fault(e)
    ret
}
fun checked(a: i) {
    try add_failed(e) {
        q = add_ovf_imm a, 1
        call show(q)
    }
    jmp adds
add_failed:
    call fault(e)
adds:
    try sub_failed(e) {
        q = add_ovf_imm a, -1
        call show(q)
    }
    jmp muls
sub_failed:
    call fault(e)
muls:
    try mul_failed(e) {
        q = mul_ovf_imm a, -1
        call show(q)
    }
    jmp subs
mul_failed:
    call fault(e)
subs:
    try rsub_failed(e) {
        q = rsub_ovf_imm a, -1
        call show(q)
    }
    jmp done
rsub_failed:
    call fault(e)
done:
    call print("\n")
    ret
}
fun comparisons(a: i) {
    q = eq_imm a, -1
    call show(q)
    q = ne_imm a, -1
    call show(q)
    q = lt_imm a, -1
    call show(q)
    q = le_imm a, -1
    call show(q)
    q = gt_imm a, -1
    call show(q)
    q = ge_imm a, -1
    call show(q)
    call print("\n")
    ret
}
fun shifts(a: i) {
    q = shl_imm a, 64
    call show(q)
    q = shr_imm a, 63
    call show(q)
    q = sar_imm a, 65
    call show(q)
    q = shl_imm a, -1
    call show(q)
    call print("\n")
    ret
}
fun main() {
    call print("divisions\n")
    call divisions(7)
    call divisions(-7)
    call divisions(0x8000000000000000)
    call divisions(0x7fffffffffffffff)
    n = 0
next:
    call by_zero(n)
    n = add n, 1
    jlt n, 6, next
    call print("\nchecked\n")
    call checked(0)
    call checked(0x8000000000000000)
    call checked(0x7fffffffffffffff)
    call print("comparisons\n")
    call comparisons(-2)
    call comparisons(-1)
    call comparisons(0)
    call print("shifts\n")
    call shifts(-3)
    ret
}
