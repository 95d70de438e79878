//! Frames that tail calls give up, counted by function.

mod support;

use std::sync::Arc;

use profiler::mlmon::Mlmon;
use profiler::{Kind, KindSet, Profile, SourceFilter, Style};
use support::{machine, module_of, root, stderr, vm};
use vm::{Vm, VmConfig};

/// Tail calls of each sort: to itself, to others, of closures, by moves and by additions; and
/// `calls` makes none.
const PROGRAM: &str = "
    fun down(n: i) -> i {
        jeq n, 0, done
        n = sub n, 1
        n = call down(n)
        ret n
    done:
        ret n
    }
    fun swap(a: i, b: i) -> i {
        jeq a, 0, done
        c = sub a, 1
        a = call swop(b, c)
        ret a
    done:
        ret b
    }
    fun swop(a: i, b: i) -> i {
        a = call swap(b, a)
        ret a
    }
    closure fun last(n: i) -> i {
        x = new 1, [], [n]
        ret n
    }
    fun apply(n: i) -> i {
        f = closure last, [], []
        n: i = call_closure f(n)
        ret n
    }
    fun calls(n: i) -> i {
        n = call down(n)
        m = call swap(n, n)
        m = add m, n
        ret m
    }
    fun main() {
        n = call calls(7)
        n = call swap(3, 4)
        n = call apply(n)
        n = call apply(n)
        ret
    }";

/// What each function gave up, in the order of the text.
fn elided(profile: &Profile) -> Vec<u64> {
    let data = profile.elided().expect("frames are counted");
    data.counts(Kind::Count).sources[3..].to_vec()
}

fn run(profile: Profile, fuses: bool) -> (Vm, Arc<Profile>) {
    let profile = Arc::new(profile);
    let config = VmConfig {
        profile: Some(profile.clone()),
        fuses,
        ..VmConfig::default()
    };
    let mut vm = machine(PROGRAM, config);
    vm.run().expect("the program ends well");
    (vm, profile)
}

#[test]
fn each_frame_is_counted_for_the_function_that_gives_it_up() {
    let n_sources = module_of(PROGRAM).sources.sources.len();
    for kinds in ["", "time", "alloc", "count", "time,alloc,count"] {
        let kinds: KindSet = match kinds {
            "" => KindSet::EMPTY,
            kinds => kinds.parse().expect("kinds"),
        };
        for style in [Style::Current, Style::Stack] {
            for fuses in [false, true] {
                let profile = Profile::new(kinds, n_sources)
                    .with_style(style)
                    .with_elided();
                let (vm, profile) = run(profile, fuses);
                // down, swap, swop, last, apply, calls
                assert_eq!(
                    elided(&profile),
                    [7, 3, 3, 0, 2, 0],
                    "{kinds:?} {style:?} {fuses}"
                );
                let counts = profile.data().counts(Kind::Alloc).totals.total;
                let expected = if kinds.contains(Kind::Alloc) {
                    vm.allocated_bytes()
                } else {
                    0
                };
                assert_eq!(counts, expected, "{kinds:?} {style:?} {fuses}");
            }
        }
    }
}

#[test]
fn what_a_profile_leaves_out_gives_up_nothing() {
    let sources = module_of(PROGRAM).source_map();
    let filter = SourceFilter::parse(&[], &["swap"]).expect("a filter");
    let profile = Profile::new(KindSet::EMPTY, sources.sources.len())
        .with_elided()
        .with_filter(&filter, &sources);
    assert_eq!(elided(&run(profile, true).1), [7, 0, 3, 0, 2, 0]);
}

#[test]
fn the_file_is_one_of_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |options: &[&str]| {
        let mut command = vm(folder.path());
        command.args(options).arg("--profile-elided=elided.out");
        let program = root().join("examples/even-odd.asm");
        let output = command.arg(program).arg("1000").output().expect("vm runs");
        assert!(output.status.success(), "{}", stderr(&output));
        let file = Mlmon::read_file(&folder.path().join("elided.out")).expect("a file");
        (file.kind, file.totals.total, stderr(&output))
    };
    let (kind, total, table) = run(&[]);
    assert_eq!((kind, total), (Kind::Count, 1000));
    assert!(
        table.starts_with("frames that tail calls gave up:\n1,000 ticks\n"),
        "{table}"
    );
    let (_, total, table) = run(&["--profile", "count"]);
    assert_eq!(total, 1000);
    assert!(table.starts_with("1,002 ticks\n"), "{table}");
}
