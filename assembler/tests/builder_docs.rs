//! Each public method of the builder stands in an example of its documentation, and the examples
//! are run as doctests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The lines of examples in a text's documentation.
fn examples(text: &str) -> String {
    let mut lines = String::new();
    let mut is_inside = false;
    for line in text.lines().map(str::trim) {
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let Some(doc) = doc.map(str::trim) else {
            continue;
        };
        if doc.starts_with("```") {
            is_inside = !is_inside;
        } else if is_inside {
            lines += doc;
            lines.push('\n');
        }
    }
    lines
}

#[test]
fn every_public_method_stands_in_an_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = sources(&folder.join("builder"));
    files.push(folder.join("builder.rs"));
    let texts = files
        .iter()
        .map(|path| fs::read_to_string(path).expect("a file"));
    let texts: Vec<String> = texts.collect();
    let shown: String = texts.iter().map(|text| examples(text)).collect();
    // Names that stand behind `$` are the ops', which share one form.
    let methods: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| text.split("\n    pub fn ").skip(1))
        .filter_map(|rest| rest.split(['(', '<']).next())
        .filter(|name| !name.starts_with('$'))
        .collect();
    assert!(
        methods.len() > 60,
        "only {} methods were found",
        methods.len()
    );
    let missing: Vec<_> = methods
        .iter()
        .filter(|name| {
            let uses = [format!(".{name}("), format!("::{name}(")];
            !uses.iter().any(|one| shown.contains(one))
        })
        .collect();
    assert!(missing.is_empty(), "no example has {missing:?}");
}
