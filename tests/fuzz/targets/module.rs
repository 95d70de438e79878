//! Target `module`: any bytes as a `.bc` file. They are read as they are, and again with checksums
//! that match, for no mutation would ever get past those.

use assembler::{AssembleOptions, assemble, print_ops, print_verified};
use vm::module::{self, MAGIC, Module, read, write};
use vm::verify::verify;

use super::examples::modules;

/// Reads, writes, verifies, disassembles and assembles again; whether there was a module.
pub fn run(bytes: &[u8]) -> bool {
    let as_it_is = check(bytes);
    check(&with_right_checksums(bytes)) || as_it_is
}

/// All programs, and one of nothing.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = modules().iter().map(write).collect();
    seeds.push(write(&Module::default()));
    seeds
}

fn check(bytes: &[u8]) -> bool {
    let Ok(module) = read(bytes) else {
        return false;
    };
    // Compared as bytes, because a double may be not-a-number.
    let written = write(&module);
    let again = read(&written).expect("what is written is read");
    assert!(write(&again) == written, "what is read is what was written");
    let Ok(verified) = verify(again) else {
        for function in &module.functions {
            print_ops(&module, function);
        }
        return true;
    };
    let text = print_verified(&verified);
    match assemble(&text, &AssembleOptions::default()) {
        Ok(assembled) => assert!(write(&assembled) == written, "{text}"),
        Err(errors) => {
            let shown = errors
                .iter()
                .map(|error| error.render("printed.asm", &text));
            panic!("{}\n{text}", shown.collect::<String>())
        }
    }
    true
}

/// The same file with checksums of its sections that match, as far as there are sections.
pub fn with_right_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut fixed = bytes.to_vec();
    let mut at = bytes.len() - module::strip_interpreter_line(bytes).len() + MAGIC.len() + 4;
    while let Some(header) = fixed.get(at..at + 9) {
        let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let body = at + 9;
        let Some(end) = body.checked_add(length).filter(|&end| end <= fixed.len()) else {
            break;
        };
        let checksum = crc32fast::hash(&fixed[body..end]);
        fixed[at + 5..body].copy_from_slice(&checksum.to_le_bytes());
        at = end;
    }
    fixed
}
