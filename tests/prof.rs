//! `vm prof`: which program a profile is of, and what its options change.

mod support;

use std::path::Path;
use std::process::Output;

use support::{stderr, stdout, vm};

/// A program that every option for assembling changes.
const PROGRAM: &str = "
    fun one(n: i) -> i {
        n = add n, 1
        ret n
    }
    fun loop(n: i) -> i {
        .branch \"more\"
        jeq n, 0, done
        n = sub n, 1
        .end_branch
        n = call loop(n)
        ret n
    done:
        n = call last(n)
        ret n
    }
    fun three(n: i) -> i {
        n = mul n, n
        n = mul n, n
        n = add n, 1
        ret n
    }
    fun last(n: i) -> i {
        m = call one(n)
        k = call three(n)
        m = add m, k
        ret m
    }
    fun main() {
        n = call loop(5)
        ret
    }";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    vm(folder).args(arguments).output().expect("vm runs")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("p.asm"), PROGRAM).expect("a program");
    folder
}

#[test]
fn the_options_of_the_run_are_found_out() {
    let folder = folder();
    let mut tables = Vec::new();
    for tail_calls in ["always", "self-only", "never"] {
        for branch in [None, Some("--profile-branch")] {
            for inline in [None, Some("--inline")] {
                let tail_calls = format!("--tail-calls={tail_calls}");
                let options: Vec<&str> = [Some(tail_calls.as_str()), branch, inline]
                    .into_iter()
                    .flatten()
                    .collect();
                let taken = run(
                    folder.path(),
                    &[&["run", "--profile=count"], &options[..], &["p.asm"]].concat(),
                );
                assert!(taken.status.success(), "{}", stderr(&taken));
                let built = run(
                    folder.path(),
                    &[&["asm"], &options[..], &["p.asm", "-o", "p.bc"]].concat(),
                );
                assert!(built.status.success(), "{}", stderr(&built));
                let of = |program| {
                    run(
                        folder.path(),
                        &["prof", "-split", ".", program, "mlmon.out"],
                    )
                };
                let (text, module) = (of("p.asm"), of("p.bc"));
                assert!(text.status.success(), "{options:?}: {}", stderr(&text));
                assert_eq!(stdout(&text), stdout(&module), "{options:?}");
                tables.push(stdout(&text));
            }
        }
    }
    tables.sort();
    tables.dedup();
    assert!(
        tables.len() >= 4,
        "copies and branches are seen: {tables:?}"
    );
}

#[test]
fn other_options_are_given() {
    let folder = folder();
    let taken = run(folder.path(), &["--profile=count", "--inline=1", "p.asm"]);
    assert!(taken.status.success(), "{}", stderr(&taken));
    let given = run(folder.path(), &["prof", "--inline=1", "p.asm", "mlmon.out"]);
    assert!(given.status.success(), "{}", stderr(&given));
    let missing = run(folder.path(), &["prof", "p.asm", "mlmon.out"]);
    assert_eq!(missing.status.code(), Some(1));
    let text = stderr(&missing);
    assert!(
        text.starts_with("vm: p.asm makes no program of this profile under the usual"),
        "{text}"
    );
    assert!(text.contains("mlmon.out:4: wrong magic"), "{text}");
    for wrong in ["--inline=many", "--tail-calls=often"] {
        let output = run(folder.path(), &["prof", wrong, "p.asm", "mlmon.out"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("requires"), "{}", stderr(&output));
    }
}
