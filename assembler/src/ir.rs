//! Programs between text and bytes: functions as basic blocks, with calls that do not yet say in
//! which registers their arguments travel.
//!
//! Blocks stand in `layout` order, and control falls from a block into the next one. An op with
//! targets, and an op after which control does not go on, stands last in its block. Jump targets
//! are block indices until [`crate::emit`] makes them offsets. Passes may replace a block's
//! instructions and add blocks, and never reorder the layout, so a handler's range stays a
//! stretch of it.

use std::collections::HashMap;

use profiler::SourceMap;
use vm::isa::{Access, Op, Operand, Signature};
use vm::module::{Captures, Constant, HostImport, LineEntry};

use crate::diagnostic::Span;

/// The two classes of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// 64 raw bits: an integer, a double, a character.
    Int,
    /// A reference.
    Ref,
}

/// A register of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg {
    /// The class.
    pub class: Class,
    /// The number within the class.
    pub index: u8,
}

impl Reg {
    /// `i[index]`.
    pub const fn int(index: u8) -> Self {
        Self {
            class: Class::Int,
            index,
        }
    }

    /// `r[index]`.
    pub const fn reference(index: u8) -> Self {
        Self {
            class: Class::Ref,
            index,
        }
    }
}

/// What can be passed to a call or returned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// What a register holds.
    Reg(Reg),
    /// An integer.
    Int(i64),
    /// A double.
    Float(f64),
    /// The null reference.
    Null,
    /// A constant string, by its index in the constant pool.
    Text(u32),
}

impl From<Reg> for Value {
    fn from(reg: Reg) -> Self {
        Self::Reg(reg)
    }
}

impl Value {
    /// The class of register that can hold the value.
    pub fn class(self) -> Class {
        match self {
            Self::Reg(reg) => reg.class,
            Self::Int(_) | Self::Float(_) => Class::Int,
            Self::Null | Self::Text(_) => Class::Ref,
        }
    }

    /// The register, when the value is held by one.
    pub fn reg(self) -> Option<Reg> {
        match self {
            Self::Reg(reg) => Some(reg),
            _ => None,
        }
    }
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function of the module, by index.
    Function(u32),
    /// A host import of the module, by index.
    Host(u32),
    /// The closure in an `r` register, taken to have this signature.
    Closure {
        /// The number of the `r` register.
        register: u8,
        /// What the closure's function takes and gives.
        signature: Signature,
    },
}

/// A call with its arguments and the registers its results go to. Values of the two classes are
/// counted apart, so only the order within a class means anything.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) args: Vec<Value>,
    pub(crate) results: Vec<Reg>,
    /// The first registers of the windows, when the text chose them; the arguments and results
    /// are then in their places.
    pub(crate) windows: Option<(u8, u8)>,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// An op other than calls, tail calls and returns; its targets are block indices.
    Op(Op),
    Call(Call),
    TailCall(Callee, Vec<Value>),
    Ret(Vec<Value>),
    /// A branch region begins: an index into [`Function::regions`].
    BeginBranch(u32),
    EndBranch,
    /// An entry of the line table, written out.
    Line(Location),
}

/// Where an instruction comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Location {
    /// Index into [`Program::files`].
    pub(crate) file: u32,
    pub(crate) line: u32,
}

/// An instruction with its origin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instr {
    pub(crate) action: Action,
    pub(crate) location: Option<Location>,
    pub(crate) span: Span,
}

impl Instr {
    /// Another instruction of the same origin.
    pub(crate) fn with(&self, action: Action) -> Self {
        Self {
            action,
            location: self.location,
            span: self.span,
        }
    }
}

/// Instructions that are run one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) instrs: Vec<Instr>,
    /// The innermost branch region in which the block begins.
    pub(crate) region: Option<u32>,
}

/// A branch region of the text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Region {
    pub(crate) name: String,
    pub(crate) parent: Option<u32>,
    pub(crate) location: Option<Location>,
}

/// Blocks from `start` to before `end`, in layout order, raise to `target`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Handler {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) target: u32,
    pub(crate) register: u8,
    pub(crate) span: Span,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) signature: Signature,
    pub(crate) captures: Option<Captures>,
    pub(crate) is_exported: bool,
    /// Whether the function has no profiling source: its callers are charged.
    pub(crate) is_unprofiled: bool,
    pub(crate) location: Option<Location>,
    pub(crate) span: Span,
    pub(crate) blocks: Vec<Block>,
    pub(crate) layout: Vec<u32>,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) regions: Vec<Region>,
    /// What the text calls registers.
    pub(crate) names: HashMap<Reg, String>,
    /// The line table, when the text gives it as numbers.
    pub(crate) fixed_lines: Option<Vec<LineEntry>>,
}

/// The most bytes of a name that a text makes of others: of a function within functions, and of a
/// branch. Without a limit, names that nest would grow with the square of the text.
pub(crate) const MAX_NAME_BYTES: usize = 1024;

/// A profiling source: its name as in reports, `append\tlist-rev.sml: 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceName(pub(crate) String);

impl SourceName {
    /// The name of a function or branch at a place, as MLton prints it.
    pub(crate) fn at(name: &str, file: &str, line: u32) -> Self {
        // Tabs and newlines separate what stands in a profile.
        let [name, file] = [name, file].map(|text| text.replace(['\t', '\n'], " "));
        Self(format!("{name}\t{file}: {line}"))
    }
}

/// A program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) functions: Vec<Function>,
    pub(crate) entry: u32,
    pub(crate) constants: Vec<Constant>,
    pub(crate) hosts: Vec<HostImport>,
    /// Sources after the three that every program has.
    pub(crate) sources: Vec<SourceName>,
    pub(crate) files: Vec<String>,
    pub(crate) metadata: Vec<(String, String)>,
    /// Profiling ops and line tables are written out: passes add and change nothing.
    pub(crate) is_instrumented: bool,
    /// The file table is written out: it is kept as it is, not made from the lines.
    pub(crate) has_fixed_files: bool,
    /// All that there is to say of sources, when the text says it.
    pub(crate) fixed_sources: Option<SourceMap>,
}

/// The first source of a program's own; before it stand `<unknown>`, `<gc>` and `<main>`.
pub(crate) const FIRST_OWN_SOURCE: u32 = 3;

impl Program {
    /// What a callee takes and gives; an error when there is no such callee.
    pub(crate) fn checked_signature(&self, callee: Callee) -> Result<Signature, String> {
        match callee {
            Callee::Function(id) => self
                .functions
                .get(id as usize)
                .map(|function| function.signature)
                .ok_or_else(|| format!("no function has the index {id}")),
            Callee::Host(id) => self
                .hosts
                .get(id as usize)
                .map(|host| host.signature)
                .ok_or_else(|| format!("no host function has the index {id}")),
            Callee::Closure { signature, .. } => Ok(signature),
        }
    }

    /// What a callee takes and gives, once the builder has seen that it exists.
    pub(crate) fn signature(&self, callee: Callee) -> Signature {
        self.checked_signature(callee).unwrap_or_default()
    }

    /// A new source, and its index.
    pub(crate) fn add_source(&mut self, name: &str, location: Option<Location>) -> u32 {
        let Location { file, line } = location.unwrap_or_default();
        let file = self.files.get(file as usize).map_or("", String::as_str);
        self.sources.push(SourceName::at(name, file, line));
        FIRST_OWN_SOURCE + self.sources.len() as u32 - 1
    }
}

/// The first position from this one on that is not covered, by links that are shortened on the way.
fn skip_covered(next: &mut [usize], position: usize) -> usize {
    let mut position = position;
    while next[position] != position {
        next[position] = next[next[position]];
        position = next[position];
    }
    position
}

impl Function {
    /// What the text calls a register.
    pub(crate) fn name_of(&self, reg: Reg) -> String {
        self.names
            .get(&reg)
            .cloned()
            .unwrap_or_else(|| match reg.class {
                Class::Int => format!("i{}", reg.index),
                Class::Ref => format!("r{}", reg.index),
            })
    }

    /// Where each block stands in the layout; blocks outside of it stand nowhere.
    pub(crate) fn positions(&self) -> Vec<Option<usize>> {
        let mut positions = vec![None; self.blocks.len()];
        for (position, &block) in self.layout.iter().enumerate() {
            if let Some(slot) = positions.get_mut(block as usize) {
                *slot = Some(position);
            }
        }
        positions
    }

    /// For each block, the index of the handler that its ops raise to.
    pub(crate) fn covering_handlers(&self) -> Vec<Option<usize>> {
        let positions = self.positions();
        let mut covering = vec![None; self.blocks.len()];
        // Leads from each position to the first from there on that has no handler yet, so that
        // handlers within handlers cost no more than others.
        let mut next: Vec<usize> = (0..=self.layout.len()).collect();
        let place = |block: u32| positions.get(block as usize).copied().flatten();
        for (index, handler) in self.handlers.iter().enumerate() {
            let (Some(start), Some(end)) = (place(handler.start), place(handler.end)) else {
                continue;
            };
            if end > self.layout.len() {
                continue;
            }
            let mut position = skip_covered(&mut next, start);
            while position < end {
                covering[self.layout[position] as usize] = Some(index);
                next[position] = position + 1;
                position = skip_covered(&mut next, position);
            }
        }
        covering
    }

    /// The blocks that control may go to from the block at a position of the layout, handlers
    /// left out.
    pub(crate) fn successors(&self, position: usize) -> Vec<u32> {
        let mut successors = Vec::new();
        let last = self.blocks[self.layout[position] as usize].instrs.last();
        if last.is_none_or(|instr| instr.action.falls_through()) {
            successors.extend(self.layout.get(position + 1));
        }
        if let Some(Instr {
            action: Action::Op(op),
            ..
        }) = last
        {
            successors.extend(targets(op));
        }
        successors
    }

    /// Blocks that can be reached from the first one, over jumps and handlers.
    pub(crate) fn reachable(&self) -> Vec<bool> {
        self.reachable_from(self.layout.first().copied())
    }

    /// Blocks that can be reached from some, over jumps and handlers.
    pub(crate) fn reachable_from(&self, roots: impl IntoIterator<Item = u32>) -> Vec<bool> {
        let positions = self.positions();
        let covering = self.covering_handlers();
        let mut reached = vec![false; self.blocks.len()];
        let mut open: Vec<u32> = roots.into_iter().collect();
        while let Some(block) = open.pop() {
            if std::mem::replace(&mut reached[block as usize], true) {
                continue;
            }
            let Some(position) = positions[block as usize] else {
                continue;
            };
            open.extend(self.successors(position));
            // A block without instructions cannot raise.
            if !self.blocks[block as usize].instrs.is_empty() {
                open.extend(covering[block as usize].map(|index| self.handlers[index].target));
            }
        }
        reached
    }

    /// Empties the blocks that only jumps and calls that are gone led to. Code that no path led to
    /// before is the text's own affair, and what it leads to stays.
    pub(crate) fn clear_unreachable(&mut self, was_reachable: &[bool]) {
        let dead = (0..self.blocks.len() as u32).filter(|&block| !was_reachable[block as usize]);
        let is_reachable =
            self.reachable_from(self.layout.first().copied().into_iter().chain(dead));
        for (block, is_reachable) in self.blocks.iter_mut().zip(is_reachable) {
            if !is_reachable {
                block.instrs.clear();
            }
        }
    }
}

impl Action {
    /// Whether control may go on to what follows.
    pub(crate) fn falls_through(&self) -> bool {
        match self {
            Self::Op(op) => op.opcode().info().falls_through,
            Self::TailCall(..) | Self::Ret(_) => false,
            Self::Call(_) | Self::BeginBranch(_) | Self::EndBranch | Self::Line(_) => true,
        }
    }

    /// Whether nothing may stand behind it in its block.
    pub(crate) fn ends_block(&self) -> bool {
        !self.falls_through() || matches!(self, Self::Op(op) if !targets(op).is_empty())
    }
}

/// The targets of an op.
pub(crate) fn targets(op: &Op) -> Vec<u32> {
    let mut targets = Vec::new();
    for operand in op.operands() {
        match operand {
            Operand::Target(target) => targets.push(target),
            Operand::Targets(list) => targets.extend(list),
            _ => {}
        }
    }
    targets
}

/// The same op with each target replaced.
pub(crate) fn map_targets(op: &Op, mut map: impl FnMut(u32) -> u32) -> Op {
    let operands: Vec<Operand> = op
        .operands()
        .into_iter()
        .map(|operand| match operand {
            Operand::Target(target) => Operand::Target(map(target)),
            Operand::Targets(list) => Operand::Targets(list.into_iter().map(&mut map).collect()),
            other => other,
        })
        .collect();
    Op::from_operands(op.opcode(), &operands).unwrap_or_else(|| op.clone())
}

/// The same op with each register replaced by one of its class.
pub(crate) fn map_registers(op: &Op, map: impl Fn(Reg) -> Reg) -> Op {
    let int = |index: u8| map(Reg::int(index)).index;
    let reference = |index: u8| map(Reg::reference(index)).index;
    let operands: Vec<Operand> = op
        .operands()
        .into_iter()
        .map(|operand| match operand {
            Operand::IIn(index) => Operand::IIn(int(index)),
            Operand::IOut(index) => Operand::IOut(int(index)),
            Operand::RIn(index) => Operand::RIn(reference(index)),
            Operand::ROut(index) => Operand::ROut(reference(index)),
            Operand::IRegs(list) => Operand::IRegs(list.into_iter().map(int).collect()),
            Operand::RRegs(list) => Operand::RRegs(list.into_iter().map(reference).collect()),
            other => other,
        })
        .collect();
    Op::from_operands(op.opcode(), &operands).unwrap_or_else(|| op.clone())
}

/// Calls `visit` with each register that the op reads or writes.
pub(crate) fn visit_registers(op: &Op, mut visit: impl FnMut(Reg, Access)) {
    for operand in op.operands() {
        let access = operand.role().access();
        match operand {
            Operand::IIn(index) | Operand::IOut(index) => visit(Reg::int(index), access),
            Operand::RIn(index) | Operand::ROut(index) => visit(Reg::reference(index), access),
            Operand::IRegs(list) => list
                .iter()
                .for_each(|&index| visit(Reg::int(index), access)),
            Operand::RRegs(list) => {
                list.iter()
                    .for_each(|&index| visit(Reg::reference(index), access));
            }
            _ => {}
        }
    }
}
