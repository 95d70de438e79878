//! Profiles are exact: against MLton's figures, against the heap's own counter, and against the
//! calls that a program makes.

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use profiler::mlmon::Mlmon;
use profiler::{Kind, KindSet, Profile, SourceMap, Style, parse_show_sources};
use support::{files, machine, module_of, profile, root, stderr, vm};
use vm::{GcStress, HeapConfig, Outcome, VmConfig};

/// The current count of the source whose name starts with `name` and a tab, or is `name`.
fn count_of(sources: &SourceMap, profile: &Profile, kind: Kind, name: &str) -> u64 {
    let is_named = |text: &str| text.split('\t').next() == Some(name);
    let position = sources.names.iter().position(|text| is_named(text));
    let name = position.unwrap_or_else(|| panic!("no source is named {name}"));
    let nodes = profile.data().nodes();
    let own = sources
        .sources
        .iter()
        .zip(nodes)
        .filter(|(source, _)| source.name.index() == name);
    own.map(|(_, node)| match kind {
        Kind::Time => node.ticks.load(Relaxed),
        Kind::Alloc => node.bytes.load(Relaxed),
        Kind::Count => node.calls.load(Relaxed),
    })
    .sum()
}

fn example(name: &str) -> String {
    std::fs::read_to_string(root().join("examples").join(name)).expect("an example")
}

/// Runs a program under all kinds at once and gives what was charged and the heap's own count.
fn profiled(text: &str, config: VmConfig) -> (SourceMap, Arc<Profile>, u64) {
    let module = module_of(text);
    let sources = module.source_map();
    let profile = profile("alloc,count", &module);
    let mut vm = machine(
        text,
        VmConfig {
            profile: Some(profile.clone()),
            ..config
        },
    );
    let outcome = vm
        .run()
        .unwrap_or_else(|error| panic!("{}", vm.describe_error(&error)));
    assert!(matches!(
        outcome,
        Outcome::Returned(_) | Outcome::ExitCode(0)
    ));
    (sources, profile, vm.allocated_bytes())
}

#[test]
fn list_rev_has_the_figures_of_mlton() {
    let (sources, profile, _) = profiled(&example("list-rev.asm"), VmConfig::default());
    let bytes = |name| count_of(&sources, &profile, Kind::Alloc, name);
    let calls = |name| count_of(&sources, &profile, Kind::Count, name);
    assert_eq!((bytes("append"), bytes("rev")), (11_988_000, 24_000));
    assert_eq!(
        (calls("append"), calls("rev"), calls("fn")),
        (500_500, 1_001, 1_000)
    );
}

/// MLton's third example, with branches. It makes 636 million counted entries, so it is left to
/// builds that are optimised.
#[cfg(not(debug_assertions))]
#[test]
fn tak_has_the_figures_of_mlton() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = root().join("examples/tak.asm");
    let options = ["--profile", "count", "--profile-branch"];
    let output = vm(folder.path())
        .args(options)
        .arg(&program)
        .output()
        .expect("vm runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let module = {
        use assembler::{AssembleOptions, assemble};
        let text = std::fs::read_to_string(&program).expect("an example");
        let options = AssembleOptions {
            profile_branch: true,
            file_name: program.display().to_string(),
            ..AssembleOptions::default()
        };
        assemble(&text, &options).expect("the example assembles")
    };
    let sources = module.source_map();
    let file = Mlmon::read_file(&folder.path().join("mlmon.out")).expect("a profile");
    assert_eq!(file.magic, sources.magic);
    let count = |name: &str| {
        let found = sources
            .names
            .iter()
            .position(|text| text.split('\t').next() == Some(name));
        file.names[found.unwrap_or_else(|| panic!("no source is named {name}"))].current
    };
    let expected = [
        ("Tak.tak1.tak2", 238_530_000),
        ("Tak.tak1.tak2.<true>", 171_510_000),
        ("Tak.tak1.tak2.<false>", 67_020_000),
        ("Tak.tak1", 79_515_000),
        ("Tak.tak1.<true>", 67_025_000),
        ("Tak.tak1.<false>", 12_490_000),
        ("f", 5_001),
    ];
    for (name, calls) in expected {
        assert_eq!(count(name), calls, "{name}");
    }
}

/// MLton's columns for the same program: only what its runtime adds to `<main>` and `<gc>` differs.
#[test]
fn list_rev_has_the_stack_columns_of_mlton() {
    for fold in [false, true] {
        let text = example("list-rev.asm");
        let module = module_of(&text);
        let sources = module.source_map();
        let kinds: KindSet = "alloc,count".parse().expect("kinds");
        let profile = Profile::new(kinds, sources.sources.len())
            .with_style(Style::Stack)
            .with_fold_recursion(fold);
        let profile = Arc::new(profile);
        let config = VmConfig {
            profile: Some(profile.clone()),
            ..VmConfig::default()
        };
        machine(&text, config).run().expect("the example runs");
        for (kind, golden) in [(Kind::Alloc, "alloc-stack"), (Kind::Count, "count-stack")] {
            let folder = root().join("tests/golden/list-rev").join(golden);
            let text = std::fs::read_to_string(folder.join("sources.txt")).expect("sources");
            let theirs = parse_show_sources(&text).expect("golden sources");
            let golden = Mlmon::read_file(&folder.join("mlmon.out")).expect("a golden profile");
            let ours = profile
                .data()
                .mlmon(kind, &sources)
                .expect("the profile fits");
            let row = |file: &Mlmon, map: &SourceMap, name: &str| {
                let is_named = |text: &String| text.split('\t').next() == Some(name);
                let row = file.names[map.names.iter().position(is_named).expect("the source")];
                (row.current, row.stack)
            };
            for name in ["append", "rev"] {
                let (mine, other) = (row(&ours, &sources, name), row(&golden, &theirs, name));
                assert_eq!(mine, other, "{kind} of {name}, folded: {fold}");
            }
            let (_, main) = row(&ours, &sources, "<main>");
            assert_eq!(main, ours.totals.total, "everything is under <main>");
        }
    }
}

/// In stack style the current column is what it is in current style.
#[test]
fn both_styles_have_the_same_current_column() {
    for name in [
        "exceptions.asm",
        "closures.asm",
        "n-queens.asm",
        "word-count.asm",
    ] {
        let text = example(name);
        let (sources, current, _) = profiled(&text, VmConfig::default());
        for fold in [false, true] {
            let kinds = current.kinds();
            let profile = Profile::new(kinds, sources.sources.len())
                .with_style(Style::Stack)
                .with_fold_recursion(fold);
            let profile = Arc::new(profile);
            let config = VmConfig {
                profile: Some(profile.clone()),
                ..VmConfig::default()
            };
            let mut vm = machine(&text, config);
            vm.run().expect("the example runs");
            for kind in [Kind::Alloc, Kind::Count] {
                let column = |profile: &Profile| {
                    let file = profile
                        .data()
                        .mlmon(kind, &sources)
                        .expect("the profile fits");
                    file.sources
                        .iter()
                        .map(|row| row.current)
                        .collect::<Vec<_>>()
                };
                assert_eq!(
                    column(&current),
                    column(&profile),
                    "{name} {kind} folded: {fold}"
                );
            }
            let totals = profile.data().counts(Kind::Alloc).totals;
            assert_eq!(totals.total, vm.allocated_bytes(), "{name}");
        }
    }
}

#[test]
fn every_byte_is_charged_once() {
    for path in files(&root().join("examples"), "asm") {
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if ["tak", "fib-tak"].contains(&name.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("an example");
        for nursery_bytes in [16 << 10, 2 << 20] {
            let heap = HeapConfig {
                nursery_bytes,
                ..HeapConfig::default()
            };
            let (_, profile, allocated) = profiled(
                &text,
                VmConfig {
                    heap,
                    ..VmConfig::default()
                },
            );
            let totals = profile.data().counts(Kind::Alloc).totals;
            assert_eq!(
                totals.total, allocated,
                "{name} with a nursery of {nursery_bytes}"
            );
        }
    }
}

#[test]
fn the_collector_is_charged_what_it_moves() {
    let text = example("list-rev.asm");
    let module = module_of(&text);
    let profile = profile("alloc", &module);
    let heap = HeapConfig {
        nursery_bytes: 16 << 10,
        ..HeapConfig::default()
    };
    let config = VmConfig {
        heap,
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    let mut vm = machine(&text, config);
    vm.run().expect("the example runs");
    let stats = vm.heap_stats();
    assert!(stats.minor_collections > 100);
    let moved = stats.promoted_bytes + stats.copied_bytes;
    assert_eq!(profile.data().counts(Kind::Alloc).totals.total_gc, moved);
}

#[test]
fn counts_and_bytes_do_not_depend_on_the_collector() {
    let text = example("exceptions.asm");
    let stress = HeapConfig {
        stress: GcStress::On,
        ..HeapConfig::default()
    };
    let (sources, calm, _) = profiled(&text, VmConfig::default());
    let (_, hard, _) = profiled(
        &text,
        VmConfig {
            heap: stress,
            ..VmConfig::default()
        },
    );
    for (index, (one, other)) in calm
        .data()
        .nodes()
        .iter()
        .zip(hard.data().nodes())
        .enumerate()
    {
        let name = &sources.names[sources.sources[index].name.index()];
        assert_eq!(one.calls.load(Relaxed), other.calls.load(Relaxed), "{name}");
        if name != "<gc>" {
            assert_eq!(one.bytes.load(Relaxed), other.bytes.load(Relaxed), "{name}");
        }
    }
}

#[test]
fn an_exception_gives_the_handler_its_own_source_back() {
    let text = "
        fun thrower() -> r {
            e = new 7, [], []
            raise e
        }
        fun catcher() -> r {
            try handler(e) {
                x = call thrower()
                ret x
            }
        handler:
            y = new 8, [e], []
            ret y
        }
        fun main() {
            x = call catcher()
            y = new 9, [x, x], []
            ret
        }";
    let (sources, profile, _) = profiled(text, VmConfig::default());
    let bytes = |name| count_of(&sources, &profile, Kind::Alloc, name);
    assert_eq!(
        (bytes("thrower"), bytes("catcher"), bytes("<main>")),
        (8, 16, 24)
    );
}

#[test]
fn time_is_charged_to_the_function_that_spends_it() {
    let text = "
        fun spin(n: i) {
        again:
            n = sub n, 1
            jgt n, 0, again
            ret
        }
        fun main() {
            call spin(300000000)
            ret
        }";
    let module = module_of(text);
    let profile = profile("time", &module);
    // A debug build spins long enough with far fewer turns.
    let text = match cfg!(debug_assertions) {
        true => text.replace("300000000", "30000000"),
        false => text.to_owned(),
    };
    let config = VmConfig {
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    let mut vm = machine(&text, config);
    vm.run().expect("the program runs");
    let totals = profile.data().counts(Kind::Time).totals;
    assert!(totals.total > 0, "no tick in a quarter of a second");
    let spin = count_of(&module.source_map(), &profile, Kind::Time, "spin");
    assert!(
        spin * 10 >= totals.total * 9,
        "{spin} of {} ticks",
        totals.total
    );
}

#[test]
fn several_kinds_are_taken_in_one_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = root().join("examples/list-rev.asm");
    let output = vm(folder.path())
        .args(["--profile", "time,alloc,count"])
        .arg(program)
        .output();
    assert!(output.expect("vm runs").status.success());
    for kind in Kind::ALL {
        let path = folder.path().join(format!("mlmon.{kind}.out"));
        assert_eq!(Mlmon::read_file(&path).expect("a profile").kind, kind);
    }
}

#[test]
fn two_runs_write_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, kind: &str| {
        let options = ["--profile", kind, "--profile-out", name];
        let program = root().join("examples/exceptions.asm");
        let output = vm(folder.path())
            .args(options)
            .arg(program)
            .output()
            .expect("vm runs");
        assert!(output.status.success(), "{}", stderr(&output));
        std::fs::read(folder.path().join(name)).expect("a profile")
    };
    for kind in ["alloc", "count"] {
        assert!(write("one.out", kind) == write("two.out", kind), "{kind}");
    }
}

/// The profile is written however a program ends.
#[test]
fn every_end_writes_the_profile() {
    let endings: [(&str, &str, &[&str]); 6] = [
        ("return", "ret", &[]),
        ("exit", "call exit(3)\n ret", &[]),
        ("uncaught", "e = imm 1\n raise e", &[]),
        ("fuel", "again:\n jmp again", &["--fuel", "1000"]),
        ("stack", "call deep()\n ret", &["--max-stack", "64K"]),
        ("memory", "call full()\n ret", &["--max-heap", "4M"]),
    ];
    for kind in ["time", "alloc", "count"] {
        for (name, body, options) in endings {
            let folder = tempfile::tempdir().expect("a folder");
            let text = format!(
                "fun deep() {{\n call deep()\n x = 1\n ret\n}}\n\
                 fun full() {{\n n = 100000\n z = null\n xs = new_r n, z\nmore:\n \
                 ys = new_r n, xs\n xs = ys\n jmp more\n}}\n\
                 fun main() {{\n c = new 1, [], []\n {body}\n}}\n"
            );
            std::fs::write(folder.path().join("end.asm"), text).expect("a program");
            let mut command = vm(folder.path());
            command
                .args(["--profile", kind])
                .args(options)
                .arg("end.asm");
            let output = command.output().expect("vm runs");
            let file = Mlmon::read_file(&folder.path().join("mlmon.out"));
            assert!(file.is_ok(), "{name} {kind}: {file:?} {}", stderr(&output));
        }
    }
}

#[test]
fn a_program_answers_what_mlprof_asks() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = root().join("examples/list-rev.asm");
    let bc = folder.path().join("list-rev.bc");
    let made = vm(folder.path())
        .arg("asm")
        .arg(&source)
        .arg("-o")
        .arg(&bc)
        .output();
    assert!(made.expect("vm runs").status.success());
    let answer = vm(folder.path())
        .arg(&bc)
        .args(["@MLton", "show-sources"])
        .output();
    let answer = answer.expect("vm runs");
    let shown = vm(folder.path())
        .arg("show-sources")
        .arg(&bc)
        .output()
        .expect("vm runs");
    assert_eq!(answer.stdout, shown.stdout);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("append\tlist-rev.sml: 1"));
}

/// `vm prof` over MLton's own programs, which a two-line script stands in for.
#[test]
fn vm_prof_equals_the_golden_reports() {
    let golden = root().join("tests/golden");
    let mut compared = 0;
    for program in ["list-rev", "fib-tak"] {
        let profile = if program == "list-rev" {
            "mlmon.out"
        } else {
            "mlmon.fib.out"
        };
        let folders = std::fs::read_dir(golden.join(program)).expect("golden files");
        for folder in folders.map(|entry| entry.expect("an entry").path()) {
            let place = tempfile::tempdir().expect("a folder");
            stand_in(&place.path().join(program), &folder.join("sources.txt"));
            let sets: [(&str, &[&str]); 4] = [
                ("default", &[]),
                ("raw", &["-raw", "true"]),
                ("line", &["-show-line", "true"]),
                ("raw-line", &["-raw", "true", "-show-line", "true"]),
            ];
            for (name, options) in sets {
                let expected = folder.join(format!("mlprof/{name}.txt"));
                let Ok(expected) = std::fs::read_to_string(&expected) else {
                    continue;
                };
                let mut command = vm(place.path());
                command
                    .arg("prof")
                    .args(options)
                    .arg(program)
                    .arg(folder.join(profile));
                let output = command.output().expect("vm runs");
                let shown = folder.display();
                assert_eq!(
                    support::stdout(&output),
                    expected,
                    "{shown} {name}: {}",
                    stderr(&output)
                );
                compared += 1;
            }
        }
    }
    assert_eq!(
        compared,
        6 * (4 + 2),
        "six kinds and styles; fib-tak has two of the sets"
    );
}

/// An executable that answers `@MLton show-sources` with a file.
fn stand_in(path: &Path, answer: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, format!("#!/bin/sh\ncat {}\n", answer.display())).expect("a script");
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, permissions).expect("an executable script");
}
