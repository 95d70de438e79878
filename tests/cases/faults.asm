; Every fault that an op can raise, handled, with its code.
fun report(e: r) {
    code = ld_i e, 0
    call print_int(code)
    call print("\n")
    ret
}
fun overflow() {
    a = 9223372036854775807
    a = add_ovf a, 1
    ret
}
fun divide() {
    a = 1
    b = 0
    a = modulo a, b
    ret
}
fun index() {
    n = 3
    xs = new_i n, n
    n = get_i xs, n
    ret
}
fun kind() {
    x = null
    y = ld_r x, 0
    ret
}
fun match() {
    match_fail
}
fun host() {
    x = call arg(99)
    ret
}
fun main() {
    try h1(e) {
        call overflow()
    }
    jmp fine
h1:
    call report(e)
    try h2(e) {
        call divide()
    }
    jmp fine
h2:
    call report(e)
    try h3(e) {
        call index()
    }
    jmp fine
h3:
    call report(e)
    try h4(e) {
        call kind()
    }
    jmp fine
h4:
    call report(e)
    try h5(e) {
        call match()
    }
    jmp fine
h5:
    call report(e)
    try h6(e) {
        call host()
    }
    jmp fine
h6:
    call report(e)
    ret
fine:
    call print("no fault was raised\n")
    ret
}
