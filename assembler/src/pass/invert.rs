//! Loop inversion: the test of a loop stands at its end, too, so that a round takes one jump.
//!
//! A jump back to a block that tests whether the loop goes on becomes a copy of that block, with
//! the opposite test: it jumps to what stands behind the first test. The first test stays for those
//! who come to the loop. The same ops run in the same order, and the copies raise to the same
//! handler, at the same lines.
//!
//! Where the loader does the jump back together with what stands before it, nothing would be won,
//! and leaving the loop would take a jump more: such loops stay.

use vm::isa::{Effects, Op, Operand, Target};

use super::evaluate::inverse;
use crate::ir::{Action, Block, Function, Instr, Program};

/// How many instructions a test may take: each jump back to it becomes a copy.
const MAX_TEST: usize = 8;

/// Inverts the loops of all functions.
pub(super) fn run(program: &mut Program) {
    program.functions.iter_mut().for_each(invert);
}

fn invert(function: &mut Function) {
    let positions = function.positions();
    let covering = function.covering_handlers();
    let layout = std::mem::take(&mut function.layout);
    let mut longer = Vec::with_capacity(layout.len());
    for (position, &block) in layout.iter().enumerate() {
        longer.push(block);
        let Some((jump, target)) = jump_back(&function.blocks[block as usize]) else {
            continue;
        };
        let place = |block: u32| positions.get(block as usize).copied().flatten();
        let Some(head) = place(target).filter(|&head| head < position) else {
            continue;
        };
        if covering[target as usize] != covering[block as usize] {
            continue;
        }
        let found = test(&function.blocks[target as usize]);
        // The test ends the loop if it jumps over the jump back.
        let Some((test, exit)) =
            found.filter(|&(_, exit)| place(exit).is_some_and(|exit| exit > position))
        else {
            continue;
        };
        let Some(opposite) = inverse(test, layout[head + 1]) else {
            continue;
        };
        let (_, before) = function.blocks[block as usize]
            .instrs
            .split_last()
            .unwrap_or((&jump, &[]));
        let is_bare = function.blocks[target as usize].instrs.len() == 1;
        if is_fused(before) && !(is_bare && counts(before, &opposite)) {
            continue;
        }
        let jump = jump.with(Action::Op(Op::Jmp {
            target: Target(exit),
        }));
        let mut copy = function.blocks[target as usize].instrs.clone();
        if let Some(last) = copy.last_mut() {
            last.action = Action::Op(opposite);
        }
        let block = &mut function.blocks[block as usize];
        block.instrs.pop();
        block.instrs.extend(copy);
        let region = block.region;
        // Behind the copy control leaves the loop; a handler's range goes on to here.
        longer.push(function.blocks.len() as u32);
        function.blocks.push(Block {
            instrs: vec![jump],
            region,
        });
    }
    function.layout = longer;
}

/// Whether the loader does a jump together with the ops before it, so that there is nothing to win.
fn is_fused(before: &[Instr]) -> bool {
    let is_move = |instr: &&Instr| matches!(instr.action, Action::Op(Op::Mov { .. }));
    let n_moves = before.iter().rev().take_while(is_move).count();
    match before.last().map(|last| &last.action) {
        Some(Action::Op(Op::AddImm { rhs, .. })) => i16::try_from(rhs.0).is_ok(),
        _ => n_moves % 3 == 2,
    }
}

/// Whether the loader does a test together with the addition before it.
fn counts(before: &[Instr], test: &Op) -> bool {
    let Some(Action::Op(Op::AddImm { dst, lhs, .. })) = before.last().map(|last| &last.action)
    else {
        return false;
    };
    let stem = test.opcode().info().mnemonic.trim_end_matches("_imm");
    let is_comparison = ["jlt", "jle", "jgt", "jge", "jne"].contains(&stem);
    is_comparison && dst.0 == lhs.0 && test.operands().first() == Some(&Operand::IIn(dst.0))
}

/// The jump at the end of a block, and its target.
fn jump_back(block: &Block) -> Option<(Instr, u32)> {
    let last = block.instrs.last()?;
    match &last.action {
        Action::Op(Op::Jmp { target }) => Some((last.clone(), target.0)),
        _ => None,
    }
}

/// The conditional jump of a block that may be copied, and its target.
fn test(block: &Block) -> Option<(&Op, u32)> {
    let (last, others) = block.instrs.split_last()?;
    let is_plain = |instr: &Instr| match &instr.action {
        Action::Op(op) => !op.opcode().info().effects.has(Effects::PROFILES),
        _ => false,
    };
    let Action::Op(op) = &last.action else {
        return None;
    };
    if block.instrs.len() > MAX_TEST || !others.iter().all(is_plain) {
        return None;
    }
    let target = op
        .operands()
        .into_iter()
        .find_map(|operand| match operand {
            Operand::Target(target) => Some(target),
            _ => None,
        })?;
    op.opcode().info().falls_through.then_some((op, target))
}
