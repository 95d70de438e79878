//! What `--profile-include` and `--profile-exclude` leave out is charged to the caller, exactly.

mod support;

use std::sync::Arc;

use profiler::{Kind, KindSet, Profile, SourceFilter, SourceMap, Style};
use support::{machine, module_of, root, stderr, vm};
use vm::{Vm, VmConfig};

/// A machine that has run a program under a filter, and the program's sources.
fn filtered(text: &str, style: Style, include: &[&str], exclude: &[&str]) -> (SourceMap, Vm) {
    let sources = module_of(text).source_map();
    let kinds: KindSet = "time,alloc,count".parse().expect("kinds");
    let filter = SourceFilter::parse(include, exclude).expect("regular expressions");
    let profile = Profile::new(kinds, sources.sources.len())
        .with_style(style)
        .with_filter(&filter, &sources);
    let config = VmConfig {
        profile: Some(Arc::new(profile)),
        ..VmConfig::default()
    };
    let mut vm = machine(text, config);
    vm.run().expect("the program ends well");
    (sources, vm)
}

/// What a source was charged: bytes and calls, while current and while on the stack.
fn charged(sources: &SourceMap, vm: &Vm, name: &str) -> ([u64; 2], [u64; 2]) {
    let data = vm.unit_data(vm.current_unit()).expect("a unit");
    let data = data.expect("a profile");
    let index = (0..sources.sources.len()).find(|&index| {
        let text = &sources.names[sources.sources[index].name.index()];
        text.split('\t').next() == Some(name)
    });
    let index = index.unwrap_or_else(|| panic!("no source is named {name}"));
    let [bytes, calls] = [Kind::Alloc, Kind::Count].map(|kind| data.counts(kind).rows[index]);
    ([bytes.current, calls.current], [bytes.stack, calls.stack])
}

/// The sum of all current bytes is what the heap has counted.
fn assert_sum(vm: &Vm) {
    let data = vm.unit_data(vm.current_unit()).expect("a unit");
    let totals = data.expect("a profile").counts(Kind::Alloc).totals;
    assert_eq!(totals.total, vm.allocated_bytes());
}

fn list_rev() -> String {
    std::fs::read_to_string(root().join("examples/list-rev.asm")).expect("an example")
}

#[test]
fn callers_get_what_a_function_would_have_had() {
    let text = list_rev();
    for style in [Style::Current, Style::Stack] {
        let (sources, vm) = filtered(&text, style, &[], &["^append$"]);
        let current = |name| charged(&sources, &vm, name).0;
        assert_eq!(current("append"), [0, 0]);
        // `append` takes the place of a `rev`, so the last one of 999 cells is the top level's.
        assert_eq!(current("rev"), [24_000 + 11_988_000 - 999 * 24, 1_001]);
        assert_eq!(current("<main>"), [24_016 + 999 * 24, 0]);
        assert_eq!(current("<unknown>"), [0, 0]);
        assert_sum(&vm);
    }
}

#[test]
fn with_nothing_included_all_is_the_top_levels() {
    for style in [Style::Current, Style::Stack] {
        let (sources, vm) = filtered(&list_rev(), style, &["nothing"], &[]);
        let current = |name| charged(&sources, &vm, name).0;
        assert_eq!(current("<main>"), [vm.allocated_bytes(), 0]);
        for name in ["append", "rev", "fn"] {
            assert_eq!(charged(&sources, &vm, name), ([0, 0], [0, 0]), "{name}");
        }
    }
}

#[test]
fn files_are_matched_too() {
    let (sources, vm) = filtered(&list_rev(), Style::Current, &["list-rev[.]sml$"], &["^re"]);
    let current = |name| charged(&sources, &vm, name).0;
    assert_eq!(current("append"), [11_988_000, 500_500]);
    assert_eq!(current("rev"), [0, 0]);
    assert_eq!(current("<main>"), [48_016, 0]);
}

/// Everything that opens and closes sources: calls, closures, tail calls, exceptions, branches and
/// units, with the functions in between left out. The second call in `twice` is a tail call.
const ALL: &str = "
    fun cell(n: i) -> r {
        c = new 1, [], [n]
        ret c
    }
    fun middle(n: i) -> r {
        c = call cell(n)
        d = new 1, [c], [n]
        ret d
    }
    closure fun twice(n: i) -> r {
        c = call middle(n)
        c = call middle(n)
        ret c
    }
    fun raising(n: i) {
        c = call middle(n)
        raise c
    }
    fun tail(n: i) -> r {
        d = new 1, [], []
        tail_call middle(n)
    }
    fun careful(n: i) -> i {
        try caught(e) {
            call raising(n)
        }
        ret 0
    caught:
        c = new 1, [e], [n]
        c = call tail(n)
        f = closure twice, [], []
        c: r = call_closure f(n)
        ret 1
    }
    fun main() {
        n = call careful(1)
        n = call careful(2)
        ret
    }";

#[test]
fn every_way_into_a_function_and_out_of_it_is_followed() {
    type Figures = [u64; 6];
    let functions = ["cell", "middle", "twice", "raising", "tail"];
    let cases: [(&str, &str, Figures, Figures); 4] = [
        (
            "^$",
            "careful",
            [128, 192, 0, 0, 16, 80],
            [8, 8, 2, 2, 2, 2],
        ),
        (
            "middle",
            "careful",
            [128, 0, 48, 48, 16, 176],
            [8, 0, 2, 2, 2, 2],
        ),
        (
            "cell|tail",
            "careful",
            [0, 320, 0, 0, 0, 96],
            [0, 8, 2, 2, 0, 2],
        ),
        (
            "careful|middle|cell",
            "<main>",
            [0, 0, 80, 80, 16, 240],
            [0, 0, 2, 2, 2, 0],
        ),
    ];
    for (exclude, last, bytes, calls) in cases {
        for style in [Style::Current, Style::Stack] {
            let (sources, vm) = filtered(ALL, style, &[], &[exclude]);
            assert_sum(&vm);
            let names = functions.iter().chain([&last]);
            let current: Vec<_> = names.map(|name| charged(&sources, &vm, name).0).collect();
            assert_eq!(
                current.iter().map(|one| one[0]).collect::<Vec<_>>(),
                bytes,
                "{exclude} {style:?}"
            );
            assert_eq!(
                current.iter().map(|one| one[1]).collect::<Vec<_>>(),
                calls,
                "{exclude} {style:?}"
            );
        }
    }
}

#[test]
fn stack_columns_do_not_show_what_is_left_out() {
    let (sources, vm) = filtered(ALL, Style::Stack, &[], &["middle"]);
    let (all, stack) = charged(&sources, &vm, "<main>");
    assert_eq!((all, stack), ([0, 0], [vm.allocated_bytes(), 16]));
    assert_eq!(charged(&sources, &vm, "middle"), ([0, 0], [0, 0]));
    assert_eq!(charged(&sources, &vm, "twice"), ([48, 2], [80, 4]));
    assert_eq!(
        charged(&sources, &vm, "careful").1,
        [vm.allocated_bytes(), 16]
    );
}

#[test]
fn units_are_filtered_like_the_first_one() {
    let text = "
        fun pair(n: i) -> r {
            p = new 1, [], [n, n]
            ret p
        }
        fun phase(n: i) -> i {
            p = call pair(n)
            unit = call profile_new()
            before = call profile_switch(unit)
            p = call pair(n)
            p = call pair(n)
            before = call profile_switch(before)
            ret unit
        }
        fun main() {
            unit = call phase(3)
            ret
        }";
    for style in [Style::Current, Style::Stack] {
        let (sources, vm) = filtered(text, style, &[], &["pair"]);
        let counts = |unit| {
            let data = vm.unit_data(unit).expect("a unit").expect("a profile");
            let counts = data.counts(Kind::Alloc);
            let named = |name: &str| {
                let found = sources.names.iter().position(|text| text.starts_with(name));
                counts.sources[found.expect("the source")]
            };
            [named("phase"), named("pair"), counts.totals.total]
        };
        let made = vm.unit(1).expect("the unit that the program made");
        assert_eq!(counts(vm.current_unit()), [24, 0, 24], "{style:?}");
        assert_eq!(counts(made), [48, 0, 48], "{style:?}");
    }
}

#[test]
fn a_filter_that_keeps_everything_changes_nothing() {
    let sources = module_of(ALL).source_map();
    let kinds: KindSet = "alloc".parse().expect("kinds");
    let filter = SourceFilter::parse(&["."], &["nobody"]).expect("regular expressions");
    let profile = Profile::new(kinds, sources.sources.len()).with_filter(&filter, &sources);
    assert!(!profile.data().has_contexts());
}

#[test]
fn the_command_takes_several_expressions_and_refuses_wrong_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = root().join("examples/list-rev.asm");
    let run = |options: &[&str]| {
        let mut command = vm(folder.path());
        command.args(["--profile", "alloc"]).args(options);
        command.arg(&program).output().expect("vm runs")
    };
    let output = run(&["--profile-exclude", "append", "--profile-exclude=rev"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table = stderr(&output);
    assert!(
        !table.contains("append") && !table.contains("rev"),
        "{table}"
    );
    let output = run(&["--profile-include", "rev("]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "vm: invalid regexp \"rev(\": unclosed group; write one that matches a function";
    assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
    let without = vm(folder.path())
        .args(["--profile-exclude", "x"])
        .arg(&program)
        .output()
        .expect("vm runs");
    assert_eq!(without.status.code(), Some(2), "it needs --profile");
}
