//! Programs with trackers of their own: `tests/memprof/*.asm`, each with what it prints in
//! `NAME.expected`, and with a collection at every allocation in `NAME.stress`. `BLESS=1` writes
//! both.

use crate::support::{expect_file, files, root, stderr, stdout, vm};

#[test]
fn programs_print_what_is_expected() {
    let programs = files(&root().join("tests/memprof"), "asm");
    assert!(!programs.is_empty(), "the programs are there");
    for program in programs {
        for (ending, options) in [("expected", [].as_slice()), ("stress", &["--gc-stress"])] {
            let name = program.file_name().expect("a file has a name");
            let output = vm(program.parent().expect("a file has a folder"))
                .env_remove("VM_GC_STRESS")
                .args(options)
                .arg(name)
                .output()
                .expect("vm runs");
            let code = output.status.code();
            let actual = format!(
                "{}--- standard error\n{}--- exit code {code:?}\n",
                stdout(&output),
                stderr(&output)
            );
            expect_file(&program.with_extension(ending), &actual);
        }
    }
}
