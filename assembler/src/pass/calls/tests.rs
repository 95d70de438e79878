//! A text, and the ops that it becomes.

use crate::testing::check_ops;
use expect_test::{Expect, expect};

const OTHERS: &str = "
    fun two(a: i, b: i) -> (i, i) { ret a, b }
    fun refs(a: r, b: r) -> r { ret a }
    fun main() { ret }";

fn check(text: &str, expected: Expect) {
    check_ops(&format!("{text}{OTHERS}"), &Default::default(), expected);
}

#[test]
fn fib_moves_nothing_around_its_calls() {
    check(
        "fun fib(n: i) -> i {
            jlt n, 2, small
            a = add n, -1
            a = call fib(a)
            b = add n, -2
            b = call fib(b)
            a = add a, b
            ret a
        small:
            ret n
        }",
        expect![[r#"
            fun fib(i) -> i {
                enter s3
                jlt_imm i0, 2, L0
                i1 = add_imm i0, -1
                call fib, i1, r0
                i2 = add_imm i0, -2
                call fib, i2, r0
                i0 = add i1, i2
                leave s3
                ret
            L0:
                leave s3
                ret
            }
        "#]],
    );
}

#[test]
fn cycles_go_through_a_scratch_register() {
    check(
        "fun f(a: i, b: i) -> (i, i) {
            a, b = call two(b, a)
            a = add a, b
            a, b = call two(b, a)
            b = add a, b
            ret b, a
        }",
        expect![[r#"
            fun f(i, i) -> (i, i) {
                enter s3
                i2 = mov i0
                i0 = mov i1
                i1 = mov i2
                call two, i0, r1
                i0 = add i0, i1
                i2 = mov i0
                i0 = mov i1
                i1 = mov i2
                call two, i0, r1
                i1 = add i0, i1
                leave s3
                i2 = mov i0
                i0 = mov i1
                i1 = mov i2
                ret
            }
        "#]],
    );
}

#[test]
fn what_a_handler_wants_is_below_the_window() {
    check(
        "fun f(a: i, b: i) -> i {
            try caught(e) {
                a, b = call two(1, 2)
            }
            ret a
        caught:
            ret b
        }",
        expect![[r#"
            fun f(i, i) -> i {
                .handle L0, L1, L2, r0
                enter s3
            L0:
                i2 = int 1
                i3 = int 2
                call two, i2, r0
                i0 = mov i2
            L1:
                leave s3
                ret
            L2:
                leave s3
                i0 = mov i1
                ret
            }
        "#]],
    );
}

#[test]
fn a_closure_survives_the_arguments() {
    check(
        "fun f(a: r, b: r) -> r {
            x: r = call_closure a(b, a)
            y: r = call_closure x(b, b)
            tail_call_closure a(y, x)
        }",
        expect![[r#"
            fun f(r, r) -> r {
                enter s3
                r2 = rmov r1
                r3 = rmov r0
                call_closure r0, (r, r) -> (r), i0, r2
                r3 = rmov r1
                r4 = rmov r1
                call_closure r2, (r, r) -> (r), i0, r3
                leave s3
                r1 = rmov r2
                r2 = rmov r0
                r0 = rmov r3
                tail_call_closure r2, (r, r) -> (r)
            }
        "#]],
    );
}

#[test]
fn a_closure_is_no_scratch_register() {
    check(
        "fun f(a: r, b: r, c: r) -> r {
            tail_call_closure c(b, a)
        }",
        expect![[r#"
            fun f(r, r, r) -> r {
                enter s3
                leave s3
                r3 = rmov r0
                r0 = rmov r1
                r1 = rmov r3
                tail_call_closure r2, (r, r) -> (r)
            }
        "#]],
    );
}

#[test]
fn windows_that_the_text_chose_stay() {
    check(
        "fun f(a: i) -> i {
            i7 = a
            i8 = 5
            call two, i7, r0
            ret i8
        }",
        expect![[r#"
            fun f(i) -> i {
                enter s3
                i7 = mov i0
                i8 = int 5
                call two, i7, r0
                leave s3
                i0 = mov i8
                ret
            }
        "#]],
    );
}

#[test]
fn literals_wait_until_registers_are_read() {
    check(
        "fun f(a: i, b: i) -> (i, i) {
            tail_call two(7, a)
        }",
        expect![[r#"
            fun f(i, i) -> (i, i) {
                enter s3
                leave s3
                i1 = mov i0
                i0 = int 7
                tail_call two
            }
        "#]],
    );
}

#[test]
fn there_are_256_registers_of_a_class() {
    let many: Vec<String> = (0..256).map(|index| format!("i{index}")).collect();
    let defs: String = many.iter().map(|name| format!("{name} = 1\n")).collect();
    let sums: String = many
        .iter()
        .map(|name| format!("i0 = add i0, {name}\n"))
        .collect();
    let call = "i0, i1 = call two(i0, i1)";
    let text = format!("fun f() -> i {{\n{defs}{call}\n{sums}ret i0\n}}");
    check(
        &text,
        expect![[r#"
            input.asm:258:1: error: no room for this call in `f`, which has 256 registers of a class
                i0, i1 = call two(i0, i1)
                ^^^^^^^^^^^^^^^^^^^^^^^^^
            help: keep fewer values alive across the call
        "#]],
    );
}
