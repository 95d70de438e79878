//! Target `session`: any entries. Each is answered; and whatever came before, a sum is right.

use repl::{Reply, Session, SessionIo, command_names};
use vm::host::{STANDARD, StandardFunction, Touches};

use super::input::Input;

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
/// Nothing runs long, and nothing becomes large.
const LIMITS: [&str; 3] = [":fuel 5000", ":limit heap 4M", ":limit stack 64K"];
/// What leaves a session in which a sum is a sum again.
const RESET: [&str; 5] = [":abort", ":break off", ":set -s", ":set -f", ":set depth 5"];
/// The most entries of an input.
const MAX_ENTRIES: usize = 24;

/// Enters what the input tells, at random from what makes sense or as it stands; whether anything
/// was answered without an error.
pub fn run(bytes: &[u8]) -> bool {
    let mut session = Session::new(SessionIo::new(std::io::sink()));
    for entry in DEFINITIONS.iter().chain(&LIMITS) {
        session.answer(entry);
    }
    assert_eq!(session.n_errors(), 0, "the beginning is right");
    let mut input = Input::new(bytes);
    let (mut n_entries, mut n_answered) = (0, 0);
    while !input.is_empty() && n_entries < MAX_ENTRIES {
        let text = match input.byte() {
            0..=0x7f => entry(&mut input),
            _ => String::from_utf8_lossy(input.piece()).into_owned(),
        };
        Session::is_open(&text);
        session.prompt();
        if !is_harmless(&text) {
            continue;
        }
        n_entries += 1;
        let n_errors = session.n_errors();
        match session.answer(&text) {
            Reply::Text(answer) => {
                n_answered += usize::from(session.n_errors() == n_errors);
                assert!(
                    answer.is_empty() || answer.ends_with('\n'),
                    "{text}: {answer:?}"
                );
            }
            Reply::Quit => {
                assert!(text.trim().starts_with(":q"), "{text}");
                return true;
            }
        }
        if n_entries % 6 == 0 {
            check_sum(&mut session, &mut input, &text);
        }
    }
    check_sum(&mut session, &mut input, "the last entry");
    n_answered > 0
}

/// Functions may have been defined again, but operators mean what they always have.
fn check_sum(session: &mut Session, input: &mut Input, after: &str) {
    for entry in RESET {
        session.answer(entry);
    }
    let (text, value) = number(input, 3, false);
    let expected = Reply::Text(format!("{value}\n"));
    let answer = session.answer(&text);
    assert!(answer == expected, "{text} after {after}: {answer:?}");
}

/// Entries that touch files, wait, or lift the limits are left out.
fn is_harmless(entry: &str) -> bool {
    const COMMANDS: [&str; 5] = ["load", "save", "fuel", "limit", "time"];
    const OF_PROFILES: [&str; 3] = ["load", "save", "write"];
    // Programs get at files by these host functions alone, and wait in the last one.
    let is_harmful = |one: &StandardFunction| match one.touches {
        Touches::ReadFiles | Touches::WrittenFiles | Touches::ReadAndWrittenFiles => true,
        _ => one.name == "sleep",
    };
    let mut harmful = STANDARD.iter().filter(|one| is_harmful(one));
    if harmful.any(|one| entry.contains(one.name)) || entry.contains("host") {
        return false;
    }
    let Some(command) = entry.trim().strip_prefix(':') else {
        return true;
    };
    // Any prefix of a command's words will do.
    let is_any = |word: &str, of: &[&str]| of.iter().any(|one| one.starts_with(word));
    let mut words = command.split_whitespace();
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or("none"));
    let is_of_profiles = "prof".starts_with(first) && is_any(second, &OF_PROFILES);
    !is_any(first, &COMMANDS) && !is_of_profiles
}

/// An expression of integers and its value; with calls of the functions defined at the start, if
/// they are what they were.
fn number(input: &mut Input, depth: usize, has_calls: bool) -> (String, i64) {
    if depth == 0 {
        let number = (input.number() as i64).max(-i64::MAX);
        return (number.to_string(), number);
    }
    let (left, a) = number(input, depth - 1, has_calls);
    let right_depth = input.below(depth);
    let (right, b) = number(input, right_depth, has_calls);
    let one = |is: bool| i64::from(is);
    match input.below(if has_calls { 9 } else { 7 }) {
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
fn expression(input: &mut Input, depth: usize) -> String {
    let inner = |input: &mut Input| match depth {
        0 => "1".into(),
        depth => expression(input, depth - 1),
    };
    match input.below(16) {
        0 | 1 => number(input, depth.min(3), true).0,
        2 => ["x", "y", "xs", "absent"][input.below(4)].into(),
        3 => ["null", "&7", "2.5", "\"text\"", "'c'", "[]"][input.below(6)].into(),
        4 => format!("[{}, {}]", inner(input), inner(input)),
        5 => format!("#{}({}, {})", input.below(4), inner(input), inner(input)),
        6 => format!("({} + {})", inner(input), inner(input)),
        7 => format!("({} / {})", inner(input), inner(input)),
        8 => format!("upto({})", input.below(40)),
        9 => format!("cell({}, {})", inner(input), inner(input)),
        10 => format!("adder{{{}}}", inner(input)),
        11 => ["x.i0", "xs.r0", "y.f0", "xs.r9"][input.below(4)].into(),
        12 => format!("{} as float", inner(input)),
        13 => format!("y({})", inner(input)),
        14 => "tie(xs)".into(),
        _ => ["f64 [1, 2]", "i64 [3]", "bytes [4]", "(1", "1 +"][input.below(5)].into(),
    }
}

/// An entry of any kind.
fn entry(input: &mut Input) -> String {
    let run = format!("#{}", 1 + input.below(12));
    let function = ["next", "sum", "upto", "cell", "absent"][input.below(5)];
    let expr = expression(input, 2);
    let kind = ["time", "alloc", "count", "all", "mem --rate 0.3", "heap"][input.below(6)];
    let style = ["", "--stack "][input.below(2)];
    match input.below(36) {
        0..=4 => format!("let {} = {expr}", ["x", "y", "xs"][input.below(3)]),
        5..=9 => expr,
        10..=13 => format!(":prof {kind} {style}{expr}"),
        14 => format!(":prof diff {run} #{} --fail-over 5%", 1 + input.below(12)),
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
        ][input.below(4)]
        .into(),
        22 => format!(":dis {function} --counts {expr}"),
        23 => format!(":dis {function}"),
        24 => format!(":break {function}"),
        25 => [":step 3", ":regs", ":stack", ":continue"][input.below(4)].into(),
        26 | 27 => [":abort", ":break off"][input.below(2)].into(),
        28 => format!(":type {expr}"),
        29 => [":values", ":gc", ":heap", ":functions", ":prof list"][input.below(5)].into(),
        30 => [":prof status", ":help", ":help let", ":set"][input.below(4)].into(),
        31 => [":set +s", ":set -s", ":set -l", ":set +l", ":set depth 3"][input.below(5)].into(),
        32 => format!(":forget {}", ["x", "y"][input.below(2)]),
        33 => [":mem start 0.5", ":mem", ":mem stop", ":mem discard"][input.below(4)].into(),
        34 => [
            format!(":prof show {run} --by peak --stacks --objects"),
            format!(":prof diff {run} #{} --by live", 1 + input.below(12)),
        ][input.below(2)]
        .clone(),
        _ => format!(
            "fun next(n: i) -> i {{ n = add n, 1\n{} ret n }}",
            "\n".repeat(input.below(3))
        ),
    }
}

/// Entries of every kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for number in 0..36_u8 {
        let told: Vec<u8> = (0..64)
            .map(|at| (at ^ number).wrapping_mul(41) & 0x7f)
            .collect();
        seeds.push(told);
    }
    let batches = [
        include_str!("../../repl/control.repl"),
        include_str!("../../repl/language.repl"),
        include_str!("../../repl/memory.repl"),
        include_str!("../../repl/profiles.repl"),
        include_str!("../../repl/programs.repl"),
    ];
    for batch in batches {
        let mut open = String::new();
        let mut seed = Vec::new();
        for line in batch.lines() {
            open += line;
            if Session::is_open(&open) {
                open.push('\n');
                continue;
            }
            seed.push(0x80);
            seed.extend(open.as_bytes());
            seed.push(0);
            open.clear();
        }
        // Not all of a batch's entries are for one input.
        let entries: Vec<&[u8]> = seed.split_inclusive(|&byte| byte == 0).collect();
        seeds.extend(entries.chunks(MAX_ENTRIES).map(<[&[u8]]>::concat));
    }
    seeds
}

/// What entries are made of.
pub fn words() -> Vec<String> {
    let words = [
        "let x = ",
        "xs",
        "#1",
        "#1(1, [2])",
        "[1, 2]",
        " as float",
        "&7",
        "--stack ",
        "--kind alloc",
        "--by live",
        ".i0",
        ".r0",
        "null",
        "upto(3)",
        "adder{1}",
        "tie(xs)",
    ];
    let commands = command_names().map(str::to_owned);
    commands.chain(words.map(str::to_owned)).collect()
}
