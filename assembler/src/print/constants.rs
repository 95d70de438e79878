//! The constant pool.

use std::collections::HashSet;

use vm::isa::Operand;
use vm::module::{Constant, Module};

use super::quote;
use crate::builder::constant_bits;

/// Whether ops use the constants in their order, each for the first time; no two may be equal.
pub(super) fn stand_in_order(module: &Module) -> bool {
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

/// A constant as it is declared.
pub(super) fn text(constant: &Constant) -> String {
    match constant {
        Constant::Text(bytes) => format!("text {}", quote(bytes)),
        Constant::Bytes(bytes) => format!("bytes {}", list(bytes, u8::to_string)),
        Constant::Ints(values) => format!("i64 {}", list(values, i64::to_string)),
        Constant::Floats(values) => format!("f64 {}", list(values, |value| float(*value))),
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
