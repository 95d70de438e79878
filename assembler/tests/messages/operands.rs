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
            a.asm:3:9: error: an r register should stand here, not `x`
                    ret x
                        ^
            help: `x` is an i register in all of this function
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
            help: `x` is an i register in all of this function
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
fn a_string_is_no_integer() {
    check(
        r#"fun f(x: i) -> i {
    x = quot x, "2"
    x = add x, "many"
    ret x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:17: error: an i register or an integer should stand here, not a string
                    x = quot x, "2"
                                ^^^
            help: a character is written `'2'`
            a.asm:3:16: error: an i register or an integer should stand here, not a string
                    x = add x, "many"
                               ^^^^^^
            help: `x, ok = int_of_str s` reads a number
        "#]],
    );
}

#[test]
fn a_double_is_no_integer() {
    check(
        r#"fun f(x: i) -> i {
    x = add x, 2.5
    jlt x, 0.5, end
end:
    ret x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:16: error: an i register or an integer should stand here, not a double
                    x = add x, 2.5
                               ^^^
            help: ops on doubles begin with `f`, jumps with `jf`; `ftoi` makes an integer of one
            a.asm:3:12: error: an i register or an integer should stand here, not a double
                    jlt x, 0.5, end
                           ^^^
            help: ops on doubles begin with `f`, jumps with `jf`; `ftoi` makes an integer of one
        "#]],
    );
}

#[test]
fn some_integers_are_no_doubles() {
    check(
        r#"fun f(x: f) -> f {
    x = fadd x, 9007199254740993
    x = call f(9007199254740993)
    ret x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:17: error: a double should stand here, and none is exactly 9007199254740993
                    x = fadd x, 9007199254740993
                                ^^^^^^^^^^^^^^^^
            help: write `9007199254740992.0`
            a.asm:3:16: error: a double should stand here, and none is exactly 9007199254740993
                    x = call f(9007199254740993)
                               ^^^^^^^^^^^^^^^^
            help: write `9007199254740992.0`
        "#]],
    );
}

#[test]
fn null_is_no_number() {
    check(
        r#"fun f(x: i) -> i {
    x = add x, null
    ret x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:16: error: an i register or an integer should stand here, not `null`
                    x = add x, null
                               ^^^^
            help: `null` is a reference
        "#]],
    );
}

#[test]
fn a_double_is_no_reference() {
    check(
        r#"fun f(x: r) -> r {
    x = cat x, 2.5
    x = new 1, [inf], []
    ret x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:16: error: an r register, a string or `null` should stand here, not a double
                    x = cat x, 2.5
                               ^^^
            help: `str_of_float` makes a string of it
            a.asm:3:17: error: an r register, a string or `null` should stand here, not `inf`
                    x = new 1, [inf], []
                                ^^^
            help: `str_of_float` makes a string of it
        "#]],
    );
}

#[test]
fn a_captured_double_is_no_string() {
    check(
        r#"closure fun g{a: i, b: f}() { ret }
fun main() {
    c = closure g, [], [1, "2"]
    ret
}"#,
        expect![[r#"
            a.asm:3:28: error: an i register or a double should stand here, not a string
                    c = closure g, [], [1, "2"]
                                           ^^^
            help: `x, ok = float_of_str s` reads a number
        "#]],
    );
}

#[test]
fn a_window_is_no_literal() {
    check(
        r#"fun main() {
    call print_int, 5, r0
    call_host print_int, 5, r0
    ret
}"#,
        expect![[r#"
            a.asm:2:10: error: no function is called `print_int`
                    call print_int, 5, r0
                         ^^^^^^^^^
            help: it is a host: `call print_int(...)`
            a.asm:3:26: error: a window begins at a register, not at an integer
                    call_host print_int, 5, r0
                                         ^
            help: `call_host f(a, 5)` passes values
        "#]],
    );
}

#[test]
fn a_list_has_a_limit() {
    let text = format!(
        "fun main() {{\nx = new 1, [], [{}]\nret\n}}",
        "1,".repeat(256)
    );
    check(
        &text,
        expect![[r#"
        a.asm:2:16: error: a list has at most 255 registers
            x = new 1, [], [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,
                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#]],
    );
}

#[test]
fn literals_of_one_op_need_registers() {
    let numbers: String = (0..250).map(|n| format!("{n},")).collect();
    let text = format!("fun main() {{\nx = new 1, [], [{numbers}]\ny = 1\nret\n}}");
    check(&text, expect!["no error"]);
}

#[test]
fn a_list_is_no_operand() {
    check(
        r#"fun main() {
    x = len [1, 2]
    ret
}"#,
        expect![[r#"
            a.asm:2:13: error: an r register, a string or `null` should stand here, not a list
                    x = len [1, 2]
                            ^^^^^^
        "#]],
    );
}

#[test]
fn a_label_before_a_register_named_like_a_class_stands_alone() {
    check(
        r#"fun main() {
    i = 0
l: i = add i, 1
    jlt i, 10, l
    ret
}"#,
        expect![[r#"
            a.asm:4:16: error: no label is called `l`
                    jlt i, 10, l
                               ^
            help: `l: i = ...` writes a register; the label `l:` needs its own line
        "#]],
    );
}

#[test]
fn a_function_is_no_register() {
    check(
        r#"fun f(x: i) -> i { ret x }
closure fun g() { ret }
fun main() {
    x: i = call_closure f(1)
    y = rmov g
    ret
}"#,
        expect![[r#"
            a.asm:4:25: error: no register is called `f`
                    x: i = call_closure f(1)
                                        ^
            help: it is a function: `call f(...)`
            a.asm:5:14: error: no register is called `g`
                    y = rmov g
                             ^
            help: it is a function: `c = closure g, [refs], [ints]`
        "#]],
    );
}

#[test]
fn a_host_is_no_op() {
    check(
        r#"fun main() {
    print "a"
    ret
}"#,
        expect![[r#"
            a.asm:2:5: error: no op is called `print`
                    print "a"
                    ^^^^^
            help: functions and hosts are called: `call print(...)`
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
            a.asm:2:14: error: an r register, a string or `null` should stand here, not an integer
                    y = ld_i 5, 0
                             ^
            help: `x = imm 5` makes a small immediate, `str_of_int` a string
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
