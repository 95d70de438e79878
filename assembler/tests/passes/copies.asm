; What was copied is read, and values are computed where they are copied to.

fun a_copy_is_not_read(n: i, x: r) -> i {
    a = n
    st_i x, 0, a
    b = add a, 1
    ret b
}

fun a_copy_of_what_changes_is_read(n: i, x: r) -> i {
    a = n
    n = add n, 1
    st_i x, 0, a
    st_i x, 1, n
    ret a
}

fun a_copy_of_a_copy_is_one_of_the_first(x: r) -> r {
    y = x
    z = y
    st_r z, 0, y
    ret z
}

fun a_value_is_computed_where_it_is_copied_to(n: i) -> i {
    t = 0
next:
    m = add t, n
    t = m
    n = sub n, 1
    jgt n, 0, next
    ret t
}

fun a_value_that_is_wanted_twice_stays(n: i, x: r) -> i {
    t = 0
next:
    m = add t, n
    t = m
    st_i x, 0, m
    n = sub n, 1
    jgt n, 0, next
    ret t
}

fun what_a_handler_wants_is_written_when_it_was(n: i, x: r) -> i {
    t = 0
    try caught(e) {
        m = add n, 1
        st_i x, 0, n
        t = m
        st_i x, 1, n
    }
caught:
    ret t
}

fun an_argument_that_may_be_in_its_place_stays(n: i, x: r) -> i {
    a = n
    jlt n, 0, other
    b = call two(a)
    ret b
other:
    st_i x, 0, a
    ret n
}

fun two(n: i) -> i { ret n }

fun main() { ret }
