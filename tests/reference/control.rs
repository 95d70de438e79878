//! Calls, returns and exceptions.

use profiler::SourceId;
use vm::isa::{FuncId, HostId, IWindow, Op, RIn, RWindow, Sig, Signature};
use vm::module::HandlerRange;
use vm::{FAULT_TAG, Fault};

use super::heap::{Object, Value};
use super::host::HostEnd;
use super::{End, MAX_DEPTH, Machine};

/// How many registers of each class a frame may name.
pub(super) const REGISTERS: usize = 256;
/// What stands in `i` registers that nobody has written. A program that can see it is one that
/// should not have verified.
const UNWRITTEN: i64 = 0x5ca1_ab1e_dead_beef;

/// An active function.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// The function.
    pub function: usize,
    /// The step that it is at; for a caller, that of its call.
    pub at: usize,
    /// Where its `i` registers start.
    pub ints: usize,
    /// Where its `r` registers start.
    pub refs: usize,
    /// The sources that it has opened, outermost first.
    pub open: Vec<SourceId>,
}

impl Machine<'_> {
    /// Executes calls, returns and raises; `false` when the op is another one.
    pub(super) fn control(&mut self, op: &Op) -> Result<bool, End> {
        let (int_base, ref_base) = (self.frame().ints, self.frame().refs);
        let windows = |ints: &IWindow, refs: &RWindow| {
            (
                int_base + usize::from(ints.0),
                ref_base + usize::from(refs.0),
            )
        };
        match op {
            Op::Call {
                function: FuncId(id),
                ints,
                refs,
            } => {
                let (ints, refs) = windows(ints, refs);
                self.call(*id, ints, refs)?;
            }
            Op::TailCall {
                function: FuncId(id),
            } => self.tail_call(*id),
            Op::CallClosure {
                closure,
                sig,
                ints,
                refs,
            } => {
                let (ints, refs) = windows(ints, refs);
                match self.closure(closure, sig) {
                    Ok((id, closure)) => {
                        self.refs[refs + sig.0.ref_params as usize] = closure;
                        self.call(id, ints, refs)?;
                    }
                    Err(fault) => self.fault(fault)?,
                }
            }
            Op::TailCallClosure { closure, sig } => match self.closure(closure, sig) {
                Ok((id, closure)) => {
                    self.refs[ref_base + sig.0.ref_params as usize] = closure;
                    self.tail_call(id);
                }
                Err(fault) => self.fault(fault)?,
            },
            Op::CallHost {
                host: HostId(id),
                ints,
                refs,
            } => {
                let (ints, refs) = windows(ints, refs);
                let module = self.module;
                match self.call_host(&module.hosts[*id as usize].name, ints, refs) {
                    Ok(()) => self.frame_mut().at += 1,
                    Err(HostEnd::Fault(fault)) => self.fault(fault)?,
                    Err(HostEnd::Run(end)) => return Err(end),
                }
            }
            Op::Ret {} => self.ret()?,
            Op::Raise {
                exception: RIn(register),
            } => {
                self.raise(self.refs[ref_base + *register as usize])?;
            }
            Op::MatchFail {} => self.fault(Fault::MatchFailed)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The function of the closure in a register, which must have this signature.
    fn closure(&self, register: &RIn, sig: &Sig) -> Result<(u32, Value), Fault> {
        let value = self.refs[self.frame().refs + register.0 as usize];
        match self.heap.object(value)? {
            Object::Closure { function, .. } if self.signature(*function) == sig.0 => {
                Ok((*function, value))
            }
            _ => Err(Fault::WrongKind),
        }
    }

    pub(super) fn signature(&self, function: u32) -> Signature {
        self.module.functions[function as usize].signature
    }

    /// A frame whose parameters are in place. All other registers are made to hold what no
    /// program should ever see, so that a difference shows if one does.
    pub(super) fn call(&mut self, function: u32, ints: usize, refs: usize) -> Result<(), End> {
        if self.frames.len() == MAX_DEPTH {
            return Err(End::StackOverflow);
        }
        self.frames.push(Frame {
            function: function as usize,
            at: 0,
            ints,
            refs,
            open: Vec::new(),
        });
        if !self.is_entry() {
            self.ledger.begin();
        }
        self.ints
            .resize(self.ints.len().max(ints + REGISTERS), UNWRITTEN);
        self.refs
            .resize(self.refs.len().max(refs + REGISTERS), Value::Null);
        let signature = self.signature(function);
        let is_closure = self.module.functions[function as usize].captures.is_some();
        self.forget(
            ints + signature.int_params as usize,
            refs + signature.ref_params as usize + is_closure as usize,
        );
        Ok(())
    }

    /// Leaves the function that is running.
    fn pop(&mut self) -> Frame {
        if !self.is_entry() {
            self.ledger.end();
        }
        let left = self.frames.pop().expect("a function is running");
        assert!(left.open.is_empty(), "verified: nothing is open here");
        left
    }

    /// Whether the entry function is running, for which `<main>` stands.
    fn is_entry(&self) -> bool {
        self.frame().function == self.module.entry as usize
    }

    /// Opens a source in the function that is running.
    pub(super) fn enter(&mut self, source: SourceId) {
        if self.frame().open.is_empty() && !self.is_entry() {
            self.ledger.end();
        }
        self.frame_mut().open.push(source);
        self.ledger.enter(source);
    }

    /// Closes the source that was opened last.
    pub(super) fn leave(&mut self) -> SourceId {
        let source = self.frame_mut().open.pop().expect("verified: one is open");
        self.ledger.leave(source);
        if self.frame().open.is_empty() && !self.is_entry() {
            self.ledger.begin();
        }
        source
    }

    fn forget(&mut self, ints: usize, refs: usize) {
        // Whoever is called next clears what lies further up.
        let (ints_end, refs_end) = (ints + REGISTERS, refs + REGISTERS);
        let (n_ints, n_refs) = (self.ints.len(), self.refs.len());
        self.ints[ints..ints_end.min(n_ints)].fill(UNWRITTEN);
        self.refs[refs..refs_end.min(n_refs)].fill(Value::Null);
    }

    /// The function is left first, so none of its sources is open in the callee.
    fn tail_call(&mut self, function: u32) {
        self.tally.tail_calls += 1;
        let left = self.pop();
        let called = self.call(function, left.ints, left.refs);
        called.expect("a frame has just been left");
    }

    fn ret(&mut self) -> Result<(), End> {
        let left = self.pop();
        let signature = self.signature(left.function as u32);
        let results = left.ints..left.ints + signature.int_results as usize;
        let Some(caller) = self.frames.last_mut() else {
            return Err(End::Returned(self.ints[results].to_vec()));
        };
        caller.at += 1;
        self.forget(results.end, left.refs + signature.ref_results as usize);
        Ok(())
    }

    /// Raises a fault: a record that is charged where the op is.
    pub(super) fn fault(&mut self, fault: Fault) -> Result<(), End> {
        self.tally.faults += 1;
        let exception = self.allocate(Object::Record {
            tag: FAULT_TAG,
            refs: Vec::new(),
            ints: vec![fault as i64],
        });
        self.raise(exception)
    }

    /// Goes on at the innermost handler. In each function the first range that holds the op, or
    /// the call, counts; what was opened since the range's start is closed.
    fn raise(&mut self, exception: Value) -> Result<(), End> {
        self.tally.raises += 1;
        loop {
            let (running, at) = (self.frame().function, self.frame().at);
            let offset = self.steps[running][at].offset;
            let function = &self.module.functions[running];
            let holds = |range: &&_| {
                let range: &&HandlerRange = range;
                (range.start..range.end).contains(&offset)
            };
            let range = function.handlers.iter().find(holds);
            let facts = &self.module.facts()[running];
            let depth = range.map_or(0, |range| {
                let start = facts.op_at(range.start).expect("ranges are verified");
                let stack = facts.stacks[start].expect("the range has been reached");
                facts.control_stacks.sources(stack).len()
            });
            while self.frame().open.len() > depth {
                self.leave();
            }
            if let Some(range) = range {
                self.tally.handled += 1;
                let target = facts.op_at(range.target).expect("targets are verified");
                let place = self.frame().refs + range.register as usize;
                self.refs[place] = exception;
                self.frame_mut().at = target;
                return Ok(());
            }
            if self.frames.len() == 1 {
                return Err(End::Uncaught(self.heap.show_exception(exception)));
            }
            self.pop();
        }
    }
}
