//! Every program in `docs/assembly.md` assembles, and prints to text that assembles again.

use assembler::{AssembleOptions, assemble, print};
use vm::module::write;

/// The blocks marked `asm`, with the line on which each begins.
fn programs(manual: &str) -> Vec<(usize, String)> {
    let mut programs = Vec::new();
    let mut current: Option<(usize, String)> = None;
    for (index, line) in manual.lines().enumerate() {
        match (&mut current, line) {
            (None, "```asm") => current = Some((index + 1, String::new())),
            (Some(_), "```") => programs.extend(current.take()),
            (Some((_, text)), line) => *text += &format!("{line}\n"),
            (None, _) => {}
        }
    }
    programs
}

#[test]
fn the_manuals_programs_assemble() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/assembly.md");
    let manual = std::fs::read_to_string(path).expect("the manual is there");
    let programs = programs(&manual);
    assert!(programs.len() > 10, "the manual has lost its programs");
    for (line, text) in programs {
        for profile_branch in [false, true] {
            let options = AssembleOptions {
                profile_branch,
                ..Default::default()
            };
            let assembled = |text: &str| {
                assemble(text, &options).unwrap_or_else(|errors| {
                    let errors = errors.iter().map(|error| error.render("block", text));
                    panic!("docs/assembly.md:{line}: {}", errors.collect::<String>())
                })
            };
            let module = assembled(&text);
            assert!(
                write(&assembled(&print(&module))) == write(&module),
                "line {line}"
            );
        }
    }
}
