//! Messages about calls, captures and limits.

use crate::check;
use expect_test::expect;

#[test]
fn nothing_to_call_has_that_name() {
    check(
        r#"fun main() {
    call prnt("a")
    ret
}"#,
        expect![[r#"
            a.asm:2:10: error: nothing to call is named `prnt`
                    call prnt("a")
                         ^^^^
            help: did you mean `print`?
        "#]],
    );
}

#[test]
fn no_function_has_that_name() {
    check(
        r#"fun main() {
    call man, i0, r1
    ret
}"#,
        expect![[r#"
            a.asm:2:10: error: no function is called `man`
                    call man, i0, r1
                         ^^^
            help: did you mean `main`?
        "#]],
    );
}

#[test]
fn no_host_has_that_name() {
    check(
        r#"fun main() {
    call_host prnt, i0, r1
    ret
}"#,
        expect![[r#"
            a.asm:2:15: error: no host function is called `prnt`
                    call_host prnt, i0, r1
                              ^^^^
            help: did you mean `print`?
        "#]],
    );
}

#[test]
fn no_constant_has_that_name() {
    check(
        r#"data primes = i64 [2]
fun main() {
    x = data prime
    ret
}"#,
        expect![[r#"
            a.asm:3:14: error: no constant is called `prime`
                    x = data prime
                             ^^^^^
            help: did you mean `primes`?
        "#]],
    );
}

#[test]
fn no_source_has_that_name() {
    check(
        r#"source s = "a" "b" 1
fun main() {
    enter t
    ret
}"#,
        expect![[r#"
            a.asm:3:11: error: no source is called `t`
                    enter t
                          ^
            help: did you mean `s`?
        "#]],
    );
}

#[test]
fn no_capture_has_that_name() {
    check(
        r#"closure fun f{kk: i}() {
    x: i = cap k
    ret
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:16: error: no capture is called `k`
                    x: i = cap k
                               ^
            help: did you mean `kk`?
        "#]],
    );
}

#[test]
fn a_capture_has_its_class() {
    check(
        r#"closure fun f{k: i}() {
    x: r = cap k
    ret
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:5: error: `x` is an r register, and this gives an i
                    x: r = cap k
                    ^
        "#]],
    );
}

#[test]
fn cap_has_its_form() {
    check(
        r#"closure fun f{k: i}() {
    x: i = cap 0
    ret
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:5: error: `cap` has another form
                    x: i = cap 0
                    ^^^^^^^^^^^^
            help: `x = cap k`
        "#]],
    );
}

#[test]
fn arguments_are_counted() {
    check(
        r#"fun main() {
    call print()
    ret
}"#,
        expect![[r#"
            a.asm:2:5: error: `print` takes 1 argument, not 0
                    call print()
                    ^^^^^^^^^^^^
            help: `print` is `(r) -> ()`
        "#]],
    );
}

#[test]
fn arguments_have_classes() {
    check(
        r#"fun main() {
    call print(5)
    ret
}"#,
        expect![[r#"
            a.asm:2:16: error: an r register, a string or `null` should stand here, not an integer
                    call print(5)
                               ^
            help: `x = imm 5` makes a small immediate, `str_of_int` a string
        "#]],
    );
}

#[test]
fn results_are_counted() {
    check(
        r#"fun main() {
    x = call print("a")
    ret
}"#,
        expect![[r#"
            a.asm:2:5: error: `print` gives no results, and 1 register stands left of `=`
                    x = call print("a")
                    ^^^^^^^^^^^^^^^^^^^
            help: `call print(...)`; it is `(r) -> ()`
        "#]],
    );
}

#[test]
fn returned_values_are_counted() {
    check(
        r#"fun main() {
    ret 5
}"#,
        expect![[r#"
            a.asm:2:9: error: `main` gives no results, and `ret` has 1 value
                    ret 5
                        ^
            help: say their classes: `fun main(...) -> (i, r)`, or write `ret`
        "#]],
    );
}

#[test]
fn several_results_are_counted() {
    check(
        r#"fun f(x: i, y: f) -> (i, r) {
    ret x
}
fun main() {
    x = call f(1)
    call f(1, 2.0)
    tail_call f()
}"#,
        expect![[r#"
            a.asm:2:9: error: `f` gives 2 results, and `ret` has 1 value
                    ret x
                        ^
            help: it is `(i, f) -> (i, r)`
            a.asm:5:5: error: `f` takes 2 arguments, not 1
                    x = call f(1)
                    ^^^^^^^^^^^^^
            help: `f` is `(i, f) -> (i, r)`
            a.asm:6:5: error: `f` gives 2 results, and no registers stand left of `=`
                    call f(1, 2.0)
                    ^^^^^^^^^^^^^^
            help: `x1, x2 = call f(...)`; it is `(i, f) -> (i, r)`
            a.asm:7:15: error: `f` takes 2 arguments, not 0
                    tail_call f()
                              ^
            help: `f` is `(i, f) -> (i, r)`
        "#]],
    );
}

#[test]
fn a_call_with_windows_takes_no_values() {
    check(
        r#"fun main() {
    call print, "a"
    ret
}"#,
        expect![[r#"
            a.asm:2:5: error: `call` has another form
                    call print, "a"
                    ^^^^^^^^^^^^^^^
            help: `x = call f(a, 5)` passes values; with windows it is `call function, ints, refs`
        "#]],
    );
}

#[test]
fn a_function_has_an_end() {
    check(
        r#"fun main() {
    call print("a")
}"#,
        expect![[r#"
            a.asm:2:5: error: in `main`: control runs off the end of the function
                    call print("a")
                    ^^^^^^^^^^^^^^^
            help: behind this op nothing stands: end with `ret`, `raise`, a jump or a tail call
        "#]],
    );
}

#[test]
fn results_go_to_different_registers() {
    check(
        r#"fun f() -> (i, i) {
    x, x = call f()
    ret x, x
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:5: error: two results of this call go to one register
                    x, x = call f()
                    ^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn only_calls_take_arguments_in_parentheses() {
    check(
        r#"fun main() {
    x = 5
    raise x(5)
}"#,
        expect![[r#"
            a.asm:3:5: error: `raise` calls nothing
                    raise x(5)
                    ^^^^^
        "#]],
    );
}

#[test]
fn a_closures_function_is_not_called_directly() {
    check(
        r#"closure fun f() { ret }
fun main() {
    call f()
    ret
}"#,
        expect![[r#"
            a.asm:3:10: error: a closure's function is called through a closure
                    call f()
                         ^
            help: `c = closure f, [refs], [ints]`, then `call_closure c(...)`
        "#]],
    );
}

#[test]
fn a_tail_call_gives_nothing() {
    check(
        r#"fun f() -> i {
    x = 1
    x = tail_call f()
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:3:5: error: a tail call gives nothing here
                    x = tail_call f()
                    ^
        "#]],
    );
}

#[test]
fn a_host_is_not_tail_called() {
    check(
        r#"fun main() {
    tail_call print("a")
}"#,
        expect![[r#"
            a.asm:2:15: error: a host function cannot be tail-called
                    tail_call print("a")
                              ^^^^^
        "#]],
    );
}

#[test]
fn an_exception_arrives_in_an_r_register() {
    check(
        r#"fun f(x: i) {
    try h(x) {
        ret
    }
h:
    ret
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:11: error: `x` is no r register, for the exception
                    try h(x) {
                          ^
        "#]],
    );
}

#[test]
fn a_branch_ends() {
    check(
        r#"fun main() {
    .branch "true"
    ret
}"#,
        expect![[r#"
            a.asm:3:5: error: a branch is still open at the end of the function
                    ret
                    ^^^
        "#]],
    );
}

#[test]
fn a_branch_begins() {
    check(
        r#"fun main() {
    ret
    .end_branch
}"#,
        expect![[r#"
            a.asm:3:5: error: no branch is open here
                    .end_branch
                    ^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn registers_end_at_255() {
    let writes: String = (0..258)
        .map(|index| format!("    x{index} = 1\n"))
        .collect();
    check(
        &format!("fun main() {{\n{writes}    ret\n}}"),
        expect![[r#"
            a.asm:1:5: error: `main` needs more than 256 registers of a class
                fun main() {
                    ^^^^
        "#]],
    );
}

#[test]
fn windows_end_at_255() {
    check(
        r#"fun f(a: i, b: i) { ret }
fun main() {
    call f, i255, r0
    ret
}"#,
        expect![[r#"
            a.asm:3:5: error: these windows end behind register 255
                    call f, i255, r0
                    ^^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn indices_must_name_something() {
    check(
        r#"fun main() {
    call @7, i0, r1
    ret
}"#,
        expect![[r#"
            a.asm:2:5: error: no function has the index 7
                    call @7, i0, r1
                    ^^^^^^^^^^^^^^^
        "#]],
    );
}

#[test]
fn the_verifier_has_the_last_word() {
    check(
        r#"fun f(x: r) -> i {
    jnull x, none
    y = 1
none:
    ret y
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:5:5: error: `y` may be read before it is written
                    ret y
                    ^^^^^
        "#]],
    );
}

#[test]
fn the_verifier_sees_raw_registers() {
    check(
        r#"fun f() -> i {
    ret i5
}
fun main() { ret }"#,
        expect![[r#"
            a.asm:2:5: error: `i5` may be read before it is written
                    ret i5
                    ^^^^^^
        "#]],
    );
}

#[test]
fn explicit_sources_must_nest() {
    check(
        r#"source s = "a" "b" 1
fun main() {
    leave s
    ret
}"#,
        expect![[r#"
            a.asm:3:5: error: in `main`: unmatched leave: no source is open
                    leave s
                    ^^^^^^^
        "#]],
    );
}

#[test]
fn several_errors_are_reported_in_order() {
    check(
        r#"fun main() {
    x = ad 1
    y = sbu 2
    call pritn("a")
    ret
}"#,
        expect![[r#"
            a.asm:2:9: error: no op is called `ad`
                    x = ad 1
                        ^^
            help: did you mean `add`?
            a.asm:3:9: error: no op is called `sbu`
                    y = sbu 2
                        ^^^
            help: did you mean `sub`?
            a.asm:4:10: error: nothing to call is named `pritn`
                    call pritn("a")
                         ^^^^^
            help: did you mean `print`?
        "#]],
    );
}

#[test]
fn line_tables_come_in_threes() {
    check(
        r#".instrumented
fun main() {
    .lines [0, 1]
    ret
}"#,
        expect![[r#"
            a.asm:3:5: error: `.lines` has another form
                    .lines [0, 1]
                    ^^^^^^
            help: `.lines [offset, file, line, ...]`
        "#]],
    );
}
