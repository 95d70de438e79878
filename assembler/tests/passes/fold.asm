; What is constant is computed; what faults stays.

fun a_sum_of_constants_is_computed(x: r) -> i {
    a = 2
    b = 3
    c = add a, b
    st_i x, 0, c
    c = mul c, c
    ret c
}

fun doubles_are_computed_to_the_last_bit() -> f {
    a = 0.1
    b = 0.2
    c = fadd a, b
    ret c
}

fun what_is_no_number_stays() -> f {
    a = 0.0
    c = fdiv a, a
    ret c
}

fun an_overflow_stays() -> i {
    a = 0x7fff_ffff_ffff_ffff
    b = 1
    c = add_ovf a, b
    ret c
}

fun a_sum_that_does_not_overflow_is_computed() -> i {
    a = 0x7fff_ffff
    b = 1
    c = add_ovf a, b
    ret c
}

fun a_division_by_zero_stays(n: i) -> i {
    a = 0
    c = quot n, a
    ret c
}

fun a_constant_operand_becomes_an_immediate(n: i) -> i {
    a = 100
    b = mul n, a
    c = sub b, a
    d = sub a, c
    ret d
}

fun an_addition_of_a_large_constant_stays_for_the_loop(n: i, m: i) -> i {
    step = 1000
next:
    n = add n, step
    jlt n, m, next
    ret n
}

fun a_test_that_always_holds_goes(x: r) {
    a = 5
    jge a, 3, done
    st_i x, 0, a
done:
    ret
}

fun a_test_that_never_holds_goes(x: r) {
    a = 5
    jlt a, 3, done
    st_i x, 0, a
done:
    ret
}

fun a_test_of_null_is_decided(x: r) {
    y = null
    jnonnull y, done
    st_r x, 0, y
done:
    ret
}

fun a_switch_with_a_known_index_is_a_jump(x: r) {
    a = 1
    switch a, [zero, one]
    st_i x, 0, a
    ret
zero:
    st_i x, 1, a
    ret
one:
    st_i x, 2, a
    ret
}

fun a_switch_beyond_its_table_goes_on(x: r) {
    a = 7
    switch a, [zero]
    st_i x, 0, a
    ret
zero:
    st_i x, 1, a
    ret
}

fun a_test_for_equality_tells_the_value(n: i) -> i {
    jne n, 4, other
    n = mul n, 10
    ret n
other:
    ret n
}

fun where_ways_join_nothing_is_known(n: i) -> i {
    a = 1
    jlt n, 0, join
    a = 2
join:
    a = mul a, a
    ret a
}

fun a_constant_written_once_is_known_in_loops(n: i, x: r) -> i {
    mask = 255
next:
    m = and n, mask
    st_i x, 0, m
    n = sub n, 1
    jgt n, 0, next
    ret mask
}

fun a_handler_knows_nothing_of_what_was_written_twice(x: r) -> i {
    a = 1
    try caught(e) {
        a = 2
        st_i x, 0, a
        a = 3
        st_i x, 0, a
    }
caught:
    a = mul a, a
    ret a
}

fun immediates_in_references_are_known() -> i {
    a = 5
    x = to_imm a
    b = of_imm x
    ret b
}

fun main() { ret }
