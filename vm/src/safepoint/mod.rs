//! What happens between two ops: the machine's state is whole there, and whoever has waited for
//! that is seen to.
//!
//! | module | what is seen to |
//! |---|---|
//! | `room` | an allocation that has met its limit: budgets, samples, a collection |
//! | `collect` | collections, with all the machine's roots |
//! | `attention` | signals, snapshots, fuel |
//! | `work` | what takes long: it is done in parts |
//! | `raise` | exceptions and faults, and the end of a run by them |
//! | `callbacks` | events of memory profiles that a program wants to hear of |
//! | `switch` | contexts and units of profile data |
//!
//! Whatever it is, a [`Way`] comes of it. The functions take the machine by value, and none of them
//! goes on by itself: that is for the handlers (`interp/slow.rs`). What a callback is due before is
//! said by who knows how the run goes on: after the op ([`callbacks::arm_after`]), or before the
//! word that comes next ([`callbacks::arm_here`]).
//!
//! Code of the embedder's runs here, too: host functions, trackers, snapshot actions. Handlers
//! cannot unwind, so a panic in it is caught here, ends the run, and goes on in whoever called the
//! machine.

mod attention;
pub(crate) mod callbacks;
mod collect;
mod raise;
mod room;
mod switch;
mod work;

pub(crate) use attention::{look_at_attention, run_out_of_fuel, take_attention};
pub(crate) use collect::{Cause, census_at_end, collect_with_roots};
pub(crate) use raise::{make_fault, unwind};
pub(crate) use room::{header_source, make_room, sample_external};
pub(crate) use switch::{context_of, make_wanted_context, switch_unit};
pub(crate) use work::{BYTES_PER_FUEL, PART_BYTES, in_parts, spend};

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;

use crate::heap::OutOfMemory;
use crate::machine::{Backtrace, Broken, Context, Exit, Machine, Obstacle, SIGNAL_BITS, Trap};

/// How a run goes on after slow work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// With the same word, done again.
    Again,
    /// With the word behind it.
    Next,
    /// Where `control.resume` says.
    Resume,
    /// With the same word, when there is room for `control.request_bytes`.
    Collect,
    /// The fault in `control.fault` is raised.
    Raise,
    /// The exception among the roots is raised.
    Throw,
    /// The run ends: `control.exit` says why.
    Stop,
}

/// Does slow work for a machine, and says how the run goes on. A panic ends it.
///
/// # Safety
/// The machine is at a word of its program.
#[inline(always)]
pub(crate) unsafe fn settle(m: Machine, work: impl FnOnce() -> Result<Way, Obstacle>) -> Way {
    match catch_unwind(AssertUnwindSafe(work)) {
        // SAFETY: the caller's promise.
        Ok(result) => unsafe { way_after(m, result) },
        Err(payload) => {
            // SAFETY: the context is the machine's.
            unsafe { (*m.ctx).control.exit = Exit::Panicked(payload) };
            Way::Stop
        }
    }
}

/// How a run goes on after work in which no code of the embedder's runs.
///
/// # Safety
/// As for [`settle`].
#[inline(always)]
pub(crate) unsafe fn way_after(m: Machine, result: Result<Way, Obstacle>) -> Way {
    match result {
        Ok(way) => way,
        // SAFETY: the caller's promise.
        Err(obstacle) => unsafe { meet(m, obstacle) },
    }
}

/// Notes what keeps the machine from going on, and gives the way on.
#[cold]
#[inline(never)]
unsafe fn meet(m: Machine, obstacle: Obstacle) -> Way {
    // SAFETY: the context is the machine's, and `sp` is above the run's first frame.
    unsafe {
        match obstacle {
            Obstacle::Fault(fault) => {
                (*m.ctx).control.fault = fault;
                Way::Raise
            }
            Obstacle::Raise => Way::Throw,
            Obstacle::Ended(trap, backtrace) => {
                (*m.ctx).control.exit = Exit::Trap(trap, backtrace);
                Way::Stop
            }
            Obstacle::Pause => {
                (*m.ctx).control.exit = Exit::Paused;
                Way::Stop
            }
            Obstacle::ExitCode(code) => {
                (*m.ctx).control.exit = Exit::Code(code);
                Way::Stop
            }
            Obstacle::Trap(trap) => {
                end_with_trap(m, trap);
                Way::Stop
            }
        }
    }
}

/// Ends the run: the registers stay where they were, for a backtrace.
///
/// # Safety
/// As for [`settle`].
pub(crate) unsafe fn end_with_trap(m: Machine, trap: Trap) {
    // SAFETY: the context is the machine's, and `sp` is above the run's first frame.
    unsafe {
        let ctx = m.ctx;
        // A collection that was given up because the run is to end has failed as if for memory.
        let trap = match trap {
            Trap::OutOfMemory(error) => {
                match (*(*ctx).control.attention).fetch_and(!SIGNAL_BITS, Relaxed) as u8 {
                    0 => Trap::OutOfMemory(error),
                    signal => Trap::Interrupted(signal),
                }
            }
            other => other,
        };
        let first = (*ctx).stack.first_frame();
        let backtrace = Backtrace::take(&*(*ctx).program, m.pc, first, m.sp);
        (*ctx).control.exit = Exit::Trap(trap, backtrace);
    }
}

/// Ends the run with a stack overflow.
///
/// # Safety
/// As for [`settle`].
#[inline(never)]
pub(crate) unsafe fn overflow_stack(m: Machine) {
    // SAFETY: the caller's promise.
    unsafe {
        let limit_bytes = (*m.ctx).stack.bytes();
        end_with_trap(m, Trap::StackOverflow { limit_bytes });
    }
}

/// The machine has returned from a frame whose return is caught: gives where it goes on.
///
/// # Safety
/// The innermost frame with the barrier has just been popped.
#[inline(never)]
pub(crate) unsafe fn meet_barrier(m: Machine) -> crate::code::Pc {
    // SAFETY: the caller's promise.
    unsafe { (*(*m.ctx).program).pop_caught() }
}

/// Does what may call trackers of the embedder's. If one panics, objects may not have been told of
/// what has become of them: the heap is of no further use.
fn telling_trackers<T>(ctx: *mut Context, work: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(payload) => {
            // SAFETY: the context outlives the work, which is over.
            unsafe { (*ctx).control.broken = Some(Broken::Panicked) };
            resume_unwind(payload)
        }
    }
}

/// Fails if the heap is of no further use.
unsafe fn check_heap(ctx: *mut Context) -> Result<(), OutOfMemory> {
    // SAFETY: the caller passes the machine's context.
    unsafe { (*ctx).heap_failure() }.map_or(Ok(()), Err)
}
