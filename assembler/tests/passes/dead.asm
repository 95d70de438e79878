; What nobody reads goes, unless it does something else.

fun a_result_that_nobody_reads_goes(n: i) -> i {
    a = mul n, n
    b = add a, 1
    ret n
}

fun a_fault_stays(n: i, m: i) -> i {
    a = quot n, m
    b = add_ovf n, m
    ret n
}

fun an_object_stays(n: i) -> i {
    x = new 7, [], [n]
    s = str_of_int n
    ret n
}

fun a_load_stays_for_its_fault(x: r) {
    a = ld_i x, 0
    ret
}

fun a_value_for_the_next_round_stays(n: i) -> i {
    a = 0
next:
    a = add a, n
    n = sub n, 1
    jgt n, 0, next
    ret a
}

fun what_only_a_handler_reads_stays(x: r) -> i {
    a = 1
    try caught(e) {
        st_i x, 0, a
        a = 2
        st_i x, 1, a
        a = 3
    }
    ret 0
caught:
    ret a
}

fun main() { ret }
