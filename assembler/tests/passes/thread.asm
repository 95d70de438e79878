; Jumps go where control ends up.

fun a_jump_to_a_jump_goes_on(n: i, x: r) -> i {
    jlt n, 0, first
    st_i x, 0, n
    ret n
first:
    jmp second
third:
    st_i x, 1, n
    n = add n, 1
    jlt n, 10, third
    ret n
second:
    jmp third
}

fun a_jump_to_a_return_returns(n: i, x: r) -> i {
    jlt n, 0, less
    st_i x, 0, n
    n = add n, 1
    jmp out
less:
    st_i x, 1, n
out:
    ret n
}

fun a_test_around_a_jump_turns_around(n: i, x: r) {
next:
    jlt n, 10, body
    jmp out
body:
    st_i x, 0, n
    n = add n, 1
    jmp next
out:
    st_i x, 1, n
    ret
}

fun unsigned_tests_change_sides(n: i, m: i, x: r) {
    jult n, m, body
    jmp out
body:
    st_i x, 0, n
out:
    st_i x, 1, n
    ret
}

fun a_test_without_an_opposite_stays(x: r) {
    jimm x, body
    jmp out
body:
    st_r x, 0, x
out:
    st_r x, 1, x
    ret
}

fun a_jump_that_others_are_led_past_goes(n: i, x: r) {
    jlt n, 10, body
way:
    jmp out
body:
    st_i x, 0, n
    jlt n, 5, way
    st_i x, 1, n
out:
    st_i x, 2, n
    ret
}

fun a_jump_to_the_next_op_goes(n: i, x: r) {
    jeq n, 0, next
next:
    st_i x, 0, n
    jmp last
last:
    st_i x, 1, n
    ret
}

fun an_endless_loop_stays() {
next:
    jmp next
}

fun a_loop_of_jumps_stays(n: i) {
    jeq n, 0, two
one:
    jmp two
two:
    jmp one
}

fun main() { ret }
