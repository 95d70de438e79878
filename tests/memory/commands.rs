//! The commands that take and show memory profiles.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use profiler::memory::MemoryFile;

use super::support::{self, root, stderr, stdout, wait_until};

/// The `vm` command, with collections when they are due and not at every allocation.
pub(super) fn vm(folder: &Path) -> Command {
    let mut command = support::vm(folder);
    command.env_remove("VM_GC_STRESS");
    command
}

pub(super) fn read(path: &Path) -> MemoryFile {
    MemoryFile::read_file(path).unwrap_or_else(|error| panic!("{error}"))
}

fn profile_leak(folder: &Path, options: &[&str]) -> Output {
    let output = vm(folder)
        .args(options)
        .arg(root().join("examples/leak.asm"))
        .output()
        .expect("vm runs");
    assert!(output.status.success(), "{}", stderr(&output));
    output
}

/// The first name of each table of a report that has sources in its rows.
fn first_rows(report: &str) -> Vec<&str> {
    let lines: Vec<_> = report.lines().collect();
    let rules = (0..lines.len()).filter(|&at| lines[at].starts_with("---"));
    rules
        .filter_map(|at| lines.get(at + 1)?.split_whitespace().next())
        .collect()
}

#[test]
fn the_report_names_the_leak_first() {
    for (profiles, n_tables) in [
        ("mem", 1),
        ("mem=1e-3", 1),
        ("heap", 2),
        ("mem=1e-3,heap", 4),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let output = profile_leak(folder.path(), &["--profile", profiles]);
        let printed = stderr(&output);
        assert_eq!(
            first_rows(&printed),
            vec!["open_session"; n_tables],
            "{printed}"
        );
        // The file has all that was printed.
        let shown = vm(folder.path()).args(["mem", "memory.out"]).output();
        assert_eq!(stdout(&shown.expect("vm runs")), printed);
    }
}

#[test]
fn a_report_sorts_by_what_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    profile_leak(folder.path(), &["--profile", "heap"]);
    let shown = |by: &str| {
        let options = ["mem", "--by", by, "--top", "1", "memory.out"];
        let output = vm(folder.path()).args(options).output().expect("vm runs");
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    for (by, first) in [
        ("live", "open_session"),
        ("peak", "open_session"),
        ("promoted", "open_session"),
        ("allocated", "parse"),
    ] {
        let report = shown(by);
        assert_eq!(first_rows(&report)[0], first, "{by}: {report}");
        assert!(report.contains("(2 others)"), "{report}");
    }
}

#[test]
fn the_seed_decides_alone_what_is_sampled() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("memory.out");
    let taken = |seed: &str, nursery: &str| {
        let options = [
            "--profile",
            "mem=1e-3",
            "--seed",
            seed,
            "--nursery",
            nursery,
        ];
        profile_leak(folder.path(), &options);
        let file = read(&path);
        let allocated = |rows: &MemoryFile| -> Vec<_> {
            let rows = rows.rows.iter();
            rows.map(|(call, figures)| (*call, figures.allocated))
                .collect()
        };
        (allocated(&file), fs::read(&path).expect("the file"))
    };
    let first = taken("0", "2M");
    assert!(first == taken("0", "2M"), "the same file");
    assert!(
        first.0 == taken("0", "64K").0,
        "the same samples with another nursery"
    );
    assert!(first.0 != taken("1", "2M").0, "other samples");
}

/// A program that keeps a line, says that it has it, and allocates until it is stopped.
const ENDLESS: &str = "fun main() {
    ok, line = call read_line()
    kept = new 1, [line], []
    call print(\"r\")
    ok, line = call read_line()
again:
    x = new 2, [], []
    jnull kept, done
    jmp again
done:
    ret
}";

/// The bytes of the line.
const KEPT_BYTES: u64 = 1 << 20;

/// Starts a program and waits until it has its line.
fn start(folder: &Path, text: &str, options: &[&str]) -> Child {
    let program = folder.join("program.asm");
    fs::write(&program, text).expect("a program");
    let mut child = vm(folder)
        .args(options)
        .arg(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("vm runs");
    let mut line = vec![b'x'; KEPT_BYTES as usize];
    line.push(b'\n');
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&line).expect("the program reads");
    // Reading another line flushes what was printed.
    let mut ready = [0];
    let output = child.stdout.as_mut().expect("a pipe");
    output.read_exact(&mut ready).expect("the program writes");
    input.write_all(b"go\n").expect("the program reads");
    child
}

fn kill(child: &Child, signal: &str) {
    let status = Command::new("kill")
        .arg(signal)
        .arg(child.id().to_string())
        .status();
    assert!(status.expect("kill runs").success());
}

fn wait_for(path: &Path) {
    wait_until("file", || path.exists());
}

fn interrupt(mut child: Child) {
    kill(&child, "-INT");
    let status = child.wait().expect("the program ends");
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(2), "{status:?}");
}

#[test]
fn a_signal_writes_the_profile_in_the_midst_of_a_run() {
    for profiles in ["mem=0.01", "heap", "mem=0.01,heap"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("memory.out");
        let child = start(folder.path(), ENDLESS, &["--profile", profiles]);
        kill(&child, "-USR1");
        wait_for(&path);
        let early = read(&path);
        fs::remove_file(&path).expect("the file");
        // The signal may come before the program has done anything since the last one.
        let late = std::cell::OnceCell::new();
        wait_until("later snapshot", || {
            kill(&child, "-USR1");
            wait_for(&path);
            let file = read(&path);
            fs::remove_file(&path).expect("the file");
            file.header.allocated_bytes > early.header.allocated_bytes && late.set(file).is_ok()
        });
        let late = late.into_inner().expect("a later snapshot");
        interrupt(child);
        let last = read(&path);
        let clocks = [&early, &late, &last].map(|file| file.header.allocated_bytes);
        assert!(clocks.is_sorted(), "{clocks:?}");
        if let Some(heap) = &last.heap {
            assert!(heap.is_balanced());
            // The line, and the record that holds it, are alive at every look.
            let live = |file: &MemoryFile| file.heap.as_ref().map(|heap| heap.totals().live_bytes);
            assert!(live(&last) > Some(KEPT_BYTES), "{:?}", live(&last));
            assert!(live(&early) > Some(KEPT_BYTES), "{:?}", live(&early));
        }
    }
}

#[test]
fn snapshots_are_numbered_and_can_be_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = [
        "--profile",
        "mem=0.01,heap,alloc",
        "--snapshot-every",
        "0.02",
    ];
    let child = start(folder.path(), ENDLESS, &options);
    let numbered = |number: u32| folder.path().join(format!("memory.{number}.out"));
    wait_for(&numbered(1));
    let first = read(&numbered(1)).header.clock_words;
    let later = (2..1000).find(|&number| {
        wait_for(&numbered(number));
        read(&numbered(number)).header.clock_words > first
    });
    interrupt(child);
    let later = later.expect("the program goes on");
    assert!(folder.path().join(format!("mlmon.{later}.out")).exists());
    for name in [format!("memory.{later}.out"), "memory.out".to_owned()] {
        let shown = vm(folder.path()).args(["mem", "--stacks", &name]).output();
        let shown = shown.expect("vm runs");
        assert!(shown.status.success(), "{name}: {}", stderr(&shown));
        assert!(stdout(&shown).contains("exact by function"), "{name}");
    }
}

#[test]
fn profiles_of_several_runs_are_added_up() {
    let folder = tempfile::tempdir().expect("a folder");
    for seed in ["1", "2"] {
        let name = format!("{seed}.out");
        let options = [
            "--profile",
            "mem=1e-3",
            "--seed",
            seed,
            "--profile-out",
            &name,
        ];
        profile_leak(folder.path(), &options);
    }
    let shown = vm(folder.path()).args(["mem", "1.out", "2.out"]).output();
    let shown = stdout(&shown.expect("vm runs"));
    assert!(shown.contains("78,600,000 bytes allocated"), "{shown}");
    assert_eq!(first_rows(&shown), ["open_session"]);
}

#[test]
fn a_run_ends_though_snapshots_take_longer_than_the_time_between_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program.asm");
    let mut text = "fun main() {
        n = 300000
    again:
        x = new 1, [], [n]
        n = sub n, 1
        jgt n, 0, again
        call print(\"done\")
        ret
    }\n"
    .to_owned();
    // Each source has a line in the file, which takes longer to write than the time asked for.
    for index in 0..5000 {
        text.push_str(&format!("fun f{index}() {{ ret }}\n"));
    }
    fs::write(&program, text).expect("a program");
    let options = ["--profile", "mem=0.01,heap", "--snapshot-every", "0.001"];
    let ran = vm(folder.path()).args(options).arg(&program).output();
    let ran = ran.expect("vm runs");
    assert_eq!(stdout(&ran), "done", "{}", stderr(&ran));
}
