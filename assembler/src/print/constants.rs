//! The constant pool.

use std::collections::HashSet;

use vm::isa::Operand;
use vm::module::{ConstRef, Constant, Module};

use super::quote;
use crate::builder::constant_bits;

/// Whether ops use the constants in their order, each for the first time; no two may be equal, and
/// none may refer to another one or be what a global holds.
pub(super) fn stand_in_order(module: &Module) -> bool {
    let is_written_out = |constant: &Constant| match constant {
        Constant::Text(_) | Constant::Bytes(_) | Constant::Ints(_) | Constant::Floats(_) => true,
        Constant::Refs(_) | Constant::Record { .. } | Constant::Closure { .. } => false,
    };
    let of_globals = module.globals.refs.iter().map(|global| global.value);
    if !module.constants.iter().all(is_written_out)
        || of_globals
            .into_iter()
            .any(|one| matches!(one, ConstRef::Constant(_)))
    {
        return false;
    }
    let mut used = 0;
    let ops = module
        .functions
        .iter()
        .flat_map(|one| one.ops().map_while(Result::ok));
    for operand in ops.flat_map(|(_, op)| op.operands()) {
        if let Operand::ConstId(id) = operand {
            match id as usize {
                id if id == used => used += 1,
                id if id > used => return false,
                _ => {}
            }
        }
    }
    let mut seen = HashSet::new();
    used == module.constants.len()
        && module
            .constants
            .iter()
            .all(|constant| seen.insert(constant_bits(constant)))
}

/// A constant as it is declared. `function` gives the name of a function.
pub(super) fn text(constant: &Constant, function: impl Fn(u32) -> String) -> String {
    match constant {
        Constant::Refs(refs) => format!("refs {}", list(refs, |&one| reference(one))),
        Constant::Record { tag, refs, ints } => {
            let refs = list(refs, |&one| reference(one));
            format!("record {tag} {refs} {}", list(ints, i64::to_string))
        }
        Constant::Closure {
            function: id,
            refs,
            ints,
        } => {
            let refs = list(refs, |&one| reference(one));
            format!(
                "closure {} {refs} {}",
                function(*id),
                list(ints, i64::to_string)
            )
        }
        Constant::Text(bytes) => format!("text {}", quote(bytes)),
        Constant::Bytes(bytes) => format!("bytes {}", list(bytes, u8::to_string)),
        Constant::Ints(values) => format!("i64 {}", list(values, i64::to_string)),
        Constant::Floats(values) => format!("f64 {}", list(values, |value| float(*value))),
    }
}

/// A reference in a constant, or of a global at the start.
pub(super) fn reference(reference: ConstRef) -> String {
    match reference {
        ConstRef::Null => "null".to_owned(),
        ConstRef::Immediate(number) => number.to_string(),
        ConstRef::Constant(index) => format!("k{index}"),
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(text).collect();
    format!("[{}]", items.join(", "))
}

/// A double that is read back as the same bits.
pub(super) fn float(value: f64) -> String {
    if value.is_finite() {
        format!("{value:?}")
    } else {
        format!("0f{:016x}", value.to_bits())
    }
}
