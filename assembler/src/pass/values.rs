//! What registers hold, as far as straight code tells.
//!
//! Values are numbered: two registers with one number hold the same. Blocks are walked as trees: a
//! block that control comes to from one place only goes on with what is known there, and any other
//! begins with nothing but constants that hold throughout the function. A log takes back what a
//! branch of the tree has learned, so the walk is linear in the function.

use smallvec::SmallVec;
use vm::isa::{Access, Op, Operand};

use super::evaluate::Known;
use super::forward::move_of;
use crate::ir::{Action, Call, Class, Function, Instr, Reg, visit_registers};

const N_REGISTERS: usize = 512;

/// A value that has a number.
struct Value {
    known: Option<Known>,
    /// The register that had it first, of those that still have it when it is copied.
    first: Reg,
    is_copied: bool,
}

impl Value {
    fn new(known: Option<Known>, first: Reg) -> Self {
        Self {
            known,
            first,
            is_copied: false,
        }
    }
}

/// What registers hold at a place.
pub(super) struct Values {
    /// The number of each register's value.
    numbers: Vec<u32>,
    values: Vec<Value>,
    /// Registers with the numbers that they had before.
    log: Vec<(Reg, u32)>,
}

fn place(reg: Reg) -> usize {
    reg.class as usize * 256 + reg.index as usize
}

fn all_registers() -> impl Iterator<Item = Reg> {
    [Class::Int, Class::Ref]
        .into_iter()
        .flat_map(|class| (0..=u8::MAX).map(move |index| Reg { class, index }))
}

impl Values {
    /// What holds in all of a function: a register that is no parameter and is written once, by
    /// the load of a constant, holds that wherever it is read, for it is written before.
    fn of(function: &Function) -> Self {
        let mut n_writes = vec![0_u32; N_REGISTERS];
        let mut constants = vec![None; N_REGISTERS];
        let params = function.signature;
        let counts = [
            usize::from(params.int_params),
            usize::from(params.ref_params) + usize::from(function.captures.is_some()),
        ];
        for reg in all_registers().filter(|reg| (reg.index as usize) < counts[reg.class as usize]) {
            n_writes[place(reg)] += 1;
        }
        for handler in &function.handlers {
            n_writes[place(Reg::reference(handler.register))] += 1;
        }
        for block in &function.layout {
            for instr in &function.blocks[*block as usize].instrs {
                visit_writes(&instr.action, |reg| n_writes[place(reg)] += 1);
                if let Action::Op(op) = &instr.action
                    && let Some((reg, known)) = Known::of(op)
                {
                    constants[place(reg)] = Some(known);
                }
            }
        }
        let known = |reg: Reg| constants[place(reg)].filter(|_| n_writes[place(reg)] == 1);
        Self {
            numbers: (0..N_REGISTERS as u32).collect(),
            values: all_registers()
                .map(|reg| Value::new(known(reg), reg))
                .collect(),
            log: Vec::new(),
        }
    }

    /// What a register is known to hold.
    pub(super) fn known(&self, reg: Reg) -> Option<Known> {
        self.values[self.numbers[place(reg)] as usize].known
    }

    /// The register that had the value of `reg` first and still has it; perhaps `reg` itself.
    pub(super) fn source(&self, reg: Reg) -> Reg {
        let number = self.numbers[place(reg)];
        let first = self.values[number as usize].first;
        match self.numbers[place(first)] == number {
            true => first,
            false => reg,
        }
    }

    fn set(&mut self, reg: Reg, number: u32) {
        let slot = &mut self.numbers[place(reg)];
        self.log.push((reg, std::mem::replace(slot, number)));
    }

    fn define(&mut self, reg: Reg, known: Option<Known>) {
        self.values.push(Value::new(known, reg));
        self.set(reg, self.values.len() as u32 - 1);
    }

    /// A register holds something else, of which nothing is known. If that was so before, and no
    /// other register has the value, it may as well keep its number: a call that leaves nothing of
    /// most registers then costs no more than others.
    fn lose(&mut self, reg: Reg) {
        let value = &self.values[self.numbers[place(reg)] as usize];
        if value.known.is_some() || value.is_copied || value.first != reg {
            self.define(reg, None);
        }
    }

    fn take_back(&mut self, length: usize) {
        while self.log.len() > length {
            if let Some((reg, number)) = self.log.pop() {
                self.numbers[place(reg)] = number;
            }
        }
    }

    /// Goes from before an action to after it.
    fn step(&mut self, action: &Action) {
        if let Action::Op(op) = action {
            if let Some((dst, src)) = move_of(op) {
                let (first, number) = (self.source(src), self.numbers[place(src)]);
                let value = &mut self.values[number as usize];
                (value.first, value.is_copied) = (first, true);
                return self.set(dst, number);
            }
            if let Some((dst, known)) = Known::of(op) {
                return self.define(dst, Some(known));
            }
        }
        visit_writes(action, |reg| self.lose(reg));
    }
}

/// Calls `visit` with each register that is another one after an action. A call with windows that
/// the text chose leaves nothing of what stood above them.
fn visit_writes(action: &Action, mut visit: impl FnMut(Reg)) {
    match action {
        Action::Op(op) => visit_registers(op, |reg, access| {
            if access == Access::Write {
                visit(reg);
            }
        }),
        Action::Call(Call {
            results, windows, ..
        }) => {
            results.iter().for_each(|&reg| visit(reg));
            if let Some((ints, refs)) = *windows {
                let firsts = [ints, refs];
                all_registers()
                    .filter(|reg| reg.index >= firsts[reg.class as usize])
                    .for_each(visit);
            }
        }
        _ => {}
    }
}

/// A step of the walk.
enum Step {
    /// A block, and what the jump to it says of a register.
    Enter(u32, Option<(Reg, Known)>),
    /// The end of what a block leads to; the log was this long before it.
    Leave(usize),
}

/// Replaces each instruction of a function by what `visit` makes of it, given what registers hold
/// before it and its block; those that it makes nothing of are gone.
pub(super) fn rewrite(
    function: &mut Function,
    mut visit: impl FnMut(&Values, u32, Instr) -> Option<Instr>,
) {
    let mut values = Values::of(function);
    let mut successors: Vec<SmallVec<[u32; 2]>> = vec![SmallVec::new(); function.blocks.len()];
    let mut n_ways = vec![0_u32; function.blocks.len()];
    for (position, &block) in function.layout.iter().enumerate() {
        successors[block as usize] = function.successors(position);
        for &successor in &successors[block as usize] {
            if let Some(n_ways) = n_ways.get_mut(successor as usize) {
                *n_ways += 1;
            }
        }
    }
    // Control comes to the first block and to handlers from elsewhere, too.
    let targets = function.handlers.iter().map(|handler| handler.target);
    for block in function.layout.first().copied().into_iter().chain(targets) {
        if let Some(n_ways) = n_ways.get_mut(block as usize) {
            *n_ways += 2;
        }
    }
    let roots = function.layout.clone().into_iter();
    for root in roots.filter(|&block| n_ways[block as usize] != 1) {
        let mut steps = vec![Step::Enter(root, None)];
        while let Some(step) = steps.pop() {
            let (block, fact) = match step {
                Step::Enter(block, fact) => (block, fact),
                Step::Leave(length) => {
                    values.take_back(length);
                    continue;
                }
            };
            steps.push(Step::Leave(values.log.len()));
            if let Some((reg, known)) = fact {
                values.define(reg, Some(known));
            }
            let instrs = std::mem::take(&mut function.blocks[block as usize].instrs);
            let mut out = Vec::with_capacity(instrs.len());
            let mut last = None;
            for instr in instrs {
                last = jump_of(&instr.action, &values);
                if let Some(instr) = visit(&values, block, instr) {
                    values.step(&instr.action);
                    out.push(instr);
                }
            }
            function.blocks[block as usize].instrs = out;
            for &next in &successors[block as usize] {
                if n_ways.get(next as usize) == Some(&1) {
                    let fact = last.and_then(|jump| jump.fact_at(next));
                    steps.push(Step::Enter(next, fact));
                }
            }
        }
    }
}

/// A jump that says what a register holds where it goes, or where it does not.
#[derive(Clone, Copy)]
struct Jump {
    reg: Reg,
    known: Known,
    target: u32,
    is_equal_at_target: bool,
}

impl Jump {
    fn fact_at(self, block: u32) -> Option<(Reg, Known)> {
        ((block == self.target) == self.is_equal_at_target).then_some((self.reg, self.known))
    }
}

/// The jump of an action that compares a register with a constant for equality.
fn jump_of(action: &Action, values: &Values) -> Option<Jump> {
    let Action::Op(op) = action else { return None };
    let is_equal_at_target = matches!(op, Op::Jeq { .. } | Op::JeqImm { .. });
    if !is_equal_at_target && !matches!(op, Op::Jne { .. } | Op::JneImm { .. }) {
        return None;
    }
    let operands = op.operands();
    let [Operand::IIn(lhs), ref other, Operand::Target(target)] = operands[..] else {
        return None;
    };
    let bits = match *other {
        Operand::Int32(value) => i64::from(value),
        Operand::IIn(reg) => values.known(Reg::int(reg))?.bits()?,
        _ => return None,
    };
    Some(Jump {
        reg: Reg::int(lhs),
        known: Known::Word(bits),
        target,
        is_equal_at_target,
    })
}
