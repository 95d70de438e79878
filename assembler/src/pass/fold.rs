//! Constant and branch folding.
//!
//! An op whose operands are known becomes the load of its result, unless it would fault; a jump
//! that is decided becomes one that is always taken, or goes. Where one operand is known and the
//! table has a row with an immediate, the op becomes one of that row, so that whatever loaded the
//! constant may be dead.
//!
//! What the loader fuses is left alone: moves stay moves, and comparisons and additions keep their
//! registers where only those are fused with a jump.

use vm::isa::{Effects, Op, OpInfo, Opcode, Operand, Role, Target};

use super::evaluate::{Known, decide, evaluate};
use super::values::{Values, rewrite};
use crate::ir::{Action, Function, Program, Reg};
use crate::lower::{immediate_row, swapped_row};

/// Folds in all functions.
pub(super) fn run(program: &mut Program) {
    program.functions.iter_mut().for_each(fold);
}

fn fold(function: &mut Function) {
    let was_reachable = function.reachable();
    let mut has_decided = false;
    rewrite(function, |values, _, instr| {
        let Action::Op(op) = &instr.action else {
            return Some(instr);
        };
        match jump(op, values) {
            Jump::Undecided => {}
            Jump::Taken(target) => {
                has_decided = true;
                return Some(instr.with(Action::Op(Op::Jmp {
                    target: Target(target),
                })));
            }
            Jump::NotTaken => {
                has_decided = true;
                return None;
            }
        }
        let folded = constant(op, values).or_else(|| with_immediate(op, values));
        Some(match folded {
            Some(op) => instr.with(Action::Op(op)),
            None => instr,
        })
    });
    if has_decided {
        function.clear_unreachable(&was_reachable);
    }
}

/// What is known of where a jump goes.
enum Jump {
    Undecided,
    Taken(u32),
    NotTaken,
}

fn jump(op: &Op, values: &Values) -> Jump {
    if let Op::Switch { index, targets } = op {
        let index = values.known(Reg::int(index.0)).and_then(Known::bits);
        return match index.map(|index| usize::try_from(index).ok()) {
            Some(index) => index
                .and_then(|index| targets.0.get(index))
                .map_or(Jump::NotTaken, |&target| Jump::Taken(target)),
            None => Jump::Undecided,
        };
    }
    let operands = op.operands();
    let target = operands.iter().find_map(|operand| match operand {
        Operand::Target(target) => Some(*target),
        _ => None,
    });
    match (target, decide(op, |reg| values.known(reg))) {
        (Some(target), Some(true)) => Jump::Taken(target),
        (Some(_), Some(false)) => Jump::NotTaken,
        _ => Jump::Undecided,
    }
}

/// The load of an op's result.
fn constant(op: &Op, values: &Values) -> Option<Op> {
    if op.opcode().info().effects.has(Effects::MOVES) {
        return None;
    }
    let (dst, known) = evaluate(op, |reg| values.known(reg))?;
    Some(known.load(dst))
}

/// The op with one of its operands as an immediate.
fn with_immediate(op: &Op, values: &Values) -> Option<Op> {
    let info = op.opcode().info();
    if info.has_targets() || info.effects.has(Effects::MOVES) {
        return None;
    }
    let operands = op.operands();
    let written = info.n_written();
    let constant = |place: usize| match operands[place] {
        Operand::IIn(index) => values.known(Reg::int(index))?.bits(),
        _ => None,
    };
    for place in (written + 1..operands.len()).rev() {
        let Some(bits) = constant(place) else {
            continue;
        };
        let Some((row, sign)) = immediate_row(info, place) else {
            continue;
        };
        let value = bits.checked_mul(sign).filter(|&bits| fits(info, row, bits));
        if let Some(value) = value {
            let mut operands = operands.clone();
            operands[place] = Operand::Int32(value as i32);
            return Op::from_operands(row.opcode, &operands);
        }
    }
    if operands.len() < written + 2 || operands[written + 1].role() != Role::IIn {
        return None;
    }
    let row = swapped_row(info)?;
    let value = constant(written).filter(|&bits| fits(info, row, bits))?;
    let mut operands = operands.clone();
    operands.swap(written, written + 1);
    operands[written + 1] = Operand::Int32(value as i32);
    Op::from_operands(row.opcode, &operands)
}

/// Whether a number may be the immediate of a row that takes the place of another one.
fn fits(info: &OpInfo, row: &OpInfo, bits: i64) -> bool {
    // An addition is fused with the comparison behind it up to this size, and with any register.
    let is_fused = info.opcode != Opcode::Add || i8::try_from(bits).is_ok();
    // A row may refuse 0 where an op with a register faults.
    let is_allowed = bits != 0 || !info.effects.has(Effects::FAULTS);
    is_fused && is_allowed && i32::try_from(bits).is_ok() && info.effects == row.effects
}
