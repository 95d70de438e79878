//! Values that are computed only to be moved are computed where they are wanted.
//!
//! `t = add x, 1` and later `x = t`, as a loop's counter is written, becomes `x = add x, 1`.

use super::Code;
use crate::ir::*;
use vm::isa::Op;

/// How far back the definition of a moved value is looked for.
const MAX_DISTANCE: usize = 16;

/// Drops moves whose source has no other use.
pub(super) fn drop_moves(code: &mut Code) {
    let mut counts = vec![(0_u32, 0_u32); code.vars.len()];
    for operands in code.operands.iter().flatten() {
        operands
            .writes
            .iter()
            .for_each(|&var| counts[var as usize].0 += 1);
        operands
            .reads
            .iter()
            .for_each(|&var| counts[var as usize].1 += 1);
    }
    // Parameters and exceptions are defined where no instruction stands.
    for (count, info) in counts.iter_mut().zip(&code.vars) {
        count.0 += u32::from(info.param.is_some());
    }
    code.handlers
        .iter()
        .for_each(|&var| counts[var as usize].0 += 1);
    let covering = code.function.covering_handlers();
    for (block, handler) in covering.iter().enumerate() {
        let is_covered = handler.is_some();
        let mut is_dropped = vec![false; code.operands[block].len()];
        for (at, is_dropped) in is_dropped.iter_mut().enumerate().skip(1) {
            let action = &code.function.blocks[block].instrs[at].action;
            if !matches!(action, Action::Op(Op::Mov { .. } | Op::RMov { .. })) {
                continue;
            }
            let operands = &code.operands[block][at];
            let (dst, src) = (operands.writes[0], operands.reads[0]);
            if dst != src
                && counts[src as usize] == (1, 1)
                && redefine(code, block, at, (dst, src), is_covered)
            {
                *is_dropped = true;
                code.operands[block][at] = Default::default();
            }
        }
        if is_dropped.contains(&true) {
            let mut flags = is_dropped.iter();
            code.operands[block].retain(|_| flags.next() == Some(&false));
            let mut flags = is_dropped.iter();
            code.function.blocks[block]
                .instrs
                .retain(|_| flags.next() == Some(&false));
        }
    }
}

/// Lets the instruction before `at` that defines `src` define `dst`, if nothing in between could
/// tell. Under a handler, an op in between may raise, and the handler must find the old value.
fn redefine(
    code: &mut Code,
    block: usize,
    at: usize,
    (dst, src): (u32, u32),
    is_covered: bool,
) -> bool {
    for earlier in (at.saturating_sub(MAX_DISTANCE)..at).rev() {
        let operands = &mut code.operands[block][earlier];
        if operands.writes.contains(&src) {
            if operands.writes.contains(&dst) {
                return false;
            }
            operands
                .writes
                .iter_mut()
                .filter(|var| **var == src)
                .for_each(|var| *var = dst);
            return true;
        }
        if is_covered || operands.writes.contains(&dst) || operands.reads.contains(&dst) {
            return false;
        }
    }
    false
}
