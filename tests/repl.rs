//! The interactive session without a terminal: what entries answer, as batches.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use repl::{Reply, Session, SessionIo};
use support::{expect_file, files, root, stdout, vm};
use tempfile::TempDir;

/// A folder to run a session in, with the examples in reach.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    symlink(root().join("examples"), folder.path().join("examples")).expect("a link");
    folder
}

fn repl(folder: &Path) -> Command {
    let mut command = vm(folder);
    // Figures of collections depend on it.
    command.env_remove("VM_GC_STRESS").arg("repl");
    command
}

/// Runs a batch; its text, and its exit code in a last line.
fn batch(script: &Path) -> String {
    let folder = folder();
    let output = repl(folder.path()).arg("--batch").arg(script).output();
    let output = output.expect("the session runs");
    let code = output.status.code().expect("no signal ends the session");
    assert_eq!(support::stderr(&output), "");
    format!("{}exit code {code}\n", without_times(&stdout(&output)))
}

/// The text with all that is measured replaced: numbers in front of units, and the units of time,
/// which follow from the numbers.
fn without_times(text: &str) -> String {
    const TIMES: [&str; 4] = [" ns", " us", " ms", " s"];
    const OTHERS: [&str; 4] = [" %", " runs)", " Hz", " seconds"];
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|char: char| char.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_part = |char: char| char.is_ascii_digit() || char == '.';
        let end = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let is_unit = |unit: &&str| {
            let next = after.strip_prefix(*unit);
            next.is_some_and(|next| !next.starts_with(char::is_alphanumeric))
        };
        rest = after;
        if let Some(unit) = TIMES.into_iter().find(|unit| is_unit(unit)) {
            out.push_str("TIME");
            rest = &after[unit.len()..];
        } else if OTHERS.iter().any(is_unit) {
            out.push('N');
        } else {
            out.push_str(number);
        }
    }
    out + rest
}

#[test]
fn batches_answer_as_expected() {
    for script in files(&root().join("tests/repl"), "repl") {
        expect_file(&script.with_extension("expected"), &batch(&script));
    }
}

#[test]
fn the_language_is_the_same_with_a_collection_at_every_allocation() {
    let script = root().join("tests/repl/language.repl");
    let folder = folder();
    let mut command = repl(folder.path());
    let output = command
        .args(["--gc-stress", "--batch"])
        .arg(&script)
        .output();
    let text = without_times(&stdout(&output.expect("the session runs")));
    let expected = fs::read_to_string(script.with_extension("expected")).expect("the text");
    assert_eq!(format!("{text}exit code 1\n"), expected);
}

#[test]
fn every_command_occurs_in_a_batch() {
    let scripts = files(&root().join("tests/repl"), "repl");
    let texts = scripts
        .iter()
        .map(|path| fs::read_to_string(path).expect("a script"));
    let lines: Vec<String> = texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for name in repl::command_names() {
        let is_used = lines.iter().any(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        assert!(is_used, "no batch uses `{name}`");
    }
}

#[test]
fn piped_input_gives_the_text_of_a_batch() {
    let script = root().join("tests/repl/slow.repl");
    let folder = folder();
    let output = repl(folder.path())
        .stdin(Stdio::from(fs::File::open(&script).expect("the script")))
        .output()
        .expect("the session runs");
    let text = format!("{}exit code 0\n", stdout(&output));
    assert_eq!(text, batch(&script));
}

#[test]
fn a_program_reads_the_lines_that_follow_it() {
    let folder = folder();
    let mut child = repl(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the session starts");
    let script = "let ok, line = read_line()\nhello\nline + \"!\"\n";
    let mut input = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, script.as_bytes()).expect("the session reads");
    drop(input);
    let output = child.wait_with_output().expect("the session ends");
    let expected = "vm> let ok, line = read_line()\nok = 1\nline = \"hello\\n\"\n\
                    vm> line + \"!\"\n\"hello\\n!\"\n";
    assert_eq!(stdout(&output), expected);
}

#[test]
fn the_readme_shows_a_session_that_happened() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let expected = batch(&root().join("tests/repl/slow.repl"));
    let session = expected.strip_suffix("exit code 0\n").expect("it succeeds");
    let lines: Vec<&str> = readme.lines().map(str::trim_end).collect();
    assert!(
        lines.join("\n").contains(session.trim_end()),
        "the README shows another session"
    );
}

#[test]
fn the_sessions_on_the_page_happened() {
    let page = fs::read_to_string(root().join("docs/repl.md")).expect("the page");
    let blocks: Vec<&str> = page
        .split("\n```")
        .filter_map(|block| block.strip_prefix("text\n"))
        .filter(|block| block.starts_with("vm> "))
        .collect();
    assert!(blocks.len() >= 3, "the page shows sessions");
    let shown: String = blocks.iter().map(|block| format!("{block}\n")).collect();
    let mut script = String::new();
    let mut lines = shown.lines();
    while let Some(line) = lines.next() {
        let prompt_end = line.starts_with("vm").then(|| line.find("> ")).flatten();
        let Some(end) = prompt_end else {
            continue;
        };
        let mut entry = line[end + 2..].to_owned();
        while Session::is_open(&entry) {
            entry += &format!("\n{}", lines.next().expect("the entry goes on"));
        }
        script += &format!("{entry}\n");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("page.repl");
    fs::write(&path, script).expect("a script");
    let happened = batch(&path);
    assert_eq!(without_times(&shown) + "exit code 0\n", happened);
}

#[test]
fn the_page_on_the_session_is_fresh() {
    let path = root().join("docs/repl.md");
    let page = fs::read_to_string(&path).expect("the page");
    const START: &str = "<!-- commands: from here on, made from the table of commands -->\n";
    let (guide, _) = page
        .split_once(START)
        .expect("the mark where the commands start");
    expect_file(&path, &format!("{guide}{START}\n{}", repl::manual()));
}

#[test]
fn a_changed_file_is_noted_once_and_loaded_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f.asm");
    let write = |number: i64, seconds: u64| {
        fs::write(&path, format!("fun f() -> i {{ ret {number} }}")).expect("a file");
        let file = fs::File::options()
            .write(true)
            .open(&path)
            .expect("the file");
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        file.set_modified(time).expect("the time is set");
    };
    let mut session = Session::new(SessionIo::new(std::io::sink()));
    write(1, 1000);
    session.answer(&format!(":load {}", path.display()));
    assert_eq!(session.answer("f()"), Reply::Text("1\n".into()));
    write(2, 2000);
    let note = format!(
        "note: {} has changed; `:reload` loads it again\n1\n",
        path.display()
    );
    assert_eq!(session.answer("f()"), Reply::Text(note));
    assert_eq!(session.answer("f()"), Reply::Text("1\n".into()));
    session.answer(":reload");
    assert_eq!(session.answer("f()"), Reply::Text("2\n".into()));
}

#[test]
fn a_memory_profile_counts_what_was_interrupted() {
    let mut session = Session::new(SessionIo::new(std::io::sink()));
    session.answer("fun churn() {\n one = 1\nagain:\n x = new 1, [], [one]\n jmp again\n}");
    session.answer(":mem start 1e-3");
    let interrupt = session.interrupt();
    let (is_over, waits) = std::sync::mpsc::channel::<()>();
    // An entry takes back what was raised before it, so this raises until the entry is over.
    let raiser = std::thread::spawn(move || {
        let pause = std::time::Duration::from_millis(50);
        while waits.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            interrupt.raise(support::signal(2));
        }
    });
    let answer = session.answer("churn()");
    drop(is_over);
    raiser.join().expect("the thread ends");
    let Reply::Text(text) = answer else {
        panic!("the session goes on");
    };
    assert!(text.starts_with("error: interrupted\n"), "{text}");
    let Reply::Text(text) = session.answer(":mem stop") else {
        panic!("the session goes on");
    };
    assert!(text.contains("\n1 evaluation, "), "{text}");
    assert!(text.contains("\nchurn "), "{text}");
    assert!(text.ends_with("kept as #1, partial\n"), "{text}");
}
