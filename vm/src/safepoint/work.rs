//! Work of one op, or of one host function, that takes long: it costs fuel by its size, and is done
//! in parts, between which the machine looks whether the run is to end.
//!
//! Snapshots wait for the op's end, when the machine's state is whole again.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use crate::machine::{Machine, Obstacle, SIGNAL_BITS, Trap};

/// Bytes that are handled at once: some 20 us of filling fresh memory.
pub(crate) const PART_BYTES: usize = 128 << 10;
/// Bytes that one unit of fuel pays for, where an op handles more than [`PART_BYTES`].
pub(crate) const BYTES_PER_FUEL: usize = 1 << 10;

/// Pays fuel for work that the op does besides itself, and looks whether the run is to end.
///
/// # Errors
/// When there is not so much fuel, or somebody asks for the end.
///
/// # Safety
/// The context is the machine's.
pub(crate) unsafe fn spend(m: Machine, fuel: u64) -> Result<(), Obstacle> {
    // SAFETY: the caller's promise; the flag outlives the context.
    unsafe {
        let control = &mut (*m.ctx).control;
        control.fuel = control.fuel.saturating_sub_unsigned(fuel);
        // A run that can pause finishes its op first.
        if control.fuel < 0 && !control.can_pause {
            return Err(Obstacle::Trap(Trap::OutOfFuel));
        }
        let attention = &*control.attention;
        if attention.load(Relaxed) & SIGNAL_BITS == 0 {
            return Ok(());
        }
        match attention.fetch_and(!SIGNAL_BITS, Relaxed) as u8 {
            0 => Ok(()),
            signal => Err(Obstacle::Trap(Trap::Interrupted(signal))),
        }
    }
}

/// Does work on `bytes` bytes, a part after the other: `part` is called with ranges of bytes whose
/// bounds are multiples of eight, but for the last one's end.
///
/// # Errors
/// As for [`spend`]; the work is then done up to the range that `part` got last.
///
/// # Safety
/// As for [`spend`].
pub(crate) unsafe fn in_parts(
    m: Machine,
    bytes: usize,
    mut part: impl FnMut(Range<usize>),
) -> Result<(), Obstacle> {
    let mut start = 0;
    while start < bytes {
        let end = bytes.min(start + PART_BYTES);
        if bytes > PART_BYTES {
            // SAFETY: the caller's promise.
            unsafe { spend(m, (end - start).div_ceil(BYTES_PER_FUEL) as u64)? };
        }
        part(start..end);
        start = end;
    }
    Ok(())
}
