//! How long it takes from a SIGINT to the end of the process: in a loop, in collections, in ops on
//! many bytes, in accounting for memory outside the heap, and in writes that nobody reads.
//!
//! `cargo bench --bench interrupts` prints a row for each; with `-- --test` each is tried once.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What is interrupted: its name, options, and program.
const CASES: [(&str, &[&str], &str); 6] = [
    ("loop", &[], "fun main() {\nl: jmp l\n}"),
    (
        "collections of a growing list",
        &["--max-heap", "1G"],
        "fun main() {
            n = 0
            k = 1000000
            x = null
        l:  x = new 1, [x], [n]
            n = add n, 1
            jlt n, k, l
            n = 0
            x = null
            jmp l
        }",
    ),
    (
        "copies of 64 MB",
        &[],
        "fun main() {
            n = 64000000
            z = 0
            a = new_b n, z
            b = new_b n, z
        l:  copy a, z, b, z, n
            jmp l
        }",
    ),
    (
        "samples of memory outside the heap",
        &[],
        "fun main() {
            z = 0
            nothing = null
            tracker = new 0, [nothing, nothing, nothing, nothing, nothing], []
            rate = 0.999
            p: i = call memprof_start(rate, z, z, tracker)
            n = 4294967296
        l:  t: i = call external_alloc(n)
            call external_free(t)
            jmp l
        }",
    ),
    (
        "output that nobody reads",
        &[],
        "fun main() {\nl: call print(\"all work and no play\\n\")\n jmp l\n}",
    ),
    (
        "a count profile of a deep recursion",
        &["--profile", "count", "--max-stack", "256M"],
        "fun deep(n: i) -> i {
            jgt n, 1000000, back
            n = add n, 1
            m = call deep(n)
            m = add m, 1
            ret m
        back:
            ret n
        }
        fun main() {
        l:  n = call deep(0)
            jmp l
        }",
    ),
];

fn main() {
    let is_smoke = std::env::args().any(|one| one == "--test");
    let n_runs = if is_smoke { 1 } else { 100 };
    println!(
        "{:<40} {:>10} {:>10} {:>10}",
        "milliseconds", "median", "p99", "most"
    );
    for (name, options, program) in CASES {
        let mut times: Vec<Duration> = (0..n_runs)
            .map(|run| interrupt(options, program, run))
            .collect();
        times.sort();
        let at = |share: f64| {
            let index = (share * (times.len() - 1) as f64).round() as usize;
            times[index].as_secs_f64() * 1e3
        };
        println!(
            "{name:<40} {:>10.1} {:>10.1} {:>10.1}",
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
}

/// The time from a signal to the end of a run that has gone on for a while.
fn interrupt(options: &[&str], program: &str, run: u64) -> Duration {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("program.asm"), program).expect("a program");
    let mut child: Child = Command::new(env!("CARGO_BIN_EXE_vm"))
        .args(options)
        .arg("program.asm")
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("vm runs");
    // At other moments of the program's work each time.
    thread::sleep(Duration::from_millis(100 + run * 7 % 100));
    let start = Instant::now();
    // SAFETY: the child has not been waited for, so the number is its own.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    child.wait().expect("vm ends");
    start.elapsed()
}
