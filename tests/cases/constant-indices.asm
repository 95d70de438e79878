; Elements by constant indices, and fills, at and beyond both ends; a fault shows its code.
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
fun integers(a: r) {
    try first(e) {
        set_i_imm a, 0, 7
        n = get_i_imm a, 0
        call show(n)
    }
    jmp last
first:
    call fault(e)
last:
    try last_failed(e) {
        set_i_imm a, 2, 9
        n = get_i_imm a, 2
        call show(n)
    }
    jmp beyond
last_failed:
    call fault(e)
beyond:
    try beyond_failed(e) {
        n = get_i_imm a, 3
        call show(n)
    }
    match_fail
beyond_failed:
    call fault(e)
    try below_failed(e) {
        n = get_i_imm a, -1
        call show(n)
    }
    match_fail
below_failed:
    call fault(e)
    try far_failed(e) {
        set_i_imm a, -2147483648, 1
    }
    match_fail
far_failed:
    call fault(e)
    try high_failed(e) {
        set_i_imm a, 2147483647, 1
    }
    match_fail
high_failed:
    call fault(e)
    call print("\n")
    ret
}
fun others() {
    a = new_r 2, "old"
    set_r_imm a, 1, "new"
    s = get_r_imm a, 0
    call print(s)
    s = get_r_imm a, 1
    call print(s)
    b = new_f 2, 0.5
    set_f_imm b, 1, 2.25
    x = get_f_imm b, 0
    call print_float(x)
    x = get_f_imm b, 1
    call print_float(x)
    c = new_b 2, 255
    set_b_imm c, 1, 511
    n = get_b_imm c, 1
    call show(n)
    n = get_b_imm "string", 5
    call show(n)
    try kind(e) {
        set_b_imm s, 0, 1
    }
    match_fail
kind:
    call fault(e)
    try index(e) {
        n = get_b_imm "", 0
    }
    match_fail
index:
    call fault(e)
    try null_array(e) {
        s = get_r_imm null, 0
    }
    match_fail
null_array:
    call fault(e)
    try wrong_array(e) {
        x = get_f_imm c, 0
    }
    match_fail
wrong_array:
    call fault(e)
    call print("\n")
    ret
}
fun fill(at: i, count: i) {
    a = new_i 4, 0
    try failed(e) {
        fill_i a, at, count, 5
    }
    jmp shown
failed:
    call fault(e)
shown:
    n = 0
next:
    x = get_i a, n
    call print_int(x)
    n = add n, 1
    jlt n, 4, next
    call print(" ")
    ret
}
fun fills() {
    call fill(0, 4)
    call fill(1, 2)
    call fill(4, 0)
    call fill(0, 0)
    call fill(4, 1)
    call fill(5, 0)
    call fill(0, 5)
    call fill(-1, 2)
    call fill(1, -1)
    call fill(0x7fffffffffffffff, 0x7fffffffffffffff)
    call print("\n")
    a = new_r 3, null
    fill_r a, 1, 2, "r"
    s = get_r_imm a, 2
    call print(s)
    b = new_f 3, 0.0
    fill_f b, 0, 3, 1.5
    x = get_f_imm b, 2
    call print_float(x)
    c = new_b 9, 'a'
    fill_b c, 3, 5, 0x162
    s = str_of_bytes c
    call print(s)
    try kind(e) {
        fill_b s, 0, 1, 0
    }
    match_fail
kind:
    call fault(e)
    try other(e) {
        fill_i c, 0, 0, 0
    }
    match_fail
other:
    call fault(e)
    call print("\n")
    ret
}
fun main() {
    a = new_i 3, 0
    call integers(a)
    call integers(null)
    a = new_i 0, 0
    call integers(a)
    call others()
    call fills()
    ret
}
