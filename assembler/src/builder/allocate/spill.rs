//! Variables without a register: they live in fields of the function's frame record.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use vm::isa::{Field, IIn, IOut, IRegs, Int64, Op, RIn, ROut, RRegs, Tag};

use super::ranges::Ranges;
use super::{Code, Operands, VarInfo};
use crate::diagnostic::Diagnostic;
use crate::ir::*;

/// How many references the frame record holds itself; behind them stand its children, records of
/// further fields.
const OWN_REFS: usize = 128;
/// How many fields of a class a record has at most.
const MAX_FIELDS: usize = 255;
const MAX_CHILDREN: usize = MAX_FIELDS - OWN_REFS;

/// The tag of frame records.
const FRAME_TAG: u16 = u16::MAX;

/// The frame record of a function.
pub(super) struct Frame {
    /// The variable that holds it, in a register throughout.
    pub(super) var: u32,
    /// The block in which it is made, before the function's own first one.
    block: u32,
    /// How many fields of each class are in use.
    n_slots: [usize; 2],
    /// Parameters that are stored there first.
    params: Vec<(u32, usize)>,
}

/// Gives variables fields in place of registers.
pub(super) fn spill(code: &mut Code, ranges: &Ranges, vars: Vec<u32>) -> Result<(), Diagnostic> {
    let mut frame = match code.frame.take() {
        Some(frame) => frame,
        None => {
            let block = code.add_block(None) as u32;
            code.function.layout.insert(0, block);
            Frame {
                var: code.add_var(Class::Ref, true),
                block,
                n_slots: [0; 2],
                params: Vec::new(),
            }
        }
    };
    let slots = slots(code, ranges, vars, &mut frame.n_slots);
    let most = [
        MAX_FIELDS * (MAX_CHILDREN + 1),
        OWN_REFS + MAX_FIELDS * MAX_CHILDREN,
    ];
    if (0..2).any(|class| frame.n_slots[class] > most[class]) {
        let message = format!("more than {} variables are alive at once", most[1]);
        return Err(Diagnostic::new(code.function.span, message));
    }
    let mut spill = Spill {
        code,
        frame: frame.var,
        slots,
    };
    spill.params(&mut frame);
    for block in 0..spill.code.function.blocks.len() {
        if block != frame.block as usize {
            spill.block(block);
        }
    }
    spill.handlers();
    spill.prologue(&frame);
    code.frame = Some(frame);
    Ok(())
}

/// A field for each variable; those that are not alive together may share one.
fn slots(
    code: &Code,
    ranges: &Ranges,
    mut vars: Vec<u32>,
    n_slots: &mut [usize; 2],
) -> HashMap<u32, usize> {
    vars.sort_unstable_by_key(|&var| (ranges.of[var as usize].start, var));
    vars.dedup();
    let mut active = [BinaryHeap::new(), BinaryHeap::new()];
    let mut slots = HashMap::new();
    for var in vars {
        let class = code.vars[var as usize].class as usize;
        let range = ranges.of[var as usize];
        let slot = match active[class].peek() {
            Some(&Reverse((end, slot))) if end < range.start => {
                active[class].pop();
                slot
            }
            _ => {
                n_slots[class] += 1;
                n_slots[class] - 1
            }
        };
        active[class].push(Reverse((range.end, slot)));
        slots.insert(var, slot);
    }
    slots
}

/// Where a slot is: the child that holds it, and the field there.
fn place(class: Class, slot: usize) -> (Option<usize>, u8) {
    let own = match class {
        Class::Int => MAX_FIELDS,
        Class::Ref => OWN_REFS,
    };
    match slot.checked_sub(own) {
        None => (None, slot as u8),
        Some(beyond) => (Some(beyond / MAX_FIELDS), (beyond % MAX_FIELDS) as u8),
    }
}

/// An instruction that grows: ops with their variables.
type Ops = Vec<(Op, Operands)>;

fn operands(writes: &[u32], reads: &[u32]) -> Operands {
    Operands {
        writes: writes.into(),
        reads: reads.into(),
    }
}

struct Spill<'a> {
    code: &'a mut Code,
    frame: u32,
    slots: HashMap<u32, usize>,
}

impl Spill<'_> {
    fn temporary(&mut self, class: Class) -> u32 {
        self.code.add_var(class, true)
    }

    /// The record that holds a slot, and the field there.
    fn record(&mut self, class: Class, slot: usize, ops: &mut Ops) -> (u32, Field) {
        let (child, field) = place(class, slot);
        let record = match child {
            None => self.frame,
            Some(child) => {
                let record = self.temporary(Class::Ref);
                let op = Op::LdR {
                    dst: ROut(0),
                    record: RIn(0),
                    field: Field((OWN_REFS + child) as u8),
                };
                ops.push((op, operands(&[record], &[self.frame])));
                record
            }
        };
        (record, Field(field))
    }

    fn load(&mut self, var: u32, class: Class, slot: usize, ops: &mut Ops) {
        let (record, field) = self.record(class, slot, ops);
        let op = match class {
            Class::Int => Op::LdI {
                dst: IOut(0),
                record: RIn(0),
                field,
            },
            Class::Ref => Op::LdR {
                dst: ROut(0),
                record: RIn(0),
                field,
            },
        };
        ops.push((op, operands(&[var], &[record])));
    }

    fn store(&mut self, var: u32, class: Class, slot: usize, ops: &mut Ops) {
        let (record, field) = self.record(class, slot, ops);
        let op = match class {
            Class::Int => Op::StI {
                record: RIn(0),
                field,
                src: IIn(0),
            },
            Class::Ref => Op::StR {
                record: RIn(0),
                field,
                src: RIn(0),
            },
        };
        ops.push((op, operands(&[], &[record, var])));
    }

    /// A spilled parameter still arrives in its register.
    fn params(&mut self, frame: &mut Frame) {
        let mut spilled: Vec<(u32, usize)> = self.slots.iter().map(|(&v, &s)| (v, s)).collect();
        spilled.sort_unstable();
        for (var, slot) in spilled {
            let VarInfo { class, param } = self.code.vars[var as usize];
            if param.is_some() {
                let arriving = self.temporary(class);
                self.code.vars[arriving as usize].param = param;
                self.code.vars[var as usize].param = None;
                frame.params.push((arriving, slot));
            }
        }
    }

    fn block(&mut self, block: usize) {
        let is_spilled = |operands: &Operands| {
            let all = operands.reads.iter().chain(&operands.writes);
            all.into_iter().any(|var| self.slots.contains_key(var))
        };
        if !self.code.operands[block].iter().any(is_spilled) {
            return;
        }
        let instrs = std::mem::take(&mut self.code.function.blocks[block].instrs);
        let all = std::mem::take(&mut self.code.operands[block]);
        for (instr, operands) in instrs.into_iter().zip(all) {
            self.instr(block, instr, operands);
        }
    }

    fn instr(&mut self, block: usize, instr: Instr, mut operands: Operands) {
        let (mut before, mut after) = (Ops::new(), Ops::new());
        let mut loaded: Vec<(u32, u32)> = Vec::new();
        for var in &mut operands.reads {
            let Some(&slot) = self.slots.get(var) else {
                continue;
            };
            let known = loaded.iter().find(|(spilled, _)| spilled == var);
            let temporary = known.map(|&(_, temporary)| temporary).unwrap_or_else(|| {
                let class = self.code.vars[*var as usize].class;
                let temporary = self.code.add_var(class, true);
                self.load(temporary, class, slot, &mut before);
                loaded.push((*var, temporary));
                temporary
            });
            *var = temporary;
        }
        for var in &mut operands.writes {
            let Some(&slot) = self.slots.get(var) else {
                continue;
            };
            let class = self.code.vars[*var as usize].class;
            let temporary = self.code.add_var(class, true);
            self.store(temporary, class, slot, &mut after);
            *var = temporary;
        }
        if let Action::Op(Op::Mov { .. } | Op::RMov { .. }) = &instr.action {
            // A load or a store moves by itself.
            if let Some((_, load)) = before.last_mut() {
                load.writes = operands.writes.clone();
                return self.emit(block, &instr, before, None, after);
            }
            if let Some((_, store)) = after.last_mut() {
                store.reads[1] = operands.reads[0];
                return self.emit(block, &instr, before, None, after);
            }
        }
        self.emit(block, &instr, before, Some(operands), after);
    }

    fn emit(
        &mut self,
        block: usize,
        instr: &Instr,
        before: Ops,
        operands: Option<Operands>,
        after: Ops,
    ) {
        let instrs = &mut self.code.function.blocks[block].instrs;
        let list = &mut self.code.operands[block];
        let ops = |ops: Ops| {
            ops.into_iter()
                .map(|(op, operands)| (Action::Op(op), operands))
        };
        let own = operands.map(|operands| (instr.action.clone(), operands));
        for (action, operands) in ops(before).chain(own).chain(ops(after)) {
            instrs.push(instr.with(action));
            list.push(operands);
        }
    }

    /// The exception of a handler that is spilled arrives in a register, and is stored in a block
    /// of its own on the way to the handler.
    fn handlers(&mut self) {
        for index in 0..self.code.handlers.len() {
            let var = self.code.handlers[index];
            let Some(&slot) = self.slots.get(&var) else {
                continue;
            };
            let arriving = self.temporary(Class::Ref);
            self.code.handlers[index] = arriving;
            let Handler { target, span, .. } = self.code.function.handlers[index];
            let to = self.code.function.blocks.get(target as usize);
            let region = to.and_then(|block| block.region);
            let block = self.code.add_block(region);
            self.code.function.layout.push(block as u32);
            self.code.function.handlers[index].target = block as u32;
            let mut ops = Ops::new();
            self.store(arriving, Class::Ref, slot, &mut ops);
            let target = vm::isa::Target(target);
            ops.push((Op::Jmp { target }, Operands::default()));
            let origin = Instr {
                action: Action::EndBranch,
                location: self.code.function.location,
                span,
            };
            self.emit(block, &origin, ops, None, Ops::new());
        }
    }

    /// Makes the frame record, which holds null and 0, and stores parameters there.
    fn prologue(&mut self, frame: &Frame) {
        let [n_ints, n_refs] = frame.n_slots;
        let mut ops = Ops::new();
        let children = |slots: usize, own| slots.saturating_sub(own).div_ceil(MAX_FIELDS);
        let n_children = children(n_ints, MAX_FIELDS).max(children(n_refs, OWN_REFS));
        let own_refs = match n_children {
            0 => n_refs,
            children => OWN_REFS + children,
        };
        self.new_record(frame.var, [n_ints.min(MAX_FIELDS), own_refs], &mut ops);
        for child in 0..n_children {
            let record = self.temporary(Class::Ref);
            self.new_record(record, [MAX_FIELDS, MAX_FIELDS], &mut ops);
            let field = Field((OWN_REFS + child) as u8);
            let op = Op::StR {
                record: RIn(0),
                field,
                src: RIn(0),
            };
            ops.push((op, operands(&[], &[frame.var, record])));
        }
        for &(var, slot) in &frame.params {
            let class = self.code.vars[var as usize].class;
            self.store(var, class, slot, &mut ops);
        }
        let block = frame.block as usize;
        self.code.function.blocks[block].instrs.clear();
        self.code.operands[block].clear();
        let origin = Instr {
            action: Action::EndBranch,
            location: self.code.function.location,
            span: self.code.function.span,
        };
        self.emit(block, &origin, ops, None, Ops::new());
    }

    fn new_record(&mut self, var: u32, [n_ints, n_refs]: [usize; 2], ops: &mut Ops) {
        ops.push((Op::Null { dst: ROut(0) }, operands(&[var], &[])));
        let mut reads: super::Reads = std::iter::repeat_n(var, n_refs).collect();
        if n_ints > 0 {
            let zero = self.temporary(Class::Int);
            let op = Op::Int {
                dst: IOut(0),
                value: Int64(0),
            };
            ops.push((op, operands(&[zero], &[])));
            reads.extend(std::iter::repeat_n(zero, n_ints));
        }
        let op = Op::New {
            dst: ROut(0),
            tag: Tag(FRAME_TAG),
            refs: RRegs(std::iter::repeat_n(0, n_refs).collect()),
            ints: IRegs(std::iter::repeat_n(0, n_ints).collect()),
        };
        let operands = Operands {
            writes: [var].as_slice().into(),
            reads,
        };
        ops.push((op, operands));
    }
}
