//! The manual of the instruction set, as Markdown, out of the table.

use std::collections::HashSet;
use std::fmt::Write;

use super::effects::Effects;
use super::opcode::OPS;

const INTRODUCTION: &str = "\
# The instruction set

This page is generated from the opcode table (`vm/src/isa/table.rs`); a test fails when it is
stale, and `BLESS=1 cargo test` writes it anew. How text becomes these ops is in
[assembly.md](assembly.md); how they stand in a file, in [bc-format.md](bc-format.md).

In the sentences, `i[x]` is a register of 64 raw bits, `r[x]` a register that holds a reference
and `f[x]` an `i` register read as a double. A reference is null, a heap object or a 63-bit
immediate. An op *faults* by raising an exception that the program can handle.

An op is its code, one byte, then its operands in the order below; numbers are little-endian.

## Operand roles

";

const EFFECTS: &str = "
## Effects

What an op may do besides writing its outputs and jumping to its targets. An op without any is pure.

";

/// The text of `docs/bytecode.md`.
pub fn manual() -> String {
    let mut text = String::from(INTRODUCTION);
    text.push_str("| role | meaning |\n|---|---|\n");
    let mut seen = HashSet::new();
    for operand in OPS.iter().flat_map(|info| info.operands) {
        if seen.insert(operand.role) {
            let (name, meaning) = operand.role.description();
            let _ = writeln!(text, "| `{name}` |{meaning} |");
        }
    }
    text.push_str(EFFECTS);
    text.push_str("| word | meaning |\n|---|---|\n");
    for (_, word, meaning) in Effects::ALL {
        let _ = writeln!(text, "| {word} |{meaning} |");
    }
    text.push_str("\n## Opcodes\n\n| code | mnemonic | operands | does | effects |\n");
    text.push_str("|---|---|---|---|---|\n");
    for info in OPS {
        let operands: Vec<String> = info
            .operands
            .iter()
            .map(|operand| format!("{}: {}", operand.name, operand.role.description().0))
            .collect();
        let end = if info.falls_through {
            ""
        } else {
            " *Control does not go on.*"
        };
        let doc = info.doc.trim().replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{:#04x}` | `{}` | {} | {doc}{end} | {} |",
            info.opcode as u8,
            info.mnemonic,
            operands.join(", "),
            info.effects.words().collect::<Vec<_>>().join(", "),
        );
    }
    text
}
