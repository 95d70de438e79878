//! Window lowering: calls with arguments become moves and ops with windows.
//!
//! A callee's registers begin at the caller's windows, so everything at or above them is lost in
//! a call. The windows of a call are the lowest that lose nothing of use: above every register
//! that is live after the call or at the handler that covers it. Arguments already in place are
//! not moved; see the tests for what that does to `fib`.

use vm::isa::{Op, Opcode, Operand};

use super::forward::forward;
use super::liveness::{Liveness, RegSet, step};
use super::moves::{MAX_REGISTERS, TooManyRegisters, parallel_move};
use crate::diagnostic::{Diagnostic, keep};
use crate::ir::{Action, Call, Callee, Class, Function, Instr, Program, Reg, Value};

/// Lowers all calls, tail calls and returns of a program. If `computes_in_place`, values that are
/// computed only to be passed on are computed where they are wanted.
pub(super) fn run(program: &mut Program, computes_in_place: bool) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for index in 0..program.functions.len() {
        let function = &program.functions[index];
        let liveness = Liveness::of(function);
        let mut lowered = Vec::with_capacity(function.layout.len());
        for (position, &block) in function.layout.iter().enumerate() {
            match lower_block(program, function, &liveness, position, computes_in_place) {
                Ok(instrs) => lowered.push((block, instrs)),
                Err(found) => found.into_iter().for_each(|error| keep(&mut errors, error)),
            }
        }
        let blocks = &mut program.functions[index].blocks;
        for (block, instrs) in lowered {
            blocks[block as usize].instrs = instrs;
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

fn lower_block(
    program: &Program,
    function: &Function,
    liveness: &Liveness,
    position: usize,
    computes_in_place: bool,
) -> Result<Vec<Instr>, Vec<Diagnostic>> {
    let block = function.layout[position];
    let instrs = &function.blocks[block as usize].instrs;
    let raised = liveness.at_handler(function, block);
    let mut live = liveness.live_out(function, position);
    let mut live_after = vec![RegSet::default(); instrs.len()];
    for (instr, after) in instrs.iter().zip(&mut live_after).rev() {
        *after = live;
        step(&instr.action, &mut live);
        live.union(&raised);
    }
    let mut errors = Vec::new();
    let mut lowered = Vec::with_capacity(instrs.len());
    for (instr, after) in instrs.iter().zip(live_after) {
        let mut live = after;
        if let Action::Call(call) = &instr.action {
            call.results.iter().for_each(|&reg| live.remove(reg));
        }
        live.union(&raised);
        match lower(program, &instr.action, &live, &after) {
            Ok(Some(Lowered { mut before, after })) => {
                if computes_in_place {
                    forward(&mut lowered, &mut before, &reads(&instr.action), &live);
                }
                let ops = before.into_iter().chain(after);
                lowered.extend(ops.map(|op| instr.with(Action::Op(op))));
            }
            Ok(None) => lowered.push(instr.clone()),
            Err(TooManyRegisters) => keep(&mut errors, too_many(instr, &function.name)),
        }
    }
    if errors.is_empty() {
        Ok(lowered)
    } else {
        Err(errors)
    }
}

/// The registers that a call or return reads, one for each time.
fn reads(action: &Action) -> Vec<Reg> {
    let (callee, values) = match action {
        Action::Call(call) => (Some(call.callee), &call.args),
        Action::TailCall(callee, args) => (Some(*callee), args),
        Action::Ret(values) => (None, values),
        _ => return Vec::new(),
    };
    let closure = match callee {
        Some(Callee::Closure { register, .. }) => Some(Reg::reference(register)),
        _ => None,
    };
    values
        .iter()
        .filter_map(|value| value.reg())
        .chain(closure)
        .collect()
}

fn too_many(instr: &Instr, function: &str) -> Diagnostic {
    let message = format!(
        "no room for this call in `{function}`, which has {MAX_REGISTERS} registers of a class"
    );
    Diagnostic::new(instr.span, message).with_help("keep fewer values alive across the call")
}

/// What a call or return becomes.
struct Lowered {
    /// Moves of the arguments, and the op itself.
    before: Vec<Op>,
    /// Moves of the results.
    after: Vec<Op>,
}

fn lower(
    program: &Program,
    action: &Action,
    live: &RegSet,
    after: &RegSet,
) -> Result<Option<Lowered>, TooManyRegisters> {
    let lowered = match action {
        Action::Call(call) => lower_call(program, call, live, after)?,
        Action::TailCall(callee, args) => Lowered {
            before: lower_tail_call(*callee, args)?,
            after: Vec::new(),
        },
        Action::Ret(values) => {
            let mut before = parallel_move(moves_to(values, 0, 0)?)?;
            before.extend(Op::from_operands(Opcode::Ret, &[]));
            Lowered {
                before,
                after: Vec::new(),
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(lowered))
}

/// `live` is what the call must not lose; `after` is that and the results that are wanted.
fn lower_call(
    program: &Program,
    call: &Call,
    live: &RegSet,
    after: &RegSet,
) -> Result<Lowered, TooManyRegisters> {
    let (ints, refs) = match call.windows {
        Some(windows) => windows,
        None => choose_windows(program, call.callee, live)?,
    };
    let mut moves = moves_to(&call.args, ints, refs)?;
    let windows = [Operand::IWindow(ints), Operand::RWindow(refs)];
    let op = match call.callee {
        Callee::Function(id) => op_of(Opcode::Call, vec![Operand::FuncId(id)], &windows),
        Callee::Host(id) => op_of(Opcode::CallHost, vec![Operand::HostId(id)], &windows),
        Callee::Closure {
            register,
            signature,
        } => {
            let register = save_closure(register, refs, signature.ref_params, &mut moves)?;
            let operands = vec![Operand::RIn(register), Operand::Sig(signature)];
            op_of(Opcode::CallClosure, operands, &windows)
        }
    };
    let mut before = parallel_move(moves)?;
    before.extend(op);
    let mut counts = [ints as usize, refs as usize];
    let mut out = Vec::new();
    for &dst in &call.results {
        let index = next_index(&mut counts, dst.class)?;
        if after.contains(dst) {
            out.push((
                dst,
                Value::Reg(Reg {
                    class: dst.class,
                    index,
                }),
            ));
        }
    }
    Ok(Lowered {
        before,
        after: parallel_move(out)?,
    })
}

fn lower_tail_call(callee: Callee, args: &[Value]) -> Result<Vec<Op>, TooManyRegisters> {
    let mut moves = moves_to(args, 0, 0)?;
    let op = match callee {
        Callee::Function(id) => op_of(Opcode::TailCall, vec![Operand::FuncId(id)], &[]),
        Callee::Closure {
            register,
            signature,
        } => {
            let register = save_closure(register, 0, signature.ref_params, &mut moves)?;
            let operands = vec![Operand::RIn(register), Operand::Sig(signature)];
            op_of(Opcode::TailCallClosure, operands, &[])
        }
        // The builder refuses tail calls of hosts.
        Callee::Host(_) => None,
    };
    let mut ops = parallel_move(moves)?;
    ops.extend(op);
    Ok(ops)
}

fn op_of(opcode: Opcode, mut operands: Vec<Operand>, windows: &[Operand]) -> Option<Op> {
    operands.extend_from_slice(windows);
    Op::from_operands(opcode, &operands)
}

/// The lowest windows above all that is live; a call of bytecode must move at least one of them.
fn choose_windows(
    program: &Program,
    callee: Callee,
    live: &RegSet,
) -> Result<(u8, u8), TooManyRegisters> {
    let signature = program.signature(callee);
    let is_closure = matches!(callee, Callee::Closure { .. });
    let (int_slots, ref_slots) = (signature.int_window(), signature.ref_window(is_closure));
    let (mut ints, mut refs) = (live.first_free(Class::Int), live.first_free(Class::Ref));
    if ints + refs == 0 && !matches!(callee, Callee::Host(_)) {
        // A window that carries nothing moves for free.
        if ref_slots == 0 && int_slots > 0 {
            refs = 1
        } else {
            ints = 1
        }
    }
    if ints + int_slots > MAX_REGISTERS || refs + ref_slots > MAX_REGISTERS {
        return Err(TooManyRegisters);
    }
    let byte = |index: usize| u8::try_from(index).map_err(|_| TooManyRegisters);
    Ok((byte(ints)?, byte(refs)?))
}

/// The closure's register is read after the arguments have moved. When one of them lands on it,
/// the closure goes where the callee will look for it anyway: behind its reference parameters.
fn save_closure(
    register: u8,
    window: u8,
    ref_params: u8,
    moves: &mut Vec<(Reg, Value)>,
) -> Result<u8, TooManyRegisters> {
    let closure = Reg::reference(register);
    let is_lost = moves
        .iter()
        .any(|&(dst, value)| dst == closure && value != closure.into());
    if !is_lost {
        // Moved to itself, it is no scratch register for the other moves.
        moves.push((closure, closure.into()));
        return Ok(register);
    }
    let safe = window.checked_add(ref_params).ok_or(TooManyRegisters)?;
    moves.push((Reg::reference(safe), closure.into()));
    Ok(safe)
}

/// Where values go that are to stand from `ints` and `refs` on.
fn moves_to(values: &[Value], ints: u8, refs: u8) -> Result<Vec<(Reg, Value)>, TooManyRegisters> {
    let mut counts = [ints as usize, refs as usize];
    let mut moves = Vec::with_capacity(values.len());
    for &value in values {
        let class = value.class();
        moves.push((
            Reg {
                class,
                index: next_index(&mut counts, class)?,
            },
            value,
        ));
    }
    Ok(moves)
}

fn next_index(counts: &mut [usize; 2], class: Class) -> Result<u8, TooManyRegisters> {
    let index = counts[class as usize];
    counts[class as usize] += 1;
    u8::try_from(index).map_err(|_| TooManyRegisters)
}

#[cfg(test)]
mod tests;
