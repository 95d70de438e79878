//! Wrong words, wrong files, and programs that end badly.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::commands::{read, vm};
use super::support::{root, stderr};

/// What the command says, which must be the failure of this exit code.
fn failure(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = vm(folder).args(arguments).output().expect("vm runs");
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {}",
        stderr(&output)
    );
    stderr(&output)
}

#[test]
fn wrong_words_are_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let hello = root().join("examples/hello.asm");
    let hello = hello.to_str().expect("a name");
    for (profile, message) in [
        (
            "mem=2",
            "\"2\" is no sampling rate: a number from 0 to 1, as 1e-4",
        ),
        ("mem=-0.1", "\"-0.1\" is no sampling rate"),
        ("mem=nan", "\"nan\" is no sampling rate"),
        ("mem=", "\"\" is no sampling rate"),
        (
            "memory",
            "no profile is called \"memory\": choose from time, alloc, count, mem,",
        ),
        ("heap=1", "no profile is called \"heap=1\""),
        ("mem,", "no profile is called \"\""),
    ] {
        let said = failure(folder.path(), &["--profile", profile, hello], 2);
        assert!(said.contains(message), "{profile}: {said}");
    }
    let said = failure(folder.path(), &["--seed", "1", hello], 2);
    assert!(said.contains("--profile"), "{said}");
    let said = failure(
        folder.path(),
        &["--profile", "mem", "--snapshot-every", "0", hello],
        2,
    );
    assert!(said.contains("at least 0.001 seconds"), "{said}");
    let said = failure(folder.path(), &["mem"], 2);
    assert!(said.contains("<FILE>"), "{said}");
    let said = failure(folder.path(), &["mem", "--by", "size", "x"], 2);
    assert!(said.contains("short-lived"), "{said}");
}

#[test]
fn wrong_files_are_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let leak = root().join("examples/leak.asm");
    let leak = leak.to_str().expect("a name");
    let hello = root().join("examples/hello.asm");
    let hello = hello.to_str().expect("a name");
    let take = |arguments: &[&str]| {
        let output = vm(path).args(arguments).output().expect("vm runs");
        assert!(output.status.success(), "{}", stderr(&output));
    };
    take(&["--profile", "alloc,mem=1e-3", leak]);
    take(&["--profile", "mem=1e-3", "--profile-out", "other.out", hello]);
    take(&["--profile", "mem=1e-2", "--profile-out", "rate.out", leak]);
    let text = fs::read_to_string(path.join("memory.out")).expect("the file");
    fs::write(path.join("cut.out"), &text[..text.len() - 4]).expect("a file");
    fs::write(path.join("empty.out"), "").expect("a file");
    fs::write(path.join("binary.out"), [0xff, 0xfe]).expect("a file");
    let cases: [(&[&str], &str); 9] = [
        (&["mem", "no.out"], "no.out: No such file"),
        (&["mem", "."], ".: Is a directory"),
        (
            &["mem", "empty.out"],
            "empty.out:1: the file is cut off here",
        ),
        (
            &["mem", "binary.out"],
            "binary.out:1: this is not text, so not a memory profile",
        ),
        (&["mem", leak], "this is not a memory profile"),
        (
            &["mem", "mlmon.out"],
            "this is an mlmon.out file, which `vm prof PROGRAM FILE` shows",
        ),
        (&["mem", "cut.out"], "run the program again"),
        (&["mem", "memory.out", "other.out"], "other.out: "),
        (&["mem", "memory.out", "rate.out"], "rate.out: "),
    ];
    for (arguments, message) in cases {
        let said = failure(path, arguments, 1);
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
    let said = failure(path, &["prof", leak, "memory.out"], 1);
    let message = "memory.out:1: expected the line `MLton prof`, found \"TALLY MEM 1\": \
                   this is a memory profile, which `vm mem FILE` shows";
    assert!(said.contains(message), "{said}");
}

#[test]
fn a_profile_that_cannot_be_written_is_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let hello = root().join("examples/hello.asm");
    let hello = hello.to_str().expect("a name");
    let arguments = [
        "--profile",
        "mem",
        "--profile-out",
        "no/such/folder.out",
        hello,
    ];
    let said = failure(folder.path(), &arguments, 1);
    assert!(said.contains("cannot write no/such/folder.out: "), "{said}");
}

/// Makes 1,000 records that stay, 16 bytes each, and then ends badly.
fn ending(how: &str) -> String {
    format!(
        "fun make(xs: r) -> r {{
    xs = new 1, [xs], []
    ret xs
}}
fun deep(n: i) -> i {{
    n = call deep(n)
    n = add n, 1
    ret n
}}
fun main() {{
    xs = null
    n = 1000
next:
    xs = call make(xs)
    n = sub n, 1
    jgt n, 0, next
{how}
    xs = ld_r xs, 0
    ret
}}"
    )
}

#[test]
fn the_profile_is_written_however_the_program_ends() {
    let cases: [(&str, &str, &[&str], i32); 6] = [
        ("exception", " raise xs", &[], 1),
        ("fault", " x = null\n x = ld_r x, 0", &[], 1),
        ("stack", " n = call deep(n)", &["--max-stack", "64K"], 1),
        ("fuel", "again:\n jmp again", &["--fuel", "100000"], 1),
        (
            "memory",
            "again:\n xs = call make(xs)\n jmp again",
            &["--max-heap", "4M"],
            1,
        ),
        ("exit", " call exit(3)", &[], 3),
    ];
    for (name, how, options, code) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("program.asm"), ending(how)).expect("a program");
        let output = vm(folder.path())
            .args(["--profile", "mem=1,heap"])
            .args(options)
            .arg("program.asm")
            .stdin(Stdio::null())
            .output()
            .expect("vm runs");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        let file = read(&folder.path().join("memory.out"));
        let heap = file.heap.as_ref().expect("the heap is counted");
        assert!(heap.is_balanced(), "{name}: {said}");
        let make = file.sources.iter().position(|one| one.function == "make");
        let make = heap.sources[make.expect("a source")];
        assert!(make.allocated_bytes >= 16_000, "{name}: {said}");
        if name != "memory" {
            assert_eq!(
                (make.live_bytes, make.live_objects),
                (16_000, 1000),
                "{name}: {said}"
            );
        }
        assert!(said.contains("exact by function"), "{name}: {said}");
    }
}
