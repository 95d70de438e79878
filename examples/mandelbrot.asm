; The Mandelbrot set in letters: doubles, bytes and a string for each line.
;
; Doubles live in `i` registers, as all raw words do; a class `f` in a signature says what is
; meant, and lets arguments be written as `2` rather than `2.0`.

; How often z = z * z + c can be computed before z is far from 0, up to a limit.
fun escape(cx: f, cy: f, limit: i) -> i {
    x = 0.0
    y = 0.0
    four = 4.0
    count = 0
again:
    xx = fmul x, x
    yy = fmul y, y
    square = fadd xx, yy
    jflt four, square, out
    xy = fmul x, y
    xy = fadd xy, xy
    y = fadd xy, cy
    x = fsub xx, yy
    x = fadd x, cx
    count = add count, 1
    jlt count, limit, again
out:
    ret count
}

fun main() {
    shades = " .:-=+*#%@"
    width = 64
    fill = 0
    line = new_b width, fill
    y = -1.25
    step_x = 0.046875
    step_y = 0.125
    bottom = 1.25
row:
    x = -2.25
    column = 0
square:
    count = call escape(x, y, 40)
    ; The more rounds, the darker: 40 of them are shade 9.
    shade = mul count, 9
    forty = 40
    shade = quot shade, forty
    letter = get_b shades, shade
    set_b line, column, letter
    x = fadd x, step_x
    column = add column, 1
    jlt column, width, square
    text = str_of_bytes line
    call print(text)
    call print("\n")
    y = fadd y, step_y
    jfle y, bottom, row
    ret
}
