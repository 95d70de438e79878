//! The checks that follow paths: written-before-read, and Enter and Leave.
//!
//! Control stacks are equal on all paths to an op, or the function is refused. So one visit of
//! each op that control comes to tells all about them, and on the way sums up what each block
//! does to registers. Which registers are written where then follows from the summaries alone
//! (`settle.rs`), without another look at ops.

use profiler::SourceId;

use super::FunctionFacts;
use super::control_stack::{ControlStackId, ControlStacks};
use super::covering::Covering;
use super::error::{Register, VerifyError, VerifyErrorKind};
use super::operands::Decoded;
use super::positions::Positions;
use super::registers::{Registers, Run, Transfer};
use super::settle::{Block, Blocks, LEAST_STEPS, STEPS_PER_BYTE};
use crate::isa::*;
use crate::module::{Function, Module};

/// What is wrong, at the op of which index.
type Fault = (usize, VerifyErrorKind);

/// Follows all paths of a function.
pub(super) fn check_function(
    module: &Module,
    index: u32,
    decoded: Decoded,
) -> Result<FunctionFacts, VerifyError> {
    let mut flow = Flow::new(module, index, &decoded);
    let found = flow.visit_all().and_then(|()| flow.check_registers());
    if let Err((op, kind)) = found {
        return Err(VerifyError {
            function: index,
            offset: decoded.offsets[op],
            kind,
        });
    }
    let Flow {
        stacks,
        handler_stacks,
        control_stacks,
        ref_registers,
        ..
    } = flow;
    let Decoded {
        ops,
        offsets,
        starts,
    } = decoded;
    Ok(FunctionFacts {
        ops,
        offsets,
        starts,
        stacks,
        handler_stacks,
        control_stacks,
        ref_registers,
    })
}

/// No block starts at the op.
const NO_BLOCK: u32 = u32::MAX;

struct Flow<'a> {
    module: &'a Module,
    function: &'a Function,
    decoded: &'a Decoded,
    /// The control stack before each op that something jumps to, once a path has come there.
    entries: Vec<Option<ControlStackId>>,
    /// Whether something may come to the op from elsewhere than the op before.
    is_leader: Vec<bool>,
    /// Ops to visit, the earliest first, so that ranges are met at their start.
    to_visit: Positions,
    covering: Covering,
    stacks: Vec<Option<ControlStackId>>,
    handler_stacks: Vec<Option<ControlStackId>>,
    control_stacks: ControlStacks,
    ref_registers: u16,
    blocks: Blocks,
    /// For each op the block that it starts.
    block_of: Vec<u32>,
}

impl<'a> Flow<'a> {
    fn new(module: &'a Module, index: u32, decoded: &'a Decoded) -> Self {
        let function = &module.functions[index as usize];
        let count = decoded.ops.len();
        let mut flow = Self {
            module,
            function,
            decoded,
            entries: vec![None; count],
            is_leader: vec![false; count],
            to_visit: Positions::new(count),
            covering: Covering::new(&function.handlers, decoded),
            stacks: vec![None; count],
            handler_stacks: vec![None; function.handlers.len()],
            control_stacks: ControlStacks::default(),
            ref_registers: 0,
            blocks: Blocks::default(),
            block_of: vec![NO_BLOCK; count],
        };
        flow.ref_registers =
            ref_params(function).max(function.signature.ref_results as usize) as u16;
        flow.find_leaders();
        flow
    }

    fn find_leaders(&mut self) {
        for op in &self.decoded.ops {
            op.visit_targets(&mut |target| {
                self.is_leader[self.decoded.position(target)] = true;
            });
        }
        for range in &self.function.handlers {
            self.is_leader[self.decoded.position(range.start)] = true;
            let target = self.decoded.position(range.target);
            self.is_leader[target] = true;
            self.ref_registers = self.ref_registers.max(range.register as u16 + 1);
        }
    }

    /// Visits each op that control comes to once.
    fn visit_all(&mut self) -> Result<(), Fault> {
        self.come_to(0, ControlStackId::EMPTY)?;
        while let Some(leader) = self.to_visit.pop_from(0) {
            self.visit(leader)?;
        }
        Ok(())
    }

    /// Visits the ops from a leader to the next one, or to where control goes elsewhere.
    fn visit(&mut self, leader: usize) -> Result<(), Fault> {
        let mut stack = self.entries[leader].expect("only ops that were come to are visited");
        let mut op_index = leader;
        let mut summary = self.start_block(leader);
        loop {
            let op = &self.decoded.ops[op_index];
            self.stacks[op_index] = Some(stack);
            self.note_raise(op_index, stack, &mut summary)?;
            self.check_exit(op_index, stack)?;
            let targets = self.sum_up(op, &mut summary);
            stack = self.change_stack(op_index, stack)?;
            for &target in &targets {
                let target = self.decoded.position(target);
                self.come_to(target, stack)?;
                self.blocks.edges.push(target as u32);
            }
            if !op.opcode().info().falls_through {
                break;
            }
            op_index += 1;
            if self.is_leader[op_index] {
                self.come_to(op_index, stack)?;
                self.blocks.edges.push(op_index as u32);
                break;
            }
            if !targets.is_empty() || self.covering.of(op_index) != summary.range {
                self.blocks.edges.push(op_index as u32);
                self.end_block(summary);
                summary = self.start_block(op_index);
            }
        }
        self.end_block(summary);
        Ok(())
    }

    /// Notes the control stack on a way to an op.
    fn come_to(&mut self, op: usize, stack: ControlStackId) -> Result<(), Fault> {
        match self.entries[op] {
            None => {
                self.entries[op] = Some(stack);
                self.to_visit.insert(op);
                Ok(())
            }
            Some(known) if known == stack => Ok(()),
            Some(_) => Err((op, VerifyErrorKind::MismatchedBlock)),
        }
    }

    /// What holds before an op that may raise holds at the handler. A callee that raises leaves
    /// nothing of the call's windows. Leaving a function raises nothing, so a source that is open
    /// where the range starts may be closed for that, and results may be put in place.
    fn note_raise(
        &mut self,
        op_index: usize,
        stack: ControlStackId,
        summary: &mut Summary,
    ) -> Result<(), Fault> {
        let Some(index) = summary.range else {
            return Ok(());
        };
        let op = &self.decoded.ops[op_index];
        let offset = self.decoded.offsets[op_index];
        if !super::may_raise(op, offset) {
            return Ok(());
        }
        let range = self.function.handlers[index];
        // A range may be entered in its middle; then its first op says what is open there.
        let Some(base) = self.stacks[self.decoded.position(range.start)] else {
            return Err((op_index, VerifyErrorKind::RangeEnteredLate));
        };
        if !self.control_stacks.extends(stack, base) {
            return Err((op_index, VerifyErrorKind::SourceLeftInRange));
        }
        self.handler_stacks[index] = Some(base);
        let mut raising = summary.transfer;
        if let Some((_, ints, refs)) = self.call_of(op) {
            raising.forget_from(ints, refs);
        }
        raising.write(Run::refs(range.register as usize, 1));
        match &mut summary.raising {
            Some(all) => all.meet(&raising),
            None => summary.raising = Some(raising),
        }
        self.come_to(self.decoded.position(range.target), base)
    }

    /// A function may be left only when every source that it opened is closed.
    fn check_exit(&self, op_index: usize, stack: ControlStackId) -> Result<(), Fault> {
        let leaves = match &self.decoded.ops[op_index] {
            Op::Ret {} | Op::TailCall { .. } | Op::TailCallClosure { .. } => true,
            Op::Raise { .. } | Op::MatchFail {} => self.covering.of(op_index).is_none(),
            _ => false,
        };
        if leaves && stack != ControlStackId::EMPTY {
            return Err((op_index, VerifyErrorKind::OpenAtExit));
        }
        Ok(())
    }

    /// The control stack after an op.
    fn change_stack(
        &mut self,
        op_index: usize,
        stack: ControlStackId,
    ) -> Result<ControlStackId, Fault> {
        match &self.decoded.ops[op_index] {
            Op::Enter { source } => Ok(self.control_stacks.enter(stack, SourceId(source.0))),
            Op::Leave { source } => match self.control_stacks.top(stack) {
                None => Err((op_index, VerifyErrorKind::UnmatchedLeave)),
                Some((open, below)) if open == SourceId(source.0) => Ok(below),
                Some((open, _)) => {
                    let left = SourceId(source.0);
                    Err((op_index, VerifyErrorKind::MismatchedLeave { open, left }))
                }
            },
            _ => Ok(stack),
        }
    }

    /// Adds what an op reads and writes to a summary; returns where it may jump to.
    fn sum_up(&mut self, op: &Op, summary: &mut Summary) -> TargetList {
        let mut targets = TargetList::new();
        op.visit_targets(&mut |target| targets.push(target));
        op.visit_registers(&mut |role, register| {
            let run = self.run_of(role, register);
            if role.access() == Access::Read {
                summary.read(run);
            }
        });
        if let Op::Ret {} = op {
            let sig = self.function.signature;
            summary.read(Run::ints(0, sig.int_results as usize));
            summary.read(Run::refs(0, sig.ref_results as usize));
        }
        let call = self.call_of(op);
        if let Some((sig, ints, refs)) = call {
            let is_closure = matches!(op, Op::CallClosure { .. } | Op::TailCallClosure { .. });
            self.touch(refs, sig.ref_window(is_closure));
            summary.read(Run::ints(ints, sig.int_params as usize));
            summary.read(Run::refs(refs, sig.ref_params as usize));
        }
        op.visit_registers(&mut |role, register| {
            if role.access() == Access::Write {
                summary.transfer.write(self.run_of(role, register));
            }
        });
        if let Some((sig, ints, refs)) = call {
            let transfer = &mut summary.transfer;
            transfer.forget_from(ints, refs);
            transfer.write(Run::ints(ints, sig.int_results as usize));
            transfer.write(Run::refs(refs, sig.ref_results as usize));
        }
        targets
    }

    /// The register of an operand of this role.
    fn run_of(&mut self, role: Role, register: u8) -> Run {
        match role {
            Role::RIn | Role::ROut | Role::RRegs => {
                self.touch(register as usize, 1);
                Run::refs(register as usize, 1)
            }
            _ => Run::ints(register as usize, 1),
        }
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

    /// Notes that an op names `count` `r` registers from `first` on.
    fn touch(&mut self, first: usize, count: usize) {
        if count > 0 {
            self.ref_registers = self.ref_registers.max((first + count) as u16);
        }
    }

    fn start_block(&self, first: usize) -> Summary {
        Summary {
            first: first as u32,
            first_edge: self.blocks.edges.len() as u32,
            range: self.covering.of(first),
            transfer: Transfer::NOTHING,
            needs: Registers::NONE,
            unwritten: None,
            raising: None,
        }
    }

    fn end_block(&mut self, summary: Summary) {
        let raising = summary.raising.zip(summary.range).map(|(transfer, range)| {
            let target = self.function.handlers[range].target;
            let target = self.decoded.position(target) as u32;
            self.blocks.raising.push((transfer, target));
            self.blocks.raising.len() as u32 - 1
        });
        self.block_of[summary.first as usize] = self.blocks.blocks.len() as u32;
        self.blocks.blocks.push(Block {
            first: summary.first,
            first_edge: summary.first_edge,
            transfer: summary.transfer,
            needs: summary.needs,
            is_faulty: summary.unwritten.is_some(),
            raising,
        });
    }

    /// Checks that registers are written before they are read, on every path; returns how many
    /// edges between blocks were followed more than once.
    fn check_registers(&mut self) -> Result<usize, Fault> {
        let mut entry = Registers::NONE;
        entry.insert(Run::ints(0, self.function.signature.int_params as usize));
        entry.insert(Run::refs(0, ref_params(self.function)));
        let limit = LEAST_STEPS + STEPS_PER_BYTE * self.function.code.len();
        let settled = self.blocks.settle(&self.block_of, entry, limit);
        let settled = settled.map_err(|limit| (0, VerifyErrorKind::TooManySteps { limit }))?;
        let blocks = self.blocks.blocks.iter().zip(&settled.before);
        let faulty =
            blocks.filter(|(block, before)| block.is_faulty || !before.contains_all(&block.needs));
        match faulty.min_by_key(|(block, _)| block.first) {
            Some((block, before)) => Err(self.find_fault(block.first as usize, *before)),
            None => Ok(settled.steps),
        }
    }

    /// The first op from `first` on that reads what is not written, if `before` is. There is one
    /// before the block ends.
    fn find_fault(&mut self, first: usize, before: Registers) -> Fault {
        let mut summary = self.start_block(first);
        summary.transfer = Transfer::constant(before);
        let mut op_index = first;
        loop {
            let op = &self.decoded.ops[op_index];
            self.sum_up(op, &mut summary);
            if let Some(register) = summary.unwritten {
                return (op_index, VerifyErrorKind::Unwritten { register });
            }
            op_index += 1;
        }
    }
}

/// A block while its ops are visited.
struct Summary {
    first: u32,
    first_edge: u32,
    /// The handler range of all of its ops.
    range: Option<usize>,
    transfer: Transfer,
    /// The registers that must be written before the block.
    needs: Registers,
    /// The first register that is read and that no way to the block can have written.
    unwritten: Option<Register>,
    /// What holds at the handler, if an op may raise.
    raising: Option<Transfer>,
}

impl Summary {
    fn read(&mut self, run: Run) {
        match self.transfer.needs(run) {
            Ok(needs) => self.needs.insert_all(&needs),
            Err(register) => self.unwritten = self.unwritten.or(Some(register)),
        }
    }
}

/// Parameters that arrive in `r` registers, a closure's function's closure included.
fn ref_params(function: &Function) -> usize {
    function.signature.ref_params as usize + function.captures.is_some() as usize
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
