//! Room for an allocation that has met its limit: a budget may forbid it, a profile may sample it,
//! and there may be a collection first.

use super::{Cause, collect_with_roots, spend, telling_trackers};
use crate::code::Pc;
use crate::heap::{HeaderSource, Heap, SMALL_LIMIT_BYTES};
use crate::machine::{Context, Fault, Machine, Obstacle};
use crate::memprof::{AllocOrigin, NextBlock, NotSampled, StackTop};

/// Words outside the heap whose accounting costs one unit of fuel, whether they are sampled or not.
const EXTERNAL_WORDS_PER_FUEL: u64 = 1 << 7;

/// Makes room for an allocation of `bytes` that has met the limit, and samples the block that it
/// will make. The allocation must be done next, and nothing else may be allocated before.
///
/// # Errors
/// When a budget forbids it, there is no memory, or somebody asks for the end of the run.
///
/// # Safety
/// The registers are those of the machine at a word of the running program.
#[inline]
pub(crate) unsafe fn make_room(
    m: Machine,
    bytes: usize,
    origin: AllocOrigin,
) -> Result<(), Obstacle> {
    // SAFETY: the caller's promise.
    unsafe {
        // This is what takes the time of a sampling profile.
        match (*m.ctx).heap.is_only_watched(bytes) {
            true => sample_young(m, bytes, origin),
            false => make_room_or_collect(m, bytes, origin),
        }
    }
}

/// [`make_room`] where it is not just a sample of a small block that is due.
#[cold]
#[inline(never)]
unsafe fn make_room_or_collect(
    m: Machine,
    bytes: usize,
    origin: AllocOrigin,
) -> Result<(), Obstacle> {
    // SAFETY: the caller's promise.
    unsafe {
        let heap = &(*m.ctx).heap;
        let is_watched = heap.is_watched(bytes);
        if !is_watched || heap.is_due(bytes) {
            collect_with_roots(m, bytes, Cause::Need)?;
        }
        if !is_watched {
            return Ok(());
        }
        if bytes <= SMALL_LIMIT_BYTES {
            return sample_young(m, bytes, origin);
        }
        let keep = |heap: &mut Heap, index| heap.tracked.track_next_large(index);
        sample(m, bytes, origin, false, keep)
    }
}

/// Samples the block in the nursery that is allocated next, of `bytes`.
///
/// # Safety
/// As for [`make_room`], when the nursery has room.
#[inline(never)]
unsafe fn sample_young(m: Machine, bytes: usize, origin: AllocOrigin) -> Result<(), Obstacle> {
    let keep = |heap: &mut Heap, index| {
        heap.tracked.track(index, heap.top);
    };
    // SAFETY: the caller's promise.
    unsafe { sample(m, bytes, origin, true, keep) }
}

#[inline]
unsafe fn sample(
    m: Machine,
    bytes: usize,
    origin: AllocOrigin,
    is_born_young: bool,
    keep: impl FnMut(&mut Heap, u32),
) -> Result<(), Obstacle> {
    let block = NextBlock {
        words: bytes as u64 / 8,
        origin,
        is_born_young,
    };
    let ctx = m.ctx;
    // SAFETY: the caller's promise; the parts of the context are apart.
    unsafe {
        let top = stack_top(m);
        sample_attentively(m, |goes_on| {
            telling_trackers(ctx, || {
                let memprof = &mut (*ctx).profiling.memprof;
                let program = &mut *(*ctx).program;
                memprof.sample(&mut (*ctx).heap, program, top, block, goes_on, keep)
            })
        })
    }
}

/// Accounts for memory outside the heap; see
/// [`Memprof::sample_external`](crate::memprof::Memprof::sample_external).
///
/// # Errors
/// When a budget forbids it, there is no fuel for it, or somebody asks for the end of the run.
///
/// # Safety
/// As for [`make_room`].
pub(crate) unsafe fn sample_external(m: Machine, words: u64) -> Result<u64, Obstacle> {
    let ctx = m.ctx;
    // SAFETY: the caller's promise; the parts of the context are apart.
    unsafe {
        let top = stack_top(m);
        spend(m, words / EXTERNAL_WORDS_PER_FUEL)?;
        sample_attentively(m, |goes_on| {
            telling_trackers(ctx, || {
                let memprof = &mut (*ctx).profiling.memprof;
                let program = &mut *(*ctx).program;
                memprof.sample_external(&mut (*ctx).heap, program, top, words, goes_on)
            })
        })
    }
}

unsafe fn stack_top(m: Machine) -> StackTop {
    StackTop {
        // SAFETY: the caller passes a machine with its context.
        first: unsafe { (*m.ctx).stack.first_frame() },
        sp: m.sp,
        pc: m.pc,
    }
}

/// Samples, and looks whether the run is to end whenever the profiles ask.
#[inline]
unsafe fn sample_attentively<T>(
    m: Machine,
    sample: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T, NotSampled>,
) -> Result<T, Obstacle> {
    let mut obstacle = None;
    let mut goes_on = || {
        // SAFETY: the caller passes a machine with its context.
        obstacle = unsafe { spend(m, 0) }.err();
        obstacle.is_none()
    };
    match sample(&mut goes_on) {
        Ok(result) => Ok(result),
        Err(NotSampled::BudgetExceeded) => Err(Obstacle::Fault(Fault::BudgetExceeded)),
        Err(NotSampled::Stopped) => Err(obstacle.expect("what has stopped it")),
    }
}

/// The source that an object's header holds which is allocated at a word without its own.
///
/// # Safety
/// `ctx` is the machine's that is at a word of its program.
pub(crate) unsafe fn header_source(ctx: *const Context, pc: Pc) -> HeaderSource {
    // SAFETY: the caller's promise.
    unsafe {
        match (*ctx).heap.census {
            Some(_) => HeaderSource::new((*(*ctx).program).source_at(pc).index()),
            None => HeaderSource::NONE,
        }
    }
}
