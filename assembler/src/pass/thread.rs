//! Jump threading: a jump goes where control ends up.
//!
//! - A jump to a jump goes where that one goes.
//! - A jump to a return becomes the return, with the `leave`s before it.
//! - A conditional jump around a jump becomes the opposite one, without the other.
//! - A jump to what comes next goes.
//!
//! Handlers see nothing of it: jumps, `leave`s and returns raise nothing.

use vm::isa::{Effects, Op, Operand};

use super::evaluate::inverse;
use crate::ir::{Action, Function, Instr, Program, map_targets, targets};

/// How many instructions stand in place of a jump to a return at most, and how many values that
/// returns.
const MAX_EXIT: usize = 4;
/// Over how many blocks without instructions a conditional jump looks for a jump.
const MAX_EMPTY: usize = 4;

/// Threads the jumps of all functions.
pub(super) fn run(program: &mut Program) {
    for function in &mut program.functions {
        thread(function, true);
    }
}

/// The same without copies of returns: a loop that was inverted is left by a jump, once, and that
/// is not worth the code.
pub(super) fn straighten(program: &mut Program) {
    for function in &mut program.functions {
        thread(function, false);
    }
}

fn thread(function: &mut Function, copies_returns: bool) {
    let was_reachable = function.reachable();
    let positions = function.positions();
    let ends = ends(function, &positions);
    for index in 0..function.layout.len() {
        let block = function.layout[index] as usize;
        let Some(Instr {
            action: Action::Op(op),
            ..
        }) = function.blocks[block].instrs.last_mut()
        else {
            continue;
        };
        if op.opcode().info().has_targets() {
            *op = map_targets(op, |target| {
                ends.get(target as usize).copied().unwrap_or(target)
            });
        }
        let led_to = match op {
            Op::Jmp { target } if copies_returns => Some(target.0),
            _ => None,
        };
        if let Some(exit) = led_to.and_then(|target| exit(function, target)) {
            let instrs = &mut function.blocks[block].instrs;
            instrs.pop();
            instrs.extend(exit);
        }
    }
    function.clear_unreachable(&was_reachable);
    turn_around(function, &positions);
    remove_idle(function, &positions);
    function.clear_unreachable(&was_reachable);
}

/// Where control ends up that comes to each block, past blocks that are empty or only jump.
fn ends(function: &Function, positions: &[Option<usize>]) -> Vec<u32> {
    let next = |block: u32| {
        let position = (*positions.get(block as usize)?)?;
        match function.blocks[block as usize].instrs.as_slice() {
            [] => function.layout.get(position + 1).copied(),
            [
                Instr {
                    action: Action::Op(Op::Jmp { target }),
                    ..
                },
            ] => Some(target.0),
            _ => None,
        }
    };
    let mut ends: Vec<Option<u32>> = vec![None; function.blocks.len()];
    let mut is_on_way = vec![false; function.blocks.len()];
    for start in 0..function.blocks.len() as u32 {
        let mut way = Vec::new();
        let mut block = start;
        // A loop of jumps ends wherever it is entered.
        let end = loop {
            match ends.get(block as usize).copied() {
                Some(Some(end)) => break end,
                Some(None) if !is_on_way[block as usize] => {}
                _ => break block,
            }
            is_on_way[block as usize] = true;
            way.push(block);
            match next(block) {
                Some(next) => block = next,
                None => break block,
            }
        };
        for block in way {
            is_on_way[block as usize] = false;
            ends[block as usize] = Some(end);
        }
    }
    let ends = (0_u32..).zip(ends);
    ends.map(|(block, end)| end.unwrap_or(block)).collect()
}

/// The instructions of a block that only returns.
fn exit(function: &Function, block: u32) -> Option<Vec<Instr>> {
    let instrs = &function.blocks.get(block as usize)?.instrs;
    let (last, leaves) = instrs.split_last()?;
    let is_exit = matches!(&last.action, Action::Ret(values) if values.len() <= MAX_EXIT);
    let is_leave = |instr: &Instr| matches!(instr.action, Action::Op(Op::Leave { .. }));
    (is_exit && instrs.len() <= MAX_EXIT && leaves.iter().all(is_leave)).then(|| instrs.clone())
}

/// In how many ways control comes to each block; those that it begins with have one more, and those
/// that handle exceptions.
fn ways_in(function: &Function) -> Vec<u32> {
    let mut ways = vec![0; function.blocks.len()];
    let handlers = function.handlers.iter().map(|handler| handler.target);
    let begins = function.layout.first().copied().into_iter().chain(handlers);
    let jumps = (0..function.layout.len()).flat_map(|position| function.successors(position));
    for block in begins.chain(jumps) {
        if let Some(ways) = ways.get_mut(block as usize) {
            *ways += 1;
        }
    }
    ways
}

/// Turns conditional jumps around jumps into the opposite jumps.
fn turn_around(function: &mut Function, positions: &[Option<usize>]) {
    let ways = ways_in(function);
    let is_full = |function: &Function, position: usize| {
        let block = function.layout.get(position);
        block.is_some_and(|&block| !function.blocks[block as usize].instrs.is_empty())
    };
    for position in 0..function.layout.len() {
        let block = function.layout[position] as usize;
        let Some(Instr {
            action: Action::Op(op),
            ..
        }) = function.blocks[block].instrs.last()
        else {
            continue;
        };
        let Some(target) = target_of_test(op).and_then(|target| positions[target as usize]) else {
            continue;
        };
        let between = position + 1..(position + 1 + MAX_EMPTY).min(function.layout.len());
        let Some(around) = between.clone().find(|&place| is_full(function, place)) else {
            continue;
        };
        let around_block = function.layout[around] as usize;
        let [
            Instr {
                action: Action::Op(Op::Jmp { target: beyond }),
                ..
            },
        ] = function.blocks[around_block].instrs.as_slice()
        else {
            continue;
        };
        let is_only_way =
            (position + 1..=around).all(|place| ways[function.layout[place] as usize] == 1);
        let behind = around + 1..=target;
        let is_next = target > around
            && target - around <= MAX_EMPTY
            && behind
                .clone()
                .take(target - around - 1)
                .all(|place| !is_full(function, place));
        if !is_only_way || !is_next {
            continue;
        }
        if let Some(opposite) = inverse(op, beyond.0) {
            function.blocks[around_block].instrs.clear();
            if let Some(last) = function.blocks[block].instrs.last_mut() {
                last.action = Action::Op(opposite);
            }
        }
    }
}

/// The target of an op that does nothing but jump, perhaps, to one place.
fn target_of_test(op: &Op) -> Option<u32> {
    let info = op.opcode().info();
    let is_test = info.falls_through && info.effects == Effects::NONE;
    op.operands().into_iter().find_map(|operand| match operand {
        Operand::Target(target) if is_test => Some(target),
        _ => None,
    })
}

/// Removes jumps, conditional or not, that only lead to what comes next.
fn remove_idle(function: &mut Function, positions: &[Option<usize>]) {
    let mut next_full = None;
    for position in (0..function.layout.len()).rev() {
        let block = function.layout[position] as usize;
        let is_next = |target: u32| {
            let place = positions.get(target as usize).copied().flatten();
            place.is_some_and(|place| place > position && Some(place) <= next_full)
        };
        let instrs = &mut function.blocks[block].instrs;
        if let Some(Instr {
            action: Action::Op(op),
            ..
        }) = instrs.last()
            && op.opcode().info().effects == Effects::NONE
            && op.opcode().info().has_targets()
            && targets(op).into_iter().all(is_next)
        {
            instrs.pop();
        }
        if !instrs.is_empty() {
            next_full = Some(position);
        }
    }
}
