//! The checks that follow paths: written-before-read, and Enter and Leave.
//!
//! A state is what holds before an op on every path that leads there: the local control stack and
//! which registers have been written. Paths join by intersection of the registers; their control
//! stacks must be equal. A block is visited again only while its entry state shrinks, which it
//! can do at most 512 times; in practice once or twice.

use std::collections::BTreeSet;

use profiler::SourceId;

use super::control_stack::{ControlStackId, ControlStacks};
use super::operands::Decoded;
use super::{FunctionFacts, VerifyError};
use crate::isa::*;
use crate::module::{HandlerRange, Module};

/// A set of registers of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Registers([u64; 4]);

impl Registers {
    fn first(count: usize) -> Self {
        let mut set = Self::default();
        (0..count).for_each(|register| set.insert(register));
        set
    }

    fn insert(&mut self, register: usize) {
        self.0[register / 64] |= 1 << (register % 64);
    }

    fn contains(self, register: usize) -> bool {
        self.0[register / 64] >> (register % 64) & 1 == 1
    }

    fn intersect(&mut self, other: Self) {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(mine, theirs)| *mine &= theirs);
    }

    /// Forgets all registers from `base` on, then adds `count` of them again.
    fn window(&mut self, base: usize, count: usize) {
        self.intersect(Self::first(base));
        (base..base + count).for_each(|register| self.insert(register));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    stack: ControlStackId,
    ints: Registers,
    refs: Registers,
}

/// Follows all paths of a function.
pub(super) fn check_function(
    module: &Module,
    index: u32,
    decoded: Decoded,
) -> Result<FunctionFacts, VerifyError> {
    let mut flow = Flow::new(module, index, &decoded);
    match flow.run() {
        Ok(()) => {
            let Flow {
                stacks,
                handler_stacks,
                control_stacks,
                ref_registers,
                ..
            } = flow;
            let Decoded { ops, offsets } = decoded;
            Ok(FunctionFacts {
                ops,
                offsets,
                stacks,
                handler_stacks,
                control_stacks,
                ref_registers,
            })
        }
        Err((position, message)) => Err(VerifyError {
            function: index,
            offset: decoded.offsets[position],
            message,
        }),
    }
}

/// What is wrong, at the op of which position.
type Fault = (usize, String);

struct Flow<'a> {
    module: &'a Module,
    sig: Signature,
    handlers: &'a [HandlerRange],
    decoded: &'a Decoded,
    /// The state before each op at which a block starts, once a path has reached it.
    entries: Vec<Option<State>>,
    starts_block: Vec<bool>,
    /// Blocks to visit, the earliest first, so that ranges are met at their start.
    worklist: BTreeSet<usize>,
    /// For each op the handler range that counts, by index.
    covering: Vec<Option<u32>>,
    stacks: Vec<Option<ControlStackId>>,
    handler_stacks: Vec<Option<ControlStackId>>,
    control_stacks: ControlStacks,
    ref_registers: u16,
}

impl<'a> Flow<'a> {
    fn new(module: &'a Module, index: u32, decoded: &'a Decoded) -> Self {
        let function = &module.functions[index as usize];
        let count = decoded.ops.len();
        let mut flow = Self {
            module,
            sig: function.signature,
            handlers: &function.handlers,
            decoded,
            entries: vec![None; count],
            starts_block: vec![false; count],
            worklist: BTreeSet::from([0]),
            covering: vec![None; count],
            stacks: vec![None; count],
            handler_stacks: vec![None; function.handlers.len()],
            control_stacks: ControlStacks::default(),
            ref_registers: 0,
        };
        let is_closure = function.captures.is_some();
        let refs = function.signature.ref_params as usize + is_closure as usize;
        flow.ref_registers = refs.max(function.signature.ref_results as usize) as u16;
        flow.entries[0] = Some(State {
            stack: ControlStackId::EMPTY,
            ints: Registers::first(function.signature.int_params as usize),
            refs: Registers::first(refs),
        });
        flow.starts_block[0] = true;
        flow.find_blocks();
        flow
    }

    fn position(&self, offset: u32) -> usize {
        self.decoded
            .index_of(offset)
            .expect("operands.rs has checked that an op starts there")
    }

    fn find_blocks(&mut self) {
        for op in &self.decoded.ops {
            for_each_target(op, |target| {
                let position = self
                    .decoded
                    .index_of(target)
                    .expect("targets have been checked");
                self.starts_block[position] = true;
            });
        }
        for (index, range) in self.handlers.iter().enumerate().rev() {
            let start = self.position(range.start);
            let target = self.position(range.target);
            self.starts_block[start] = true;
            self.starts_block[target] = true;
            let end = self
                .decoded
                .offsets
                .partition_point(|&offset| offset < range.end);
            // Ranges are walked from the last to the first, so the first that covers an op stays.
            self.covering[start..end].fill(Some(index as u32));
            self.ref_registers = self.ref_registers.max(range.register as u16 + 1);
        }
    }

    fn run(&mut self) -> Result<(), Fault> {
        while let Some(start) = self.worklist.pop_first() {
            let mut state = self.entries[start].expect("only reached blocks are listed");
            let mut position = start;
            loop {
                self.step(position, &mut state)?;
                if !self.decoded.ops[position].opcode().info().falls_through {
                    break;
                }
                position += 1;
                if self.starts_block[position] {
                    self.join(position, state)?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Checks the op and turns the state before it into the state after it.
    fn step(&mut self, position: usize, state: &mut State) -> Result<(), Fault> {
        self.stacks[position] = Some(state.stack);
        self.flow_to_handler(position, *state)?;
        let op = &self.decoded.ops[position];
        self.check_reads(op, state)
            .map_err(|message| (position, message))?;
        self.check_exit(position, state.stack)?;
        match op {
            Op::Enter {
                source: SourceRef(id),
            } => {
                state.stack = self.control_stacks.enter(state.stack, SourceId(*id));
            }
            Op::Leave {
                source: SourceRef(id),
            } => match self.control_stacks.top(state.stack) {
                None => return Err((position, "unmatched leave: no source is open".into())),
                Some((open, _)) if open != SourceId(*id) => {
                    let message = format!(
                        "mismatched leave: source {} was opened last, not {id}",
                        open.0
                    );
                    return Err((position, message));
                }
                Some((_, below)) => state.stack = below,
            },
            _ => self.write_registers(op, state),
        }
        let mut targets: TargetList = TargetList::new();
        for_each_target(op, |target| targets.push(target));
        for target in targets {
            self.join(self.position(target), *state)?;
        }
        Ok(())
    }

    /// Most ops may raise: the state before them flows to the handler. A callee that raises leaves
    /// nothing of the call's windows. Leaving a function raises nothing, so a source that is open
    /// where the range starts may be closed for that, and results may be put in place.
    fn flow_to_handler(&mut self, position: usize, state: State) -> Result<(), Fault> {
        let Some(index) = self.covering[position].map(|index| index as usize) else {
            return Ok(());
        };
        let op = &self.decoded.ops[position];
        if never_raises(op) {
            return Ok(());
        }
        let range = self.handlers[index];
        let start = self.position(range.start);
        // A range may be entered in its middle; then its first op says what is open there.
        let Some(stack) = self.stacks[start] else {
            return Err((
                position,
                "a handler's range is entered before its first op".into(),
            ));
        };
        if !self.control_stacks.extends(state.stack, stack) {
            let message = "a source that is open where a handler's range starts is left inside it";
            return Err((position, message.into()));
        }
        self.handler_stacks[index] = Some(stack);
        let mut at_handler = State { stack, ..state };
        if let Some((_, ints, refs)) = self.call_of(op) {
            at_handler.ints.window(ints, 0);
            at_handler.refs.window(refs, 0);
        }
        at_handler.refs.insert(range.register as usize);
        self.join(self.position(range.target), at_handler)
    }

    fn join(&mut self, position: usize, state: State) -> Result<(), Fault> {
        let Some(known) = &mut self.entries[position] else {
            self.entries[position] = Some(state);
            self.worklist.insert(position);
            return Ok(());
        };
        if known.stack != state.stack {
            let message = "mismatched block: paths with different open sources join here";
            return Err((position, message.into()));
        }
        let before = *known;
        known.ints.intersect(state.ints);
        known.refs.intersect(state.refs);
        if *known != before {
            self.worklist.insert(position);
        }
        Ok(())
    }

    /// A function may be left only when every source that it opened is closed.
    fn check_exit(&self, position: usize, stack: ControlStackId) -> Result<(), Fault> {
        let leaves = match &self.decoded.ops[position] {
            Op::Ret {} | Op::TailCall { .. } | Op::TailCallClosure { .. } => true,
            Op::Raise { .. } | Op::MatchFail {} => self.covering[position].is_none(),
            _ => false,
        };
        if leaves && stack != ControlStackId::EMPTY {
            return Err((position, "nonempty sources when leaving function".into()));
        }
        Ok(())
    }

    fn check_reads(&mut self, op: &Op, state: &State) -> Result<(), String> {
        for operand in op.operands() {
            match operand {
                Operand::IIn(register) => read(&state.ints, 'i', register as usize)?,
                Operand::RIn(register) => {
                    self.touch(register as usize);
                    read(&state.refs, 'r', register as usize)?;
                }
                Operand::IRegs(list) => {
                    list.iter()
                        .try_for_each(|&one| read(&state.ints, 'i', one as usize))?;
                }
                Operand::RRegs(list) => {
                    list.iter()
                        .for_each(|&register| self.touch(register as usize));
                    list.iter()
                        .try_for_each(|&one| read(&state.refs, 'r', one as usize))?;
                }
                Operand::ROut(register) => self.touch(register as usize),
                _ => {}
            }
        }
        let (ints, refs, ints_count, refs_count) = match op {
            Op::Ret {} => (
                0,
                0,
                self.sig.int_results as usize,
                self.sig.ref_results as usize,
            ),
            _ => match self.call_of(op) {
                Some((sig, ints, refs)) => {
                    let is_closure =
                        matches!(op, Op::CallClosure { .. } | Op::TailCallClosure { .. });
                    self.touch_window(refs, sig.ref_window(is_closure));
                    (ints, refs, sig.int_params as usize, sig.ref_params as usize)
                }
                None => return Ok(()),
            },
        };
        (ints..ints + ints_count).try_for_each(|register| read(&state.ints, 'i', register))?;
        (refs..refs + refs_count).try_for_each(|register| read(&state.refs, 'r', register))
    }

    /// Signature and windows of any kind of call.
    fn call_of(&self, op: &Op) -> Option<(Signature, usize, usize)> {
        let function = |id: u32| self.module.functions[id as usize].signature;
        let host = |id: u32| self.module.hosts[id as usize].signature;
        match op {
            Op::Call {
                function: FuncId(id),
                ints,
                refs,
            } => Some((function(*id), ints.0 as usize, refs.0 as usize)),
            Op::CallClosure {
                sig, ints, refs, ..
            } => Some((sig.0, ints.0 as usize, refs.0 as usize)),
            Op::CallHost {
                host: HostId(id),
                ints,
                refs,
            } => Some((host(*id), ints.0 as usize, refs.0 as usize)),
            Op::TailCall {
                function: FuncId(id),
            } => Some((function(*id), 0, 0)),
            Op::TailCallClosure { sig, .. } => Some((sig.0, 0, 0)),
            _ => None,
        }
    }

    fn write_registers(&self, op: &Op, state: &mut State) {
        for operand in op.operands() {
            match operand {
                Operand::IOut(register) => state.ints.insert(register as usize),
                Operand::ROut(register) => state.refs.insert(register as usize),
                _ => {}
            }
        }
        if let Some((sig, ints, refs)) = self.call_of(op) {
            state.ints.window(ints, sig.int_results as usize);
            state.refs.window(refs, sig.ref_results as usize);
        }
    }

    fn touch(&mut self, register: usize) {
        self.touch_window(register, 1);
    }

    fn touch_window(&mut self, base: usize, count: usize) {
        if count > 0 {
            self.ref_registers = self.ref_registers.max((base + count) as u16);
        }
    }
}

/// Whether an op can do nothing but what it says: those that stand between closing a function's
/// sources and leaving it, and make its results.
fn never_raises(op: &Op) -> bool {
    matches!(
        op,
        Op::Enter { .. }
            | Op::Leave { .. }
            | Op::Ret {}
            | Op::TailCall { .. }
            | Op::Jmp { .. }
            | Op::Mov { .. }
            | Op::RMov { .. }
            | Op::Int { .. }
            | Op::Float { .. }
            | Op::Null { .. }
            | Op::Imm { .. }
            | Op::Text { .. }
    )
}

fn read(written: &Registers, class: char, register: usize) -> Result<(), String> {
    if written.contains(register) {
        return Ok(());
    }
    Err(format!(
        "{class}{register} may be read before it is written"
    ))
}

/// Calls `visit` with every offset that the op may jump to.
fn for_each_target(op: &Op, mut visit: impl FnMut(u32)) {
    for operand in op.operands() {
        match operand {
            Operand::Target(target) => visit(target),
            Operand::Targets(targets) => targets.iter().for_each(|&target| visit(target)),
            _ => {}
        }
    }
}
