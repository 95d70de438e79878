//! The way into a function from Rust: onto empty stacks, or above the frames of a host function's
//! caller.
//!
//! ```text
//! frames of the caller    its registers, with the windows of the host function
//! frame A                 returns to the host call (for backtraces and call stacks only)
//! frame B                 returns to the word that ends a run
//! frames of the callee
//! ```
//!
//! A run from outside has frame B only. Whatever ends the callee, nothing above the caller's frames
//! is left: barriers, budgets and callbacks that began there end with it, and the node that was
//! current is current again. An exception that leaves the callee is handed to the host function,
//! and so is a trap: the host function says what becomes of its caller.

use profiler::{Node, SourceId};

use super::{Access, CallError, Giver, ObjectError, Outcome, Progress, Reach, RunError, Taker};
use crate::code::Frame;
use crate::heap::Value;
use crate::host::{HostCall, HostError, Hosts};
use crate::machine::{Context, Exit, FAULT_TAG, Fault, Machine, Trap};
use crate::objects::show;
use crate::safepoint::callbacks;
use crate::verify::VerifiedModule;

pub(crate) use super::access::{Call, callee};

/// `i` registers that a function may use: a callee's stand above its caller's.
const INT_REGISTERS: usize = 256;
/// How deep host functions may call back: each level takes some of the native stack.
const MAX_DEPTH: u32 = 128;

/// Puts the references that are passing into the callee's registers, from `first` on.
///
/// # Safety
/// `window` has the callee's registers, and as many references are passing as it wants.
pub(crate) unsafe fn pass(window: Machine, first: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let passing = &mut (*window.ctx).roots.passing;
        for (index, word) in passing.drain(first..).enumerate() {
            window.set_r(u8::MAX - index as u8, Value(word));
        }
    }
}

/// Runs a function whose arguments stand in `window`'s registers, until it stops.
/// `control.exit` says why.
///
/// # Safety
/// `window` is at the first free frame, and has room for a function's registers; `caller` is the
/// machine at the word of a host call that calls back.
pub(crate) unsafe fn run(window: Machine, caller: Option<Machine>, function: u32) {
    // SAFETY: the caller's promise. The context, the program and the profile's nodes live on.
    unsafe {
        let ctx = window.ctx;
        let program = &*(*ctx).program;
        let loaded = program.function(function);
        let mut sp = window.sp;
        if let Some(caller) = caller {
            sp.write(Frame {
                pc: caller.pc.add(1),
                ints: caller.ints,
                refs: caller.refs,
            });
            sp = sp.add(1);
        }
        sp.write(Frame {
            pc: program.halt(),
            ints: window.ints,
            refs: window.refs,
        });
        let mut count_node = loaded.count_node;
        if let Some(contexts) = (*ctx).profiling.contexts.as_ref() {
            let outer: *const Node = match caller {
                Some(caller) => {
                    let current = caller.current();
                    *caller.saved_context(caller.sp) = current;
                    current
                }
                None => contexts.root(),
            };
            *window.saved_context(sp) = outer;
            let is_main = caller.is_none() && loaded.entry_source == SourceId::MAIN;
            let first = match is_main {
                true => outer,
                false => contexts.enter(&*outer, loaded.entry_source),
            };
            window.publish(first);
            count_node = match loaded.is_counted {
                true => first,
                false => (*ctx).profiling.idle_node,
            };
        } else if (*ctx).profiling.units.is_on() {
            window.publish(loaded.entry_node);
        }
        if program.counts && caller.is_some() {
            (*count_node).count_call();
        }
        go(Machine {
            pc: loaded.entry,
            sp: sp.add(1),
            ..window
        });
    }
}

/// Goes on at a place until the machine stops.
///
/// # Safety
/// The machine is at a word of its program.
pub(crate) unsafe fn go(m: Machine) {
    // SAFETY: the caller's promise.
    unsafe {
        let pc = m.go(m.pc);
        #[cfg(tail_dispatch)]
        debug_assert!(pc.is_null(), "handlers jump to one another until one stops");
        #[cfg(not(tail_dispatch))]
        {
            let mut pc = pc;
            while !pc.is_null() {
                let crate::machine::Resume { ints, refs, sp, .. } = (*m.ctx).control.resume;
                pc = ((*pc).op.handler)(pc, ints, refs, m.ctx.cast(), sp);
            }
        }
    }
}

/// The machine with a callee's results as its registers, when the callee has returned.
///
/// # Safety
/// A run has stopped on this context.
pub(crate) unsafe fn results(ctx: *mut Context) -> Taker {
    // SAFETY: the caller's promise.
    unsafe { Taker::new(Machine::new((*ctx).control.resume, ctx)) }
}

/// What became of a run, for whoever has started it. A panic goes on.
///
/// # Safety
/// The context is the machine's with these hosts.
pub(crate) unsafe fn outcome(
    ctx: *mut Context,
    hosts: &mut Hosts,
    exit: Exit,
) -> Result<Progress, RunError> {
    match exit {
        Exit::Panicked(payload) => std::panic::resume_unwind(payload),
        Exit::Returned => Ok(Progress::Ended(Outcome::Returned(Vec::new()))),
        Exit::Paused => Ok(Progress::Paused),
        Exit::Code(code) => Ok(Progress::Ended(Outcome::ExitCode(code))),
        Exit::Trap(trap, backtrace) => Err(RunError::Trap {
            trap,
            backtrace: Box::new(backtrace),
        }),
        Exit::Uncaught(backtrace) => {
            // SAFETY: the caller's promise.
            let roots = unsafe { &mut (*ctx).roots };
            let object = std::mem::replace(&mut roots.exception, Value::ZERO);
            let fault = show::record_int(object, FAULT_TAG).and_then(Fault::from_code);
            let (denied, message) = match fault {
                Some(Fault::HostFailed) => hosts.take_reason(),
                _ => (None, None),
            };
            Err(RunError::Uncaught {
                exception: fault.map_or_else(|| show::show(object), |fault| fault.to_string()),
                object: Some(roots.table.root(object)),
                denied,
                message,
                backtrace: Box::new(backtrace),
            })
        }
    }
}

/// The first of the callee's registers and frames, above the caller's: `None` when the stack has no
/// room for a function's registers.
unsafe fn window_above(m: Machine) -> Option<Machine> {
    // SAFETY: the caller passes the machine at a word of a host call. The windows of the call are
    // among the registers that the function touches.
    unsafe {
        let program = &*(*m.ctx).program;
        let n_refs = match program.op_at(m.pc) {
            Some((function, _)) => function.ref_registers as usize,
            None => 0,
        };
        let window = Machine {
            pc: program.halt(),
            ints: m.ints.add(INT_REGISTERS),
            refs: m.refs.wrapping_sub(n_refs),
            ..m
        };
        ((window.ints as usize) < window.refs as usize).then_some(window)
    }
}

/// Runs a function for a host function, and puts everything back as it was.
///
/// # Safety
/// `m` is at the word of a host call, and `window` above it has the arguments.
unsafe fn run_back(m: Machine, window: Machine, function: u32) -> Exit {
    let ctx = m.ctx;
    // SAFETY: the caller's promise. The parts of the context are apart.
    unsafe {
        let was_suspended = (*ctx).profiling.memprof.is_suspended();
        let could_pause = std::mem::replace(&mut (*ctx).control.can_pause, false);
        (*ctx).profiling.outer_nodes.push(m.current());
        (*ctx).control.depth += 1;
        run(window, Some(m), function);
        (*ctx).control.depth -= 1;
        (*ctx).control.can_pause = could_pause;
        callbacks::disarm(ctx);
        let memprof = &mut (*ctx).profiling.memprof;
        memprof.unwind(&mut *(*ctx).program, m.sp);
        if memprof.is_suspended() && !was_suspended {
            memprof.callback_raised(&mut (*ctx).heap);
        }
        if let Some(node) = (*ctx).profiling.outer_nodes.pop() {
            m.publish(node);
        }
        std::mem::replace(&mut (*ctx).control.exit, Exit::Returned)
    }
}

impl Reach for HostCall {
    fn alive(&self) -> Result<*mut Context, ObjectError> {
        let ctx = self.caller.ctx;
        // SAFETY: the context outlives the call.
        unsafe { (*ctx).heap_failure() }.map_or(Ok(ctx), |error| Err(error.into()))
    }

    fn allocating<T>(
        &mut self,
        work: impl FnOnce(Machine) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        self.alive()?;
        work(self.caller)
    }

    fn enter<T>(
        &mut self,
        call: Call,
        give: impl FnOnce(&mut Giver) -> Result<(), ObjectError>,
        take: impl FnOnce(&mut Taker) -> Result<T, ObjectError>,
    ) -> Result<T, RunError> {
        let m = self.caller;
        let ctx = self.alive()?;
        // SAFETY: the machine is at the word of a host call; the hosts reach the function that is
        // running by its number only.
        unsafe {
            if (*ctx).control.depth >= MAX_DEPTH {
                return Err(RunError::Call(CallError::TooDeep { limit: MAX_DEPTH }));
            }
            let Some(window) = window_above(m) else {
                let limit_bytes = (*ctx).stack.bytes();
                return Err(RunError::Trap {
                    trap: Trap::StackOverflow { limit_bytes },
                    backtrace: Box::new(self.backtrace()),
                });
            };
            let first = (*ctx).roots.passing.len();
            let mut giver = Giver {
                machine: m,
                ints: window.ints,
            };
            if let Err(error) = give(&mut giver) {
                (*ctx).roots.passing.truncate(first);
                return Err(error.into());
            }
            pass(window, first);
            let exit = run_back(m, window, call.function);
            match outcome(ctx, &mut *self.hosts, exit)? {
                Progress::Ended(Outcome::ExitCode(code)) => Err(RunError::Exit(code)),
                _ => Ok(take(&mut results(ctx))?),
            }
        }
    }

    fn verified(&self) -> &VerifiedModule {
        // SAFETY: the program outlives the call.
        unsafe { &(&*(*self.caller.ctx).program).module }
    }
}

impl HostCall {
    /// An exception of this tag without fields, for the program: to be returned as the error.
    pub fn exception(&mut self, tag: u16) -> HostError {
        match self.new_record(tag, &[], &[]) {
            Ok(exception) => HostError::Raise(exception),
            Err(error) => error.into(),
        }
    }
}
