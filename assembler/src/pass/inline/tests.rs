use crate::testing::check_ops;
use crate::{AssembleOptions, TailCalls, assemble};
use expect_test::{Expect, expect};

fn options() -> AssembleOptions {
    AssembleOptions {
        inline_ops: Some(8),
        ..Default::default()
    }
}

fn check(text: &str, expected: Expect) {
    check_ops(
        &format!("{text}\nfun main() {{ ret }}"),
        &options(),
        expected,
    );
}

/// How many sources a text's functions and the copies of them have.
fn n_sources(text: &str) -> usize {
    let text = format!("{text}\nfun main() {{ ret }}");
    let module = assemble(&text, &options()).expect("the text is right");
    module.sources.sources.len() - 3
}

#[test]
fn arguments_are_used_in_place_and_results_move() {
    check(
        "fun f(a: i, b: i) -> i {
            c = call g(a, 7)
            d = call g(b, c)
            c = add c, d
            ret c
        }
        fun g(x: i, y: i) -> i {
            x = mul x, x
            x = add x, y
            ret x
        }",
        expect![[r#"
            fun f(i, i) -> i {
                enter s3
                i4 = mov i0
                i5 = int 7
                enter s5
                i4 = mul i4, i4
                i4 = add i4, i5
                leave s5
                i2 = mov i4
                i4 = mov i1
                enter s6
                i4 = mul i4, i4
                i4 = add i4, i2
                leave s6
                i3 = mov i4
                i0 = add i2, i3
                leave s3
                ret
            }
        "#]],
    );
}

#[test]
fn a_function_of_several_exits_goes_on_behind_the_call() {
    check(
        "fun f(a: i) -> i {
            a = call sign(a)
            a = add a, 1
            ret a
        }
        fun sign(x: i) -> i {
            jlt x, 0, less
            jgt x, 0, more
            ret 0
        less:
            ret -1
        more:
            ret 1
        }",
        expect![[r#"
            fun f(i) -> i {
                enter s3
                enter s5
                jlt_imm i0, 0, L0
                jgt_imm i0, 0, L1
                leave s5
                i0 = int 0
                jmp L2
            L0:
                leave s5
                i0 = int -1
                jmp L2
            L1:
                leave s5
                i0 = int 1
            L2:
                i0 = add_imm i0, 1
                leave s3
                ret
            }
        "#]],
    );
}

#[test]
fn results_may_change_places() {
    check(
        "fun f(a: i, b: i, c: i) -> i {
            a, b = call swap(a, b)
            a = sub a, b
            a = add a, c
            ret a
        }
        fun swap(x: i, y: i) -> (i, i) {
            ret y, x
        }",
        expect![[r#"
            fun f(i, i, i) -> i {
                enter s3
                enter s5
                leave s5
                i6 = mov i0
                i0 = mov i1
                i1 = mov i6
                i0 = sub i0, i1
                i0 = add i0, i2
                leave s3
                ret
            }
        "#]],
    );
}

#[test]
fn a_copy_under_a_handler_is_under_it_too() {
    check(
        "fun f(a: i) -> i {
            try caught(e) {
                a = call half(a)
            }
            ret a
        caught:
            ret 0
        }
        fun half(x: i) -> i {
            two = 2
            x = quot x, two
            ret x
        }",
        expect![[r#"
            fun f(i) -> i {
                .handle L0, L1, L2, r0
                enter s3
            L0:
                i1 = mov i0
                enter s5
                i2 = int 2
                i1 = quot i1, i2
                leave s5
                i0 = mov i1
            L1:
                leave s3
                ret
            L2:
                leave s3
                i0 = int 0
                ret
            }
        "#]],
    );
}

#[test]
fn a_tail_call_in_a_copy_is_a_call_that_has_left_it() {
    check(
        "fun f(a: i) -> i {
            a = call g(a)
            a = add a, 1
            ret a
        }
        fun g(x: i) -> i {
            x = add x, 2
            x = call h(x)
            ret x
        }
        fun h(x: i) -> i {
            jeq x, 0, done
            x = sub x, 1
            x = call h(x)
        done:
            ret x
        }",
        expect![[r#"
            fun f(i) -> i {
                enter s3
                i1 = mov i0
                enter s6
                i0 = add_imm i1, 2
                leave s6
                call h, i0, r1
                i0 = add_imm i0, 1
                leave s3
                ret
            }
        "#]],
    );
}

#[test]
fn copies_hold_copies() {
    let text = "fun f(a: i) -> i {
            a = call g(a)
            a = add a, 1
            ret a
        }
        fun g(x: i) -> i {
            y = call h(x)
            y = add y, 1
            ret y
        }
        fun h(x: i) -> i {
            x = add x, 1
            ret x
        }";
    // `h` in `g`, and in `f` both `g` and its `h`.
    assert_eq!(n_sources(text), 3 + 1 + 2);
}

#[test]
fn what_is_not_safe_is_not_inlined() {
    let caller = "fun f(a: i, e: r) -> i {\na = call g(a, e)\na = add a, 1\nret a\n}\n";
    let large = format!("{}ret a", "a = add a, 1\n".repeat(9));
    let callees = [
        ("it calls itself", "a = call g(a, e)\na = add a, 1\nret a"),
        (
            "its caller calls it",
            "a = call f(a, e)\na = add a, 1\nret a",
        ),
        ("it raises", "jeq a, 0, out\nret a\nout:\nraise e"),
        (
            "it faults at once",
            "jeq a, 0, out\nret a\nout:\nmatch_fail",
        ),
        (
            "it handles",
            "try out(x) {\na = quot a, a\n}\nret a\nout:\nret 0",
        ),
        ("it is large", large.as_str()),
        (
            "its windows are chosen",
            "i7 = a\ncall h, i7, r2\na = i7\na = add a, 1\nret a",
        ),
    ];
    for (why, body) in callees {
        let h = "fun h(a: i) -> i {\ntail_call h(a)\n}";
        let text = format!("{caller}fun g(a: i, e: r) -> i {{\n{body}\n}}\n{h}");
        assert_eq!(n_sources(&text), 3, "{why}");
    }
    let small = format!("{caller}fun g(a: i, e: r) -> i {{\nret a\n}}");
    assert_eq!(n_sources(&small), 2 + 1, "a small one is");
}

#[test]
fn the_entry_function_and_closures_functions_are_not_inlined() {
    let text = "fun f() { call main()\n n = 1\n ret }
        closure fun c(n: i) -> i { ret n }
        fun g(n: i) -> i {
            c = closure c, [], []
            n: i = call_closure c(n)
            n = add n, 1
            ret n
        }";
    assert_eq!(n_sources(text), 3);
}

#[test]
fn functions_with_many_registers_are_not_joined() {
    let many: String = (0..100).map(|n| format!("x{n} = {n}\n")).collect();
    let sum: String = (0..100).map(|n| format!("a = add a, x{n}\n")).collect();
    let text = format!(
        "fun f(a: i) -> i {{\n{many}y = call g(a)\n{sum}a = add a, y\nret a\n}}
        fun g(a: i) -> i {{\n{many}{sum}ret a\n}}"
    );
    let options = AssembleOptions {
        inline_ops: Some(1000),
        tail_calls: TailCalls::Never,
        ..Default::default()
    };
    let text = format!("{text}\nfun main() {{ ret }}");
    let module = assemble(&text, &options).expect("the text is right");
    assert_eq!(module.sources.sources.len(), 3 + 2);
}

#[test]
fn lines_of_a_copy_are_those_of_the_function() {
    let text = ".file \"a.sml\"
        .line 1
        fun f(a: i) -> i {
            a = call g(a)
            .line 2
            a = add a, 1
            ret a
        }
        .line 7
        fun g(x: i) -> i {
            .line 8
            x = mul x, x
            ret x
        }
        fun main() { ret }";
    let module = assemble(text, &options()).expect("the text is right");
    let lines: Vec<u32> = module.functions[0]
        .lines
        .iter()
        .map(|one| one.line)
        .collect();
    assert_eq!(lines, [1, 7, 8, 2]);
}

#[test]
fn a_program_does_not_grow_without_bound() {
    let body = "a = add a, 1\n".repeat(900);
    let calls = "a = call g(a)\n".repeat(2_000);
    let text = format!(
        "fun f(a: i) -> i {{\n{calls}a = add a, 1\nret a\n}}
        fun g(a: i) -> i {{\n{body}ret a\n}}
        fun main() {{ ret }}"
    );
    let options = AssembleOptions {
        inline_ops: Some(1000),
        ..Default::default()
    };
    let module = assemble(&text, &options).expect("the text is right");
    let copies = module.sources.sources.len() - 3 - 2;
    assert!((20..100).contains(&copies), "{copies} copies");
}

#[test]
fn long_names_count_as_growth() {
    let name = "g".repeat(60_000);
    let calls = format!("a = call {name}(a)\n").repeat(3) + &"a = call h(a)\n".repeat(500);
    let text = format!(
        "fun f(a: i) -> i {{\n{calls}a = add a, 1\nret a\n}}
        fun h(a: i) -> i {{\na = call {name}(a)\na = mul a, 3\nret a\n}}
        fun {name}(a: i) -> i {{\na = mul a, 3\nret a\n}}
        fun main() {{ ret }}"
    );
    let module = assemble(&text, &options()).expect("the text is right");
    let bytes: usize = module.sources.names.iter().map(|name| name.len()).sum();
    let n_copies = module.sources.sources.len() - 3 - 3;
    assert!((3..40).contains(&n_copies), "{n_copies} copies");
    assert!(bytes < 10 * text.len(), "{bytes} bytes of names");
}
