//! What a program does, and what profiles charge to whom, is the same at -O0, -O1 and -O2; and what
//! the command says of levels and passes.
//!
//! `TALLY_CAMPAIGN=long` tries many more programs, `TALLY_SEED` says with which to begin.

#[allow(dead_code, reason = "the generator is wanted, not the interpreter")]
mod reference;
mod support;

use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::process::Output;
use std::sync::{Arc, Mutex};

use assembler::{AssembleOptions, OptLevel, TailCalls, assemble_verified};
use profiler::{Kind, KindSet, Profile, SourceId};
use reference::smith::Program;
use support::{campaign, expect_file, files, root, stderr, stdout, vm};
use vm::host::{HostIo, Hosts};
use vm::verify::VerifiedModule;
use vm::{RunError, Trap, Vm, VmConfig};

/// How many random programs are tried, in short and in long.
const PROGRAMS: [u64; 2] = [40, 600];
/// Programs that run longer are passed over.
const FUEL: u64 = 300_000;
/// Examples that run for long.
const LONG: [&str; 2] = ["tak", "fib-tak"];

/// Output that can be read after the machine is gone.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .expect("no writer panics")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// All that can be seen of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    /// The results, or the error with its backtrace.
    end: String,
    output: String,
    errors: String,
    bytes: u64,
    /// Entries and bytes of each source, by the names that profiles have.
    charged: Vec<(String, u64, u64)>,
}

/// Runs a module; `None` when it takes too long, or stops where the size of frames matters.
fn run(
    module: VerifiedModule,
    arguments: Vec<Vec<u8>>,
    input: Vec<u8>,
    fuel: Option<u64>,
) -> Option<Seen> {
    let kinds: KindSet = "alloc,count".parse().expect("kinds");
    let sources = module.source_map();
    let profile = Arc::new(Profile::new(kinds, sources.sources.len()));
    let (output, errors) = (Shared::default(), Shared::default());
    let io = HostIo::new(
        Cursor::new(input),
        output.clone(),
        errors.clone(),
        arguments,
    );
    let config = VmConfig {
        fuel,
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    let mut vm = Vm::new(module, Hosts::standard(io), config).expect("a machine");
    let end = match vm.run() {
        Err(RunError::Trap {
            trap: Trap::StackOverflow { .. } | Trap::OutOfFuel,
            ..
        }) => return None,
        Err(error) => vm.describe_error(&error),
        Ok(outcome) => format!("{outcome:?}"),
    };
    let rows = |kind| profile.data().counts(kind).rows;
    let rows = rows(Kind::Count).into_iter().zip(rows(Kind::Alloc));
    let charged = (0..).zip(rows).map(|(index, (count, alloc))| {
        let name = sources.name_of(SourceId(index)).unwrap_or_default();
        // What collections move depends on when they come.
        let bytes = if index == SourceId::GC.0 {
            0
        } else {
            alloc.current
        };
        (name.to_owned(), count.current, bytes)
    });
    let charged = charged.collect();
    let text = |shared: Shared| {
        let bytes = shared.0.lock().expect("no writer panics");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Some(Seen {
        end,
        output: text(output),
        errors: text(errors),
        bytes: vm.allocated_bytes(),
        charged,
    })
}

fn assembled(text: &str, options: &AssembleOptions) -> VerifiedModule {
    assemble_verified(text, options).unwrap_or_else(|errors| {
        let shown = errors.iter().map(|error| error.render("levels.asm", text));
        panic!("{options:?}: {}", shown.collect::<String>())
    })
}

#[test]
fn examples_do_the_same_at_every_level() {
    for example in files(&root().join("examples"), "asm") {
        if LONG
            .iter()
            .any(|&long| example.file_stem().is_some_and(|stem| stem == long))
        {
            continue;
        }
        let text = std::fs::read_to_string(&example).expect("an example");
        let read = |ending| std::fs::read(example.with_extension(ending)).unwrap_or_default();
        let arguments = String::from_utf8(read("args")).expect("arguments");
        let arguments: Vec<Vec<u8>> = arguments.lines().map(|line| line.into()).collect();
        let [zero, one, two] = OptLevel::ALL.map(|opt_level| {
            let options = AssembleOptions {
                opt_level,
                profile_branch: true,
                ..AssembleOptions::default()
            };
            run(
                assembled(&text, &options),
                arguments.clone(),
                read("in"),
                None,
            )
        });
        assert!(zero.is_some(), "{} has an end", example.display());
        assert_eq!(zero, one, "{}", example.display());
        assert_eq!(zero, two, "{}", example.display());
    }
}

#[test]
fn random_programs_do_the_same_at_every_level() {
    let first = campaign::first_seed(1);
    let (mut n_compared, mut n_changed, mut n_uncaught) = (0, 0, 0);
    let programs = campaign::size(PROGRAMS[0], PROGRAMS[1]);
    for seed in first..first + programs {
        let text = Program::new(seed).text();
        let tail_calls = [TailCalls::Always, TailCalls::SelfOnly, TailCalls::Never];
        let modules = OptLevel::ALL.map(|opt_level| {
            let options = AssembleOptions {
                tail_calls: tail_calls[seed as usize % 3],
                profile_branch: seed.is_multiple_of(2),
                inline_ops: (seed % 4 == 3).then_some(30),
                opt_level,
                file_name: "smith.asm".into(),
            };
            assembled(&text, &options)
        });
        let codes = |module: &VerifiedModule| -> Vec<Vec<u8>> {
            module
                .functions
                .iter()
                .map(|one| one.code.clone())
                .collect()
        };
        n_changed += u64::from(codes(&modules[1]) != codes(&modules[2]));
        let arguments = || vec![b"first".to_vec(), b"the second one".to_vec()];
        let [zero, one, two] =
            modules.map(|module| run(module, arguments(), Vec::new(), Some(FUEL)));
        let (Some(zero), Some(one), Some(two)) = (zero, one, two) else {
            continue;
        };
        n_compared += 1;
        n_uncaught += u64::from(!zero.end.starts_with("Returned"));
        assert_eq!(zero, one, "seed {seed}: -O0 and -O1\n{text}");
        assert_eq!(zero, two, "seed {seed}: -O0 and -O2\n{text}");
    }
    println!("{n_compared} compared, {n_changed} changed, {n_uncaught} with another end");
    assert!(
        n_compared * 10 >= programs * 6,
        "{n_compared} of {programs} were compared"
    );
    assert!(
        n_changed * 10 >= programs * 9,
        "-O2 changes {n_changed} of {programs}"
    );
    assert!(n_uncaught > 0, "some end with a backtrace");
}

#[test]
fn cases_end_and_print_the_same_at_every_level() {
    for case in files(&root().join("tests/cases"), "asm") {
        let text = std::fs::read_to_string(&case).expect("the case can be read");
        let first = text.lines().next().unwrap_or_default();
        let options = first.strip_prefix("; args: ").unwrap_or_default();
        for level in ["-O0", "-O2"] {
            let output = vm(case.parent().expect("a file has a folder"))
                .arg(level)
                .args(options.split_whitespace())
                .arg(case.file_name().expect("a file has a name"))
                .output()
                .expect("vm runs");
            let code = output.status.code();
            let (out, err) = (stdout(&output), stderr(&output));
            let actual = format!("{out}--- standard error\n{err}--- exit code {code:?}\n");
            let expected = std::fs::read_to_string(case.with_extension("expected"));
            assert_eq!(
                actual,
                expected.expect("it is there"),
                "{level} {}",
                case.display()
            );
        }
    }
}

/// A loop with much to do for the passes.
const LOOP: &str = "\
fun sum(n: i) -> i {
    step = 2
    sum = 0
next:
    jlt n, 1, done
    m = mul n, step
    copy = m
    sum = add sum, copy
    n = sub n, 1
    jmp next
done:
    ret sum
}

fun main() {
    n = call sum(10)
    call print_int(n)
    ret
}
";

fn vm_on_loop(arguments: &[&str]) -> (tempfile::TempDir, Output) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("loop.asm"), LOOP).expect("a program");
    let output = vm(folder.path()).args(arguments).output().expect("vm runs");
    (folder, output)
}

fn golden(name: &str) -> PathBuf {
    root().join("tests/golden/passes").join(name)
}

#[test]
fn the_program_is_printed_behind_a_pass_or_all() {
    let (_folder, output) = vm_on_loop(&["-O2", "--print-after", "all", "loop.asm"]);
    assert_eq!(stdout(&output), "110");
    expect_file(&golden("all.txt"), &stderr(&output));
    let (_folder, output) = vm_on_loop(&[
        "asm",
        "-O2",
        "--print-after",
        "invert",
        "--print-after=dead",
        "loop.asm",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let printed = stderr(&output);
    let heads: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("; "))
        .collect();
    assert_eq!(heads, ["; behind invert", "; behind dead"]);
}

#[test]
fn a_pass_that_does_not_run_prints_nothing() {
    let (_folder, output) = vm_on_loop(&["-O1", "--print-after", "fold", "loop.asm"]);
    assert_eq!(
        (stdout(&output).as_str(), stderr(&output).as_str()),
        ("110", "")
    );
}

#[test]
fn other_levels_and_unknown_passes_are_refused() {
    let cases = [
        (
            &["asm", "-O7", "loop.asm"][..],
            "[possible values: 0, 1, 2]",
        ),
        (&["asm", "-O", "loop.asm"], "[possible values: 0, 1, 2]"),
        (
            &["--print-after", "fould", "loop.asm"],
            "a similar value exists: 'fold'",
        ),
        (&["asm", "--print-after", "death", "loop.asm"], "'dead'"),
    ];
    for (arguments, expected) in cases {
        let (_folder, output) = vm_on_loop(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            stderr(&output).contains(expected),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn profiles_of_every_level_are_shown_without_being_told_the_level() {
    let mut tables = Vec::new();
    for level in ["-O0", "-O1", "-O2"] {
        let (folder, output) = vm_on_loop(&["--profile=count", level, "loop.asm"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let shown = |arguments: &[&str]| {
            let output = vm(folder.path()).args(arguments).output().expect("vm runs");
            assert!(output.status.success(), "{}", stderr(&output));
            stdout(&output)
        };
        let table = shown(&["prof", "loop.asm", "mlmon.out"]);
        assert_eq!(table, shown(&["prof", level, "loop.asm", "mlmon.out"]));
        tables.push(table);
    }
    tables.dedup();
    assert_eq!(tables.len(), 1, "{tables:?}");
}

#[test]
fn disassembly_and_the_session_know_levels() {
    let (_folder, output) = vm_on_loop(&["dis", "-O2", "loop.asm"]);
    assert!(stdout(&output).contains("jge_imm"), "{}", stdout(&output));
    let (folder, _) = vm_on_loop(&["dis", "loop.asm"]);
    std::fs::write(folder.path().join("entries.repl"), ":dis sum\nsum(4)\n").expect("entries");
    let shown = |level: &str| {
        let arguments = ["repl", level, "--batch", "entries.repl", "loop.asm"];
        let output = vm(folder.path()).args(arguments).output().expect("vm runs");
        assert!(output.status.success(), "{level}: {}", stderr(&output));
        stdout(&output)
    };
    let (one, two) = (shown("-O1"), shown("-O2"));
    assert!(one.ends_with("20\n") && two.ends_with("20\n"), "{one}{two}");
    assert!(
        two.contains("jge_imm") && !one.contains("jge_imm"),
        "{one}{two}"
    );
}
