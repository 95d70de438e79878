; Products of 128 bits, and sums and differences of several words.
fun show(n: i) {
    call print_int(n)
    call print(" ")
    ret
}
fun products(a: i, b: i) {
    q = mul_hi a, b
    call show(q)
    q = umul_hi a, b
    call show(q)
    call print("\n")
    ret
}
fun carries(a: i, b: i, c: i) {
    q, over = add_carry a, b, c
    call show(q)
    call show(over)
    q, over = sub_borrow a, b, c
    call show(q)
    call show(over)
    call print("\n")
    ret
}
fun main() {
    call products(3, 5)
    call products(-1, -1)
    call products(-1, 1)
    call products(0x8000000000000000, 0x8000000000000000)
    call products(0x7fffffffffffffff, 0x7fffffffffffffff)
    call products(0x8000000000000000, -1)
    call carries(1, 2, 0)
    call carries(-1, 1, 0)
    call carries(-1, -1, 1)
    call carries(-1, -1, -1)
    call carries(0, 0, 1)
    call carries(0, -1, 1)
    call carries(0, -1, -1)
    call carries(5, 3, 1)
    call carries(0x8000000000000000, 0x8000000000000000, 0)
    ret
}
