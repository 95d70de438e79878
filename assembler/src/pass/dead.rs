//! Dead code: ops that do nothing but write registers that nobody reads.

use vm::isa::Access;

use super::liveness::{Liveness, RegSet, step};
use crate::ir::{Action, Function, Program, visit_registers};

/// Removes dead ops from all functions.
pub(super) fn run(program: &mut Program) {
    program.functions.iter_mut().for_each(remove_dead);
}

fn remove_dead(function: &mut Function) {
    let liveness = Liveness::of(function);
    for position in 0..function.layout.len() {
        let block = function.layout[position];
        let mut live = liveness.live_out(function, position);
        let raised = liveness.at_handler(function, block);
        live.union(&raised);
        let instrs = &mut function.blocks[block as usize].instrs;
        let mut is_kept = vec![true; instrs.len()];
        for (instr, is_kept) in instrs.iter().zip(&mut is_kept).rev() {
            *is_kept = !is_dead(&instr.action, &live);
            if *is_kept {
                step(&instr.action, &mut live);
                live.union(&raised);
            }
        }
        let mut is_kept = is_kept.into_iter();
        instrs.retain(|_| is_kept.next().unwrap_or(true));
    }
}

/// Whether an action may go when these registers are wanted behind it.
fn is_dead(action: &Action, live: &RegSet) -> bool {
    let Action::Op(op) = action else { return false };
    let mut is_wanted = false;
    visit_registers(op, |reg, access| {
        is_wanted |= access == Access::Write && live.contains(reg);
    });
    op.opcode().info().is_pure() && !is_wanted
}
