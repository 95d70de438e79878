; Takeuchi's function 5,000 times: how often is each branch taken?
;
; `.branch` and `.end_branch` mark a part of a function that is counted by itself in a profile
; with branches, as `Tak.tak1.tak2.<true>`. Without such a profile they do nothing. Functions may
; stand in functions, and are then called by their short names there and by dotted ones in
; profiles; they see no registers of the functions around them.
;
; This is the longest example: `f` runs for a second or so. Another number of repetitions may be
; given as an argument.

.file "tak.sml"

.line 3
fun Tak.tak1(x: i, y: i, z: i) -> i {
    .line 5
    fun tak2(x: i, y: i, z: i) -> i {
        .line 6
        jlt y, x, smaller
        .line 7
        .branch "true"
        ret z
        .end_branch
    smaller:
        .line 9
        .branch "false"
        a = sub x, 1
        a = call tak2(a, y, z)
        .line 10
        b = sub y, 1
        b = call tak2(b, z, x)
        .line 11
        c = sub z, 1
        c = call tak2(c, x, y)
        .line 9
        tail_call tak1(a, b, c)
        .end_branch
    }
    .line 13
    jlt y, x, smaller
    .line 14
    .branch "true"
    ret z
    .end_branch
smaller:
    .line 16
    .branch "false"
    a = sub x, 1
    a = call tak2(a, y, z)
    .line 17
    b = sub y, 1
    b = call tak2(b, z, x)
    .line 18
    c = sub z, 1
    c = call tak2(c, x, y)
    .line 16
    tail_call tak1(a, b, c)
    .end_branch
}

.line 23
fun f(n: i) {
    jeq n, 0, zero
    jeq n, -1, minus_one
    .line 25
    .branch "branch"
    value = call Tak.tak1(18, 12, 6)
    n = sub n, 1
    tail_call f(n)
    .end_branch
zero:
    .line 23
    .branch "branch"
    ret
    .end_branch
minus_one:
    .line 24
    .branch "branch"
    call print("this branch is not taken\n")
    ret
    .end_branch
}

fun main() {
    .line 27
    n = 5000
    count = call arg_count()
    jeq count, 0, start
    text = call arg(0)
    n, ok = int_of_str text
start:
    call f(n)
    ret
}

.line 29
fun uncalled() {
    ret
}
