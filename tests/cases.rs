//! Runs every program in `tests/cases` and compares what it prints and how it ends.
//!
//! `NAME.asm` may start with a line `; args: ...` of options for `vm`. `NAME.expected` holds
//! standard output, standard error and the exit code; `BLESS=1` writes it.

mod support;

use support::{expect_file, files, root, stderr, stdout, vm};

#[test]
fn cases_print_what_is_expected() {
    let cases = files(&root().join("tests/cases"), "asm");
    assert!(cases.len() >= 10, "the cases are there");
    for case in cases {
        let text = std::fs::read_to_string(&case).expect("the case can be read");
        let first = text.lines().next().unwrap_or_default();
        let options = first.strip_prefix("; args: ").unwrap_or_default();
        let name = case.file_name().expect("a file has a name");
        let output = vm(case.parent().expect("a file has a folder"))
            .args(options.split_whitespace())
            .arg(name)
            .output()
            .expect("vm runs");
        let code = output.status.code();
        let actual = format!(
            "{}--- standard error\n{}--- exit code {code:?}\n",
            stdout(&output),
            stderr(&output)
        );
        expect_file(&case.with_extension("expected"), &actual);
    }
}
