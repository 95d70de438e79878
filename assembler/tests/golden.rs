//! The programs in `tests/golden`, each with the canonical text of what it assembles to, in files
//! beside it. `BLESS=1 cargo test` writes them anew.

mod support;

use std::path::Path;

use assembler::{AssembleOptions, TailCalls, assemble, print};

fn check(name: &str, text: &str, extension: &str, options: &AssembleOptions) {
    let module = assemble(text, options).unwrap_or_else(|errors| {
        panic!(
            "{}",
            errors
                .iter()
                .map(|error| error.render(name, text))
                .collect::<String>()
        )
    });
    let actual = print(&module);
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden"));
    let path = folder.join(name).with_extension(extension);
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

#[test]
fn programs_assemble_to_their_canonical_texts() {
    for (name, text) in support::golden_texts() {
        let options = AssembleOptions {
            file_name: name.clone(),
            ..Default::default()
        };
        check(&name, &text, "out", &options);
    }
}

#[test]
fn branches_and_calls_are_as_asked_for() {
    for (name, text) in support::golden_texts() {
        let options = AssembleOptions {
            tail_calls: TailCalls::Never,
            profile_branch: true,
            file_name: name.clone(),
            ..Default::default()
        };
        check(&name, &text, "branch.out", &options);
    }
}
