//! Messages about globals, and about constants that refer to others.

use crate::check;
use expect_test::expect;

#[test]
fn a_global_of_the_other_class() {
    check(
        r#"global g: i
fun main() {
 x = ld_gr g
 ret
}"#,
        expect![[r#"
            a.asm:3:12: error: the global `g` is of the other class
                 x = ld_gr g
                           ^
            help: `ld_gi` and `st_gi` are for `i` and `f`, `ld_gr` and `st_gr` for `r`
        "#]],
    );
}

#[test]
fn a_reference_global_as_a_word() {
    check(
        r#"global g: r
fun main() {
 st_gi g, 5
 ret
}"#,
        expect![[r#"
            a.asm:3:8: error: the global `g` is of the other class
                 st_gi g, 5
                       ^
            help: `ld_gi` and `st_gi` are for `i` and `f`, `ld_gr` and `st_gr` for `r`
        "#]],
    );
}

#[test]
fn no_global_has_that_name() {
    check(
        r#"global counter: i
fun main() {
 x = ld_gi countr
 ret
}"#,
        expect![[r#"
            a.asm:3:12: error: no global is called `countr`
                 x = ld_gi countr
                           ^^^^^^
            help: did you mean `counter`?
        "#]],
    );
}

#[test]
fn two_globals_have_one_name() {
    check(
        r#"global g: i
global g: r
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:8: error: two globals are called `g`
                global g: r
                       ^
        "#]],
    );
}

#[test]
fn a_global_of_references_is_no_double() {
    check(
        r#"global g: r = 2.5
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:15: error: a name should stand here, not a double
                global g: r = 2.5
                              ^^^
        "#]],
    );
}

#[test]
fn a_global_of_integers_is_no_double() {
    check(
        r#"global g: i = 2.5
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:15: error: an integer should stand here, not a double
                global g: i = 2.5
                              ^^^
        "#]],
    );
}

#[test]
fn a_global_of_doubles_is_no_string() {
    check(
        r#"global g: f = "x"
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:15: error: a double should stand here, not a string
                global g: f = "x"
                              ^^^
        "#]],
    );
}

#[test]
fn a_global_names_an_unknown_constant() {
    check(
        r#"data point = record 1 [] []
global g: r = pont
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:15: error: no constant is called `pont`
                global g: r = pont
                              ^^^^
            help: did you mean `point`?
        "#]],
    );
}

#[test]
fn a_global_has_a_class() {
    check(
        r#"global g = 5
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:10: error: `:` should stand here, not `=`
                global g = 5
                         ^
        "#]],
    );
}

#[test]
fn a_tag_is_too_large() {
    check(
        r#"data k = record 65536 [] []
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:17: error: a tag is a number from 0 to 65535
                data k = record 65536 [] []
                                ^^^^^
        "#]],
    );
}

#[test]
fn a_tag_is_negative() {
    check(
        r#"data k = record -1 [] []
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:17: error: a tag is a number from 0 to 65535
                data k = record -1 [] []
                                ^^
        "#]],
    );
}

#[test]
fn a_tag_is_no_name() {
    check(
        r#"data k = record point [] []
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:17: error: a tag is a number from 0 to 65535
                data k = record point [] []
                                ^^^^^
        "#]],
    );
}

#[test]
fn a_constant_refers_to_one_below_it() {
    check(
        r#"data a = refs [b]
data b = refs []
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:16: error: no constant is called `b`
                data a = refs [b]
                               ^
        "#]],
    );
}

#[test]
fn a_constant_refers_to_an_unknown_one() {
    check(
        r#"data a = refs [bee]
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:16: error: no constant is called `bee`
                data a = refs [bee]
                               ^^^
        "#]],
    );
}

#[test]
fn a_constant_holds_no_double() {
    check(
        r#"data a = refs [2.5]
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:16: error: a name should stand here, not a double
                data a = refs [2.5]
                               ^^^
        "#]],
    );
}

#[test]
fn a_constant_closure_of_no_function() {
    check(
        r#"data a = closure add [] []
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:18: error: no function is called `add`
                data a = closure add [] []
                                 ^^^
        "#]],
    );
}

#[test]
fn raw_fields_are_numbers() {
    check(
        r#"data a = record 1 [] ["x"]
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:23: error: a string is no element of this list
                data a = record 1 [] ["x"]
                                      ^^^
        "#]],
    );
}

#[test]
fn a_constant_of_an_unknown_kind() {
    check(
        r#"data a = recrd 1 [] []
fun main() { ret }"#,
        expect![
            "a.asm:1:10: error: a constant should stand here, not `recrd`\n    \
             data a = recrd 1 [] []\n             ^^^^^\n\
             help: `i64 [..]`, `f64`, `bytes`, `refs`, `text`, `record` or `closure`\n"
        ],
    );
}

#[test]
fn a_jump_on_a_tag_that_is_too_large() {
    check(
        r#"fun main() {
 x = null
 jtag x, 65536, on
on:
 ret
}"#,
        expect![[r#"
            a.asm:3:10: error: a tag's number should stand here
                 jtag x, 65536, on
                         ^^^^^
        "#]],
    );
}
