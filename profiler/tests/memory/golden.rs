//! The report and the file, compared with texts that people have read.

use std::fs;
use std::path::Path;

use profiler::memory::report::{self, MemoryReportOptions};
use profiler::memory::{HeapProfile, Measure, MemoryFile, MemoryHeader, MemoryProfile, MemorySite};
use profiler::sampling::{CallId, CallTree};

use crate::sample::{Run, map, source};

/// Compares with a file beside this one, or writes it when `BLESS=1` is set.
fn expect(name: &str, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memory/golden");
    let path = folder.join(name);
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(folder).unwrap();
        fs::write(path, text).unwrap();
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(text, expected, "{name} differs; BLESS=1 accepts");
}

fn text(file: &MemoryFile, options: &MemoryReportOptions) -> String {
    let mut out = Vec::new();
    report::run(file, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn all() -> MemoryReportOptions {
    MemoryReportOptions {
        stacks: true,
        objects: true,
        ..MemoryReportOptions::default()
    }
}

#[test]
fn a_sampled_and_exact_profile() {
    let file = Run::new(0.02, 5, 1).finish();
    expect("sampled.txt", &text(&file, &all()));
    let mut written = Vec::new();
    file.write(&mut written).unwrap();
    expect("sampled.mem", &String::from_utf8(written).unwrap());
}

/// Compares a block of the page on memory profiles, or writes it when `BLESS=1` is set.
fn expect_on_page(info: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/memory.md");
    let page = fs::read_to_string(&path).unwrap();
    let fence = format!("```{info}\n");
    let (before, rest) = page.split_once(&fence).expect("the block is there");
    let (shown, after) = rest.split_once("```\n").expect("the block ends");
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        fs::write(path, format!("{before}{fence}{text}```\n{after}")).unwrap();
        return;
    }
    assert_eq!(
        shown, text,
        "{info} of docs/memory.md differs; BLESS=1 accepts"
    );
}

#[test]
fn the_page_shows_what_is_written() {
    let options = MemoryReportOptions {
        top: 3,
        stacks: true,
        ..MemoryReportOptions::default()
    };
    let mut file = Run::new(0.02, 5, 1).finish();
    expect_on_page("text,report", &text(&file, &options));
    file = Run::new(0.001, 4, 1).finish();
    file.heap = None;
    let mut written = Vec::new();
    file.write(&mut written).unwrap();
    expect_on_page("text,file", &String::from_utf8(written).unwrap());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/memory/file/mod.rs");
    let source = fs::read_to_string(source).unwrap().replace("//! ", "");
    let grammar = source.split("```").nth(1).expect("the grammar is there");
    expect_on_page("text,grammar", grammar.strip_prefix("text\n").unwrap());
}

#[test]
fn at_rate_1_the_samples_are_the_exact_figures() {
    let file = Run::new(1.0, 5, 1).finish();
    let shown = text(&file, &MemoryReportOptions::default());
    assert!(shown.contains("3 of 3 functions lie inside"), "{shown}");
    expect("rate-1.txt", &shown);
    let heap = file.heap.as_ref().unwrap().totals();
    let total = |measure: Measure| -> f64 {
        file.rows
            .iter()
            .map(|(_, row)| row.get(measure).bytes)
            .sum()
    };
    assert_eq!(total(Measure::Allocated), heap.allocated_bytes as f64);
    assert_eq!(total(Measure::Live), heap.live_bytes as f64);
    assert_eq!(total(Measure::Peak), heap.peak_bytes as f64);
    assert_eq!(total(Measure::Promoted), heap.promoted_bytes as f64);
}

#[test]
fn sorted_by_another_measure_and_cut() {
    let options = MemoryReportOptions {
        by: Measure::ShortLived,
        top: 2,
        stacks: true,
        objects: false,
    };
    expect(
        "short-lived.txt",
        &text(&Run::new(0.02, 5, 1).finish(), &options),
    );
}

#[test]
fn exact_only_and_nothing_at_all() {
    let mut file = Run::new(0.0, 5, 1).finish();
    expect("exact.txt", &text(&file, &all()));
    file.heap = None;
    let expected = "memory profile of made-up\n164,208 bytes allocated, 10 minor and 10 major \
                    collections\nnothing was sampled\n";
    assert_eq!(text(&file, &all()), expected);
}

#[test]
fn an_exact_total_outside_the_interval_is_told() {
    let mut file = Run::new(0.02, 5, 1).finish();
    assert!(!text(&file, &all()).contains("warning"));
    file.header.allocated_bytes *= 2;
    file.header.n_cut = 3;
    let heap = file.heap.as_mut().unwrap();
    heap.gc_work_bytes += 1;
    heap.sources[4].live_bytes *= 9;
    let shown = text(&file, &all());
    for expected in [
        "warning: the samples say ",
        "warning: there were too many call stacks, so 3 were cut",
        "warning: the shares of GC work add up to ",
        " outside\n",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn no_file_made_by_hand_stops_the_report() {
    let header = MemoryHeader {
        program: "x\u{1b}[2J\ny".to_owned(),
        rate: 1e-4,
        ..MemoryHeader::default()
    };
    let empty = MemoryFile::new(header, &map());
    assert!(text(&empty, &all()).starts_with("memory profile of x\\u{1b}[2J\\ny\n"));
    let mut file = Run::new(0.02, 5, 1).finish();
    file.sites.truncate(1);
    file.sources.truncate(4);
    file.calls.swap(0, 3);
    file.rows[0].0 = CallId(u32::MAX);
    file.rows[1].1.live.bytes = f64::NAN;
    file.rows[1].1.live.bytes_variance = f64::INFINITY;
    file.heap = Some(HeapProfile::new(100));
    assert!(text(&file, &all()).contains("(no function)"));
    file.calls.clear();
    assert!(text(&file, &all()).contains("(no function)"));
}

/// What the report shows of two words that were allocated at each of these stacks, whose calls are
/// at these lines, outermost first.
fn shown(stacks: &[Vec<u32>]) -> String {
    let mut tree = CallTree::new();
    let mut profile = MemoryProfile::new(1.0, 0);
    for lines in stacks {
        let child = |call, &line: &u32| tree.child(call, line);
        let call = lines.iter().fold(CallTree::ROOT, child);
        profile.allocated(call, 2, 2);
    }
    let site = |line| MemorySite {
        source: source(2),
        line,
    };
    let file = MemoryFile::new(MemoryHeader::default(), &map()).with_samples(&profile, &tree, site);
    text(&file, &all())
}

/// The lines of the first stack that the report shows.
fn frames(shown: &str) -> Vec<&str> {
    let (_, stack) = shown.split_once("\n1. ").expect("a stack");
    let frames = stack.lines().skip(1);
    frames
        .map_while(|line| line.strip_prefix("     "))
        .collect()
}

#[test]
fn a_deep_stack_is_cut_in_the_middle() {
    let shown = shown(&[(1..=200_000).collect()]);
    let frames = frames(&shown);
    assert_eq!(frames.len(), 33, "{shown}");
    assert_eq!(frames[0], "loop (main.sml:200000)");
    assert_eq!(frames[23], "loop (main.sml:199977)");
    assert_eq!(frames[24], "... 199968 frames ...");
    assert_eq!(frames[32], "loop (main.sml:1)");
    // However often it is on the stack, a function counts once.
    let row = shown
        .lines()
        .find(|line| line.starts_with("loop (main.sml:30)"));
    assert!(row.unwrap().trim_end().ends_with(" 16"), "{shown}");
}

#[test]
fn a_recursion_is_one_frame_at_any_depth() {
    let stacks = [vec![1, 2, 3], vec![1, 2, 2, 2, 3], vec![1, 3]];
    let shown = shown(&stacks);
    let expected = [
        "loop (main.sml:3)",
        "loop (main.sml:2), recursive",
        "loop (main.sml:1)",
    ];
    assert_eq!(frames(&shown), expected);
    assert!(shown.contains("\n1. live 32 in 2 objects"), "{shown}");
    assert!(shown.contains("\n2. live 16 in 1 object"), "{shown}");
    assert!(!shown.contains("\n3. "), "{shown}");
}
