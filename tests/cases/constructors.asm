; Kinds, signatures of closures, jumps on tags, and switches on constructors.
data pair = record 65535 [null] [1]
data point = record 0 [] []
data known = closure adder [null] [1]
closure fun adder{x: r, k: i}(n: i, m: f, s: r) -> (i, f, r) {
    ret n, m, s
}
fun show(n: i) {
    call print_int(n)
    call print(" ")
    ret
}
fun what(x: r) {
    n = kind x
    call show(n)
    try none(e) {
        n = sig x
        call show(n)
    }
    jmp tags
none:
    n = ld_i e, 0
    call print("!")
    call show(n)
tags:
    jtag x, 0, zero
    jtag x, 65535, high
    call print("neither ")
    jmp others
zero:
    call print("0 ")
    jmp others
high:
    call print("65535 ")
others:
    jntag x, 0, not_zero
    call print("= 0 ")
not_zero:
    jntag x, 65535, not_high
    call print("= 65535 ")
not_high:
    switch_tag x, 2, [nothing, imm0, imm1, tag0, tag1]
    call print("other")
    jmp end
nothing:
    call print("null")
    jmp end
imm0:
    call print("imm 0")
    jmp end
imm1:
    call print("imm 1")
    jmp end
tag0:
    call print("tag 0")
    jmp end
tag1:
    call print("tag 1")
end:
    switch_tag x, 0, [none_of_two, tag0_of_two]
    call print(", other\n")
    ret
none_of_two:
    call print(", null\n")
    ret
tag0_of_two:
    call print(", tag 0\n")
    ret
}
fun few(x: r) -> i {
    switch_tag x, 65535, [nothing]
    ret 0
nothing:
    ret 1
}
fun main() {
    call what(null)
    n = -1
next:
    x = to_imm n
    call what(x)
    n = add n, 1
    jlt n, 3, next
    x = to_imm -0x4000000000000000
    call what(x)
    n = 0
    x = new 0, [], []
    call what(x)
    x = new 1, [], [5]
    call what(x)
    x = new 2, [null], []
    call what(x)
    x = new 65535, [], []
    call what(x)
    x = constant pair
    call what(x)
    x = constant point
    call what(x)
    x = closure adder, [null], [1]
    call what(x)
    x = constant known
    call what(x)
    x = new_r 1, null
    call what(x)
    x = new_i 0, 0
    call what(x)
    x = new_f 0, 0.0
    call what(x)
    x = new_b 0, 0
    call what(x)
    call what("")
    x = weak x
    call what(x)
    n = call few(null)
    call show(n)
    x = imm 0
    n = call few(x)
    call show(n)
    x = new 0, [], []
    n = call few(x)
    call show(n)
    call print("\n")
    ret
}
