//! The targets of `tests/fuzz/targets`, one of which `TALLY_FUZZ_TARGET` names, under libFuzzer.
//! With `TALLY_FUZZ_SEEDS=FOLDER` the target's seeds are written there instead, and its words to
//! `FOLDER.words`, in the form of libFuzzer's dictionaries.

#![no_main]

#[path = "../../tests/fuzz/targets/mod.rs"]
mod targets;

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use targets::{TARGETS, Target};

static TARGET: OnceLock<&Target> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("TALLY_FUZZ_TARGET").unwrap_or_default();
        let known = TARGETS.map(|target| target.name);
        let target = Target::named(&name);
        let target = target.unwrap_or_else(|| panic!("TALLY_FUZZ_TARGET is one of {known:?}"));
        TARGET.get_or_init(|| target);
        if let Some(folder) = std::env::var_os("TALLY_FUZZ_SEEDS") {
            write_seeds(target, Path::new(&folder)).expect("the seeds can be written");
            std::process::exit(0);
        }
    },
    |bytes: &[u8]| {
        if let Some(target) = TARGET.get() {
            (target.run)(bytes);
        }
    }
);

fn write_seeds(target: &Target, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (number, seed) in (0..).zip((target.seeds)()) {
        std::fs::write(folder.join(format!("seed-{number:03}")), seed)?;
    }
    let escaped = |byte: u8| match byte {
        b' '..=b'~' if !matches!(byte, b'"' | b'\\') => char::from(byte).to_string(),
        other => format!("\\x{other:02x}"),
    };
    let line = |word: String| format!("\"{}\"\n", word.bytes().map(escaped).collect::<String>());
    let words: String = (target.words)().into_iter().map(line).collect();
    std::fs::write(folder.with_extension("words"), words)
}
