; Constants can be read like other objects, are the same each time, and refuse every store.
data numbers = i64 [1, 2, 3]
data doubles = f64 [1.5, -0.0]
data bytes = bytes "bytes"
data pair = record 3 [7, null, "text"] [-1, 0x7fffffffffffffff]
data add = closure adder [pair, numbers] [40]
data all = refs [null, -4611686018427387904, 4611686018427387903, add, pair, numbers]
data nested = record 4 [all, all] []
data empty = record 0 [] []

closure fun adder{p: r, xs: r, k: i}(n: i) -> i {
    p = cap p
    n2 = ld_i p, 0
    xs = cap xs
    n3 = get_i xs, 2
    k = cap k
    n = add n, k
    n = add n, n2
    n = add n, n3
    ret n
}
fun show(n: i) {
    call print_int(n)
    call print(" ")
    ret
}
fun stores(op: i) {
    try failed(e) {
        switch op, [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15]
        call print("none ")
        ret
    s0:
        x = constant numbers
        set_i x, 0, 9
        ret
    s1:
        x = constant numbers
        set_i_imm x, 9, 9
        ret
    s2:
        x = constant doubles
        set_f x, 0, 9
        ret
    s3:
        x = constant doubles
        set_f_imm x, 0, 9
        ret
    s4:
        x = constant bytes
        set_b x, 0, 9
        ret
    s5:
        x = constant bytes
        set_b_imm x, 0, 9
        ret
    s6:
        x = constant all
        set_r x, 0, null
        ret
    s7:
        x = constant all
        set_r_imm x, 0, null
        ret
    s8:
        x = constant pair
        st_r x, 0, null
        ret
    s9:
        x = constant pair
        st_i x, 0, 9
        ret
    s10:
        x = constant add
        st_cap_r x, 0, null
        ret
    s11:
        x = constant add
        st_cap_i x, 0, 9
        ret
    s12:
        x = constant numbers
        fill_i x, 0, 0, 9
        ret
    s13:
        x = constant bytes
        n = put_int x, 0, 9
        ret
    s14:
        x = constant bytes
        copy x, 0, "12", 0, 1
        ret
    s15:
        x = constant all
        fill_r x, 0, 1, null
        ret
    }
failed:
    code = ld_i e, 0
    call show(code)
    ret
}
fun again() -> r {
    x = constant nested
    ret x
}
fun main() {
    n = 0
next:
    call stores(n)
    n = add n, 1
    jle n, 16, next
    call print("\n")
    f = constant add
    n = call_closure f(0)
    call show(n)
    x = constant nested
    y = call again()
    n = same x, y
    call show(n)
    z = ld_r x, 0
    w = ld_r x, 1
    n = same z, w
    call show(n)
    n = len z
    call show(n)
    y = get_r_imm z, 1
    n = of_imm y
    call show(n)
    y = get_r_imm z, 2
    n = of_imm y
    call show(n)
    y = get_r_imm z, 4
    y = ld_r y, 2
    call print(y)
    y = constant bytes
    n = cmp "x", "x"
    s = sub_str y, 1, 3
    call print(s)
    y = constant empty
    n = tag y
    call show(n)
    c = data numbers
    set_i c, 0, 100
    d = constant numbers
    n = get_i_imm d, 0
    call show(n)
    n = get_i_imm c, 0
    call show(n)
    y = constant doubles
    q = get_f_imm y, 1
    call print_float(q)
    call print("\n")
    raise x
}
