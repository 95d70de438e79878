//! Every example runs, prints what is expected, and does so however it is run.

mod support;

use std::path::{Path, PathBuf};
use std::process::Output;

use support::{files, root, vm};

/// Examples that are measurements: they run for seconds, so they are run once only.
const LONG: [&str; 2] = ["tak", "fib-tak"];

fn examples() -> Vec<PathBuf> {
    let found = files(&root().join("examples"), "asm");
    assert!(found.len() >= 12, "the examples are there");
    found
}

fn short_examples() -> Vec<PathBuf> {
    let is_short = |path: &PathBuf| {
        let stem = path
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        !LONG.contains(&stem.as_str())
    };
    examples().into_iter().filter(is_short).collect()
}

/// Runs an example with its arguments and input.
fn run(program: &Path, example: &Path, options: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = vm(folder.path());
    command.args(options).arg(program);
    if let Ok(arguments) = std::fs::read_to_string(example.with_extension("args")) {
        command.args(arguments.lines());
    }
    match std::fs::File::open(example.with_extension("in")) {
        Ok(input) => command.stdin(input),
        Err(_) => command.stdin(std::process::Stdio::null()),
    };
    command.output().expect("vm runs")
}

fn check(output: &Output, example: &Path, how: &str) {
    let expected = std::fs::read(example.with_extension("out")).expect("the expected output");
    let shown = example.display();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&expected),
        "{shown} {how}: {error}"
    );
    assert!(output.status.success(), "{shown} {how}: {error}");
}

#[test]
fn examples_print_what_is_expected() {
    for example in short_examples() {
        check(&run(&example, &example, &[]), &example, "as it is");
    }
}

#[test]
fn examples_do_the_same_under_every_profile() {
    for example in short_examples() {
        for kinds in ["time", "alloc", "count", "time,alloc,count"] {
            check(
                &run(&example, &example, &["--profile", kinds]),
                &example,
                kinds,
            );
        }
    }
}

#[test]
fn examples_do_the_same_with_no_tail_calls_and_counted_fuel() {
    for example in short_examples() {
        let options = ["--tail-calls", "never", "--fuel", "100000000000"];
        // Mutual recursion without tail calls is as deep as it counts.
        if example.file_stem().is_some_and(|stem| stem == "even-odd") {
            continue;
        }
        check(
            &run(&example, &example, &options),
            &example,
            "without tail calls",
        );
    }
}

#[test]
fn examples_do_the_same_assembled_and_disassembled() {
    let folder = tempfile::tempdir().expect("a folder");
    for example in short_examples() {
        let bc = folder.path().join("example.bc");
        let assembled = vm(folder.path())
            .arg("asm")
            .arg(&example)
            .arg("-o")
            .arg(&bc)
            .output();
        assert!(
            assembled.expect("vm runs").status.success(),
            "{}",
            example.display()
        );
        check(&run(&bc, &example, &[]), &example, "as .bc");
        let text = vm(folder.path())
            .arg("dis")
            .arg(&bc)
            .output()
            .expect("vm runs")
            .stdout;
        let again = folder.path().join("again.asm");
        std::fs::write(&again, text).expect("a file");
        let again_bc = folder.path().join("again.bc");
        let output = vm(folder.path())
            .arg("asm")
            .arg(&again)
            .arg("-o")
            .arg(&again_bc)
            .output();
        let output = output.expect("vm runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let bytes = |path: &Path| std::fs::read(path).expect("a .bc file");
        assert!(
            bytes(&bc) == bytes(&again_bc),
            "{}: other bytes",
            example.display()
        );
    }
}

#[test]
fn examples_do_the_same_when_every_allocation_collects() {
    // Those that allocate a million objects or more take too long for that.
    let heavy = ["list-rev", "binary-trees"];
    for example in short_examples() {
        let stem = example
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        if heavy.contains(&stem.as_str()) {
            let options = ["--nursery", "16K"];
            check(
                &run(&example, &example, &options),
                &example,
                "with a tiny nursery",
            );
        } else {
            let options = ["--gc-stress", "--nursery", "16K"];
            check(
                &run(&example, &example, &options),
                &example,
                "under gc stress",
            );
        }
    }
}
