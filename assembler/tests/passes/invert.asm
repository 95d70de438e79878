; A loop's test stands at its end.

fun a_while_loop_takes_one_jump_a_round(n: i) -> i {
    sum = 0
next:
    jle n, 0, done
    sum = add sum, n
    n = sub n, 1
    jmp next
done:
    ret sum
}

fun a_test_with_ops_before_it_is_copied(x: r) -> i {
    n = 0
next:
    y = ld_r x, 0
    jnull y, done
    n = add n, 1
    x = y
    jmp next
done:
    ret n
}

fun a_jump_back_that_is_done_with_a_sum_stays(x: r) -> i {
    n = 0
next:
    y = get_i x, n
    jeq y, 0, done
    n = add n, 1
    jmp next
done:
    ret n
}

fun a_counting_loop_is_compared_with_its_sum(n: i, x: r) -> i {
    m = 0
next:
    jge m, n, done
    set_i x, m, m
    m = add m, 1
    jmp next
done:
    ret m
}

fun each_way_back_gets_the_test(n: i, x: r) -> i {
next:
    jle n, 0, done
    n = sub n, 1
    jlt n, 10, small
    st_i x, 0, n
    jmp next
small:
    st_i x, 1, n
    jmp next
done:
    ret n
}

fun a_loop_with_its_test_at_the_end_stays(n: i) -> i {
next:
    n = sub n, 1
    jgt n, 0, next
    ret n
}

fun a_long_test_stays(x: r) -> i {
next:
    a = ld_i x, 0
    b = ld_i x, 1
    c = ld_i x, 2
    d = ld_i x, 3
    a = add a, b
    c = add c, d
    a = add a, c
    b = add b, d
    jeq a, b, done
    st_i x, 0, a
    jmp next
done:
    ret a
}

fun a_test_under_another_handler_stays(x: r) -> i {
next:
    n = ld_i x, 0
    jle n, 0, done
    try caught(e) {
        st_i x, 1, n
        jmp next
    }
caught:
    ret 1
done:
    ret 0
}

fun main() { ret }
