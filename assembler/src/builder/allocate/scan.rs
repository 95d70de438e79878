//! The linear scan.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Code;
use super::ranges::{Range, Ranges};
use crate::diagnostic::Span;
use crate::ir::*;

/// How many registers of a class there are.
const MAX_REGISTERS: usize = 256;

/// Why registers could not be given out.
pub(super) enum Failure {
    /// These variables have to live elsewhere.
    Spill(Vec<u32>),
    /// What one instruction wants is too much.
    NoRegister(Span),
}

/// Where a variable would save a move.
#[derive(Clone, Copy)]
enum Wish {
    None,
    /// A result of a call, counted within its class.
    Result {
        call: u32,
        place: u8,
    },
    /// An argument of a call.
    Argument {
        call: u32,
        place: u8,
    },
    /// A value that is returned.
    Returned {
        place: u8,
        position: u32,
    },
    /// What this variable held.
    Moved {
        from: u32,
    },
}

/// A call: where it reads, how many registers its windows take, and where they begin.
struct CallSite {
    position: u32,
    window: [usize; 2],
    is_host: bool,
    base: [usize; 2],
    span: Span,
}

/// A register for each variable.
pub(super) fn scan(code: &Code, ranges: &Ranges, limit: usize) -> Result<Vec<u8>, Failure> {
    let (calls, wishes) = wishes(code);
    let mut order: Vec<u32> = ranges.used().collect();
    order.sort_unstable_by_key(|&var| {
        let param = code.vars[var as usize].param;
        (ranges.of[var as usize].start, param.is_none(), var)
    });
    let mut scan = Scan {
        code,
        ranges,
        limit: limit.min(MAX_REGISTERS),
        wishes,
        calls,
        files: [File::new(), File::new()],
        registers: vec![0; code.vars.len()],
        spilled: Vec::new(),
    };
    let mut next_call = 0;
    for var in order {
        let start = ranges.of[var as usize].start;
        while scan
            .calls
            .get(next_call)
            .is_some_and(|call| call.position < start)
        {
            scan.call(next_call)?;
            next_call += 1;
        }
        scan.give(var, start)?;
    }
    while next_call < scan.calls.len() {
        scan.call(next_call)?;
        next_call += 1;
    }
    match scan.spilled.is_empty() {
        true => Ok(scan.registers),
        false => Err(Failure::Spill(scan.spilled)),
    }
}

/// The calls in their order, and what each variable wishes.
fn wishes(code: &Code) -> (Vec<CallSite>, Vec<Wish>) {
    let mut calls = Vec::new();
    let mut wishes = vec![Wish::None; code.vars.len()];
    let mut position = 2;
    for &block in &code.function.layout {
        for (instr, operands) in code.block(block) {
            position += 2;
            match &instr.action {
                Action::Call(call) => {
                    let index = calls.len() as u32;
                    let is_closure = matches!(call.callee, Callee::Closure { .. });
                    let values = &operands.reads[is_closure as usize..];
                    let mut window = [0, is_closure as usize];
                    for (place, var) in arguments(&call.args, values, &mut window) {
                        if let Wish::None = wishes[var as usize] {
                            wishes[var as usize] = Wish::Argument { call: index, place };
                        }
                    }
                    let mut counts = [0; 2];
                    for (reg, &var) in call.results.iter().zip(&operands.writes) {
                        let place = &mut counts[reg.class as usize];
                        wishes[var as usize] = Wish::Result {
                            call: index,
                            place: *place as u8,
                        };
                        *place += 1;
                    }
                    calls.push(CallSite {
                        position,
                        window: [window[0].max(counts[0]), window[1].max(counts[1])],
                        is_host: matches!(call.callee, Callee::Host(_)),
                        base: [0; 2],
                        span: instr.span,
                    });
                }
                Action::TailCall(callee, values) => {
                    let is_closure = matches!(callee, Callee::Closure { .. });
                    let reads = &operands.reads[is_closure as usize..];
                    wish_returned(values, reads, position, &mut wishes);
                }
                Action::Ret(values) => {
                    wish_returned(values, &operands.reads, position, &mut wishes);
                }
                Action::Op(vm::isa::Op::Mov { .. } | vm::isa::Op::RMov { .. }) => {
                    let (to, from) = (operands.writes[0], operands.reads[0]);
                    if let Wish::None = wishes[to as usize] {
                        wishes[to as usize] = Wish::Moved { from };
                    }
                }
                _ => {}
            }
        }
        position += 2;
    }
    (calls, wishes)
}

fn wish_returned(values: &[Value], reads: &[u32], position: u32, wishes: &mut [Wish]) {
    for (place, var) in arguments(values, reads, &mut [0; 2]) {
        if let Wish::None = wishes[var as usize] {
            wishes[var as usize] = Wish::Returned { place, position };
        }
    }
}

/// The variables among values, each with its place within its class; `counts` grow by all values.
fn arguments(values: &[Value], reads: &[u32], counts: &mut [usize; 2]) -> Vec<(u8, u32)> {
    let mut reads = reads.iter();
    let mut found = Vec::new();
    let mut places = [0_usize; 2];
    for value in values {
        let class = value.class() as usize;
        if value.reg().is_some()
            && let (Some(&var), Ok(place)) = (reads.next(), u8::try_from(places[class]))
        {
            found.push((place, var));
        }
        places[class] += 1;
        counts[class] += 1;
    }
    found
}

/// The registers of a class.
struct File {
    /// A bit for each register that is taken.
    taken: [u64; 4],
    holders: [u32; MAX_REGISTERS],
    /// The variables in registers by the end of their interval.
    active: BinaryHeap<Reverse<(u32, u8, u32)>>,
}

impl File {
    fn new() -> Self {
        Self {
            taken: [0; 4],
            holders: [u32::MAX; MAX_REGISTERS],
            active: BinaryHeap::new(),
        }
    }

    fn is_free(&self, register: usize) -> bool {
        register < MAX_REGISTERS && self.taken[register / 64] >> (register % 64) & 1 == 0
    }

    fn lowest_free(&self, limit: usize) -> Option<usize> {
        let free = self.taken.iter().enumerate();
        free.filter(|&(_, &word)| word != u64::MAX)
            .map(|(index, &word)| index * 64 + word.trailing_ones() as usize)
            .next()
            .filter(|&register| register < limit)
    }

    /// One more than the highest register that is taken.
    fn top(&self) -> usize {
        let last = self.taken.iter().rposition(|&word| word != 0);
        last.map_or(0, |index| {
            index * 64 + 64 - self.taken[index].leading_zeros() as usize
        })
    }

    fn take(&mut self, register: usize, var: u32, end: u32) {
        self.taken[register / 64] |= 1 << (register % 64);
        self.holders[register] = var;
        self.active.push(Reverse((end, register as u8, var)));
    }

    fn free(&mut self, register: usize) {
        self.taken[register / 64] &= !(1 << (register % 64));
        self.holders[register] = u32::MAX;
    }

    /// Frees the registers of variables that ended before a position.
    fn expire(&mut self, position: u32) {
        while let Some(&Reverse((end, register, var))) = self.active.peek()
            && end < position
        {
            self.active.pop();
            // A variable that is to be spilled has lost its register already.
            if self.holders[register as usize] == var {
                self.free(register as usize);
            }
        }
    }

    fn held(&self) -> impl Iterator<Item = (usize, u32)> {
        let words = self.taken.iter().enumerate();
        let registers = words.flat_map(|(index, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                (word != 0).then(|| word &= word - 1)?;
                Some(index * 64 + bit)
            })
        });
        registers.map(|register| (register, self.holders[register]))
    }
}

struct Scan<'a> {
    code: &'a Code,
    ranges: &'a Ranges,
    limit: usize,
    wishes: Vec<Wish>,
    calls: Vec<CallSite>,
    files: [File; 2],
    registers: Vec<u8>,
    spilled: Vec<u32>,
}

impl Scan<'_> {
    fn range(&self, var: u32) -> Range {
        self.ranges.of[var as usize]
    }

    /// Comes to a call: what is alive across it must leave room for its windows.
    fn call(&mut self, index: usize) -> Result<(), Failure> {
        let CallSite {
            position,
            window,
            is_host,
            span,
            ..
        } = self.calls[index];
        let mut base = [0; 2];
        for class in 0..2 {
            self.files[class].expire(position + 1);
            let room = MAX_REGISTERS - window[class].min(MAX_REGISTERS);
            let above: Vec<(usize, u32)> = self.files[class]
                .held()
                .filter(|&(register, _)| register >= room)
                .collect();
            for (register, var) in above {
                if self.code.is_pinned[var as usize] {
                    return Err(Failure::NoRegister(span));
                }
                self.files[class].free(register);
                self.spilled.push(var);
            }
            base[class] = self.files[class].top();
        }
        self.calls[index].base = moved_base(base, window, is_host);
        Ok(())
    }

    /// Gives a variable its register, at the position where its interval begins.
    fn give(&mut self, var: u32, position: u32) -> Result<(), Failure> {
        let info = self.code.vars[var as usize];
        let class = info.class as usize;
        self.files.iter_mut().for_each(|file| file.expire(position));
        let register = match info.param {
            Some(index) => Some(index as usize),
            None => self
                .wished(var, class)
                .filter(|&register| register < self.limit && self.files[class].is_free(register))
                .or_else(|| self.files[class].lowest_free(self.limit)),
        };
        let register = match register {
            Some(register) => register,
            None => match self.victim(var, class)? {
                Some(register) => register,
                None => return Ok(()),
            },
        };
        self.registers[var as usize] = register as u8;
        let end = self.range(var).end;
        self.files[class].take(register, var, end);
        Ok(())
    }

    /// Frees the register of the variable that is wanted latest; `None` when that is `var`.
    fn victim(&mut self, var: u32, class: usize) -> Result<Option<usize>, Failure> {
        let held = self.files[class].held();
        let own = (self.limit, var);
        let candidates = held
            .filter(|&(register, _)| register < self.limit)
            .chain([own])
            .filter(|&(_, var)| !self.code.is_pinned[var as usize]);
        let last = candidates.max_by_key(|&(_, var)| self.range(var).end);
        let Some((register, victim)) = last else {
            return Err(Failure::NoRegister(self.span_at(self.range(var).start)));
        };
        self.spilled.push(victim);
        if victim == var {
            return Ok(None);
        }
        self.files[class].free(register);
        Ok(Some(register))
    }

    /// The register in which a variable would save a move.
    fn wished(&self, var: u32, class: usize) -> Option<usize> {
        let range = self.range(var);
        match self.wishes[var as usize] {
            Wish::None => None,
            Wish::Result { call, place } => {
                Some(self.calls[call as usize].base[class] + place as usize)
            }
            Wish::Argument { call, place } => {
                let site = &self.calls[call as usize];
                (range.end == site.position).then(|| {
                    let above = |class: usize| {
                        let held = self.files[class].held();
                        held.filter(|&(_, other)| self.range(other).end > site.position)
                            .map(|(register, _)| register + 1)
                            .max()
                            .unwrap_or(0)
                    };
                    let base = moved_base([above(0), above(1)], site.window, site.is_host);
                    base[class] + place as usize
                })
            }
            Wish::Returned { place, position } => (range.end == position).then_some(place as usize),
            Wish::Moved { from } => Some(self.registers[from as usize] as usize),
        }
    }

    fn span_at(&self, position: u32) -> Span {
        let mut at = 2;
        for &block in &self.code.function.layout {
            for (instr, _) in self.code.block(block) {
                at += 2;
                if at + 1 >= position {
                    return instr.span;
                }
            }
            at += 2;
        }
        self.code.function.span
    }
}

/// Where the windows of a call begin above these registers: a call of bytecode moves at least one
/// of them, as in `pass/calls.rs`.
fn moved_base(base: [usize; 2], window: [usize; 2], is_host: bool) -> [usize; 2] {
    match base {
        [0, 0] if is_host => [0, 0],
        [0, 0] if window[1] == 0 && window[0] > 0 => [0, 1],
        [0, 0] => [1, 0],
        base => base,
    }
}
