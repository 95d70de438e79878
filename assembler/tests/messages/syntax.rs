//! Messages about the form of a text.

use crate::check;
use expect_test::expect;

#[test]
fn a_broken_token_is_named() {
    check(
        r#"fun main() {
    x = 5 # 3
    ret
}"#,
        expect![[r#"
            a.asm:2:11: error: `#` means nothing here
                    x = 5 # 3
                          ^
        "#]],
    );
}

#[test]
fn a_statement_must_begin_with_a_name() {
    check(
        r#"fun main() {
    5
    ret
}"#,
        expect![[r#"
            a.asm:2:5: error: a statement should stand here, not a number
                    5
                    ^
        "#]],
    );
}

#[test]
fn a_line_holds_one_statement() {
    check(
        r#"fun main() {
    ret )
}"#,
        expect![[r#"
            a.asm:2:9: error: an operand should stand here, not `)`
                    ret )
                        ^
        "#]],
    );
}

#[test]
fn a_brace_must_close() {
    check(
        r#"fun main() {
    ret
"#,
        expect![[r#"
            a.asm:1:12: error: this brace is never closed
                fun main() {
                           ^
        "#]],
    );
}

#[test]
fn an_operand_is_missing() {
    check(
        r#"fun main() {
    x = add y,
}"#,
        expect![[r#"
            a.asm:2:5: error: `add` has another form
                    x = add y,
                    ^^^^^^^^^^
            help: `dst = add lhs, rhs`, where `i[dst] = i[lhs] + i[rhs]`, wrapping.
        "#]],
    );
}

#[test]
fn a_class_is_one_of_three() {
    check(
        r#"fun f(x: int) {
    ret
}"#,
        expect![[r#"
            a.asm:1:10: error: a class, `i`, `f` or `r`, should stand here, not `int`
                fun f(x: int) {
                         ^^^
        "#]],
    );
}

#[test]
fn a_name_must_be_utf8() {
    check(
        r#"fun "\xff"() {
    ret
}"#,
        expect![[r#"
            a.asm:1:5: error: a name must be UTF-8
                fun "\xff"() {
                    ^^^^^^
        "#]],
    );
}

#[test]
fn a_line_number_must_fit() {
    check(
        r#"source s = "a" "b" -1"#,
        expect![[r#"
        a.asm:1:20: error: a line is a number from 0 to 2^32 - 1
            source s = "a" "b" -1
                               ^^
    "#]],
    );
}

#[test]
fn nesting_has_a_limit() {
    let text = format!("fun main() {{\n{}", "try h(e) {".repeat(70));
    check(
        &text,
        expect![[r#"
            a.asm:2:641: error: this nests deeper than 64 levels
                try h(e) {try h(e) {try h(e) {try h(e) {try h(e) {try h(e) {try h(e) {tr
                                                                  ^^^
        "#]],
    );
}

#[test]
fn a_list_holds_what_its_kind_says() {
    check(
        r#"data d = i64 [1, 2.5]"#,
        expect![[r#"
        a.asm:1:18: error: a double is no element of this list
            data d = i64 [1, 2.5]
                             ^^^
    "#]],
    );
}

#[test]
fn a_constant_has_a_kind() {
    check(
        r#"data d = 5"#,
        expect![[r#"
            a.asm:1:10: error: a constant should stand here, not a number
                data d = 5
                         ^
            help: `i64 [..]`, `f64`, `bytes`, `refs`, `text`, `record` or `closure`
        "#]],
    );
}
