//! Reports registers that may be read before they are written, by the names the text gives them.
//!
//! The verifier refuses such code too, but only after calls have got their windows and values
//! have moved; by then it can no longer say which name was meant.

use super::liveness::{Liveness, RegSet, step};
use crate::diagnostic::{Diagnostic, MAX_DIAGNOSTICS, keep};
use crate::ir::{Action, Class, Function, Program, Reg};

/// Checks all functions but those whose registers the builder gave out: there it has looked.
pub(crate) fn check(program: &Program) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let unchecked = program.functions.iter().filter(|one| !one.is_checked);
    for function in unchecked {
        let Some(&entry) = function.layout.first() else {
            continue;
        };
        let wanted = Liveness::of(function).live_in(entry);
        // Each register takes a walk through the function.
        let unwritten = wanted.iter().filter(|&reg| !is_parameter(function, reg));
        for reg in unwritten.take(MAX_DIAGNOSTICS) {
            let found = first_read(function, reg);
            found.into_iter().for_each(|error| keep(&mut errors, error));
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

fn is_parameter(function: &Function, reg: Reg) -> bool {
    let signature = function.signature;
    let count = match reg.class {
        Class::Int => signature.int_params as usize,
        Class::Ref => signature.ref_params as usize + function.captures.is_some() as usize,
    };
    (reg.index as usize) < count
}

/// A read of the register that control can reach from the entry with no write before it.
fn first_read(function: &Function, reg: Reg) -> Option<Diagnostic> {
    let positions = function.positions();
    let covering = function.covering_handlers();
    let mut seen = vec![false; function.blocks.len()];
    let mut open = vec![*function.layout.first()?];
    while let Some(block) = open.pop() {
        if std::mem::replace(&mut seen[block as usize], true) {
            continue;
        }
        let mut is_written = false;
        for instr in &function.blocks[block as usize].instrs {
            if reads(&instr.action, reg) {
                let name = function.name_of(reg);
                let message = format!("`{name}` may be read before it is written");
                return Some(Diagnostic::new(instr.span, message));
            }
            is_written = writes(&instr.action, reg);
            if is_written {
                break;
            }
        }
        open.extend(covering[block as usize].map(|index| function.handlers[index].target));
        if let Some(position) = positions[block as usize].filter(|_| !is_written) {
            open.extend(function.successors(position));
        }
    }
    None
}

fn reads(action: &Action, reg: Reg) -> bool {
    let mut live = RegSet::default();
    step(action, &mut live);
    live.contains(reg)
}

fn writes(action: &Action, reg: Reg) -> bool {
    let mut live = RegSet::default();
    live.insert(reg);
    step(action, &mut live);
    !live.contains(reg)
}
