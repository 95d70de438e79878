//! The file: what is written is read again, and nothing else is accepted.

use profiler::memory::report::{self, MemoryReportOptions};
use profiler::memory::{
    AbsorbError, CallFigures, HeapProfile, HeapRow, Measure, MemoryFile, MemoryHeader,
    MemoryProfile, MemorySite, MemorySource,
};
use profiler::sampling::{CallId, CallTree, Estimate, SplitMix64};
use profiler::{SourceId, SourceMap};

use crate::sample::{Run, source};

fn written(file: &MemoryFile) -> String {
    let mut text = Vec::new();
    file.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn small() -> MemoryFile {
    Run::new(0.002, 5, 1).finish()
}

#[test]
fn what_is_written_is_read_again() {
    for rate in [0.0, 0.002, 0.03, 0.3, 1.0] {
        let file = Run::new(rate, 9, 2).finish();
        let mixed = |figures: &CallFigures| {
            let n_rare = figures.allocated.rare.n_blocks;
            0 < n_rare && n_rare < figures.allocated.n_blocks
        };
        let is_mixed = file.rows.iter().any(|(_, figures)| mixed(figures));
        assert_eq!(is_mixed, rate == 0.03, "rare blocks beside others");
        let text = written(&file);
        let read = MemoryFile::parse(&text).unwrap();
        assert_eq!(read, file);
        assert_eq!(written(&read), text);
    }
}

#[test]
fn only_stacks_with_figures_are_kept() {
    let all = Run::new(1.0, 5, 1).finish();
    let some = small();
    assert_eq!(all.calls.len(), 7);
    assert!(some.calls.len() <= all.calls.len());
    for (call, _) in &some.rows {
        assert!(some.stack(*call).count() >= 2);
    }
}

#[test]
fn what_another_tree_or_map_knows_is_unknown_here() {
    let mut tree = CallTree::new();
    let call = tree.child(CallTree::ROOT, 7);
    let mut profile = MemoryProfile::new(1.0, 0);
    for stranger in [call, CallId(50), CallId(60)] {
        profile.allocated(stranger, 2, 2);
    }
    // A row that has no figures, as of a block that was not seen.
    profile.allocated(CallId(0), 2, 0);
    let site = |line| MemorySite {
        source: SourceId(99),
        line,
    };
    for map in [SourceMap::default(), SourceMap::new()] {
        let file = MemoryFile::new(MemoryHeader::default(), &map);
        let file = file
            .with_samples(&profile, &tree, site)
            .with_heap(HeapProfile::new(9));
        assert_eq!(MemoryFile::parse(&written(&file)).unwrap(), file);
        let calls: Vec<CallId> = file.rows.iter().map(|&(call, _)| call).collect();
        assert_eq!(calls, [CallTree::ROOT, CallId(1)]);
        assert_eq!(file.rows[0].1.allocated.bytes, 32.0);
        assert_eq!(file.sources[0].function, "<unknown>");
        assert_eq!(file.site(CallId(1)).unwrap().source, SourceId::UNKNOWN);
        assert_eq!(file.heap.unwrap().sources.len(), file.sources.len());
    }
}

#[test]
fn names_may_hold_anything() {
    let mut file = small();
    file.header.program = "a\\b\tc\nd\re \u{0}\u{85}λ".to_owned();
    file.sources[0] = MemorySource {
        function: "\t\t".to_owned(),
        file: "\\t".to_owned(),
        line: u32::MAX,
    };
    file.sources[1] = MemorySource::default();
    assert_eq!(MemoryFile::parse(&written(&file)).unwrap(), file);
    file.header = MemoryHeader {
        seed: u64::MAX,
        ..MemoryHeader::default()
    };
    assert_eq!(MemoryFile::parse(&written(&file)).unwrap(), file);
}

#[test]
fn every_cut_is_an_error() {
    let text = written(&small());
    assert!(MemoryFile::parse(&text).is_ok());
    for end in 0..text.len() {
        let error = MemoryFile::parse(&text[..end]).expect_err("a cut file");
        let line = 1 + text[..end].matches('\n').count();
        assert_eq!(error.line, line, "cut at {end}: {error}");
        let told = error
            .problem
            .starts_with("the file is cut off here: expected");
        assert!(told, "cut at {end}: {error}");
    }
}

#[test]
fn random_mutations_never_panic() {
    let text = written(&small());
    let mut random = SplitMix64(3);
    let mut n_accepted = 0;
    for _ in 0..20_000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=random.next_u64() % 4 {
            let at = (random.next_u64() % bytes.len() as u64) as usize;
            let byte = b"0123456789 \n\t-e.x"[(random.next_u64() % 17) as usize];
            match random.next_u64() % 4 {
                0 => bytes[at] = (random.next_u64() % 256) as u8,
                1 => bytes[at] = byte,
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        if let Ok(file) = MemoryFile::parse(&text) {
            n_accepted += 1;
            assert_eq!(MemoryFile::parse(&written(&file)).unwrap(), file);
            let mut report = Vec::new();
            let options = profiler::memory::report::MemoryReportOptions {
                stacks: true,
                objects: true,
                ..Default::default()
            };
            profiler::memory::report::run(&file, &options, &mut report).unwrap();
        }
    }
    assert!(n_accepted > 100, "{n_accepted}");
}

/// A small file with one of everything; the lines of the header are 2 to 9.
const WHOLE: &str = "TALLY MEM 1\nprogram p\nmagic 0x0000beef\nrate 1e-1\nseed 1\nclock 9\n\
                     allocated 72\ncollections 1 0\ncut 0\n\
                     sources 1\nf\t\t0\nsites 1\n0 3\ncalls 1\n0 0\n\
                     rows 1\n1\t1 1 80 5 1 1 =\t-\t-\t-\t-\n\
                     heap 5\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\nend\n";

/// Changes a part of the whole file, and checks the line and the message of the error.
fn check_errors(cases: &[(&str, &str, usize, &str)]) {
    assert!(MemoryFile::parse(WHOLE).is_ok());
    for &(from, to, line, problem) in cases {
        assert!(WHOLE.contains(from), "{from}");
        let error = MemoryFile::parse(&WHOLE.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.line, line, "{to}: {error}");
        assert!(error.problem.contains(problem), "{error}, not {problem}");
    }
}

#[test]
fn errors_of_the_header_have_their_line() {
    check_errors(&[
        ("TALLY MEM 1", "MLton", 1, "this is not a memory profile"),
        (
            "TALLY MEM 1",
            "MLton prof",
            1,
            "this is an mlmon.out file, which `vm prof PROGRAM FILE` shows",
        ),
        (
            "TALLY MEM 1",
            "TALLY MEM 2",
            1,
            "expected the line `TALLY MEM 1`",
        ),
        (
            "program",
            "name",
            2,
            "expected a line that begins with `program`",
        ),
        (" p\n", " \\p\n", 2, "expected a name"),
        ("0x0000beef", "0xbeef", 3, "expected 8 hexadecimal digits"),
        ("1e-1", "1.5", 4, "expected a number from 0 to 1"),
        ("1e-1", "NaN", 4, "expected a number from 0 to 1"),
        ("1e-1", "-0", 4, "expected a number from 0 to 1"),
        ("seed 1", "seed -1", 5, "expected a number behind `seed`"),
        ("clock 9", "clock 9 ", 6, "expected a number behind `clock`"),
        ("1 0\n", "1\n", 8, "expected 2 numbers behind `collections`"),
    ]);
}

#[test]
fn errors_of_the_call_tree_have_their_line() {
    check_errors(&[
        (
            "f\t\t0",
            "f\t0",
            11,
            "expected a function, a file and a line",
        ),
        (
            "f\t\t0",
            "f\t\t0\t",
            11,
            "expected a function, a file and a line",
        ),
        (
            "f\t\t0",
            "f\t\t4294967296",
            11,
            "expected a function, a file and a line",
        ),
        (
            "0 3",
            "1 3",
            13,
            "a site of source 1, but there are only 1 sources",
        ),
        ("0 3", "0 4294967296", 13, "line 4294967296"),
        (
            "calls 1\n0 0",
            "calls 1\n1 0",
            15,
            "parents stand before their children",
        ),
        (
            "calls 1\n0 0",
            "calls 1\n0 1",
            15,
            "a call of site 1, but there are only 1 sites",
        ),
        ("rows 1", "rows 99999999999", 16, "more than there can be"),
    ]);
}

#[test]
fn errors_of_rows_have_their_line() {
    let what = "expected a call and its five groups of figures";
    check_errors(&[
        (
            "\n1\t1",
            "\n2\t1",
            17,
            "a row of call 2, but there are only 1 calls",
        ),
        ("1 1 80 5 1 1 =", "-", 17, "a row with no figures"),
        ("80", "-80", 17, what),
        ("80", "1e999", 17, what),
        ("1 1 80", "2 1 80", 17, what),
        ("1 1 80", "0 1 80", 17, what),
        (" =", " = 1", 17, what),
        (" =", " 1 2 3", 17, what),
        (" =", " 2 1 2 3 4", 17, what),
        (" =", " 1 1 2 3 4 5", 17, what),
        (" =", " 1 1 2 3 -4", 17, what),
        ("\t-\n", "\n", 17, what),
        ("\t-\n", "\t-\t-\n", 17, what),
        (
            "heap 5",
            "heap x",
            18,
            "expected `none` or the GC work in bytes",
        ),
        ("14 15", "14", 19, "expected 15 exact figures of a source"),
        ("end\n", "fin\n", 20, "expected the line `end`"),
        ("end\n", "end\n\n", 21, "expected the end of the file"),
    ]);
    let (before, row) = WHOLE.split_once("rows 1\n").unwrap();
    let (row, _) = row.split_once('\n').unwrap();
    let error = MemoryFile::parse(&format!("{before}rows 2\n{row}\n{row}\n")).unwrap_err();
    let problem = "rows must be in the order of their calls, each once";
    assert_eq!((error.line, error.problem.as_str()), (18, problem));
    let plain = WHOLE.replace(" =", " 0 0 0 0 0");
    assert!(MemoryFile::parse(&plain).is_ok());
}

#[test]
fn a_file_is_replaced_and_its_errors_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mem.out");
    for seed in [1, 2] {
        let file = Run::new(0.1, seed, 1).finish();
        file.write_file(&path).unwrap();
        assert_eq!(MemoryFile::read_file(&path).unwrap(), file);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    std::fs::write(&path, "MLton prof\n").unwrap();
    let error = MemoryFile::read_file(&path).unwrap_err().to_string();
    assert!(
        error.contains("mem.out:1: expected the line `TALLY MEM 1`"),
        "{error}"
    );
    std::fs::write(&path, b"TALLY MEM 1\n\xff").unwrap();
    let error = MemoryFile::read_file(&path).unwrap_err();
    assert_eq!(error.line(), Some(2));
    assert!(
        error
            .to_string()
            .ends_with("this is not text, so not a memory profile")
    );
}

#[test]
fn runs_add_up_by_stack() {
    let [one, two] = [1, 2].map(|seed| Run::new(0.01, seed, seed).finish());
    let mut sum = one.clone();
    sum.absorb(&two).unwrap();
    let total = |file: &MemoryFile| {
        let mut total = CallFigures::default();
        file.rows
            .iter()
            .for_each(|(_, figures)| total.add_all(figures));
        total
    };
    for measure in Measure::ALL {
        let mut expected: Estimate = *total(&one).get(measure);
        expected.add_all(total(&two).get(measure));
        let found = *total(&sum).get(measure);
        assert_eq!(found.n_samples, expected.n_samples);
        assert!((found.bytes - expected.bytes).abs() <= 1e-9 * expected.bytes);
    }
    let bytes = |file: &MemoryFile| file.heap.as_ref().unwrap().totals().allocated_bytes;
    assert_eq!(bytes(&sum), bytes(&one) + bytes(&two));
    assert_eq!(bytes(&sum), sum.header.allocated_bytes);
    // Each stack is there once, and the file is sound.
    assert!(sum.calls.len() <= 7);
    assert_eq!(MemoryFile::parse(&written(&sum)).unwrap(), sum);
    // Stacks keep their sites though the ids differ.
    for (call, figures) in &two.rows {
        let stack: Vec<_> = two.stack(*call).collect();
        let same = sum
            .rows
            .iter()
            .find(|(id, _)| sum.stack(*id).eq(stack.iter().copied()));
        let (_, found) = same.expect("the stack");
        assert!(found.allocated.n_samples >= figures.allocated.n_samples);
    }
}

#[test]
fn only_like_is_added_to_like() {
    let file = small();
    let check = |other: &MemoryFile, expected: AbsorbError| {
        let mut sum = file.clone();
        assert_eq!(sum.absorb(other).unwrap_err(), expected);
        assert_eq!(sum, file);
    };
    let mut other = file.clone();
    other.header.magic = 1;
    check(&other, AbsorbError::Program(0xbeef, 1));
    let mut other = file.clone();
    other.sources.pop();
    check(&other, AbsorbError::Program(0xbeef, 0xbeef));
    let mut other = file.clone();
    other.header.rate = 0.5;
    check(&other, AbsorbError::Rate(0.002, 0.5));
    let mut other = file.clone();
    other.heap = None;
    check(&other, AbsorbError::Heap);
    let text = AbsorbError::Program(1, 2).to_string();
    assert!(text.contains("(magics 0x00000001 and 0x00000002): report them one by one"));
}

/// The same file with one more source, without figures, in front of the program's own.
fn renumbered(file: &MemoryFile) -> MemoryFile {
    const AT: usize = 3;
    let mut file = file.clone();
    let stranger = MemorySource {
        function: "stranger".to_owned(),
        ..MemorySource::default()
    };
    file.header.magic = 7;
    file.sources.insert(AT, stranger);
    for site in &mut file.sites {
        if site.source.index() >= AT {
            site.source = SourceId(site.source.0 + 1);
        }
    }
    let rows = &mut file.heap.as_mut().unwrap().sources;
    rows.insert(AT, HeapRow::default());
    file
}

fn report_of(file: &MemoryFile) -> String {
    let options = MemoryReportOptions {
        stacks: true,
        objects: true,
        ..MemoryReportOptions::default()
    };
    let mut text = Vec::new();
    report::run(file, &options, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn programs_add_up_by_the_names_of_their_sources() {
    let [one, two] = [1, 2].map(|seed| Run::new(0.01, seed, seed).finish());
    let mut expected = one.clone();
    expected.absorb(&two).unwrap();
    let mut sum = one.clone();
    sum.absorb_by_name(&two).unwrap();
    assert_eq!(report_of(&sum), report_of(&expected));
    assert_eq!(sum.header.magic, one.header.magic);
    let mut sum = one.clone();
    assert_ne!(renumbered(&two).sites, two.sites);
    sum.absorb_by_name(&renumbered(&two)).unwrap();
    assert_eq!(report_of(&sum), report_of(&expected));
    // Nothing is kept of what has no figures.
    assert_eq!(sum.sources, one.sources);
    assert_eq!(sum.header.magic, 0);
    assert_eq!(MemoryFile::parse(&written(&sum)).unwrap(), sum);
}

#[test]
fn a_function_that_moved_is_another_source() {
    let one = Run::new(0.1, 1, 1).finish();
    let mut two = one.clone();
    let leak = source(1);
    assert_eq!(two.sources[leak.index()].function, "leak");
    two.sources[leak.index()].line = 99;
    let mut sum = one.clone();
    sum.absorb_by_name(&two).unwrap();
    assert_eq!(sum.sources.len(), one.sources.len() + 1);
    assert_eq!(sum.sources.last(), two.sources.get(leak.index()));
    let (mine, heap) = (one.heap.as_ref().unwrap(), sum.heap.as_ref().unwrap());
    assert_eq!(heap.sources.len(), sum.sources.len());
    assert_eq!(heap.row(leak), mine.row(leak));
    assert_eq!(heap.sources.last(), Some(&mine.row(leak)));
    let text = report_of(&sum);
    for label in ["leak (cache.sml:4)", "leak (cache.sml:99)"] {
        assert!(text.contains(label), "{text}");
    }
    // Both of the same figures.
    let n_leaks = |file: &MemoryFile, id: SourceId| {
        let of = file
            .rows
            .iter()
            .filter(|(call, _)| file.site(*call).is_some_and(|site| site.source == id));
        of.map(|(_, figures)| figures.allocated.n_samples)
            .sum::<u64>()
    };
    let moved = SourceId(one.sources.len() as u32);
    assert!(n_leaks(&one, leak) > 0);
    assert_eq!(n_leaks(&sum, moved), n_leaks(&one, leak));
    assert_eq!(n_leaks(&sum, leak), n_leaks(&one, leak));
}

#[test]
fn names_do_not_make_figures_alike() {
    let file = small();
    let mut other = renumbered(&file);
    other.header.rate = 0.5;
    let mut sum = file.clone();
    let error = sum.absorb_by_name(&other).unwrap_err();
    assert_eq!(error, AbsorbError::Rate(0.002, 0.5));
    other.header.rate = file.header.rate;
    other.heap = None;
    assert_eq!(sum.absorb_by_name(&other), Err(AbsorbError::Heap));
    assert_eq!(sum, file);
}
