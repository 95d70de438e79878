//! Puts the bodies of small functions in the place of calls to them.
//!
//! A copy brings its enter and leave along, with sources of its own: *split* sources, whose
//! *master* is the function's. So every profile has the figures that it has without inlining,
//! and `-split` shows each copy. For the same reason calls that have become tail calls stay: they
//! run where the caller's source is left already.
//!
//! The copy's registers stand above all registers of the caller, all copies in the same ones. A
//! parameter that the function never writes is the argument's own register.
//!
//! What is never inlined:
//!
//! - a function that can call itself, directly or through others, and the entry function, which
//!   has no source;
//! - a closure's function: who is called is known only when the program runs;
//! - a function with handlers, whose ranges would have to stand before the caller's, or with ops
//!   that raise: they leave the function's source, and the caller's would have to be left, too.
//!   A fault is different: its way out is the caller's own, with nothing left before it;
//! - calls whose windows the text chose, and functions that contain one.

use std::collections::HashMap;

use vm::isa::{Op, SourceRef, Target};

use super::moves::{TooManyRegisters, move_op, parallel_move};
use crate::ir::*;
use crate::successors::components;

/// How many registers of a class a caller and a copy may have together, so that enough are left
/// for the windows of calls.
const MAX_REGISTERS: usize = 128;
/// By how many times a program may grow, so that many calls of large functions do not take all
/// memory; and by how many instructions a small one may in any case.
const MAX_GROWTH: usize = 8;
const MIN_ROOM: usize = 10_000;
/// How many bytes of a source's name count for as much as an instruction.
const NAME_BYTES_PER_INSTR: usize = 64;
/// How many registers of a class the windows of a call in a copy may take.
const MAX_WINDOW: usize = 120;

/// Inlines functions of at most `max_ops` ops into all functions.
pub(crate) fn run(program: &mut Program, max_ops: u32) {
    let calls: Vec<Vec<usize>> = program.functions.iter().map(direct_callees).collect();
    let mut bodies: HashMap<u32, Body> = HashMap::new();
    let n_instrs: usize = program
        .functions
        .iter()
        .map(|one| instrs(one).count())
        .sum();
    let mut room = MAX_GROWTH * n_instrs + MIN_ROOM;
    // Callees come before their callers, so a copy holds what was inlined into the function.
    for component in components::of(&calls) {
        for &index in &component {
            let mut function = std::mem::take(&mut program.functions[index]);
            inline_calls(program, &mut function, &bodies, &mut room);
            let is_recursive = component.len() > 1 || calls[index].contains(&index);
            if !is_recursive && index != program.entry as usize {
                let body = Body::of(program, &function, max_ops);
                bodies.extend(body.map(|body| (index as u32, body)));
            }
            program.functions[index] = function;
        }
    }
}

/// The functions that a function calls by name.
fn direct_callees(function: &Function) -> Vec<usize> {
    let mut callees = Vec::new();
    for instr in instrs(function) {
        if let Action::Call(Call { callee, .. }) | Action::TailCall(callee, _) = &instr.action
            && let Callee::Function(index) = callee
        {
            callees.push(*index as usize);
        }
    }
    callees
}

fn instrs(function: &Function) -> impl Iterator<Item = &Instr> {
    let blocks = function.layout.iter();
    blocks.flat_map(|&block| &function.blocks[block as usize].instrs)
}

/// Calls `visit` with each register that an action names, and whether it is written.
fn visit_action(action: &Action, mut visit: impl FnMut(Reg, bool)) {
    let read = |callee: Option<&Callee>, values: &[Value], visit: &mut dyn FnMut(Reg, bool)| {
        if let Some(Callee::Closure { register, .. }) = callee {
            visit(Reg::reference(*register), false);
        }
        let registers = values.iter().filter_map(|value| value.reg());
        registers.for_each(|reg| visit(reg, false));
    };
    match action {
        Action::Op(op) => visit_registers(op, |reg, access| {
            visit(reg, access == vm::isa::Access::Write)
        }),
        Action::Call(call) => {
            read(Some(&call.callee), &call.args, &mut visit);
            call.results.iter().for_each(|&reg| visit(reg, true));
        }
        Action::TailCall(callee, args) => read(Some(callee), args, &mut visit),
        Action::Ret(values) => read(None, values, &mut visit),
        Action::BeginBranch(_) | Action::EndBranch | Action::Line(_) => {}
    }
}

/// How many registers of each class a function has.
fn register_counts(function: &Function) -> [usize; 2] {
    let signature = function.signature;
    let mut counts = [signature.int_params as usize, signature.ref_params as usize];
    for instr in instrs(function) {
        visit_action(&instr.action, |reg, _| {
            let count = &mut counts[reg.class as usize];
            *count = (*count).max(reg.index as usize + 1);
        });
    }
    for handler in &function.handlers {
        counts[Class::Ref as usize] =
            counts[Class::Ref as usize].max(handler.register as usize + 1);
    }
    counts
}

/// A function that may be inlined.
struct Body {
    /// Its blocks in layout order; targets are places in this list.
    blocks: Vec<Vec<Instr>>,
    /// What a copy takes of the room that there is, in instructions.
    cost: usize,
    counts: [usize; 2],
    params: [u8; 2],
    /// The parameters that it writes, which need a register of their own.
    written: Vec<Reg>,
}

impl Body {
    /// The body of a function, if it is one that may be inlined.
    fn of(program: &Program, function: &Function, max_ops: u32) -> Option<Body> {
        if function.captures.is_some() || !function.handlers.is_empty() {
            return None;
        }
        let mut n_ops = 0;
        let mut written = Vec::new();
        for instr in instrs(function) {
            n_ops += match &instr.action {
                Action::Op(Op::Enter { .. } | Op::Leave { .. }) | Action::Ret(_) => 0,
                Action::Op(op) if !op.opcode().info().falls_through && !has_targets(op) => {
                    return None;
                }
                Action::Call(call) if call.windows.is_some() => return None,
                Action::Call(Call { callee, .. }) | Action::TailCall(callee, _) => {
                    let signature = program.signature(*callee);
                    let (ints, refs) = (signature.int_window(), signature.ref_window(true));
                    if ints > MAX_WINDOW || refs > MAX_WINDOW {
                        return None;
                    }
                    1
                }
                _ => 1,
            };
            visit_action(&instr.action, |reg, is_written| {
                if is_written {
                    written.push(reg);
                }
            });
        }
        if n_ops > max_ops {
            return None;
        }
        let positions = function.positions();
        let place = |block: u32| positions.get(block as usize).copied().flatten();
        let mut blocks = Vec::with_capacity(function.layout.len());
        for &block in &function.layout {
            let mut copied = function.blocks[block as usize].instrs.clone();
            for instr in &mut copied {
                if let Action::Op(op) = &instr.action {
                    let known = targets(op)
                        .into_iter()
                        .all(|target| place(target).is_some());
                    let op = map_targets(op, |target| place(target).unwrap_or_default() as u32);
                    instr.action = Action::Op(known.then_some(op)?);
                }
            }
            blocks.push(copied);
        }
        Some(Body {
            cost: blocks.iter().map(Vec::len).sum::<usize>() + names_cost(program, function),
            blocks,
            counts: register_counts(function),
            params: [function.signature.int_params, function.signature.ref_params],
            written,
        })
    }
}

/// What the names of a function's sources count for as instructions: each copy has them too.
fn names_cost(program: &Program, function: &Function) -> usize {
    let cost = |instr: &Instr| match &instr.action {
        Action::Op(Op::Enter { source }) => {
            let own = source.0.checked_sub(FIRST_OWN_SOURCE)?;
            let name = program.sources.get(own as usize)?;
            Some(name.0.len() / NAME_BYTES_PER_INSTR)
        }
        _ => None,
    };
    instrs(function).filter_map(cost).sum()
}

/// Inlines what may be into a function. The blocks of a copy stand in the layout behind the block
/// of the call, so within the same handlers' ranges; behind them stands the rest of that block.
fn inline_calls(
    program: &mut Program,
    function: &mut Function,
    bodies: &HashMap<u32, Body>,
    room: &mut usize,
) {
    let base = register_counts(function);
    for block in std::mem::take(&mut function.layout) {
        function.layout.push(block);
        let region = function.blocks[block as usize].region;
        let mut current = block as usize;
        for instr in std::mem::take(&mut function.blocks[current].instrs) {
            let found = site(&instr, bodies, base).filter(|(_, body)| body.cost <= *room);
            let Some((call, body)) = found else {
                function.blocks[current].instrs.push(instr);
                continue;
            };
            *room -= body.cost;
            let first = function.blocks.len() as u32;
            let mut copy = Copy {
                base,
                first,
                rest: first + body.blocks.len() as u32,
                sources: HashMap::new(),
                arguments: HashMap::new(),
                origin: instr,
            };
            let (moves, blocks) = copy.make(program, &call, body);
            function.blocks[current].instrs.extend(moves);
            let all = blocks.into_iter().chain([Vec::new()]);
            let all = all.map(|instrs| Block { instrs, region });
            function.blocks.extend(all);
            function.layout.extend(first..=copy.rest);
            current = copy.rest as usize;
        }
    }
}

/// The call of an instruction and the body that can take its place.
fn site<'a>(
    instr: &Instr,
    bodies: &'a HashMap<u32, Body>,
    base: [usize; 2],
) -> Option<(Call, &'a Body)> {
    let Action::Call(call) = &instr.action else {
        return None;
    };
    let (Callee::Function(index), None) = (call.callee, call.windows) else {
        return None;
    };
    let body = bodies.get(&index)?;
    let fits = (0..2).all(|class| base[class] + body.counts[class] <= MAX_REGISTERS);
    let is_once = |(at, reg): (usize, &Reg)| !call.results[..at].contains(reg);
    let is_plain = call.results.iter().enumerate().all(is_once);
    (fits && is_plain).then(|| (call.clone(), body))
}

/// A copy of a body in the making.
struct Copy {
    /// The first registers of the copy.
    base: [usize; 2],
    /// The block that the copy's first one becomes.
    first: u32,
    /// The block behind the copy.
    rest: u32,
    /// The copy's own sources, by the function's.
    sources: HashMap<u32, u32>,
    /// What stands for parameters that are never written.
    arguments: HashMap<Reg, Reg>,
    /// The call.
    origin: Instr,
}

impl Copy {
    /// The moves of the arguments, and the blocks.
    fn make(
        &mut self,
        program: &mut Program,
        call: &Call,
        body: &Body,
    ) -> (Vec<Instr>, Vec<Vec<Instr>>) {
        let mut moves = Vec::new();
        let mut counts = [0; 2];
        for &value in &call.args {
            let class = value.class();
            let parameter = Reg {
                class,
                index: counts[class as usize],
            };
            counts[class as usize] += 1;
            match value.reg() {
                Some(reg) if !body.written.contains(&parameter) => {
                    self.arguments.insert(parameter, reg);
                }
                _ => moves.extend(move_op(self.reg(parameter), value)),
            }
        }
        debug_assert_eq!(
            counts, body.params,
            "the builder has compared the signatures"
        );
        let moves = moves.into_iter().map(|op| self.origin.with(Action::Op(op)));
        let moves = moves.collect();
        let mut blocks = Vec::with_capacity(body.blocks.len());
        for (place, block) in body.blocks.iter().enumerate() {
            let is_last = place + 1 == body.blocks.len();
            let mut copied = Vec::with_capacity(block.len());
            for instr in block {
                let actions = self.action(program, call, body, &instr.action, is_last);
                copied.extend(actions.into_iter().map(|action| instr.with(action)));
            }
            blocks.push(copied);
        }
        (moves, blocks)
    }

    /// What an action of the function becomes.
    fn action(
        &mut self,
        program: &mut Program,
        call: &Call,
        body: &Body,
        action: &Action,
        is_last: bool,
    ) -> Vec<Action> {
        match action {
            Action::Op(Op::Enter { source }) => vec![Action::Op(Op::Enter {
                source: self.source(program, source.0),
            })],
            Action::Op(Op::Leave { source }) => vec![Action::Op(Op::Leave {
                source: self.source(program, source.0),
            })],
            Action::Op(op) => {
                let op = map_targets(op, |target| self.first + target);
                vec![Action::Op(map_registers(&op, |reg| self.reg(reg)))]
            }
            Action::Call(inner) => vec![Action::Call(Call {
                callee: self.callee(inner.callee),
                args: self.values(&inner.args),
                results: inner.results.iter().map(|&reg| self.reg(reg)).collect(),
                windows: None,
            })],
            Action::TailCall(callee, args) => {
                let inner = Action::Call(Call {
                    callee: self.callee(*callee),
                    args: self.values(args),
                    results: call.results.clone(),
                    windows: None,
                });
                [inner].into_iter().chain(self.go_on(is_last)).collect()
            }
            Action::Ret(values) => {
                let results = self.results(call, body, &self.values(values));
                let results = results.into_iter().map(Action::Op);
                results.chain(self.go_on(is_last)).collect()
            }
            other => vec![other.clone()],
        }
    }

    /// The way to what stands behind the copy; from its end there is none to go.
    fn go_on(&self, is_last: bool) -> Option<Action> {
        let target = Target(self.rest);
        (!is_last).then_some(Action::Op(Op::Jmp { target }))
    }

    /// Moves of the values that are wanted to where the call wants them.
    fn results(&self, call: &Call, body: &Body, values: &[Value]) -> Vec<Op> {
        let mut moves = Vec::new();
        for class in [Class::Int, Class::Ref] {
            let wanted = call.results.iter().filter(|reg| reg.class == class);
            let given = values.iter().filter(|value| value.class() == class);
            moves.extend(wanted.copied().zip(given.copied()));
            // Moved to itself, the register above all others keeps scratch registers above it.
            let top = self.base[class as usize] + body.counts[class as usize];
            let top = Reg {
                class,
                index: top as u8,
            };
            moves.push((top, top.into()));
        }
        match parallel_move(moves) {
            Ok(ops) => ops,
            Err(TooManyRegisters) => unreachable!("a copy and its scratch registers are below 256"),
        }
    }

    /// The copy's own source for one of the function's.
    fn source(&mut self, program: &mut Program, source: u32) -> SourceRef {
        let copy = self.sources.entry(source).or_insert_with(|| {
            let name = source.checked_sub(FIRST_OWN_SOURCE);
            let name = name.and_then(|own| program.sources.get(own as usize).cloned());
            match name {
                Some(name) => {
                    program.sources.push(name);
                    FIRST_OWN_SOURCE + program.sources.len() as u32 - 1
                }
                // One of the three that every program has once.
                None => source,
            }
        });
        SourceRef(*copy)
    }

    fn reg(&self, reg: Reg) -> Reg {
        let own = Reg {
            class: reg.class,
            index: (self.base[reg.class as usize] + reg.index as usize) as u8,
        };
        self.arguments.get(&reg).copied().unwrap_or(own)
    }

    fn values(&self, values: &[Value]) -> Vec<Value> {
        let value = |value: &Value| value.reg().map_or(*value, |reg| self.reg(reg).into());
        values.iter().map(value).collect()
    }

    fn callee(&self, callee: Callee) -> Callee {
        match callee {
            Callee::Closure {
                register,
                signature,
            } => Callee::Closure {
                register: self.reg(Reg::reference(register)).index,
                signature,
            },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
