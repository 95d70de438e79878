//! Whatever verifies is printed as text that assembles to the same bytes; and nothing, neither
//! text nor module, makes the crate panic.

mod support;

use assembler::{AssembleOptions, MAX_DIAGNOSTICS, OptLevel, TailCalls, assemble, print};
use support::{Numbers, random_module};
use vm::host::STANDARD;
use vm::isa::{OPS, Signature, random_op};
use vm::module::{Constant, Function, HandlerRange, HostImport, LineEntry, Module, write};
use vm::verify::{VerifyErrorKind, verify};

/// The options say what is done to a text that is not instrumented, so none may matter here.
fn all_options() -> Vec<AssembleOptions> {
    [TailCalls::Always, TailCalls::SelfOnly, TailCalls::Never]
        .into_iter()
        .zip(OptLevel::ALL)
        .map(|(tail_calls, opt_level)| AssembleOptions {
            tail_calls,
            opt_level,
            profile_branch: tail_calls == TailCalls::Always,
            inline_ops: (tail_calls == TailCalls::Never).then_some(100),
            file_name: "again.asm".into(),
        })
        .collect()
}

fn check_round_trip(module: &Module, what: &str) {
    let text = print(module);
    for options in all_options() {
        let again = assemble(&text, &options).unwrap_or_else(|errors| {
            let errors: String = errors
                .iter()
                .map(|one| one.render("again.asm", &text))
                .collect();
            panic!("{what}: {errors}\n{text}")
        });
        assert!(
            write(&again) == write(module),
            "{what} differs:\n{text}\n{}",
            print(&again)
        );
    }
}

/// The machine knows two classes of registers; a text says which words are doubles.
#[test]
fn imports_are_printed_with_the_kinds_of_the_standard_functions() {
    let hosts = STANDARD.iter().map(|function| HostImport {
        name: function.name.to_owned(),
        signature: function.signature,
    });
    let module = Module {
        hosts: hosts.collect(),
        ..random_module(0)
    };
    let text = print(&module);
    for line in [
        "host sin(f) -> f",
        "host frexp(f) -> (f, i)",
        "host file_write_part(i, r, i, i) -> i",
        "host print(r)",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}: {text}");
    }
    check_round_trip(&module, "a module with all standard imports");
    let other = HostImport {
        name: "sin".into(),
        signature: Signature::default(),
    };
    let module = Module {
        hosts: vec![other],
        ..module
    };
    assert!(
        print(&module).contains("host sin()\n"),
        "of another signature"
    );
}

#[test]
fn random_modules_round_trip() {
    let mut n_verified = 0;
    for seed in 0..400 {
        let module = random_module(seed);
        match verify(module.clone()) {
            Ok(_) => n_verified += 1,
            // Random jumps may lead into the middle of a handler's range that nothing else enters.
            Err(errors) => {
                let entered = errors
                    .iter()
                    .all(|error| error.kind == VerifyErrorKind::RangeEnteredLate);
                assert!(entered, "seed {seed}: {}\n{}", errors[0], print(&module));
                continue;
            }
        }
        check_round_trip(&module, &format!("seed {seed}"));
    }
    assert!(n_verified >= 300, "only {n_verified} modules verify");
}

#[test]
fn golden_programs_round_trip() {
    for (name, text) in support::golden_texts() {
        for options in all_options() {
            let module = assemble(&text, &options).unwrap_or_else(|errors| {
                let errors: String = errors.iter().map(|one| one.render(&name, &text)).collect();
                panic!("{errors}")
            });
            check_round_trip(&module, &name);
        }
    }
}

#[test]
fn damaged_texts_are_errors_at_worst() {
    let mut numbers = Numbers::new(7);
    let texts: Vec<String> = support::golden_texts()
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let pieces = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "->",
        "=",
        ":",
        ",",
        "@9",
        "\"",
        "'",
        "\\",
        "-",
        ".branch",
        ".end_branch",
        ".handle",
        "call",
        "ret",
        "fun",
        "try",
        "i255",
        "r256",
        "99999999999",
        "\n",
    ];
    for round in 0..3000 {
        let mut text = texts[numbers.below(texts.len())].clone();
        for _ in 0..=numbers.below(3) {
            let mut at = numbers.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match numbers.below(3) {
                0 => text.insert_str(at, pieces[numbers.below(pieces.len())]),
                1 => text.truncate(at),
                _ => {
                    let mut end = (at + numbers.below(12)).min(text.len());
                    while !text.is_char_boundary(end) {
                        end -= 1;
                    }
                    text.replace_range(at..end, "");
                }
            }
        }
        let options = &all_options()[round % 3];
        if let Err(errors) = assemble(&text, options) {
            assert!((1..=MAX_DIAGNOSTICS).contains(&errors.len()));
            for error in errors {
                assert!(error.render("x", &text).contains("error: "));
            }
        }
    }
}

#[test]
fn deep_nesting_is_an_error() {
    for piece in ["try h(e) {", "fun f() {", "x = new 1, [", ".sources ["] {
        let text = format!("fun main() {{\n{}", piece.repeat(100_000));
        let errors = assemble(&text, &AssembleOptions::default()).expect_err("it never closes");
        assert!(!errors.is_empty());
    }
}

/// Modules of random bytes print to something.
#[test]
fn modules_that_do_not_verify_print() {
    let mut numbers = Numbers::new(11);
    for _ in 0..500 {
        let mut code = Vec::new();
        for _ in 0..numbers.below(6) {
            let opcode = OPS[numbers.below(OPS.len())].opcode;
            random_op(opcode, &mut || numbers.next()).encode(&mut code);
        }
        code.truncate(code.len() - numbers.below(2).min(code.len()));
        let line = LineEntry {
            offset: 3,
            file: 9,
            line: 1,
        };
        let handler = HandlerRange {
            start: 1,
            end: 90,
            target: 2,
            register: 0,
        };
        let function = Function {
            name: "f".into(),
            code,
            lines: vec![line; numbers.below(2)],
            handlers: vec![handler; numbers.below(2)],
            ..Function::default()
        };
        let constants = vec![Constant::Text(vec![0xff]); numbers.below(2)];
        let functions = vec![function; numbers.below(3)];
        let module = Module {
            functions,
            constants,
            entry: 1,
            ..Module::default()
        };
        let _ = assemble(&print(&module), &AssembleOptions::default());
    }
}
