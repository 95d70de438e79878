//! The compiler that `docs/compilers.md` points to, on programs of its language.

#[path = "../../examples/compile_expression.rs"]
#[allow(dead_code, reason = "an example has a `main`")]
mod compile_expression;
mod page;
#[path = "../support/mod.rs"]
mod support;

use compile_expression::run;

/// What a program gives, or why not.
fn result(text: &str) -> Result<i64, String> {
    run(text)
        .map(|(value, _)| value)
        .map_err(|error| error.to_string())
}

#[test]
fn programs_give_what_they_should() {
    let cases = [
        ("42", 42),
        ("(+ 1 (* 2 3))", 7),
        ("(- 3 10)", -7),
        ("(if (< 1 2) 10 20)", 10),
        ("(let x 5 (let y x (* x y)))", 25),
        ("(let x 1 (let x 2 x))", 2),
        ("((fn f (x) (+ x 1)) 41)", 42),
        (
            "(let a 1 (let f (fn f (x) (fn g (y) (+ a (+ x y)))) ((f 10) 100)))",
            111,
        ),
        (
            "(let down (fn down (n) (if (= n 0) 7 (down (- n 1)))) (down 1000000))",
            7,
        ),
        (
            "(fn even (n) (if (= n 0) 1 (odd (- n 1)))) (fn odd (n) (if (= n 0) 0 (even (- n 1))))
          (even 1000001)",
            0,
        ),
        ("(try (raise 5) e (+ e 1))", 6),
        ("(try (try (raise 1) e (raise (+ e 1))) e (* e 10))", 20),
        ("(let x 3 (try (+ x (raise x)) e (+ e x)))", 6),
        (
            "(fn f (n) (if (= n 0) (raise 9) (+ 1 (f (- n 1))))) (try (f 100) e e)",
            9,
        ),
        ("(try (/ 1 0) e 3)", 3),
        ("(fn f (x) x) (let f (fn g (x) (+ x 1)) (f 1))", 2),
    ];
    for (text, expected) in cases {
        assert_eq!(result(text), Ok(expected), "{text}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_in_which_line() {
    let cases = [
        ("(+ 1 2", "line 1: a parenthesis is never closed"),
        ("1\n)", "line 2: a parenthesis closes nothing"),
        ("", "the program is empty"),
        ("\n(+ 1 x)", "line 2: nothing is called `x`"),
        ("(fn f) 1", "line 1: a function should stand here"),
        (
            "(fn f (x) x)\n(f 1 2)",
            "in `main`: arguments: 0 i and 1 r are wanted, not 0 and 2 \
             (`call`, block 0, program.exp:2)",
        ),
    ];
    for (text, expected) in cases {
        let error = result(text).expect_err(text);
        assert_eq!(error, expected, "{text}");
    }
    let uncaught = result("(fn f (x) (+ 1 (raise x)))\n(f 3)").expect_err("nobody handles it");
    assert!(
        uncaught.starts_with("uncaught exception: 3\n"),
        "{uncaught}"
    );
    assert!(uncaught.contains("program.exp:1"), "{uncaught}");
}

#[test]
fn the_program_of_the_example_has_its_counts() {
    let (value, calls) = run(compile_expression::PROGRAM).expect("the program runs");
    assert_eq!(value, 1540 - 7);
    let calls: Vec<String> = calls
        .iter()
        .map(|(name, count)| format!("{count} {}", name.replace('\t', ", ")))
        .collect();
    assert_eq!(
        calls,
        [
            "177 fib, program.exp: 2",
            "1 compose, program.exp: 3",
            "1 safe-div, program.exp: 4",
            "1 composed#1, program.exp: 3",
            "56 sum#2, program.exp: 5",
            "1 fibonacci#3, program.exp: 6",
        ]
    );
}
