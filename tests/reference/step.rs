//! Ops taken apart by the roles of their operands, so that the interpreter fetches and stores in
//! one place and each op is left with its meaning alone.

use vm::isa::{Op, Opcode, Operand};
use vm::verify::VerifiedModule;

/// Where a raw operand comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    /// An `i` register.
    Register(u8),
    /// A number in the op itself; doubles as their bits.
    Constant(i64),
}

/// One op.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The op as it is, for those that have lists, windows or indices.
    pub op: Op,
    /// Its opcode.
    pub opcode: Opcode,
    /// Its offset, for handler ranges.
    pub offset: u32,
    /// Raw operands that it reads, in order.
    pub words: Vec<Word>,
    /// `r` registers that it reads, in order.
    pub refs: Vec<u8>,
    /// `i` registers that it writes, in order.
    pub int_outs: Vec<u8>,
    /// The `r` register that it writes.
    pub ref_out: Option<u8>,
    /// The index of the step that it jumps to.
    pub target: Option<usize>,
    /// Its jump table.
    pub targets: Vec<usize>,
    /// The field that it names.
    pub field: usize,
    /// The tag that it names, or how many immediates its table has.
    pub tag: u16,
}

impl Step {
    fn new(op: &Op, offset: u32, step_at: impl Fn(u32) -> usize) -> Self {
        let mut step = Self {
            op: op.clone(),
            opcode: op.opcode(),
            offset,
            words: Vec::new(),
            refs: Vec::new(),
            int_outs: Vec::new(),
            ref_out: None,
            target: None,
            targets: Vec::new(),
            field: 0,
            tag: 0,
        };
        for operand in op.operands() {
            match operand {
                Operand::IIn(register) => step.words.push(Word::Register(register)),
                Operand::Int32(number) => step.words.push(Word::Constant(number.into())),
                Operand::Int64(number) => step.words.push(Word::Constant(number)),
                Operand::Float64(number) => {
                    step.words.push(Word::Constant(number.to_bits() as i64))
                }
                Operand::RIn(register) => step.refs.push(register),
                Operand::IOut(register) => step.int_outs.push(register),
                Operand::ROut(register) => step.ref_out = Some(register),
                Operand::Target(target) => step.target = Some(step_at(target)),
                Operand::Targets(targets) => {
                    step.targets = targets.iter().map(|&target| step_at(target)).collect();
                }
                Operand::Field(field) => step.field = field.into(),
                Operand::Tag(tag) => step.tag = tag,
                _ => {}
            }
        }
        step
    }
}

/// The steps of each function.
pub(super) fn steps(module: &VerifiedModule) -> Vec<Vec<Step>> {
    let of_function = |facts: &vm::verify::FunctionFacts| {
        let step_at = |offset| facts.op_at(offset).expect("targets are verified");
        let ops = facts.ops.iter().zip(&facts.offsets);
        ops.map(|(op, &offset)| Step::new(op, offset, step_at))
            .collect()
    };
    module.facts().iter().map(of_function).collect()
}
