//! Host functions for memory profiles: what `Gc.Memprof` offers, budgets, and memory outside the
//! heap. `docs/memory.md` says how programs use them.

use super::{HostCall, HostError};
use crate::code::{LoadedFunction, signature_word};
use crate::heap::{ObjectKind, Value};
use crate::interp::handlers::record::ref_field;
use crate::memprof::{CallStack, ClosureTracker, MemprofConfig, MemprofError, StackFrame};
use crate::safepoint::{sample_external, spend};

/// The most memory outside the heap that is accounted for at once: the time that it takes grows
/// with the samples in it.
const MAX_EXTERNAL_BYTES: u64 = 4 << 30;

/// How many calls of a stack are walked before somebody is asked whether the run is to end, and how
/// many of them one unit of fuel pays for.
const CALLS_PER_LOOK: usize = 1 << 10;
const CALLS_PER_FUEL: usize = 1 << 4;

/// Fields of a tracker.
const N_CLOSURES: usize = ClosureTracker::SIGNATURES.len();

pub(super) fn start(call: &mut HostCall) -> Result<(), HostError> {
    let started = config(call).and_then(|config| call.memprof_start(config));
    let number = call.memprof_result(started)?;
    call.set_int(0, number as i64);
    Ok(())
}

/// The arguments of `memprof_start`, checked in the order that `Gc.Memprof` has (S8).
fn config(call: &HostCall) -> Result<MemprofConfig, MemprofError> {
    let (rate, size) = (call.float(0), call.int(1));
    if !(0.0..=1.0).contains(&rate) {
        return Err(MemprofError::InvalidRate(rate));
    }
    if size < 0 {
        return Err(MemprofError::InvalidCallstackSize(size));
    }
    Ok(MemprofConfig {
        rate,
        callstack_size: u32::try_from(size).ok(),
        call_lines: true,
        seed: call.int(2) as u64,
        exclusive: true,
    })
}

pub(super) fn stop(call: &mut HostCall) -> Result<(), HostError> {
    // SAFETY: the context is the running machine's.
    let ctx = unsafe { &mut *call.ctx() };
    let stopped = ctx.profiling.memprof.stop_exclusive(&mut ctx.heap);
    call.memprof_result(stopped)
}

pub(super) fn discard(call: &mut HostCall) -> Result<(), HostError> {
    let number = call.int(0) as u64;
    // SAFETY: the context is the running machine's.
    let ctx = unsafe { &mut *call.ctx() };
    let discarded = ctx
        .profiling
        .memprof
        .discard_of_program(&mut ctx.heap, number);
    call.memprof_result(discarded)
}

pub(super) fn is_sampling(call: &mut HostCall) -> Result<(), HostError> {
    // SAFETY: the context is the running machine's.
    let is_sampling = unsafe { (*call.ctx()).profiling.memprof.is_exclusively_sampling() };
    call.set_int(0, is_sampling as i64);
    Ok(())
}

pub(super) fn last_error(call: &mut HostCall) -> Result<(), HostError> {
    // SAFETY: the context is the running machine's.
    let error = unsafe { (*call.ctx()).profiling.memprof.last_error };
    let message = error.map(|error| error.to_string()).unwrap_or_default();
    call.set_text(0, message.as_bytes())
}

pub(super) fn depth(call: &mut HostCall) -> Result<(), HostError> {
    let depth = call.walk_told_stack(usize::MAX)?;
    call.set_int(0, depth as i64);
    Ok(())
}

pub(super) fn frame(call: &mut HostCall) -> Result<(), HostError> {
    let index = usize::try_from(call.int(0)).map_err(|_| HostError::Failed)?;
    if call.walk_told_stack(index)? < index {
        return Err(HostError::Failed);
    }
    let stack = call.told_stack().ok_or(HostError::Failed)?;
    let text = match stack.frames().nth(index).ok_or(HostError::Failed)? {
        StackFrame::Op(location) => stack.program.describe(location),
        StackFrame::Function(index) => {
            let function = &stack.program.module.functions[index as usize];
            function.name.clone()
        }
    };
    call.set_text(0, text.as_bytes())
}

pub(super) fn word_clock(call: &mut HostCall) -> Result<(), HostError> {
    // SAFETY: the context is the running machine's.
    let clock = unsafe { (*call.ctx()).profiling.memprof.clock(&(*call.ctx()).heap) };
    call.set_int(0, clock as i64);
    Ok(())
}

pub(super) fn budget_start(call: &mut HostCall) -> Result<(), HostError> {
    let words = u64::try_from(call.int(0)).map_err(|_| HostError::Failed)?;
    // SAFETY: the context is the running machine's.
    let ctx = unsafe { &mut *call.ctx() };
    let end = ctx.profiling.memprof.clock(&ctx.heap).saturating_add(words);
    let sp = call.caller.sp;
    ctx.profiling.memprof.open_budget(&mut ctx.heap, end, sp);
    Ok(())
}

pub(super) fn budget_end(call: &mut HostCall) -> Result<(), HostError> {
    // SAFETY: the context is the running machine's.
    let ctx = unsafe { &mut *call.ctx() };
    let memprof = &mut ctx.profiling.memprof;
    let left = memprof.close_budget(&mut ctx.heap, call.caller.sp);
    let left = left.ok_or(HostError::Failed)?;
    call.set_int(0, left as i64);
    Ok(())
}

pub(super) fn external_alloc(call: &mut HostCall) -> Result<(), HostError> {
    let bytes = u64::try_from(call.int(0)).map_err(|_| HostError::Failed)?;
    if bytes > MAX_EXTERNAL_BYTES {
        return Err(HostError::Failed);
    }
    // SAFETY: the registers are those of the machine at the word of this call.
    let number = unsafe { sample_external(call.caller, bytes.div_ceil(8))? };
    call.set_int(0, number as i64);
    Ok(())
}

pub(super) fn external_free(call: &mut HostCall) -> Result<(), HostError> {
    let number = call.int(0) as u64;
    // SAFETY: the context is the running machine's.
    let ctx = unsafe { &mut *call.ctx() };
    let was_given = ctx.profiling.memprof.free_external(&mut ctx.heap, number);
    was_given.then_some(()).ok_or(HostError::Failed)
}

impl HostCall {
    fn memprof_start(&mut self, config: MemprofConfig) -> Result<u64, MemprofError> {
        let tracker = self.closure_tracker()?;
        // SAFETY: the context is the running machine's.
        let ctx = unsafe { &mut *self.ctx() };
        ctx.profiling
            .memprof
            .start_closures(&mut ctx.heap, config, tracker)
    }

    /// The tracker that is the first argument: a record of five closures, or null for each.
    fn closure_tracker(&self) -> Result<ClosureTracker, MemprofError> {
        let mut closures = [Value::null(); N_CLOSURES];
        for (place, closure) in closures.iter_mut().enumerate() {
            // SAFETY: the argument is a reference to a whole object, and so are its fields.
            let field =
                unsafe { ref_field(self.window().r(u8::MAX), place as u8).map(|slot| *slot) };
            let value = Value(field.ok_or(MemprofError::InvalidTracker(place))?);
            let wanted = signature_word(ClosureTracker::SIGNATURES[place]);
            if !value.is_null() && closure_signature(value) != Some(wanted) {
                return Err(MemprofError::InvalidTracker(place));
            }
            *closure = value;
        }
        Ok(ClosureTracker(closures))
    }

    /// Keeps the error of a `memprof_` function for `memprof_error`.
    fn memprof_result<T>(&mut self, result: Result<T, MemprofError>) -> Result<T, HostError> {
        result.map_err(|error| {
            // SAFETY: the context is the running machine's.
            unsafe { (*self.ctx()).profiling.memprof.last_error = Some(error) };
            HostError::Failed
        })
    }

    /// Goes along the call stack of the block whose allocation is being told, paying for it: gives
    /// how many calls it has, or `limit` if it has more.
    fn walk_told_stack(&self, limit: usize) -> Result<usize, HostError> {
        let Some(stack) = self.told_stack() else {
            return Ok(0);
        };
        let mut calls = stack.calls();
        let mut n_calls = 0;
        loop {
            let n_wanted = CALLS_PER_LOOK.min(limit - n_calls);
            let n_more = calls.by_ref().take(n_wanted).count();
            n_calls += n_more;
            if n_more == 0 {
                return Ok(n_calls);
            }
            // SAFETY: the context is the running machine's.
            unsafe { spend(self.caller, (n_more / CALLS_PER_FUEL) as u64)? };
        }
    }

    /// The call stack of the block whose allocation is being told.
    fn told_stack(&self) -> Option<CallStack<'_>> {
        // SAFETY: the context is the running machine's, and stays as it is while `self` is
        // borrowed.
        unsafe {
            let (call, limit) = (*self.ctx()).profiling.memprof.told_stack()?;
            Some(CallStack {
                calls: &(*self.ctx()).profiling.memprof.calls,
                program: &*(*self.ctx()).program,
                call,
                limit,
            })
        }
    }
}

/// The signature of a closure's function; `None` when the value is no closure.
fn closure_signature(value: Value) -> Option<u32> {
    let object = value.object()?;
    // SAFETY: a pointer points to a whole object; the second word of a closure points to its
    // function, which lives as long as the program.
    unsafe {
        let is_closure =
            *object as u8 & crate::heap::KIND_MASK == ObjectKind::Closure.header_byte();
        let function = || &*(*object.add(1) as *const LoadedFunction);
        is_closure.then(|| function().signature_word)
    }
}
