//! `vm --sandbox` and the flags beside it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Output;

use crate::Layout;
use crate::support::{stderr, stdout, vm};

/// A program that writes its profile to a file.
fn writing(path: &str) -> String {
    format!(
        "fun main() {{
            u = call profile_current()
            call profile_write(u, \"{path}\")
            ret
        }}"
    )
}

/// Runs `vm` in the layout's folder, with a count profile, on a program that writes there.
fn write_by_command(layout: &Layout, options: &[&str], path: &str) -> Output {
    let program = layout.path("program.asm");
    fs::write(&program, writing(path)).expect("a program");
    let mut command = vm(&layout.path(""));
    command.args(["--profile", "count", "--profile-out", "own.out"]);
    let command = command.args(options).arg("program.asm");
    command.output().expect("vm runs")
}

const SANDBOX: [&str; 3] = ["--sandbox", "--allow-write", "in"];

#[test]
fn a_sandboxed_program_writes_profiles_in_allowed_folders() {
    for (path, leads_to) in [
        ("in/new.out", "in/new.out"),
        ("in/file", "in/file"),
        ("./in/../in/sub/new.out", "in/sub/new.out"),
        ("in/to-file", "in/sub/file"),
        ("in/to-new", "in/sub/new"),
    ] {
        let layout = Layout::new();
        let output = write_by_command(&layout, &SANDBOX, path);
        assert!(output.status.success(), "{path}: {}", stderr(&output));
        let text = fs::read_to_string(layout.path(leads_to)).expect("a profile");
        assert!(text.starts_with("MLton prof\n"), "{path}: {text}");
        let temporaries = fs::read_dir(layout.path("in")).expect("a folder");
        let temporaries = temporaries.filter_map(Result::ok).filter(|entry| {
            let name = entry.file_name();
            name.as_bytes().starts_with(b".mlmon")
        });
        assert_eq!(temporaries.count(), 0, "{path}");
    }
}

#[test]
fn a_sandboxed_program_cannot_replace_other_files() {
    let layout = Layout::new();
    for (options, path) in [
        (&SANDBOX[..1], "out/file"),
        (&SANDBOX[..1], "in/file"),
        (&SANDBOX, "out/file"),
        (&SANDBOX, "in/out/file"),
        (&SANDBOX, "in/out-file"),
        (&SANDBOX, "in/../out/file"),
        (&SANDBOX, "/dev/stdout"),
        (&["--sandbox", "--allow-read", "out"], "out/file"),
    ] {
        let output = write_by_command(&layout, options, path);
        assert_eq!(output.status.code(), Some(1), "{path}");
        assert_eq!(
            stderr(&output).lines().next().unwrap_or_default(),
            format!(
                "vm: uncaught exception: a host function failed: \
                 writing \"{path}\" is outside of what is allowed"
            )
        );
        for file in ["in/file", "out/file"] {
            let text = fs::read_to_string(layout.path(file)).expect("the file is there");
            assert_eq!(text, file, "{path}");
        }
    }
}

/// The names that are written have the kind in them, and links may stand there, too.
#[test]
fn each_file_of_several_kinds_is_checked_before_one_is_written() {
    let layout = Layout::new();
    symlink("../out/file", layout.path("in/p.count.out")).expect("a link");
    let program = layout.path("program.asm");
    fs::write(&program, writing("in/p.out")).expect("a program");
    let mut command = vm(&layout.path(""));
    let command = command.args(["--profile", "alloc,count"]).args(SANDBOX);
    let output = command.arg("program.asm").output().expect("vm runs");
    let message = stderr(&output);
    assert!(message.contains("writing \"in/p.count.out\""), "{message}");
    assert!(!layout.path("in/p.alloc.out").exists());
}

#[test]
fn a_denial_does_not_depend_on_whether_a_profile_is_taken() {
    let layout = Layout::new();
    fs::write(layout.path("program.asm"), writing("out/file")).expect("a program");
    let mut command = vm(&layout.path(""));
    let command = command.args(["--sandbox", "program.asm"]);
    let output = command.output().expect("vm runs");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

#[test]
fn a_sandboxed_program_replaces_only_regular_files() {
    let layout = Layout::new();
    let output = write_by_command(&layout, &SANDBOX, "in/sub");
    let message = stderr(&output);
    assert!(
        message.starts_with("vm: cannot write in/sub: only regular files are replaced"),
        "{message}"
    );
    assert!(layout.path("in/sub/file").exists());
}

#[test]
fn a_denial_names_the_flag_that_allows_it() {
    let layout = Layout::new();
    let clock = "fun main() {\n t = call time()\n ret\n}".to_owned();
    for (program, denied, flag) in [
        (
            writing("x"),
            "writing \"x\" is outside",
            "--allow-write DIR allows",
        ),
        (clock, "the clock is outside", "--allow-clock allows"),
    ] {
        fs::write(layout.path("program.asm"), program).expect("a program");
        let mut command = vm(&layout.path(""));
        let command = command.args(["--sandbox", "program.asm"]);
        let message = stderr(&command.output().expect("vm runs"));
        assert!(message.contains(denied), "{message}");
        let last = message.lines().last().unwrap_or_default();
        assert!(last.starts_with(&format!("help: {flag}")), "{message}");
    }
}

#[test]
fn clocks_are_given_back_by_a_flag() {
    let layout = Layout::new();
    let text = "fun main() {\n t = call clock()\n t = call time()\n ret\n}";
    fs::write(layout.path("program.asm"), text).expect("a program");
    for (options, code) in [
        (&["--sandbox"][..], 1),
        (&["--sandbox", "--allow-clock"], 0),
        (&[], 0),
    ] {
        let mut command = vm(&layout.path(""));
        let output = command.args(options).arg("program.asm").output();
        let output = output.expect("vm runs");
        assert_eq!(output.status.code(), Some(code), "{options:?}");
    }
}

#[test]
fn arguments_and_standard_streams_are_always_there() {
    let layout = Layout::new();
    let text = "fun main() {
        s = call arg(0)
        call print(s)
        n, s = call read_line()
        call eprint(s)
        ret
    }";
    fs::write(layout.path("program.asm"), text).expect("a program");
    fs::write(layout.path("input"), "line\n").expect("a file");
    let input = fs::File::open(layout.path("input")).expect("a file");
    let mut command = vm(&layout.path(""));
    let command = command.args(["--sandbox", "program.asm", "argument"]);
    let output = command.stdin(input).output().expect("vm runs");
    assert_eq!(
        (stdout(&output), stderr(&output)),
        ("argument".into(), "line\n".into())
    );
}

#[test]
fn the_users_own_profile_is_written_in_a_sandbox() {
    let layout = Layout::new();
    let output = write_by_command(&layout, &["--sandbox"], "in/new.out");
    assert_eq!(output.status.code(), Some(1), "the program's own is denied");
    let text = fs::read_to_string(layout.path("own.out")).expect("the user's profile");
    assert!(text.starts_with("MLton prof\n"), "{text}");
}

#[test]
fn without_a_sandbox_a_program_has_the_users_rights() {
    let layout = Layout::new();
    let output = write_by_command(&layout, &[], "in/out-file");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(layout.path("out/file")).expect("a profile");
    assert!(text.starts_with("MLton prof\n"), "{text}");
}

#[test]
fn what_is_given_back_needs_a_sandbox() {
    let layout = Layout::new();
    for options in [
        &["--allow-read", "in"][..],
        &["--allow-write", "in"],
        &["--allow-env"],
        &["--allow-clock"],
    ] {
        let output = write_by_command(&layout, options, "in/new.out");
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(stderr(&output).contains("--sandbox"), "{options:?}");
        assert!(!layout.path("in/new.out").exists());
    }
}

#[test]
fn a_folder_that_cannot_be_allowed_is_a_usage_error() {
    let layout = Layout::new();
    for flag in ["--allow-read", "--allow-write"] {
        let output = write_by_command(&layout, &["--sandbox", flag, "missing"], "in/file");
        assert_eq!(output.status.code(), Some(2));
        let message = stderr(&output);
        assert!(
            message.starts_with(&format!("vm: {flag} missing: ")),
            "{message}"
        );
    }
}

#[test]
fn the_help_shows_a_sandbox() {
    let layout = Layout::new();
    let output = vm(&layout.path("")).arg("--help").output();
    let text = stdout(&output.expect("vm runs"));
    let examples = text.split("Examples:").nth(1).unwrap_or_default();
    assert!(examples.contains("vm --sandbox --allow-read"), "{examples}");
}
