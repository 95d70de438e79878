//! The report and the file, compared with texts that people have read.

use std::fs;
use std::path::Path;

use profiler::memory::report::{self, MemoryReportOptions};
use profiler::memory::{HeapProfile, Measure, MemoryFile, MemoryHeader};
use profiler::sampling::CallId;

use crate::sample::{Run, map};

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

#[test]
fn a_deep_stack_is_cut_in_the_middle() {
    let mut tree = profiler::sampling::CallTree::new();
    let mut profile = profiler::memory::MemoryProfile::new(1.0, 0);
    let mut call = profiler::sampling::CallTree::ROOT;
    for line in 0..200_000 {
        call = tree.child(call, line);
    }
    profile.allocated(call, 2, 2);
    let site = |line| profiler::memory::MemorySite {
        source: crate::sample::source(2),
        line: line + 1,
    };
    let file = MemoryFile::new(MemoryHeader::default(), &map()).with_samples(&profile, &tree, site);
    let shown = text(&file, &all());
    let frames: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("     "))
        .collect();
    assert_eq!(frames.len(), 33, "{shown}");
    assert_eq!(frames[0], "     loop (main.sml:200000)");
    assert_eq!(frames[24], "     ... 199968 frames ...");
    assert_eq!(frames[32], "     loop (main.sml:1)");
    // However often it is on the stack, a function counts once.
    let row = shown
        .lines()
        .find(|line| line.starts_with("loop (main.sml:30)"))
        .unwrap();
    assert!(row.trim_end().ends_with(" 16"), "{row}");
}
