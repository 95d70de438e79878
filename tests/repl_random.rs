//! Random entries, most of which make sense: no panic, whole answers, and the right results.

mod support;

use repl::{Reply, Session, SessionIo};
use support::Random;

/// An expression of integers and its value.
fn number(random: &mut Random, depth: usize) -> (String, i64) {
    if depth == 0 {
        let number = random.next() as i64 >> random.below(64);
        let number = number.max(-i64::MAX);
        return (number.to_string(), number);
    }
    let (left, a) = number(random, depth - 1);
    let right_depth = random.below(depth);
    let (right, b) = number(random, right_depth);
    let one = |is: bool| i64::from(is);
    match random.below(9) {
        0 => (format!("({left} + {right})"), a.wrapping_add(b)),
        1 => (format!("({left} - {right})"), a.wrapping_sub(b)),
        2 => (format!("({left} * {right})"), a.wrapping_mul(b)),
        3 => (format!("({left} < {right})"), one(a < b)),
        4 => (format!("({left} >= {right})"), one(a >= b)),
        5 => (format!("({left} == {right})"), one(a == b)),
        6 => (format!("-({left})"), a.wrapping_neg()),
        7 => (format!("sum({left}, {right})"), a.wrapping_add(b)),
        _ => (format!("next({left})"), a.wrapping_add(1)),
    }
}

/// An expression of any kind, right or wrong.
fn expression(random: &mut Random, depth: usize) -> String {
    let inner = |random: &mut Random| match depth {
        0 => "1".into(),
        depth => expression(random, depth - 1),
    };
    match random.below(16) {
        0 | 1 => number(random, depth.min(3)).0,
        2 => ["x", "y", "xs", "absent"][random.below(4)].into(),
        3 => ["null", "&7", "2.5", "\"text\"", "'c'", "[]"][random.below(6)].into(),
        4 => format!("[{}, {}]", inner(random), inner(random)),
        5 => format!("#{}({}, {})", random.below(4), inner(random), inner(random)),
        6 => format!("({} + {})", inner(random), inner(random)),
        7 => format!("({} / {})", inner(random), inner(random)),
        8 => format!("upto({})", random.below(40)),
        9 => format!("cell({}, {})", inner(random), inner(random)),
        10 => format!("adder{{{}}}", inner(random)),
        11 => ["x.i0", "xs.r0", "y.f0", "xs.r9"][random.below(4)].into(),
        12 => format!("{} as float", inner(random)),
        13 => format!("y({})", inner(random)),
        14 => "tie(xs)".into(),
        _ => ["f64 [1, 2]", "i64 [3]", "bytes [4]", "(1", "1 +"][random.below(5)].into(),
    }
}

/// An entry of any kind.
fn entry(random: &mut Random) -> String {
    let run = format!("#{}", 1 + random.below(12));
    let function = ["next", "sum", "upto", "cell", "absent"][random.below(5)];
    let expr = expression(random, 2);
    let kind = ["time", "alloc", "count", "all", "mem --rate 0.3", "heap"][random.below(6)];
    let style = ["", "--stack "][random.below(2)];
    match random.below(36) {
        0..=4 => format!("let {} = {expr}", ["x", "y", "xs"][random.below(3)]),
        5..=9 => expr,
        10..=13 => format!(":prof {kind} {style}{expr}"),
        14 => format!(":prof diff {run} #{} --fail-over 5%", 1 + random.below(12)),
        15 => format!(":prof tree {run}"),
        16 => format!(":prof callers {function} {run}"),
        17 => format!(":prof callees {function} {run} --kind alloc"),
        18 => format!(":prof annotate {function} {run}"),
        19 => format!(":prof merge {run} {run}"),
        20 => format!(":prof show {run}"),
        21 => [
            ":prof on alloc",
            ":prof on count,alloc --stack",
            ":prof off",
            ":prof reset",
        ][random.below(4)]
        .into(),
        22 => format!(":dis {function} --counts {expr}"),
        23 => format!(":dis {function}"),
        24 => format!(":break {function}"),
        25 => [":step 3", ":regs", ":stack", ":continue"][random.below(4)].into(),
        26 | 27 => [":abort", ":break off"][random.below(2)].into(),
        28 => format!(":type {expr}"),
        29 => [":values", ":gc", ":heap", ":functions", ":prof list"][random.below(5)].into(),
        30 => [
            ":fuel 5000",
            ":fuel off",
            ":limit heap 4M",
            ":limit heap 1G",
        ][random.below(4)]
        .into(),
        31 => [":set +s", ":set -s", ":set -l", ":set +l", ":set depth 3"][random.below(5)].into(),
        32 => format!(":forget {}", ["x", "y"][random.below(2)]),
        33 => [":mem start 0.5", ":mem", ":mem stop", ":mem discard"][random.below(4)].into(),
        34 => [
            format!(":prof show {run} --by peak --stacks --objects"),
            format!(":prof diff {run} #{} --by live", 1 + random.below(12)),
        ][random.below(2)]
        .clone(),
        _ => format!(
            "fun next(n: i) -> i {{ n = add n, 1\n{} ret n }}",
            "\n".repeat(random.below(3))
        ),
    }
}

/// What the session can do from the start.
const DEFINITIONS: [&str; 6] = [
    "fun next(n: i) -> i { n = add n, 1\n ret n }",
    "fun sum(a: i, b: i) -> i { a = add a, b\n ret a }",
    "fun cell(x: r, n: i) -> r { x = new 1, [x], [n]\n ret x }",
    "fun upto(n: i) -> r {\n xs = null\nagain:\n jle n, 0, done\n xs = new 1, [xs], [n]\n \
     n = sub n, 1\n jmp again\ndone:\n ret xs\n}",
    "closure fun adder{k: i}(n: i) -> i { k = cap k\n n = add n, k\n ret n }",
    "fun tie(x: r) { st_r x, 0, x\n ret }",
];

#[test]
fn random_entries_are_answered() {
    let mut session = Session::new(SessionIo::new(std::io::sink()));
    for text in DEFINITIONS {
        session.answer(text);
    }
    let mut random = Random(5);
    for round in 0..1000 {
        let entry = entry(&mut random);
        match session.answer(&entry) {
            Reply::Text(text) => {
                assert!(text.is_empty() || text.ends_with('\n'), "{entry}: {text:?}");
            }
            Reply::Quit => panic!("{entry}"),
        }
        // Whatever came before, a sum is right.
        if round % 4 == 0 {
            for entry in [
                ":abort",
                ":break off",
                ":fuel off",
                ":limit heap 1G",
                ":set -s",
            ] {
                session.answer(entry);
            }
            let (text, value) = number(&mut random, 4);
            let expected = Reply::Text(format!("{value}\n"));
            assert_eq!(session.answer(&text), expected, "{text} after {entry}");
        }
    }
}

#[test]
fn random_bytes_are_answered() {
    let mut session = Session::new(SessionIo::new(std::io::sink()));
    let mut random = Random(6);
    let alphabet: Vec<char> = ":prof fun{}()[]<>=+-*/%#&.,;'\"\\\n 019aefil_é\u{0}"
        .chars()
        .collect();
    for _ in 0..2000 {
        let length = random.below(24);
        let entry: String = (0..length)
            .map(|_| alphabet[random.below(alphabet.len())])
            .collect();
        assert!(
            matches!(session.answer(&entry), Reply::Text(_)),
            "{entry:?}"
        );
        Session::is_open(&entry);
    }
}
