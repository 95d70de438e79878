//! The programs in `tests/passes`: each function is a case for the pass that the file is named
//! after, and `.expected` shows it before and behind that pass. `BLESS=1` writes them anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assembler::{AssembleOptions, OptLevel, assemble, assemble_watched, passes};

fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/passes")).to_owned()
}

fn at(opt_level: OptLevel) -> AssembleOptions {
    AssembleOptions {
        opt_level,
        ..AssembleOptions::default()
    }
}

/// The functions of a canonical text by their names, without line tables.
fn functions(text: &str) -> BTreeMap<String, String> {
    let mut functions = BTreeMap::new();
    for function in text.split("\nfun ").skip(1) {
        let name = function.split('(').next().unwrap_or_default().to_owned();
        let lines = function.lines().skip(1).take_while(|line| *line != "}");
        let ops = lines.filter(|line| !line.trim_start().starts_with(".line"));
        functions.insert(name, ops.map(|line| format!("{line}\n")).collect());
    }
    functions
}

/// A text before and behind a pass.
fn around(text: &str, wanted: &str) -> (String, String) {
    let (mut before, mut behind) = (String::new(), None);
    let watched = assemble_watched(text, &at(OptLevel::O2), &mut |pass, print| {
        if pass.name == wanted {
            behind = Some(print());
        } else if behind.is_none() {
            before = print();
        }
    });
    if let Err(errors) = watched {
        let shown = errors.iter().map(|error| error.render(wanted, text));
        panic!("{}", shown.collect::<String>());
    }
    (before, behind.expect("the pass has run"))
}

#[test]
fn passes_do_what_their_cases_show() {
    let mut n_files = 0;
    for pass in passes().filter(|pass| pass.from_level == OptLevel::O2) {
        let path = folder().join(pass.name).with_extension("asm");
        let Ok(text) = std::fs::read_to_string(&path) else {
            assert_eq!(
                pass.name, "straighten",
                "what `thread` does, its cases show"
            );
            continue;
        };
        n_files += 1;
        let (before, behind) = around(&text, pass.name);
        let (before, behind) = (functions(&before), functions(&behind));
        let mut actual = String::new();
        for line in text.lines() {
            let name = line
                .strip_prefix("fun ")
                .and_then(|rest| rest.split('(').next());
            let Some(name) = name.filter(|&name| name != "main") else {
                continue;
            };
            actual += &match before[name] == behind[name] {
                true => format!("{name}: stays\n{}", behind[name]),
                false => format!("{name}: before\n{}behind\n{}", before[name], behind[name]),
            };
            actual.push('\n');
        }
        let path = path.with_extension("expected");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &actual).expect("the file can be written");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            actual == expected,
            "{} is stale; run with BLESS=1:\n{actual}",
            path.display()
        );
    }
    assert_eq!(n_files, 5, "each pass has its cases");
}

#[test]
fn each_level_runs_its_passes_in_the_order_of_the_table() {
    for level in OptLevel::ALL {
        let mut names = Vec::new();
        let mut watch = |pass: &'static assembler::PassInfo, _: &dyn Fn() -> String| {
            names.push(pass.name);
        };
        let module = assemble_watched("fun main() { ret }", &at(level), &mut watch);
        assert!(module.is_ok());
        let expected: Vec<&str> = passes()
            .filter(|pass| pass.from_level <= level)
            .map(|pass| pass.name)
            .collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn names_of_passes_are_their_own() {
    let mut names: Vec<&str> = passes().map(|pass| pass.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), passes().len());
}

/// The manual has the table of passes as it is.
#[test]
fn the_manual_lists_the_passes() {
    let manual = include_str!("../../docs/assembly.md");
    let rows = manual
        .lines()
        .filter(|line| line.starts_with("| `") && line.contains("| `-O"));
    let expected = passes().map(|pass| {
        let level = pass.from_level as u8;
        format!("| `{}` | `-O{level}` | {} |", pass.name, pass.does)
    });
    assert_eq!(rows.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

/// What is written out is kept, at any level.
#[test]
fn a_text_with_its_profiling_ops_is_left_as_it_is() {
    let text = std::fs::read_to_string(folder().join("fold.asm")).expect("the cases");
    let module = assemble(&text, &at(OptLevel::O0)).expect("the text is right");
    let printed = assembler::print(&module);
    let again = assemble(&printed, &at(OptLevel::O2)).expect("what is printed assembles");
    assert_eq!(printed, assembler::print(&again));
}
