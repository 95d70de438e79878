//! Variables to registers: a linear scan over live intervals, after Poletto and Sarkar.
//!
//! A variable has one home for its whole life, a register or a field of the function's *frame
//! record*. Its interval reaches from the first place where it is alive to the last one, in layout
//! order, so a value that a handler wants is where the handler looks for it whichever op raises.
//!
//! 1. `moves` drops moves of values that are computed only to be moved.
//! 2. `ranges` finds the intervals, by walks from uses back to definitions.
//! 3. `scan` gives out registers, the lowest that is free, except where another one saves a move:
//!    an argument wants its place in the window of its call, which begins above all that is alive
//!    across the call; a result wants to stay where the call leaves it.
//! 4. When no register is left, `spill` moves the variables that are wanted latest into the frame
//!    record, each use and definition becomes a load or a store, and the scan is done again.
//!
//! **What spilling costs.** A function that spills allocates a record each time it is entered,
//! with a field for each variable that is spilled (variables that are not alive together share
//! one), and keeps it in an `r` register. Each use is one load, each definition one store; two
//! where there are more than 128 references or 255 numbers. So allocation profiles show these
//! records, as bytes of the function; counts of calls stay what they are.

mod moves;
mod ranges;
mod scan;
mod spill;

use std::collections::HashMap;

use vm::isa::Access;

use super::FunctionBuilder;
use super::body::{Reads, Writes};
use crate::diagnostic::{Diagnostic, MAX_DIAGNOSTICS, keep};
use crate::ir::*;
use ranges::Ranges;
use scan::{Failure, scan};

/// After how many scans all variables of a class that lacks registers are spilled.
const MAX_PATIENT_ROUNDS: usize = 12;

/// What is known of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct VarInfo {
    pub(super) class: Class,
    /// The register in which the caller leaves it.
    pub(super) param: Option<u8>,
}

/// The variables that an instruction reads and writes, in the order of its operands.
#[derive(Clone, Debug, Default)]
pub(super) struct Operands {
    pub(super) writes: Writes,
    pub(super) reads: Reads,
}

/// The variables of all instructions, by block and place.
#[derive(Clone, Debug, Default)]
pub(super) struct OperandTable(Vec<Vec<Operands>>);

impl OperandTable {
    /// Notes the variables of the instruction that was added last to a block.
    pub(super) fn add(&mut self, block: usize, length: usize, writes: Writes, reads: Reads) {
        if self.0.len() <= block {
            self.0.resize_with(block + 1, Vec::new);
        }
        let list = &mut self.0[block];
        list.resize_with(length - 1, Operands::default);
        list.push(Operands { writes, reads });
    }
}

/// What a body knows of its variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    vars: Vec<VarInfo>,
    /// What variables are called in messages.
    pub(super) texts: HashMap<u32, String>,
    /// The variable of each handler.
    pub(super) handlers: Vec<u32>,
    pub(super) operands: OperandTable,
}

impl Names {
    /// A new variable.
    pub(super) fn add(&mut self, info: VarInfo) -> u32 {
        self.vars.push(info);
        self.vars.len() as u32 - 1
    }
}

/// A body before variables have registers.
pub(super) struct Draft {
    pub(super) builder: FunctionBuilder,
    pub(super) names: Names,
}

/// A function whose instructions name variables: those of a block stand beside its instructions.
struct Code {
    function: Function,
    operands: Vec<Vec<Operands>>,
    vars: Vec<VarInfo>,
    handlers: Vec<u32>,
    /// Whether a variable must stay in a register.
    is_pinned: Vec<bool>,
    frame: Option<spill::Frame>,
}

impl Code {
    fn add_var(&mut self, class: Class, is_pinned: bool) -> u32 {
        self.vars.push(VarInfo { class, param: None });
        self.is_pinned.push(is_pinned);
        self.vars.len() as u32 - 1
    }

    fn add_block(&mut self, region: Option<u32>) -> usize {
        self.function.blocks.push(Block {
            instrs: Vec::new(),
            region,
        });
        self.operands.push(Vec::new());
        self.function.blocks.len() - 1
    }

    /// The instructions of the block at a position of the layout, with their variables.
    fn block(&self, block: u32) -> impl DoubleEndedIterator<Item = (&Instr, &Operands)> {
        let block = block as usize;
        self.function.blocks[block]
            .instrs
            .iter()
            .zip(&self.operands[block])
    }
}

/// A function with registers, and what was wrong with its variables.
pub(super) struct Allocated {
    pub(super) builder: FunctionBuilder,
    pub(super) errors: Vec<Diagnostic>,
}

/// Gives each variable its home; at most `limit` registers of a class hold variables.
pub(super) fn allocate(draft: Draft, limit: usize) -> Allocated {
    let Draft { mut builder, names } = draft;
    let function = builder.take_function();
    let mut code = Code {
        is_pinned: vec![false; names.vars.len()],
        operands: names.operands.0,
        vars: names.vars,
        handlers: names.handlers,
        frame: None,
        function,
    };
    let n_blocks = code.function.blocks.len();
    code.operands.resize_with(n_blocks, Vec::new);
    for (block, operands) in code.function.blocks.iter().zip(&mut code.operands) {
        operands.resize_with(block.instrs.len(), Operands::default);
    }
    let mut errors: Vec<Diagnostic> = check_end(&code.function).err().into_iter().collect();
    pin(&mut code);
    moves::drop_moves(&mut code);
    let ranges = Ranges::of(&code);
    check_written(&code, &ranges, &names.texts, &mut errors);
    match registers(&mut code, ranges, limit) {
        Ok(registers) => fill_all(&mut code, &registers),
        Err(error) => {
            keep(&mut errors, error);
            code.function
                .blocks
                .iter_mut()
                .for_each(|block| block.instrs.clear());
        }
    }
    code.function.is_checked = true;
    builder.put_function(code.function);
    Allocated { builder, errors }
}

/// Scans and spills until each variable has a register.
fn registers(code: &mut Code, mut ranges: Ranges, limit: usize) -> Result<Vec<u8>, Diagnostic> {
    let mut rounds = 0;
    loop {
        let mut vars = match scan(code, &ranges, limit) {
            Ok(registers) => return Ok(registers),
            Err(Failure::NoRegister(span)) => {
                let message = format!(
                    "an op needs more registers of a class at once than the {limit} there are"
                );
                return Err(Diagnostic::new(span, message));
            }
            Err(Failure::Spill(vars)) => vars,
        };
        rounds += 1;
        if rounds > MAX_PATIENT_ROUNDS {
            let all = ranges.used();
            vars = all.filter(|&var| !code.is_pinned[var as usize]).collect();
        }
        spill::spill(code, &ranges, vars)?;
        ranges = Ranges::of(code);
    }
}

fn fill_all(code: &mut Code, registers: &[u8]) {
    for (block, operands) in code.function.blocks.iter_mut().zip(&code.operands) {
        for (instr, operands) in block.instrs.iter_mut().zip(operands) {
            fill(&mut instr.action, operands, registers);
        }
    }
    for (handler, &var) in code.function.handlers.iter_mut().zip(&code.handlers) {
        handler.register = registers[var as usize];
    }
}

/// Results of an op that jumps cannot be stored behind it.
fn pin(code: &mut Code) {
    for (block, operands) in code.function.blocks.iter().zip(&code.operands) {
        for (instr, operands) in block.instrs.iter().zip(operands) {
            if instr.action.ends_block() {
                for &var in &operands.writes {
                    code.is_pinned[var as usize] = true;
                }
            }
        }
    }
}

fn check_end(function: &Function) -> Result<(), Diagnostic> {
    let last = function.layout.last().copied();
    let instr = last.and_then(|block| function.blocks[block as usize].instrs.last());
    match instr.is_none_or(|instr| instr.action.falls_through()) {
        true => {
            let span = instr.map_or(function.span, |instr| instr.span);
            let message = "control runs off the end of the function";
            Err(Diagnostic::new(span, message))
        }
        false => Ok(()),
    }
}

/// Reports variables that control can reach the use of with no definition before it.
fn check_written(
    code: &Code,
    ranges: &Ranges,
    texts: &HashMap<u32, String>,
    errors: &mut Vec<Diagnostic>,
) {
    for &var in ranges.live_at_entry.iter().take(MAX_DIAGNOSTICS) {
        if let Some(instr) = ranges::first_read(code, var) {
            let name = texts
                .get(&var)
                .cloned()
                .unwrap_or_else(|| format!("variable {var}"));
            let message = format!("`{name}` may be used before it is defined");
            keep(errors, Diagnostic::new(instr.span, message));
        }
    }
}

/// Puts registers into an instruction.
fn fill(action: &mut Action, operands: &Operands, registers: &[u8]) {
    let mut writes = operands.writes.iter().map(|&var| registers[var as usize]);
    let mut reads = operands.reads.iter().map(|&var| registers[var as usize]);
    match action {
        Action::Op(op) => op.visit_registers_mut(&mut |role, index| {
            let next = match role.access() {
                Access::Write => writes.next(),
                _ => reads.next(),
            };
            *index = next.unwrap_or_default();
        }),
        Action::Call(call) => {
            fill_callee(&mut call.callee, &mut reads);
            fill_values(&mut call.args, &mut reads);
            for (result, index) in call.results.iter_mut().zip(writes) {
                result.index = index;
            }
        }
        Action::TailCall(callee, args) => {
            fill_callee(callee, &mut reads);
            fill_values(args, &mut reads);
        }
        Action::Ret(values) => fill_values(values, &mut reads),
        Action::BeginBranch(_) | Action::EndBranch | Action::Line(_) => {}
    }
}

fn fill_callee(callee: &mut Callee, reads: &mut impl Iterator<Item = u8>) {
    if let Callee::Closure { register, .. } = callee {
        *register = reads.next().unwrap_or_default();
    }
}

fn fill_values(values: &mut [Value], reads: &mut impl Iterator<Item = u8>) {
    for value in values {
        if let Value::Reg(reg) = value {
            reg.index = reads.next().unwrap_or_default();
        }
    }
}
