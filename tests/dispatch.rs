//! The interpreter's handlers jump to one another: no handler of the optimised binary calls the
//! next. Needs `objdump`, which comes with the linker.

#![cfg(not(debug_assertions))]

use std::collections::BTreeSet;
use std::process::Command;

/// Handlers that other handlers go to by a jump as well.
const COLD: [&str; 8] = [
    "slow::collect",
    "slow::raise_fault",
    "slow::raise",
    "slow::attend",
    "slow::overflow",
    "slow::call_host",
    "record::remember_st_r",
    "array::remember_set_r",
];

#[test]
fn no_handler_calls_the_next() {
    let options = ["-d", "-C", "--no-show-raw-insn", env!("CARGO_BIN_EXE_vm")];
    let Ok(output) = Command::new("objdump").args(options).output() else {
        eprintln!("objdump is not installed; the handlers were not looked at");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut handlers = BTreeSet::new();
    let mut offenders = Vec::new();
    let mut current = None;
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once(" <")
            && let Some(name) = rest.strip_suffix(">:")
        {
            let is_cold = COLD.iter().any(|cold| name.ends_with(cold));
            let is_handler = name.contains("vm::interp::handlers::") || is_cold;
            current = is_handler.then(|| name.to_owned());
            handlers.extend(current.clone());
        }
        let Some(name) = &current else { continue };
        let Some((_, operand)) = line.split_once("\tcall ") else {
            continue;
        };
        let operand = operand.trim();
        // Through the table of imported functions goes the C library, not the next handler.
        let is_dispatch = operand.starts_with('*') && !operand.contains("(%rip)");
        let is_cold = COLD
            .iter()
            .any(|cold| operand.ends_with(&format!("{cold}>")));
        if is_dispatch || is_cold {
            offenders.push(format!("{name}: {}", line.trim()));
        }
    }
    if cfg!(target_arch = "x86_64") {
        assert!(
            handlers.len() > 150,
            "only {} handlers were found",
            handlers.len()
        );
    }
    assert!(offenders.is_empty(), "{}", offenders.join("\n"));
}
