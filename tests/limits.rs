//! Limits end a run cleanly, signals end it, and tail calls take no space.

mod support;

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use support::{machine, root, vm, wait_until};
use vm::{HeapConfig, Outcome, RunError, Trap, VmConfig};

const DEEP: &str = "
    fun deep(n: i) -> i {
        n = add n, 1
        m = call deep(n)
        m = add m, 1
        ret m
    }
    fun main() -> i {
        x = call deep(0)
        ret x
    }";

fn trap_of(result: Result<Outcome, RunError>) -> Trap {
    match result {
        Err(RunError::Trap { trap, .. }) => trap,
        other => panic!("a trap was expected, not {other:?}"),
    }
}

#[test]
fn endless_recursion_overflows_the_stack_and_nothing_else() {
    let refs = "
        fun deep(x: r) -> r {
            y = new 1, [x], []
            z = call deep(y)
            w = new 2, [z], []
            ret w
        }
        fun main() {
            x = null
            y = call deep(x)
            ret
        }";
    let nothing = "
        fun deep() {
            call deep()
            x = 1
            ret
        }
        fun main() {
            call deep()
            ret
        }";
    let shapes = [DEEP, refs, nothing];
    for text in shapes {
        for stack_bytes in [64 << 10, 1 << 20] {
            let mut vm = machine(
                text,
                VmConfig {
                    stack_bytes,
                    ..VmConfig::default()
                },
            );
            let trap = trap_of(vm.run());
            assert_eq!(
                trap,
                Trap::StackOverflow {
                    limit_bytes: stack_bytes
                }
            );
        }
    }
}

#[test]
fn a_machine_can_be_used_again_after_a_trap() {
    let text = format!("{DEEP}\nexport fun fine(n: i) -> i {{\n n = add n, 1\n ret n\n}}\n");
    let mut vm = machine(
        &text,
        VmConfig {
            stack_bytes: 64 << 10,
            ..VmConfig::default()
        },
    );
    let fine = vm.module().function_named("fine").expect("the function");
    for _ in 0..3 {
        trap_of(vm.run());
        assert_eq!(vm.call(fine, &[41]), Ok(Outcome::Returned(vec![42])));
    }
}

#[test]
fn a_full_heap_is_a_trap_and_leaves_a_machine_to_use() {
    let text = "
        fun grow() {
            xs = null
        more:
            n = 1
            xs = new 1, [xs], [n]
            jmp more
        }
        export fun fine(n: i) -> i {
            x = new 1, [], [n]
            m = ld_i x, 0
            ret m
        }
        fun main() {
            call grow()
            ret
        }";
    // With a collection at every allocation, filling a heap takes time in its square.
    let sizes: &[usize] = if support::is_stressed() {
        &[1 << 20]
    } else {
        &[1 << 20, 8 << 20, 40 << 20]
    };
    for &max_bytes in sizes {
        let heap = HeapConfig {
            nursery_bytes: 256 << 10,
            max_bytes,
            ..HeapConfig::default()
        };
        let mut vm = machine(
            text,
            VmConfig {
                heap,
                ..VmConfig::default()
            },
        );
        let Trap::OutOfMemory(error) = trap_of(vm.run()) else {
            panic!("another trap")
        };
        assert_eq!(error.max_bytes, max_bytes);
        let fine = vm.module().function_named("fine").expect("the function");
        assert_eq!(vm.call(fine, &[7]), Ok(Outcome::Returned(vec![7])));
    }
}

#[test]
fn garbage_never_fills_a_heap() {
    let text = "
        fun main() -> i {
            n = 200000
            z = null
        more:
            k = 20
            small = new 1, [z], [n]
            array = new_r k, small
            big = 1000
            large = new_i big, n
            n = sub n, 1
            jgt n, 0, more
            ret n
        }";
    let heap = HeapConfig {
        nursery_bytes: 64 << 10,
        max_bytes: 2 << 20,
        ..HeapConfig::default()
    };
    let mut vm = machine(
        text,
        VmConfig {
            heap,
            ..VmConfig::default()
        },
    );
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![0])));
}

/// What lives between two major collections was not seen.
#[test]
fn what_the_heap_holds_is_seen_at_every_collection() {
    let text = "fun main() {
            n = 400000
            x = null
        l:  x = new 1, [x], [n]
            n = sub n, 1
            jgt n, 0, l
            ret
        }";
    let mut vm = machine(text, VmConfig::default());
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])));
    let stats = vm.heap_stats();
    let in_nursery = 2 << 20;
    assert!(stats.max_held_bytes + in_nursery >= 400_000 * 24, "{stats}");
}

#[test]
fn an_array_that_no_memory_holds_is_refused() {
    let sizes = [
        ("1000000000000", true),
        ("-1", false),
        ("9000000000000000000", false),
    ];
    for (size, is_trap) in sizes {
        let text = format!("fun main() {{\n n = {size}\n xs = new_i n, n\n ret\n}}");
        let mut vm = machine(&text, VmConfig::default());
        match vm.run() {
            Err(RunError::Trap {
                trap: Trap::OutOfMemory(_),
                ..
            }) => assert!(is_trap, "{size}"),
            Err(RunError::Uncaught { exception, .. }) => {
                assert!(!is_trap, "{size}");
                assert_eq!(exception, "index out of bounds");
            }
            other => panic!("{size}: {other:?}"),
        }
    }
}

#[test]
fn fuel_is_counted_to_the_block() {
    let text = "fun main() {\n x = 0\nagain:\n x = add x, 1\n jlt x, 100, again\n ret\n}";
    // Two ops for the start, two a turn, one for the end.
    let exact = 1 + 100 * 2 + 1;
    let run = |fuel| {
        machine(
            text,
            VmConfig {
                fuel: Some(fuel),
                ..VmConfig::default()
            },
        )
        .run()
    };
    assert_eq!(run(exact), Ok(Outcome::Returned(vec![])));
    assert_eq!(trap_of(run(exact - 1)), Trap::OutOfFuel);
    assert_eq!(trap_of(run(0)), Trap::OutOfFuel);
}

/// Calls and loops in every kind of build; a debug build does a tenth of it.
fn tail_calls() -> u64 {
    if cfg!(debug_assertions) {
        10_000_000
    } else {
        100_000_000
    }
}

#[test]
fn mutual_tail_calls_run_in_constant_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        fun even(n: i) -> i {
            jne n, 0, more
            ret 1
        more:
            n = sub n, 1
            tail_call odd(n)
        }
        fun odd(n: i) -> i {
            jne n, 0, more
            ret 0
        more:
            n = sub n, 1
            tail_call even(n)
        }
        fun main() {
            n = COUNT
            x = call even(n)
            call print_int(x)
            ret
        }";
    let text = text.replace("COUNT", &tail_calls().to_string());
    std::fs::write(folder.path().join("even.asm"), text).expect("a program");
    for profile in [
        None,
        Some("time"),
        Some("alloc"),
        Some("count"),
        Some("time,alloc,count"),
    ] {
        let mut command = vm(folder.path());
        command.args(["--max-stack", "64K", "--max-heap", "4M"]);
        command
            .args(profile.map(|kinds| format!("--profile={kinds}")))
            .arg("even.asm");
        let output = command.output().expect("vm runs");
        assert_eq!(
            support::stdout(&output),
            "1",
            "{profile:?}: {}",
            support::stderr(&output)
        );
    }
}

#[test]
fn the_interpreter_runs_on_a_small_native_stack() {
    let text = std::fs::read_to_string(root().join("examples/list-rev.asm")).expect("an example");
    // The machine's own threads of control live on its own stacks, whatever the program's depth.
    let run = move || {
        let mut vm = machine(&text, VmConfig::default());
        vm.run()
            .map(|_| ())
            .map_err(|error| vm.describe_error(&error))
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run);
    assert_eq!(thread.expect("a thread").join().expect("no panic"), Ok(()));
}

/// The program's output is not replaced by its profile when both go to one place.
#[test]
fn a_profile_may_go_to_standard_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("both.txt");
    let output = std::fs::File::create(&file).expect("a file");
    let mut command = vm(folder.path());
    command.args(["--profile", "count", "--profile-out", "/dev/stdout"]);
    let status = command
        .arg(root().join("examples/hello.asm"))
        .stdout(output)
        .status();
    assert!(status.expect("vm runs").success());
    let both = std::fs::read_to_string(&file).expect("what was written");
    assert!(both.contains("MLton prof\ncount\n"), "{both}");
    assert!(
        !both.starts_with("MLton prof"),
        "the program's own output comes first: {both}"
    );
}

/// A snapshot is a whole profile of a program that goes on.
#[test]
fn sigusr1_writes_the_profile_of_a_running_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "
        fun main() {
            call print(\"r\")
            n = 24
            x = new 1, [], [n]
            ok, line = call read_line()
            ok, line = call read_line()
            ret
        }";
    let mut child = start(text, folder.path(), &["--profile", "alloc"]);
    let path = folder.path().join("mlmon.out");
    assert!(!path.exists());
    let mut kill = std::process::Command::new("kill");
    let killed = kill.arg("-USR1").arg(child.id().to_string()).status();
    assert!(killed.expect("kill runs").success());
    wait_until("snapshot", || path.exists());
    let first = std::fs::read_to_string(&path).expect("a snapshot");
    drop(child.stdin.take());
    assert!(child.wait().expect("the program ends").success());
    let last = std::fs::read_to_string(&path).expect("the profile");
    // The fifth line begins with the total, without the collector's share.
    let total = |text: &str| {
        text.lines()
            .nth(4)
            .and_then(|line| line.split(' ').next().map(str::to_owned))
    };
    assert_eq!(total(&first).as_deref(), Some("16"));
    // The two empty strings that the end of input gave.
    assert_eq!(total(&last).as_deref(), Some("48"));
}

fn start(text: &str, folder: &std::path::Path, options: &[&str]) -> Child {
    std::fs::write(folder.join("wait.asm"), text).expect("a program");
    let mut command = vm(folder);
    command
        .args(options)
        .arg("wait.asm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("vm runs");
    // The program says when it is on its way.
    let mut ready = [0; 1];
    let output = child.stdout.as_mut().expect("a pipe");
    output.read_exact(&mut ready).expect("the program started");
    child
}

/// Programs that will not end by themselves, with how they spend their time.
const ENDLESS: [(&str, &str); 3] = [
    ("loop", "again:\n jmp again"),
    ("allocation", "again:\n x = new 1, [], []\n jmp again"),
    ("read", "ok, line = call read_line()\n ret"),
];

#[test]
fn signals_end_a_run_with_its_profile_written() {
    for (name, body) in ENDLESS {
        for (signal, option) in [
            (signal_hook::consts::SIGINT, "-INT"),
            (15, "-TERM"),
            (1, "-HUP"),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            // Reading a line flushes what was written; errors are not kept back.
            let text = format!(
                "fun main() {{\n call print(\"r\")\n ok, line = call read_line()\n \
                 call eprint(\"e\")\n {body}\n}}"
            );
            let mut child = start(&text, folder.path(), &["--profile", "alloc,count"]);
            let mut input = child.stdin.take().expect("a pipe");
            input.write_all(b"go\n").expect("the program reads");
            // The body is next.
            let errors = child.stderr.as_mut().expect("a pipe");
            errors.read_exact(&mut [0]).expect("the program goes on");
            let mut kill = std::process::Command::new("kill");
            let killed = kill.arg(option).arg(child.id().to_string()).status();
            assert!(killed.expect("kill runs").success());
            let status = child.wait().expect("the program ends");
            assert_eq!(status.signal(), Some(signal), "{name} {option}: {status:?}");
            for kind in ["alloc", "count"] {
                let file = folder.path().join(format!("mlmon.{kind}.out"));
                assert!(file.exists(), "{name} {option}: no profile");
            }
        }
    }
}
