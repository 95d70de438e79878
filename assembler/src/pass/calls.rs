//! Window lowering: calls with arguments become moves and ops with windows.
//!
//! A callee's registers begin at the caller's windows, so everything at or above them is lost in
//! a call. The windows of a call are the lowest that lose nothing of use: above every register
//! that is live after the call or at the handler that covers it. Arguments already in place are
//! not moved; see the tests for what that does to `fib`.

use vm::isa::{IIn, IOut, Op, Operand, Opcode, RIn, ROut};

use super::liveness::{Liveness, RegSet, step};
use crate::diagnostic::Diagnostic;
use crate::ir::{Action, Call, Callee, Class, Instr, Program, Reg, Value};

/// How many registers of a class a function can name.
const MAX_REGISTERS: usize = 256;

/// Lowers all calls, tail calls and returns of a program.
pub(crate) fn run(program: &mut Program) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for index in 0..program.functions.len() {
        let mut blocks = program.functions[index].blocks.clone();
        let function = &program.functions[index];
        let liveness = Liveness::of(function);
        for (position, &block) in function.layout.iter().enumerate() {
            let instrs = &function.blocks[block as usize].instrs;
            let raised = liveness.at_handler(function, block);
            let mut live = liveness.live_out(function, position);
            let mut live_after = vec![RegSet::default(); instrs.len()];
            for (instr, after) in instrs.iter().zip(&mut live_after).rev() {
                *after = live;
                step(&instr.action, &mut live);
                live.union(&raised);
            }
            let mut lowered = Vec::with_capacity(instrs.len());
            for (instr, mut live) in instrs.iter().zip(live_after) {
                if let Action::Call(call) = &instr.action {
                    call.results.iter().for_each(|&reg| live.remove(reg));
                }
                live.union(&raised);
                match lower(program, &instr.action, &live) {
                    Ok(ops) => {
                        lowered.extend(ops.into_iter().map(|action| instr.with(action)));
                    }
                    Err(TooManyRegisters) => errors.push(too_many(instr, &function.name)),
                }
            }
            blocks[block as usize].instrs = lowered;
        }
        program.functions[index].blocks = blocks;
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

struct TooManyRegisters;

fn too_many(instr: &Instr, function: &str) -> Diagnostic {
    let message = format!(
        "`{function}` has no room for this call: a function has {MAX_REGISTERS} registers of a class"
    );
    Diagnostic::new(instr.span, message).with_help("keep fewer values alive across the call")
}

fn lower(
    program: &Program,
    action: &Action,
    live: &RegSet,
) -> Result<Vec<Action>, TooManyRegisters> {
    let ops = match action {
        Action::Call(call) => lower_call(program, call, live)?,
        Action::TailCall(callee, args) => lower_tail_call(*callee, args)?,
        Action::Ret(values) => {
            let mut ops = parallel_move(moves_to(values, 0, 0)?)?;
            ops.extend(Op::from_operands(Opcode::Ret, &[]));
            ops
        }
        other => return Ok(vec![other.clone()]),
    };
    Ok(ops.into_iter().map(Action::Op).collect())
}

fn lower_call(
    program: &Program,
    call: &Call,
    live: &RegSet,
) -> Result<Vec<Op>, TooManyRegisters> {
    let (ints, refs) = match call.windows {
        Some(windows) => windows,
        None => choose_windows(program, call.callee, live)?,
    };
    let mut moves = moves_to(&call.args, ints, refs)?;
    let windows = [Operand::IWindow(ints), Operand::RWindow(refs)];
    let op = match call.callee {
        Callee::Function(id) => op_of(Opcode::Call, vec![Operand::FuncId(id)], &windows),
        Callee::Host(id) => op_of(Opcode::CallHost, vec![Operand::HostId(id)], &windows),
        Callee::Closure { register, signature } => {
            let register = save_closure(register, refs, signature.ref_params, &mut moves)?;
            let operands = vec![Operand::RIn(register), Operand::Sig(signature)];
            op_of(Opcode::CallClosure, operands, &windows)
        }
    };
    let mut ops = parallel_move(moves)?;
    ops.extend(op);
    let mut counts = [ints as usize, refs as usize];
    let mut out = Vec::new();
    for &dst in &call.results {
        let index = next_index(&mut counts, dst.class)?;
        out.push((dst, Value::Reg(Reg { class: dst.class, index })));
    }
    ops.extend(parallel_move(out)?);
    Ok(ops)
}

fn lower_tail_call(callee: Callee, args: &[Value]) -> Result<Vec<Op>, TooManyRegisters> {
    let mut moves = moves_to(args, 0, 0)?;
    let op = match callee {
        Callee::Function(id) => op_of(Opcode::TailCall, vec![Operand::FuncId(id)], &[]),
        Callee::Closure { register, signature } => {
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
        if ref_slots == 0 && int_slots > 0 { refs = 1 } else { ints = 1 }
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
    let is_lost = moves.iter().any(|&(dst, value)| dst == closure && value != closure.into());
    if !is_lost {
        return Ok(register);
    }
    let safe = window.checked_add(ref_params).ok_or(TooManyRegisters)?;
    moves.push((Reg::reference(safe), closure.into()));
    Ok(safe)
}

/// Where values go that are to stand from `ints` and `refs` on.
fn moves_to(
    values: &[Value],
    ints: u8,
    refs: u8,
) -> Result<Vec<(Reg, Value)>, TooManyRegisters> {
    let mut counts = [ints as usize, refs as usize];
    let mut moves = Vec::with_capacity(values.len());
    for &value in values {
        let class = value.class();
        moves.push((Reg { class, index: next_index(&mut counts, class)? }, value));
    }
    Ok(moves)
}

fn next_index(counts: &mut [usize; 2], class: Class) -> Result<u8, TooManyRegisters> {
    let index = counts[class as usize];
    counts[class as usize] += 1;
    u8::try_from(index).map_err(|_| TooManyRegisters)
}

/// Ops that do all moves as if at once. No destination may occur twice.
fn parallel_move(moves: Vec<(Reg, Value)>) -> Result<Vec<Op>, TooManyRegisters> {
    let mut ops = Vec::new();
    let mut used = RegSet::default();
    let mut pending = Vec::new();
    let mut literals = Vec::new();
    for (dst, value) in moves {
        used.insert(dst);
        match value.reg() {
            Some(src) => {
                used.insert(src);
                if src != dst {
                    pending.push((dst, src));
                }
            }
            None => literals.push((dst, value)),
        }
    }
    while !pending.is_empty() {
        let ready = pending
            .iter()
            .position(|&(dst, _)| pending.iter().all(|&(_, src)| src != dst));
        if let Some(index) = ready {
            let (dst, src) = pending.remove(index);
            ops.extend(move_op(dst, src.into()));
            continue;
        }
        // Only cycles are left. Whatever reads the first destination reads its copy instead.
        let dst = pending[0].0;
        let index = u8::try_from(used.first_free(dst.class)).map_err(|_| TooManyRegisters)?;
        let scratch = Reg { class: dst.class, index };
        ops.extend(move_op(scratch, dst.into()));
        for (_, src) in pending.iter_mut().filter(|(_, src)| *src == dst) {
            *src = scratch;
        }
    }
    // Literals read nothing, so they can wait until all registers are read.
    ops.extend(literals.into_iter().filter_map(|(dst, value)| move_op(dst, value)));
    Ok(ops)
}

/// The op that puts a value into a register of its class.
pub(crate) fn move_op(dst: Reg, value: Value) -> Option<Op> {
    let index = dst.index;
    let op = match (dst.class, value) {
        (Class::Int, Value::Reg(src)) => Op::Mov { dst: IOut(index), src: IIn(src.index) },
        (Class::Ref, Value::Reg(src)) => Op::RMov { dst: ROut(index), src: RIn(src.index) },
        (Class::Int, Value::Int(value)) => {
            Op::Int { dst: IOut(index), value: vm::isa::Int64(value) }
        }
        (Class::Int, Value::Float(value)) => {
            Op::Float { dst: IOut(index), value: vm::isa::Float64(value) }
        }
        (Class::Ref, Value::Null) => Op::Null { dst: ROut(index) },
        (Class::Ref, Value::Text(id)) => {
            Op::Text { dst: ROut(index), constant: vm::isa::ConstId(id) }
        }
        _ => return None,
    };
    (value.class() == dst.class).then_some(op)
}
