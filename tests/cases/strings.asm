; Strings: length, index, concatenation, comparison, parts, numbers.
fun line(s: r) {
    call print(s)
    call print("\n")
    ret
}
fun main() {
    s = "hello"
    t = " world"
    s = cat s, t
    call line(s)
    n = len s
    text = str_of_int n
    call line(text)
    i = 6
    k = 5
    part = sub_str s, i, k
    call line(part)
    c = cmp s, part
    text = str_of_int c
    call line(text)
    f = 0.1
    g = 0.2
    f = fadd f, g
    text = str_of_float f
    call line(text)
    number = "-17"
    v, ok = int_of_str number
    v = add v, ok
    text = str_of_int v
    call line(text)
    v, ok = float_of_str part
    text = str_of_int ok
    call line(text)
    ret
}
