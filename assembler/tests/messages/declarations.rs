//! Messages about declarations and directives.

use crate::check;
use expect_test::expect;

#[test]
fn statements_belong_into_functions() {
    check(
        r#"x = 5"#,
        expect![[r#"
        a.asm:1:1: error: this belongs into a function
            x = 5
            ^^^^^
        help: `fun main() { ... }`
        a.asm:1:1: error: no function is named `main`
            x = 5
            ^
        help: `.entry NAME` chooses another one to start with
    "#]],
    );
}

#[test]
fn no_directive_has_that_name() {
    check(
        r#".fil "a"
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:1: error: no directive is called `.fil`
                .fil "a"
                ^^^^
            help: did you mean `file`?
        "#]],
    );
}

#[test]
fn no_directive_in_a_function_has_that_name() {
    check(
        r#"fun main() {
    .lin 5
    ret
}"#,
        expect![[r#"
            a.asm:2:5: error: no directive in a function is called `.lin`
                    .lin 5
                    ^^^^
            help: did you mean `line`?
        "#]],
    );
}

#[test]
fn directives_of_functions_belong_into_one() {
    check(
        r#".branch "true"
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:1: error: `.branch` belongs into a function
                .branch "true"
                ^^^^^^^
        "#]],
    );
}

#[test]
fn instrumented_stands_first() {
    check(
        r#"fun main() { ret }
.instrumented"#,
        expect![[r#"
            a.asm:2:1: error: `.instrumented` must stand first
                .instrumented
                ^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn a_directive_has_its_form() {
    check(
        r#"fun main() {
    .handle a, b
    ret
}"#,
        expect![[r#"
            a.asm:2:5: error: `.handle` has another form
                    .handle a, b
                    ^^^^^^^
            help: `.handle START, END, TARGET, REGISTER`
        "#]],
    );
}

#[test]
fn a_directive_without_operands_takes_none() {
    check(
        r#"fun main() {
    .end_branch 5
    ret
}"#,
        expect![[r#"
            a.asm:2:17: error: `.end_branch` takes no operands
                    .end_branch 5
                                ^
        "#]],
    );
}

#[test]
fn a_string_is_wanted() {
    check(
        r#".file 5
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:7: error: a string of UTF-8 should stand here
                .file 5
                      ^
        "#]],
    );
}

#[test]
fn a_number_is_wanted() {
    check(
        r#".line "5"
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:7: error: a number from 0 to 2^32 - 1 should stand here
                .line "5"
                      ^^^
        "#]],
    );
}

#[test]
fn a_list_is_wanted() {
    check(
        r#".instrumented
.files "a"
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:8: error: a list in brackets should stand here
                .files "a"
                       ^^^
        "#]],
    );
}

#[test]
fn a_source_is_a_pair() {
    check(
        r#".instrumented
.sources ["a"], [[0]], [[0]]
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:25: error: a source is `[name, sequence]`
                .sources ["a"], [[0]], [[0]]
                                        ^^^
        "#]],
    );
}

#[test]
fn functions_have_different_names() {
    check(
        r#"fun f() { ret }
fun f() { ret }
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:5: error: two functions are called `f`
                fun f() { ret }
                    ^
        "#]],
    );
}

#[test]
fn hosts_have_different_names() {
    check(
        r#"host h(i)
host h(r)
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:6: error: two host functions are called `h`
                host h(r)
                     ^
        "#]],
    );
}

#[test]
fn constants_have_different_names() {
    check(
        r#"data d = i64 []
data d = f64 []
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:6: error: `d` is declared twice
                data d = f64 []
                     ^
        "#]],
    );
}

#[test]
fn a_signature_counts_to_255() {
    let text = format!(
        "fun f({}) {{ ret }}\nfun main() {{ ret }}",
        "i, ".repeat(300)
    );
    check(
        &text,
        expect![[r#"
            a.asm:1:5: error: a byte counts the parameters and results of each class
                fun f(i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, 
                    ^
        "#]],
    );
}

#[test]
fn a_program_starts_somewhere() {
    check(
        r#"fun man() { ret }"#,
        expect![[r#"
        a.asm:1:1: error: no function is named `main`
            fun man() { ret }
            ^
        help: `.entry NAME` chooses another one to start with
    "#]],
    );
}

#[test]
fn the_entry_must_be_there() {
    check(
        r#".entry man
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:8: error: no function is called `man`
                .entry man
                       ^^^
            help: did you mean `main`?
        "#]],
    );
}

#[test]
fn parameters_have_different_names() {
    check(
        r#"fun f(x: i, x: r) { ret }
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:13: error: two parameters are called `x`
                fun f(x: i, x: r) { ret }
                            ^
        "#]],
    );
}

#[test]
fn a_parameter_named_by_number_has_that_number() {
    check(
        r#"fun f(i1: i) { ret }
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:7: error: this parameter does not arrive in `i1`
                fun f(i1: i) { ret }
                      ^^^^^
        "#]],
    );
}

#[test]
fn nothing_jumps_into_a_branch() {
    check(
        r#"fun f(n: i) {
    jeq n, 1, inside
    .branch "true"
inside:
    ret
    .end_branch
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:5: error: this jumps into the middle of a branch
                    jeq n, 1, inside
                    ^^^^^^^^^^^^^^^^
            help: put the label before `.branch`
        "#]],
    );
}

#[test]
fn a_source_has_a_name_that_profiles_can_hold() {
    check(
        r#"source s = "a\tb\tc"
fun main() { ret }"#,
        expect![[r#"
            a.asm:1:8: error: profiles cannot hold this source's name
                source s = "a\tb\tc"
                       ^
            help: one line: a label, or a label, a tab and a place
        "#]],
    );
}
