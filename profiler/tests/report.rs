//! What reports do with input that is wrong: the message names the file, the line and what to do.

use std::fs;
use std::path::{Path, PathBuf};

use profiler::mlmon::Mlmon;
use profiler::report::{self, Keep, Options, ReportError, load_files, load_sources};
use profiler::{SourceMap, parse_show_sources};

fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden")
        .join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(golden(path)).unwrap()
}

fn list_rev() -> SourceMap {
    parse_show_sources(&text("list-rev/alloc-current/sources.txt")).unwrap()
}

/// The same program's magic in each profile file, so that files of several runs get past it.
fn with_magic(text: &str, map: &SourceMap) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[3] = format!("0x{:08x}", map.magic);
    lines.join("\n") + "\n"
}

/// Loads files with these contents and checks the message, without the folder.
fn check_error(contents: &[String], expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let write = |(index, text): (usize, &String)| {
        let path = folder.path().join(format!("{}.out", index + 1));
        fs::write(&path, text).unwrap();
        path
    };
    let paths: Vec<PathBuf> = contents.iter().enumerate().map(write).collect();
    let error = load_files("list-rev", &list_rev(), &paths, None)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error.replace(&format!("{}/", folder.path().display()), ""),
        expected
    );
}

#[test]
fn a_wrong_magic_is_a_profile_of_another_build() {
    check_error(
        &[text("list-rev/count-current/mlmon.out")],
        "1.out:4: wrong magic 0x841e1536, list-rev has 0xb95d31c8: the profile is of \
         another program or another build, so run list-rev again",
    );
}

#[test]
fn kinds_are_not_added_up() {
    let map = list_rev();
    let alloc = text("list-rev/alloc-current/mlmon.out");
    let time = with_magic(&alloc.replacen("alloc", "time", 1), &map);
    check_error(
        &[alloc, time],
        "2.out:2: a profile of kind time cannot be added to one of kind alloc: report \
         them one by one",
    );
}

#[test]
fn styles_are_not_added_up() {
    let map = list_rev();
    let current = text("list-rev/alloc-current/mlmon.out");
    let stack = with_magic(&text("list-rev/alloc-stack/mlmon.out"), &map);
    check_error(
        &[current, stack],
        "2.out:3: a profile of style stack cannot be added to one of style current: \
         report them one by one, or profile both runs with the same style",
    );
}

#[test]
fn a_file_with_other_sources_is_refused() {
    let other = with_magic(&text("fib-tak/alloc-current/mlmon.out"), &list_rev());
    check_error(
        &[other],
        "1.out:6: 15 sources and 12 names, list-rev has 6 and 6: run list-rev again",
    );
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let alloc = text("list-rev/alloc-current/mlmon.out");
    check_error(
        &[alloc[..alloc.len() - 2].to_owned()],
        "1.out:19: the file is cut off here: expected a count; run the program again",
    );
}

#[test]
fn a_file_that_is_none_is_refused() {
    check_error(
        &["#!/bin/sh\n".to_owned()],
        "1.out:1: expected the line `MLton prof`, found \"#!/bin/sh\": this is not an \
         mlmon.out file",
    );
}

#[test]
fn a_tolerant_report_leaves_broken_files_out() {
    let paths = [
        "list-rev/alloc-current/mlmon.out",
        "missing.out",
        "README.md",
    ]
    .map(golden);
    let mut warnings = Vec::new();
    let mut warn = |error: &ReportError| warnings.push(error.to_string());
    let files = load_files("list-rev", &list_rev(), &paths, Some(&mut warn)).unwrap();
    assert_eq!(files.len(), 1);
    assert!(
        warnings[0].contains("missing.out: No such file"),
        "{warnings:?}"
    );
    assert!(
        warnings[1].contains("README.md:1: expected"),
        "{warnings:?}"
    );
}

#[test]
fn contents_that_do_not_match_are_refused_without_a_file() {
    let other = Mlmon::read_file(&golden("list-rev/count-current/mlmon.out")).unwrap();
    let error = report::run(
        "list-rev",
        &list_rev(),
        &[other],
        &Options::default(),
        &mut Vec::new(),
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("profile file number 1:4: wrong magic"),
        "{error}"
    );
}

#[test]
fn a_program_with_no_sources_is_not_profiled() {
    let error = report::run(
        "p",
        &SourceMap::default(),
        &[],
        &Options::default(),
        &mut Vec::new(),
    );
    let text = "p has no sources: compile it for profiling and run it again";
    assert_eq!(error.unwrap_err().to_string(), text);
}

#[test]
fn a_graph_that_cannot_be_written_is_named() {
    let call_graph = Some(golden("missing/graph.dot"));
    let options = Options {
        call_graph,
        ..Options::default()
    };
    let mut out = Vec::new();
    let error = report::run("p", &list_rev(), &[], &options, &mut out)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot write the call graph "), "{error}");
    assert!(error.contains("graph.dot: No such file"), "{error}");
    assert_eq!(out, b"");
}

/// Programs that print something for `@MLton show-sources`.
#[cfg(unix)]
mod programs {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn check(script: &str, mode: u32, expected: Result<usize, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        let names = load_sources(&program).map(|map| map.names.len());
        let prefix = format!("{}/", folder.path().display());
        let names = names.map_err(|error| error.to_string().replace(&prefix, ""));
        assert_eq!(names, expected.map_err(str::to_owned));
    }

    #[test]
    fn a_program_prints_its_sources() {
        let sources = golden("list-rev/alloc-current/sources.txt");
        let script = format!(
            "#!/bin/sh\n[ \"$*\" = '@MLton show-sources' ] && exec cat '{}'\n",
            sources.display()
        );
        check(&script, 0o755, Ok(6));
    }

    #[test]
    fn a_program_that_is_none() {
        check("", 0o644, Err("program program is not an executable file"));
        let error = load_sources(Path::new("/no/such")).unwrap_err().to_string();
        assert_eq!(error, "program /no/such does not exist");
    }

    #[test]
    fn a_program_that_prints_something_else() {
        let problem = "program does not print its sources for `@MLton show-sources`: \
                       line 1: expected a magic such as 0x14c069eb, found \"hello\"";
        check("#!/bin/sh\necho hello\n", 0o755, Err(problem));
    }

    #[test]
    fn a_program_that_was_not_compiled_for_profiling() {
        let problem = "program has no sources: compile it for profiling and run it again";
        check(
            "#!/bin/sh\nprintf '0x1\\n0\\n0\\n0\\n'\n",
            0o755,
            Err(problem),
        );
    }
}

/// A xorshift generator: the same mutations in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    /// Changes some digits of a text, so that most of the results are still readable.
    fn mutate(&mut self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            if bytes[at].is_ascii_digit() || self.below(8) == 0 {
                bytes[at] = b"0123456789 \t\n"[self.below(13)];
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[test]
fn no_sources_and_profile_make_a_report_panic() {
    let folder = tempfile::tempdir().unwrap();
    let sources = text("fib-tak/alloc-stack/sources.txt");
    let profile = text("fib-tak/alloc-stack/mlmon.out");
    let keep: Keep = r#"(or (from "f") (and (thresh-gc 1) (pred (succ "t"))))"#
        .parse()
        .unwrap();
    let options = Options {
        keep,
        gray: true,
        raw: true,
        long_name: false,
        split: vec![report::Regexp::new("w").unwrap()],
        call_graph: Some(folder.path().join("graph.dot")),
        ..Options::default()
    };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut n_reports = 0;
    for _ in 0..3_000 {
        let Ok(mut map) = parse_show_sources(&random.mutate(&sources)) else {
            continue;
        };
        let Ok(mut file) = Mlmon::parse(&random.mutate(&profile)) else {
            continue;
        };
        (map.magic, file.magic) = (0, 0);
        let files = [file.clone(), file];
        n_reports += usize::from(report::run("p", &map, &files, &options, &mut Vec::new()).is_ok());
    }
    assert!(n_reports > 300, "only {n_reports} mutants were readable");
}

#[test]
fn no_predicate_or_regexp_panics() {
    let words = [
        "(",
        ")",
        "\"",
        "\\",
        "and",
        "or",
        "not",
        "from",
        "thresh",
        "1.5",
        " ",
        ";",
        "all",
        "[",
        "]",
        "^",
        "-",
        "a",
        "b",
        "[:alpha:]",
        "[.x.]",
        "{2}",
        "{1,3}",
        "*",
        "|",
        "$",
        "é",
    ];
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut n_good = [0, 0];
    for _ in 0..20_000 {
        let n_words = random.below(7);
        let text: String = (0..n_words)
            .map(|_| words[random.below(words.len())])
            .collect();
        n_good[0] += usize::from(text.parse::<Keep>().is_ok());
        if let Ok(regexp) = report::Regexp::new(&text) {
            n_good[1] += 1;
            regexp.matches_prefix("ab-a[x]");
        }
    }
    assert!(n_good.iter().all(|&n| n > 100), "{n_good:?}");
}
