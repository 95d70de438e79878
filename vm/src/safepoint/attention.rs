//! Signals, snapshots and fuel.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::Relaxed;

use super::collect::census;
use super::{Way, callbacks, check_heap};
use crate::machine::{Machine, Obstacle, SNAPSHOT, Snapshot, Trap};

/// Sees to whoever wants attention.
///
/// # Errors
/// When the run is to end.
///
/// # Safety
/// The registers are those of the machine at a word of the running program.
pub(crate) unsafe fn look_at_attention(m: Machine) -> Result<Way, Obstacle> {
    // SAFETY: the caller's promise.
    unsafe {
        if (*m.ctx).control.fuel < 0 && !(*m.ctx).control.can_pause {
            return Err(Obstacle::Trap(Trap::OutOfFuel));
        }
        let signal = take_attention(m);
        check_heap(m.ctx)?;
        // This word is done again, and may be a jump or a call: what the collection for a snapshot
        // has found is told before it, not at the op behind it.
        callbacks::arm_here(m);
        match signal {
            None => Ok(Way::Again),
            Some(signal) => Err(Obstacle::Trap(Trap::Interrupted(signal))),
        }
    }
}

/// The fuel is used up at the word that pays for the block behind it.
///
/// # Errors
/// Always: the run ends, or pauses where it can go on. The block is paid for then.
///
/// # Safety
/// As for [`look_at_attention`].
pub(crate) unsafe fn run_out_of_fuel(m: Machine) -> Result<Way, Obstacle> {
    // SAFETY: the caller's promise.
    match unsafe { (*m.ctx).control.can_pause } {
        true => Err(Obstacle::Pause),
        false => Err(Obstacle::Trap(Trap::OutOfFuel)),
    }
}

/// Takes a snapshot if one is asked for. Gives the signal that asks for the end, if one does.
///
/// # Safety
/// As for [`look_at_attention`].
pub(crate) unsafe fn take_attention(m: Machine) -> Option<u8> {
    let ctx = m.ctx;
    // SAFETY: the caller's promise; the flag outlives the context.
    unsafe {
        let wanted = (*(*ctx).control.attention).swap(0, Relaxed);
        if wanted & SNAPSHOT != 0
            && let Some(mut action) = (*ctx).profiling.on_snapshot.take()
        {
            census(m);
            let profiling = &(*ctx).profiling;
            profiling.units.settle_time(&*profiling.cell);
            let taken = catch_unwind(AssertUnwindSafe(|| action(&Snapshot::of(&*ctx))));
            // Also after a panic: the next snapshot may go well.
            (*ctx).profiling.on_snapshot = Some(action);
            if let Err(payload) = taken {
                resume_unwind(payload);
            }
        }
        let signal = wanted as u8;
        (signal != 0).then_some(signal)
    }
}
