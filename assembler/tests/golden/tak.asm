; MLton's example tak with branches, nested as Tak.tak1.tak2.
.file "tak.sml"
fun Tak.tak1(x: i, y: i, z: i) -> i {
    fun tak2(x: i, y: i, z: i) -> i {
        jge y, x, else
        .branch "true"
        a = sub x, 1
        a = call tak1(a, y, z)
        b = sub y, 1
        b = call tak2(b, z, x)
        c = sub z, 1
        c = call tak2(c, x, y)
        tail_call tak2(a, b, c)
        .end_branch
    else:
        .branch "false"
        ret z
        .end_branch
    }
    tail_call tak2(x, y, z)
}

fun loop(n: i) {
again:
    jeq n, 0, done
    a = call Tak.tak1(18, 12, 6)
    jeq a, 7, fine
    match_fail
fine:
    n = add n, -1
    jmp again
done:
    ret
}

fun main() {
    call loop(500)
    ret
}
