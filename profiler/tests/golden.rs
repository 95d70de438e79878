//! Every report that the real `mlprof` printed, compared byte for byte. See
//! `tests/golden/README.md` for how the files were made.
//!
//! `BLESS=1 cargo test -p tally-profiler --test golden` writes what this `mlprof` prints over the
//! files. They are upstream's word, so a change in them should be very well understood.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use profiler::mlmon::Mlmon;
use profiler::{SourceMap, parse_show_sources, report};

/// The names of the golden reports and the options that made them.
const REPORTS: [(&str, &[&str]); 16] = [
    ("default", &[]),
    ("raw", &["-raw", "true"]),
    ("line", &["-show-line", "true"]),
    ("raw-line", &["-raw", "true", "-show-line", "true"]),
    ("thresh-1", &["-thresh", "1.0"]),
    ("keep-from-rev", &["-keep", r#"(from "rev")"#]),
    ("keep-not-gc", &["-keep", r#"(not "<gc>")"#]),
    ("keep-to-fib", &["-keep", r#"(to "fib")"#]),
    ("keep-succ-main", &["-keep", r#"(succ "<main>")"#]),
    ("keep-pred-append", &["-keep", r#"(pred "append")"#]),
    (
        "keep-and",
        &["-keep", r#"(and (thresh 0.1) (or "rev" "append"))"#],
    ),
    ("keep-stack-50", &["-keep", "(thresh-stack 50.0)"]),
    ("keep-gc", &["-keep", "(thresh-gc 0.5)"]),
    ("split-all", &["-split", ".*", "-raw", "true"]),
    ("long-name-false", &["-long-name", "false"]),
    (
        "gray",
        &[
            "-gray",
            "true",
            "-show-line",
            "true",
            "-graph-title",
            r#"a "title""#,
        ],
    ),
];

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden")
}

/// The folders of the golden runs: `PROGRAM/KIND-STYLE`.
fn runs() -> Vec<(String, PathBuf)> {
    let mut runs = Vec::new();
    for program in ["fib-tak", "list-rev"] {
        for kind in ["alloc", "count", "time"] {
            for style in ["current", "stack"] {
                let folder = golden().join(program).join(format!("{kind}-{style}"));
                runs.push((program.to_owned(), folder));
            }
        }
    }
    runs
}

fn sources(folder: &Path) -> SourceMap {
    let text = fs::read_to_string(folder.join("sources.txt")).unwrap();
    parse_show_sources(&text).unwrap()
}

/// What `mlprof` prints, and the call graph that it writes.
fn mlprof(program: &str, folder: &Path, options: &[&str], files: &[&str]) -> (String, String) {
    let scratch = tempfile::tempdir().unwrap();
    let graph = scratch.path().join("graph.dot");
    let mut args: Vec<OsString> = options.iter().map(OsString::from).collect();
    args.extend(["-call-graph".into(), graph.clone().into(), program.into()]);
    args.extend(files.iter().map(|file| folder.join(file).into()));
    let invocation = report::parse_args(&args).unwrap();
    let mut out = Vec::new();
    let warn = &mut |error: &report::ReportError| panic!("{error}");
    invocation.report(&sources(folder), &mut out, warn).unwrap();
    (
        String::from_utf8(out).unwrap(),
        fs::read_to_string(graph).unwrap(),
    )
}

/// Compares `actual` with a golden file if there is one. Returns whether there is.
fn compare(path: &Path, actual: &str) -> bool {
    let Ok(expected) = fs::read_to_string(path) else {
        return false;
    };
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, actual).unwrap();
    } else {
        // Upstream forgets to escape the title in the first line of a graph, and only there.
        let expected =
            expected.replacen(r#"digraph "a "title"" {"#, r#"digraph "a \"title\"" {"#, 1);
        assert!(
            expected == actual,
            "{}:\n{expected}\nbut now\n{actual}",
            path.display()
        );
    }
    true
}

fn compare_report(
    program: &str,
    folder: &Path,
    name: &str,
    options: &[&str],
    files: &[&str],
) -> usize {
    let (text, graph) = mlprof(program, folder, options, files);
    let file = |extension| folder.join("mlprof").join(format!("{name}.{extension}"));
    usize::from(compare(&file("txt"), &text)) + usize::from(compare(&file("dot"), &graph))
}

#[test]
fn every_report_is_upstreams() {
    let mut n_compared = 0;
    for (program, folder) in runs() {
        let file = if program == "fib-tak" {
            "mlmon.fib.out"
        } else {
            "mlmon.out"
        };
        for (name, options) in REPORTS {
            n_compared += compare_report(&program, &folder, name, options, &[file]);
        }
    }
    // list-rev has all 16 reports, fib-tak 5 of them, each with a graph, in six ways.
    assert_eq!(n_compared, (16 + 5) * 2 * 6);
}

#[test]
fn merged_reports_are_upstreams() {
    let files = ["mlmon.fib.out", "mlmon.tak.out", "mlmon.out"];
    let mut n_compared = 0;
    for (program, folder) in runs() {
        if program == "fib-tak" {
            for (name, options) in [REPORTS[0], REPORTS[3]] {
                let name = format!("merged.{name}");
                n_compared += compare_report(&program, &folder, &name, options, &files);
            }
        }
    }
    assert_eq!(n_compared, 2 * 2 * 6);
}

#[test]
fn reports_of_no_file_are_upstreams() {
    let mut n_compared = 0;
    for (program, folder) in runs() {
        n_compared += compare_report(&program, &folder, "nodata", &[], &[]);
    }
    assert_eq!(n_compared, 12);
}

#[test]
fn no_golden_file_is_left_out() {
    let reports = runs()
        .iter()
        .map(|(_, folder)| fs::read_dir(folder.join("mlprof")).unwrap().count())
        .sum::<usize>();
    assert_eq!(reports, (16 + 5) * 2 * 6 + 2 * 2 * 6 + 12);
}

#[test]
fn sources_are_written_as_they_were_read() {
    for (_, folder) in runs() {
        let mut written = Vec::new();
        let map = sources(&folder);
        map.write_show_sources(&mut written).unwrap();
        assert_eq!(written, fs::read(folder.join("sources.txt")).unwrap());
        assert_eq!(map.validate(), Ok(()));
    }
}

#[test]
fn profiles_are_written_as_they_were_read() {
    for (_, folder) in runs() {
        for file in ["mlmon.out", "mlmon.fib.out", "mlmon.tak.out"] {
            let Ok(bytes) = fs::read(folder.join(file)) else {
                continue;
            };
            let mut written = Vec::new();
            Mlmon::read_file(&folder.join(file))
                .unwrap()
                .write(&mut written)
                .unwrap();
            assert_eq!(written, bytes);
        }
    }
}
