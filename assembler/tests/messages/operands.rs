//! Messages about ops and their operands.

use crate::check;
use expect_test::expect;

#[test]
fn a_label_stands_once() {
    check(
        r#"fun main() {
a:
a:
    ret
}"#,
        expect![[r#"
            a.asm:3:1: error: the label `a` stands twice
                a:
                ^
        "#]],
    );
}

#[test]
fn a_label_must_stand_somewhere() {
    check(
        r#"fun main() {
    jmp lopp
loop:
    ret
}"#,
        expect![[r#"
            a.asm:2:9: error: no label is called `lopp`
                    jmp lopp
                        ^^^^
            help: did you mean `loop`?
        "#]],
    );
}

#[test]
fn no_op_has_that_name() {
    check(
        r#"fun main() {
    x = 1
    x = ad x, x
    ret
}"#,
        expect![[r#"
            a.asm:3:9: error: no op is called `ad`
                    x = ad x, x
                        ^^
            help: did you mean `add`?
        "#]],
    );
}

#[test]
fn an_op_has_its_form() {
    check(
        r#"fun main() {
    x = 1
    add x, x
    ret
}"#,
        expect![[r#"
            a.asm:3:5: error: `add` has another form
                    add x, x
                    ^^^^^^^^
            help: `dst = add lhs, rhs`, where `i[dst] = i[lhs] + i[rhs]`, wrapping.
        "#]],
    );
}

#[test]
fn no_register_has_that_name() {
    check(
        r#"fun f(count: i) -> i {
    ret cuont
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:9: error: no register is called `cuont`
                    ret cuont
                        ^^^^^
            help: did you mean `count`?
        "#]],
    );
}

#[test]
fn a_register_has_one_class() {
    check(
        r#"fun f(x: i) -> r {
    x = null
    ret x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:5: error: `x` is an i register, and this gives an r
                    x = null
                    ^
            a.asm:3:9: error: an r should stand here, not `x`
                    ret x
                        ^
        "#]],
    );
}

#[test]
fn an_operand_has_its_class() {
    check(
        r#"fun f(x: i) -> i {
    x = ld_i x, 0
    ret x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:14: error: an r register should stand here, not `x`
                    x = ld_i x, 0
                             ^
        "#]],
    );
}

#[test]
fn an_annotation_agrees_with_the_register() {
    check(
        r#"fun f(x: i, c: r) {
    x: r = call_closure c()
    ret
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:5: error: `x` is an i register already
                    x: r = call_closure c()
                    ^
        "#]],
    );
}

#[test]
fn a_closure_call_needs_the_class_of_its_result() {
    check(
        r#"fun f(c: r) {
    x = call_closure c()
    ret
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:5: error: the class of `x` is not known here
                    x = call_closure c()
                    ^
            help: say it: `x: i = ...`, or `f` or `r`
        "#]],
    );
}

#[test]
fn an_immediate_needs_a_row() {
    check(
        r#"fun f(x: i) -> i {
    x = quot x, 2
    ret x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:17: error: `quot` takes no number here
                    x = quot x, 2
                                ^
            help: put the number into a register first: `x = ...`
        "#]],
    );
}

#[test]
fn an_immediate_fits_32_bits() {
    check(
        r#"fun f(x: i) -> i {
    x = add x, 0x100000000
    ret x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:16: error: this number does not fit into 32 bits
                    x = add x, 0x100000000
                               ^^^^^^^^^^^
            help: put it into a register first: `x = ...`
        "#]],
    );
}

#[test]
fn a_literal_has_no_register() {
    check(
        r#"fun f(x: r) -> i {
    y = ld_i 5, 0
    ret y
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:14: error: an r register should stand here, not an integer
                    y = ld_i 5, 0
                             ^
            help: put the value into a register first: `x = ...`
        "#]],
    );
}

#[test]
fn a_register_list_is_wanted() {
    check(
        r#"fun f(x: r) -> r {
    y = new 1, x, []
    ret y
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:16: error: a list of r registers should stand here
                    y = new 1, x, []
                               ^
            help: `[x, y]`, or `[]` for none
        "#]],
    );
}

#[test]
fn a_field_is_a_byte() {
    check(
        r#"fun f(x: r) -> i {
    y = ld_i x, 256
    ret y
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:17: error: a field's number should stand here
                    y = ld_i x, 256
                                ^^^
        "#]],
    );
}

#[test]
fn a_double_is_wanted() {
    check(
        r#"fun main() {
    x = float "1"
    ret
}"#,
        expect![[r#"
            a.asm:2:15: error: a double should stand here
                    x = float "1"
                              ^^^
        "#]],
    );
}

#[test]
fn a_signature_is_wanted() {
    check(
        r#"fun f(c: r) {
    call_closure c, 1, i0, r1
    ret
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:21: error: a signature should stand here
                    call_closure c, 1, i0, r1
                                    ^
            help: `(i, r) -> (i)`
        "#]],
    );
}

#[test]
fn a_name_is_wanted() {
    check(
        r#"fun main() {
    jmp 5
}"#,
        expect![[r#"
            a.asm:2:9: error: a name should stand here, not an integer
                    jmp 5
                        ^
        "#]],
    );
}

#[test]
fn one_register_takes_a_value() {
    check(
        r#"fun main() {
    x, y = 5
    ret
}"#,
        expect![[r#"
            a.asm:2:5: error: one register should stand left of `=`
                    x, y = 5
                    ^^^^^^^^
        "#]],
    );
}
