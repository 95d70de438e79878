//! Any bytes are assembled, or refused, in memory that is linear in their number: an allocator
//! counts. Texts of one shape and of two sizes also tell whether the work is linear, as far as work
//! allocates.

mod counting;

use assembler::{AssembleOptions, Diagnostic, MAX_DIAGNOSTICS, OptLevel, assemble};

/// What assembling a text took at most at a time, and in all, in bytes, and what was wrong.
fn measure(text: &str) -> (usize, usize, Vec<Diagnostic>) {
    let options = AssembleOptions {
        profile_branch: true,
        opt_level: OptLevel::O2,
        ..AssembleOptions::default()
    };
    let (work, errors) = counting::measure(|| assemble(text, &options).err().unwrap_or_default());
    (work.peak_bytes, work.total_bytes, errors)
}

/// `count` lines in a function.
fn body(count: usize, line: impl Fn(usize) -> String) -> String {
    let lines: String = (0..count).map(|index| line(index) + "\n").collect();
    format!("fun main() {{\n{lines}ret\n}}\n")
}

/// Functions within functions, as deep as they may nest, then `rest` in the innermost.
fn nested_functions(name: &str, rest: &str) -> String {
    let begins = format!("fun {name}() {{\n").repeat(60);
    let ends = "ret\n}\n".repeat(60);
    format!("{begins}{rest}{ends}fun main() {{\nret\n}}\n")
}

/// Texts of about `size` bytes of a shape that was, or might be, worst for some step.
fn shapes(size: usize) -> Vec<(&'static str, String)> {
    let many = size / 40;
    let flat: String = (0..many)
        .map(|index| format!("fun f{index}() {{\nret\n}}\n"))
        .collect();
    let branches = |count: usize| {
        let begins = body(count, |index| format!(".branch \"b{index}\""));
        let ends = ".end_branch\n".repeat(count);
        begins.replace("ret\n", &format!("x = 1\n{ends}ret\n"))
    };
    vec![
        ("bytes that mean nothing", "\0".repeat(size)),
        ("lines that mean nothing", "#\n".repeat(size / 2)),
        ("parentheses", "(".repeat(size)),
        (
            "escapes without an end",
            format!("\"{}", "\\u{".repeat(size / 3)),
        ),
        ("a long name", format!("fun {}", "n".repeat(size))),
        (
            "a long name that means nothing",
            body(1, |_| format!("{} 1", "n".repeat(size))),
        ),
        ("unknown ops", body(size / 4, |_| "x y".into())),
        (
            "unknown labels",
            body(many, |index| format!("l{index}:\njmp k{index}")),
        ),
        (
            "unknown registers",
            body(many, |index| format!("x = mov y{index}")),
        ),
        (
            "unknown functions",
            body(many, |index| format!("call g{index}()")) + &flat,
        ),
        ("branches in branches", branches(size / 30)),
        (
            "long branches in branches",
            body(60, |_| format!(".branch \"{}\"", "b".repeat(size / 60))),
        ),
        ("branches in a long function", {
            let text = body(many, |_| ".branch \"b\"\n.end_branch".into());
            text.replace("main", &"n".repeat(size / 2)) + "fun main() {\nret\n}\n"
        }),
        (
            "functions in a long function",
            nested_functions(&"n".repeat(size / 100), &flat),
        ),
        (
            "functions of a long file",
            format!(".file \"{}\"\n{flat}", "f".repeat(size / 2)),
        ),
        ("files", {
            let files =
                (0..many).map(|index| format!(".file \"{index}\"\nfun f{index}() {{ ret }}\n"));
            files.collect::<String>() + "fun main() {\nret\n}\n"
        }),
        ("handlers over everything", {
            let handlers = body(many / 4, |_| ".handle a, b, b, e".into());
            let ops = "x = quot x, x\n".repeat(many);
            handlers.replace("ret\n", &format!("x = 1\na:\n{ops}b:\nret\n"))
        }),
        ("jumps from the last line to the first", {
            let jumps = body(many, |index| {
                format!("l{index}:\njeq x, {index}, k{}", index + 1)
            });
            jumps
                .replace("jeq x, 0, k1\n", "x = 1\n")
                .replace(", k", ", l")
                .replacen("ret\n", &format!("l{many}:\nret\n"), 1)
        }),
        ("jumps to jumps", {
            let jumps = body(many, |index| format!("l{}:\njmp l{index}", index + 1));
            jumps
                .replacen("{\n", &format!("{{\njmp l{many}\n"), 1)
                .replacen("ret\n", "l0:\nret\n", 1)
        }),
        ("loops", {
            let loops = body(many / 2, |index| {
                format!(
                    "l{index}:\njgt x, {index}, k{index}\nx = add x, 1\njmp l{index}\nk{index}:"
                )
            });
            loops.replacen("{\n", "{\nx = 0\n", 1)
        }),
        ("ways back to one test", {
            let ways = body(many, |index| format!("jeq x, {index}, next\njmp next"));
            let test = "{\nx = 0\nnext:\nx = add x, 1\ny = mul x, x\njgt y, 9, out\n";
            ways.replacen("{\n", test, 1)
                .replacen("ret\n", "out:\nret\n", 1)
        }),
        ("copies", {
            let copies = body(many, |index| {
                format!("y{0} = x\nx = add y{0}, y{0}", index % 200)
            });
            copies.replacen("{\n", "{\nx = 1\n", 1)
        }),
        ("calls that lose all registers", {
            let calls = body(many, |_| "i1 = 1\ncall f, i1, r0".into());
            calls + "fun f() {\nret\n}\n"
        }),
        (
            "numbers",
            body(1, |_| format!("x = i64 [{}1]", "1, ".repeat(size / 3))),
        ),
    ]
}

#[test]
fn memory_is_linear_in_the_size_of_the_text() {
    for (name, text) in shapes(200_000) {
        let (peak, _, errors) = measure(&text);
        let most = 300 * text.len();
        let first = errors.first().map_or("none", |error| &error.message);
        assert!(
            peak <= most,
            "{name}: {} bytes a byte; error: {first}",
            peak / text.len()
        );
    }
}

#[test]
fn work_is_linear_in_the_size_of_the_text() {
    for ((name, small), (_, large)) in shapes(50_000).into_iter().zip(shapes(200_000)) {
        let (_, small_total, _) = measure(&small);
        let (_, large_total, _) = measure(&large);
        let least = 40 * large.len();
        assert!(
            large_total < 8 * small_total.max(least / 4),
            "{name}: {small_total} bytes allocated, of four times the size {large_total}"
        );
    }
}

#[test]
fn errors_are_few_and_short() {
    for (name, text) in shapes(100_000) {
        let (_, _, errors) = measure(&text);
        assert!(errors.len() <= MAX_DIAGNOSTICS, "{name}");
        for error in errors {
            let rendered = error.render("shape.asm", &text);
            assert!(rendered.len() < 1_000, "{name}: {rendered}");
        }
    }
}

#[test]
fn branches_nest_so_deep_and_no_deeper() {
    let nested = |depth: usize| {
        let ends = ".end_branch\n".repeat(depth);
        let text = body(depth, |index| format!(".branch \"{index}\""));
        text.replace("ret\n", &format!("x = 1\n{ends}ret\n"))
    };
    assert_eq!(measure(&nested(64)).2, []);
    let (_, _, errors) = measure(&nested(65));
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].message, "branches nest deeper than 64 levels");
}

#[test]
fn names_made_of_others_have_a_most_length() {
    let long = "n".repeat(1_000);
    let inner = |inner: &str| {
        format!("fun {long}() {{\nfun {inner}() {{\nret\n}}\nret\n}}\nfun main() {{\nret\n}}\n")
    };
    assert_eq!(measure(&inner(&"i".repeat(23))).2, []);
    let (_, _, errors) = measure(&inner(&"i".repeat(24)));
    assert_eq!(
        errors[0].message,
        "the name of this function has 1025 bytes with those around it; 1024 are the most"
    );
    let branch = format!(
        "fun {long}() {{\n.branch \"{}\"\nx = 1\n.end_branch\nret\n}}\nfun main() {{\nret\n}}\n",
        "b".repeat(22)
    );
    let (_, _, errors) = measure(&branch);
    assert_eq!(
        errors[0].message,
        "the name of a branch has 1025 bytes with those around it; 1024 are the most"
    );
    let file = format!(".file \"{}\"\nfun main() {{\nret\n}}\n", "f".repeat(1_025));
    assert_eq!(
        measure(&file).2[0].message,
        "a file's name has at most 1024 bytes"
    );
}
