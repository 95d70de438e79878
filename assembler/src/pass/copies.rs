//! Copy propagation, both ways.
//!
//! *Forward:* what reads a copy reads the register that it was copied from, as long as that still
//! holds the value and has the lower number. So no register lives on above those that were alive,
//! and no call's windows move up. An argument or a result is changed only where its copy is then
//! dead for certain; otherwise it may be in its place already.
//!
//! *Backward:* a value that is computed only to be copied is computed where it is copied to.

use vm::isa::{Op, Operand};

use super::forward::{move_of, retarget};
use super::liveness::{Liveness, RegSet, step};
use super::values::{Values, rewrite};
use crate::ir::{Action, Call, Callee, Class, Function, Instr, Program, Reg, Value};

/// Propagates copies in all functions.
pub(super) fn run(program: &mut Program) {
    for function in &mut program.functions {
        if has_moves(function) {
            forward(function);
            backward(function);
        }
    }
}

fn has_moves(function: &Function) -> bool {
    let blocks = function.layout.iter();
    let mut instrs = blocks.flat_map(|&block| &function.blocks[block as usize].instrs);
    instrs.any(|instr| matches!(&instr.action, Action::Op(op) if move_of(op).is_some()))
}

/// The registers that are live at the end of each block, or wanted by its handler.
fn wanted_after(function: &Function) -> Vec<RegSet> {
    let liveness = Liveness::of(function);
    let mut wanted = vec![RegSet::default(); function.blocks.len()];
    for (position, &block) in function.layout.iter().enumerate() {
        let set = &mut wanted[block as usize];
        *set = liveness.live_out(function, position);
        set.union(&liveness.at_handler(function, block));
    }
    wanted
}

fn forward(function: &mut Function) {
    let wanted = wanted_after(function);
    // The block in which each register was last copied to.
    let mut copied_in = vec![None; 512];
    let place = |reg: Reg| reg.class as usize * 256 + reg.index as usize;
    rewrite(function, |values, block, mut instr| {
        // A copy of this block that nobody behind it wants is dead once all reads are changed.
        let is_local = |reg: Reg| {
            copied_in[place(reg)] == Some(block) && !wanted[block as usize].contains(reg)
        };
        match &mut instr.action {
            Action::Op(op) => {
                if let Some((dst, _)) = move_of(op) {
                    copied_in[place(dst)] = Some(block);
                }
                *op = with_sources(op, values);
            }
            Action::Call(Call {
                callee,
                args,
                windows: None,
                ..
            }) => replace_values(callee, args, values, is_local),
            Action::TailCall(callee, args) => replace_values(callee, args, values, is_local),
            Action::Ret(results) => {
                results
                    .iter_mut()
                    .for_each(|one| replace_value(one, values, is_local));
            }
            _ => {}
        }
        Some(instr)
    });
}

fn replace_values(
    callee: &mut Callee,
    args: &mut [Value],
    values: &Values,
    is_local: impl Fn(Reg) -> bool,
) {
    if let Callee::Closure { register, .. } = callee {
        let closure = Reg::reference(*register);
        if is_local(closure) {
            *register = lower_source(closure, values).index;
        }
    }
    args.iter_mut()
        .for_each(|value| replace_value(value, values, &is_local));
}

fn replace_value(value: &mut Value, values: &Values, is_local: impl Fn(Reg) -> bool) {
    if let Value::Reg(reg) = value
        && is_local(*reg)
    {
        *reg = lower_source(*reg, values);
    }
}

/// The register that a copy was made of, if it has the lower number.
fn lower_source(reg: Reg, values: &Values) -> Reg {
    let source = values.source(reg);
    match source.index < reg.index {
        true => source,
        false => reg,
    }
}

/// The op with each register that it reads replaced by the one of which it is a copy.
fn with_sources(op: &Op, values: &Values) -> Op {
    let source = |class, index: u8| lower_source(Reg { class, index }, values).index;
    let operands: Vec<Operand> = op
        .operands()
        .into_iter()
        .map(|operand| match operand {
            Operand::IIn(index) => Operand::IIn(source(Class::Int, index)),
            Operand::RIn(index) => Operand::RIn(source(Class::Ref, index)),
            Operand::IRegs(list) => {
                Operand::IRegs(list.iter().map(|&one| source(Class::Int, one)).collect())
            }
            Operand::RRegs(list) => {
                Operand::RRegs(list.iter().map(|&one| source(Class::Ref, one)).collect())
            }
            other => other,
        })
        .collect();
    Op::from_operands(op.opcode(), &operands).unwrap_or_else(|| op.clone())
}

fn backward(function: &mut Function) {
    let liveness = Liveness::of(function);
    for position in 0..function.layout.len() {
        let block = function.layout[position];
        let mut live = liveness.live_out(function, position);
        let raised = liveness.at_handler(function, block);
        let instrs = std::mem::take(&mut function.blocks[block as usize].instrs);
        // For each move, whether its source is wanted behind it.
        let mut is_dead = vec![false; instrs.len()];
        for (instr, is_dead) in instrs.iter().zip(&mut is_dead).rev() {
            let moved = moved(instr);
            *is_dead = moved.is_some_and(|(_, src)| !live.contains(src));
            step(&instr.action, &mut live);
            live.union(&raised);
        }
        let mut out: Vec<Instr> = Vec::with_capacity(instrs.len());
        for (instr, is_dead) in instrs.into_iter().zip(is_dead) {
            let is_done = moved(&instr).is_some_and(|(dst, src)| {
                let is_raised = raised.contains(dst) || raised.contains(src);
                dst == src || is_dead && !is_raised && retarget(&mut out, src, dst)
            });
            if !is_done {
                out.push(instr);
            }
        }
        function.blocks[block as usize].instrs = out;
    }
}

fn moved(instr: &Instr) -> Option<(Reg, Reg)> {
    match &instr.action {
        Action::Op(op) => move_of(op),
        _ => None,
    }
}
