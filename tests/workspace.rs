//! What the repository promises about itself.

mod support;

use std::path::{Path, PathBuf};

use support::{expect_file, root};
use vm::host::STANDARD;
use vm::{FAULT_TAG, Fault, isa};

/// The line of crates, the bottom first, with the manifest of each.
const LINE: [(&str, &str); 5] = [
    ("profiler", "profiler/Cargo.toml"),
    ("vm", "vm/Cargo.toml"),
    ("assembler", "assembler/Cargo.toml"),
    ("repl", "repl/Cargo.toml"),
    ("src", "Cargo.toml"),
];

/// Marks of unfinished code, put together here so that this file has none.
const UNFINISHED: [&str; 2] = [concat!("todo", "!("), concat!("unimplemented", "!(")];

#[test]
fn crates_form_one_line() {
    for (index, (name, manifest)) in LINE.iter().enumerate() {
        let text = std::fs::read_to_string(root().join(manifest)).expect("a manifest");
        let used: Vec<&str> = dependencies(&text)
            .into_iter()
            .filter(|used| LINE.iter().any(|(known, _)| known == used))
            .collect();
        for used in used {
            assert!(
                LINE[..index].iter().any(|(below, _)| *below == used),
                "{name} may use the crates below it, not {used}"
            );
        }
    }
}

/// Names in the dependency sections of a manifest, of any kind and target.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_inside = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            is_inside = section.ends_with("dependencies") && !section.starts_with("workspace");
        } else if is_inside && let Some((name, _)) = line.split_once(['.', ' ', '=']) {
            names.push(name.trim());
        }
    }
    names
}

/// What a registry asks of a crate: who depends on it by a path says its version, too.
#[test]
fn crates_are_ready_to_be_published() {
    for (name, manifest) in LINE {
        let text = std::fs::read_to_string(root().join(manifest)).expect("a manifest");
        let package = text.split_once("[package]").expect("a package").1;
        let package = package.split("\n[").next().unwrap_or_default();
        for key in [
            "name = \"tally",
            "description = ",
            "version.workspace = true",
            "license.workspace = true",
            "readme.workspace = true",
            "rust-version.workspace = true",
        ] {
            assert!(package.contains(&format!("\n{key}")), "{name} has no {key}");
        }
        assert!(
            !package.contains("publish"),
            "{name} is meant to be published"
        );
        for line in text.lines().filter(|line| line.contains("path = \"")) {
            let is_file = line.starts_with("path = ");
            assert!(is_file || line.contains("version = "), "{name}: {line}");
        }
        for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let folder = root().join(manifest);
            let folder = folder.parent().expect("a folder");
            assert!(folder.join(license).exists(), "{name} has no {license}");
        }
    }
    let fuzz = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("a manifest");
    assert!(fuzz.contains("\npublish = false\n"));
}

#[test]
fn the_manual_of_the_instruction_set_is_fresh() {
    expect_file(&root().join("docs/bytecode.md"), &isa::manual());
}

#[test]
fn the_list_of_host_functions_and_faults_is_fresh() {
    const HEAD: &str = "| name | parameters and results | what it does | touches |
|---|---|---|---|
";
    let mut page = "# Host functions and faults

Made from the machine's own tables; `BLESS=1 cargo test --test workspace` writes it.

## Host functions

What the `vm` command offers to programs. An `i` is an integer, an `f` a double, which stands in an
`i` register, too, and an `r` a reference: a string where a text is meant, or a byte array.
[profiling.md](profiling.md) has more on those that begin with `profile_`, [memory.md](memory.md) on
those for memory. What a function touches besides standard streams, arguments and files that are
open, `vm --sandbox` denies: [sandbox.md](sandbox.md).

Functions that the world may refuse give a code first: 0 for success, otherwise the number of a
system's error, of which `error_message` tells the meaning; the other results are then 0 and empty.
What makes no sense, and what is denied, is a fault.
"
    .to_owned();
    let mut topic = "";
    for function in STANDARD {
        if function.topic != topic {
            topic = function.topic;
            page.push_str(&format!("\n### {topic}\n\n{HEAD}"));
        }
        let (name, meaning, touches) = (function.name, function.meaning, function.touches);
        let declaration = function.declaration();
        page.push_str(&format!(
            "| `{name}` | `{declaration}` | {meaning} | {touches} |\n"
        ));
    }
    page.push_str(&format!(
        "
## Faults

What the machine raises on a program's behalf: a record with the tag {FAULT_TAG} and the fault's
code in its raw field 0.

| code | fault |
|---|---|
"
    ));
    for fault in Fault::ALL {
        page.push_str(&format!("| {} | {fault} |\n", fault as u64));
    }
    expect_file(&root().join("docs/hosts.md"), &page);
}

#[test]
fn source_files_keep_their_size_and_width() {
    for path in rust_files(root()) {
        let text = std::fs::read_to_string(&path).expect("a source file");
        let shown = path.strip_prefix(root()).unwrap_or(&path).display();
        assert!(
            text.lines().count() <= 600,
            "{shown} is longer than 600 lines"
        );
        for (number, line) in (1..).zip(text.lines()) {
            assert!(
                line.chars().count() <= 100,
                "{shown}:{number} is wider than 100 columns"
            );
            let is_unfinished = UNFINISHED.iter().any(|mark| line.contains(mark));
            assert!(!is_unfinished, "{shown}:{number} is marked unfinished");
        }
    }
}

/// The line of the machine's modules, the bottom first.
const MODULES: [&str; 15] = [
    "isa",
    "module",
    "verify",
    "heap",
    "code",
    "objects",
    "units",
    "memprof",
    "machine",
    "safepoint",
    "interp",
    "load",
    "host",
    "border",
    "embed",
];

#[test]
fn modules_of_the_machine_form_one_line() {
    let sources = root().join("vm/src");
    for path in rust_files(&sources) {
        let inside = path.strip_prefix(&sources).expect("a file of the machine");
        let first = inside.components().next().expect("a name").as_os_str();
        let own = first.to_string_lossy();
        let own = own.trim_end_matches(".rs");
        if own == "lib" {
            continue;
        }
        let place = MODULES.iter().position(|&module| module == own);
        let place = place.unwrap_or_else(|| panic!("{own} has no place in the line"));
        let text = std::fs::read_to_string(&path).expect("a source file");
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            for used in names_after(code, "crate::") {
                assert!(
                    MODULES[..=place].contains(&used),
                    "{}:{number}: {own} stands below {used}, or {used} is no module: {line}",
                    inside.display()
                );
            }
        }
    }
}

/// The names that stand behind a path's beginning in a line.
fn names_after<'a>(line: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    line.split(start).skip(1).filter_map(|rest| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
    })
}

/// Rust files below a folder, build output excepted.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// Rows of the tables of the page on security, cell by cell.
fn rows_of_security(first_cell: &str) -> Vec<Vec<String>> {
    let page = std::fs::read_to_string(root().join("docs/security.md")).expect("the page");
    let rows = page.lines().filter(|line| line.starts_with(first_cell));
    rows.map(|row| {
        row.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    })
    .collect()
}

/// What stands in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_promise_on_the_page_on_security_has_a_test_of_the_name_it_says() {
    let rows = rows_of_security("| R");
    assert_eq!(rows.len(), 21);
    for row in rows {
        let mut file = String::new();
        let mut n_names = 0;
        for name in quoted(&row[2]) {
            if name.ends_with(".rs") {
                file = std::fs::read_to_string(root().join(name))
                    .unwrap_or_else(|error| panic!("{}: {name}: {error}", row[0]));
                n_names += 1;
            } else if name.contains('_') && !name.contains('=') {
                assert!(
                    file.contains(&format!("fn {name}()")),
                    "{}: no {name}",
                    row[0]
                );
            }
        }
        assert!(n_names > 0 || row[2].contains("fuzzing.md"), "{}", row[0]);
    }
}

#[test]
fn the_page_on_security_counts_every_unsafe_block() {
    let mut listed: Vec<(String, usize, usize)> = rows_of_security("| `")
        .into_iter()
        .map(|row| {
            let module = row[0].trim_matches('`').to_owned();
            (module, row[1].parse().expect("a number"), 0)
        })
        .collect();
    for folder in ["profiler/src", "vm/src", "assembler/src", "repl/src", "src"] {
        for path in rust_files(&root().join(folder)) {
            let text = std::fs::read_to_string(&path).expect("a source file");
            let code = text
                .lines()
                .map(|line| line.split("//").next().unwrap_or_default());
            let count: usize = code
                .map(|line| line.matches("unsafe {").count() + line.matches("unsafe impl").count())
                .sum();
            if count == 0 {
                continue;
            }
            let inside = path.strip_prefix(root()).expect("a file of the repository");
            let name = inside.to_string_lossy();
            let row = listed.iter_mut().find(|(module, ..)| {
                name == *module
                    || name.starts_with(&format!("{module}/"))
                    || name == format!("{module}.rs")
            });
            let row = row.unwrap_or_else(|| panic!("{name} is in no row of docs/security.md"));
            row.2 += count;
        }
    }
    for (module, said, counted) in listed {
        assert_eq!(
            said, counted,
            "unsafe blocks of {module}, as docs/security.md says them"
        );
    }
}
