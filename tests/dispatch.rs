//! The code of the optimised binary: the interpreter's handlers jump to one another, and the
//! handler of ticks calls nothing that a signal handler must not. Needs `objdump`, which comes with
//! the linker.

#![cfg(not(debug_assertions))]

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn no_handler_calls_the_next() {
    let Some(text) = disassembly() else { return };
    let helpers = helpers();
    let handlers: BTreeSet<&str> = text
        .lines()
        .filter_map(name_defined)
        .filter(|name| is_handler(name, &helpers))
        .collect();
    let mut offenders = Vec::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(name) = name_defined(line) {
            current = handlers.get(name);
        }
        let Some(name) = current else { continue };
        let Some((_, operand)) = line.split_once("\tcall ") else {
            continue;
        };
        let operand = operand.trim();
        // Through the table of imported functions goes the C library, not the next handler.
        let is_dispatch = operand.starts_with('*') && !operand.contains("(%rip)");
        let callee = operand
            .split_once('<')
            .map(|(_, name)| name.trim_end_matches('>'));
        if is_dispatch || callee.is_some_and(|callee| handlers.contains(callee)) {
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

/// What the handler of ticks may call: POSIX lists these as safe in signal handlers.
const SAFE_CALLS: [&str; 2] = ["timer_getoverrun", "clock_gettime"];

#[test]
fn the_handler_of_ticks_calls_what_signal_handlers_may_only() {
    let Some(text) = disassembly() else { return };
    let mut is_found = false;
    let mut is_inside = false;
    for line in text.lines() {
        if let Some(name) = name_defined(line) {
            is_inside = name.ends_with("ticker::on_signal");
            is_found |= is_inside;
        }
        let is_call = line.contains("\tcall ") || line.contains("\tjmp    *");
        if is_inside && is_call {
            let is_safe = SAFE_CALLS.iter().any(|safe| line.contains(safe));
            assert!(is_safe, "{line}");
        }
    }
    assert!(is_found, "the handler of ticks has another name");
}

/// The disassembly of the `vm` command; `None` without `objdump`.
fn disassembly() -> Option<String> {
    let options = ["-d", "-C", "--no-show-raw-insn", env!("CARGO_BIN_EXE_vm")];
    let Ok(output) = Command::new("objdump").args(options).output() else {
        eprintln!("objdump is not installed; the binary was not looked at");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The function whose code begins after a line of the disassembly.
fn name_defined(line: &str) -> Option<&str> {
    line.split_once(" <")?.1.strip_suffix(">:")
}

/// Names of functions of the interpreter that are no handlers: they say what they return.
fn helpers() -> BTreeSet<String> {
    let interpreter = concat!(env!("CARGO_MANIFEST_DIR"), "/vm/src/interp");
    let mut names = BTreeSet::new();
    for folder in [interpreter.to_owned(), format!("{interpreter}/handlers")] {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let helpers = text.lines().filter_map(|line| {
                let (_, rest) = line.split_once("fn ")?;
                let is_helper = line.contains("unsafe fn ") || rest.contains("(m) -> ");
                let name = rest
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()?;
                is_helper.then(|| name.to_owned())
            });
            names.extend(helpers);
        }
    }
    names
}

/// Whether a function is a handler.
fn is_handler(name: &str, helpers: &BTreeSet<String>) -> bool {
    let Some((_, name)) = name.split_once("vm::interp::") else {
        return false;
    };
    let is_there = name.starts_with("handlers::") || name.starts_with("slow::");
    let own = name.split('<').next().unwrap_or_default();
    let own = own
        .trim_end_matches(':')
        .rsplit("::")
        .next()
        .unwrap_or_default();
    is_there && !helpers.contains(own)
}
