//! The memory of the register stacks and the control stack.
//!
//! ```text
//!           bytes                      bytes
//! base ┌──────────────┐   base + D ┌──────────────┐
//!      │ i ──>        │   ......   │        <── r │
//!      └──────────────┘            └──────────────┘
//! ```
//!
//! `i` registers grow up in one area, `r` registers down in another, at the constant distance
//! [`AREA_DISTANCE_BYTES`] = D. A frame's `refs` pointer is kept that distance (and some slack)
//! too low, so that "both stacks together still fit into `bytes`" is `ints < refs`: one
//! comparison of two registers. The displacement is part of the addressing mode, and untouched
//! pages in between cost nothing.
//!
//! The areas are apart so that a word that was ever an `i` register can never be seen as a stale
//! `r` register: fresh pages are zero, and zero is a valid reference.

use std::cell::Cell;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use crate::code::{Frame, Pc};

/// The distance between the two register areas, and so the largest stack.
pub(crate) const AREA_DISTANCE_BYTES: usize = 256 << 20;
/// Registers that a frame may touch above its bases without a check: 256 of each class.
const SLACK_BYTES: usize = 512 * 8;
/// What to add to a `refs` pointer, in bytes, to get at the register whose operand is 0: that is
/// `r255`, the lowest in memory.
pub(crate) const REF_DISPLACEMENT_BYTES: usize = AREA_DISTANCE_BYTES + SLACK_BYTES - 256 * 8;
/// The distance from a control frame to the context that is saved with it, in stack style: more
/// than all control frames that the largest stack can have.
pub(crate) const CONTEXT_DISTANCE_BYTES: usize = 1 << 30;
/// Bytes of a page, and how far behind the program's code registers start within one. Processors
/// take a load for one of a store before it if both have the same place in a page, and wait: a loop
/// whose words lay where its registers do took a fifth longer.
const PAGE_BYTES: usize = 4096;
const CODE_DISTANCE_BYTES: usize = 3072;
/// The smallest register stack: room for a handful of frames.
const MIN_BYTES: usize = 64 << 10;

/// How many areas are kept for machines to come, and how many frames they may have had: so their
/// pages are few, and are soon zero again.
const MAX_SPARE: usize = 4;
const MAX_SPARE_FRAMES: usize = 64;

/// The memory of stacks, all zero, that machines have given back: to map it, and to be given its
/// pages, takes longer than anything else that making a machine does.
static SPARE: Mutex<Vec<Areas>> = Mutex::new(Vec::new());

/// The memory of one machine's stacks: an area of registers, and one of frames and contexts.
#[derive(Debug)]
struct Areas {
    registers: *mut libc::c_void,
    registers_bytes: usize,
    frames: *mut libc::c_void,
    frames_bytes: usize,
}

// SAFETY: the mappings belong to whoever has this, on any thread.
unsafe impl Send for Areas {}

impl Areas {
    /// Zeroed areas of these sizes; `None` when the system has no address space.
    fn new(registers_bytes: usize, frames_bytes: usize) -> Option<Self> {
        let fits =
            |one: &Self| (one.registers_bytes, one.frames_bytes) == (registers_bytes, frames_bytes);
        {
            let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(index) = spare.iter().position(fits) {
                return Some(spare.swap_remove(index));
            }
        }
        let registers = map(registers_bytes)?;
        let Some(frames) = map(frames_bytes) else {
            // SAFETY: the area was mapped a moment ago and nothing points into it.
            unsafe { libc::munmap(registers, registers_bytes) };
            return None;
        };
        Some(Self {
            registers,
            registers_bytes,
            frames,
            frames_bytes,
        })
    }

    /// Keeps the areas, which are zero, for another machine, if there are not enough yet.
    fn keep(self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MAX_SPARE {
            spare.push(self);
        }
    }
}

impl Drop for Areas {
    fn drop(&mut self) {
        // SAFETY: both areas were mapped with these sizes, and no machine runs on them.
        unsafe {
            libc::munmap(self.registers, self.registers_bytes);
            libc::munmap(self.frames, self.frames_bytes);
        }
    }
}

/// Stacks of one machine. The memory is zero where it was never written.
#[derive(Debug)]
pub(crate) struct Stack {
    /// `None` once it is dropped.
    areas: Option<Areas>,
    base: *mut u64,
    bytes: usize,
    frames: *mut Frame,
    /// Without the contexts behind them.
    frames_bytes: usize,
    /// Whether stale frames were zeroed, so that they do not tell any more where the stacks have
    /// been, or whether contexts are saved beside them.
    is_untold: Cell<bool>,
}

impl Stack {
    /// Stacks for `bytes` bytes of registers, with room for the contexts of a stack-style profile
    /// if asked, for a program whose words start at `code`; `None` when the system has no address
    /// space.
    pub(crate) fn new(bytes: usize, has_contexts: bool, code: Pc) -> Option<Self> {
        let bytes = bytes.clamp(MIN_BYTES, AREA_DISTANCE_BYTES) & !4095;
        // A call moves at least one base by a slot, so there are at most as many frames as slots;
        // one more stands for a run's end, and one is never written.
        let frames_bytes = (bytes / 8 + 2) * size_of::<Frame>();
        let contexts_bytes = if has_contexts {
            CONTEXT_DISTANCE_BYTES
        } else {
            0
        };
        let mapped_bytes = AREA_DISTANCE_BYTES + bytes + PAGE_BYTES;
        let offset_bytes = ((code.addr() + CODE_DISTANCE_BYTES) % PAGE_BYTES) & !15;
        let areas = Areas::new(mapped_bytes, frames_bytes + contexts_bytes)?;
        Some(Self {
            base: areas.registers.wrapping_byte_add(offset_bytes).cast(),
            bytes,
            frames: areas.frames.cast(),
            frames_bytes,
            is_untold: Cell::new(has_contexts),
            areas: Some(areas),
        })
    }

    /// The limit in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The `ints` pointer of the outermost frame.
    pub(crate) fn first_ints(&self) -> *mut u64 {
        self.base
    }

    /// The `refs` pointer of the outermost frame.
    pub(crate) fn first_refs(&self) -> *mut u64 {
        self.base.wrapping_byte_add(self.bytes - SLACK_BYTES)
    }

    /// The first control frame.
    pub(crate) fn first_frame(&self) -> *mut Frame {
        self.frames
    }

    /// The slots of all `r` registers from the `count` registers of the frame at `refs` up to
    /// the outermost frame's.
    pub(crate) fn live_refs(&self, refs: *mut u64, count: usize) -> (*mut u64, usize) {
        let end = self
            .base
            .wrapping_byte_add(AREA_DISTANCE_BYTES + self.bytes);
        let frame_end = refs.wrapping_byte_add(AREA_DISTANCE_BYTES + SLACK_BYTES);
        let start = frame_end.wrapping_sub(count);
        (start, (end as usize - start as usize) / 8)
    }

    /// Zeroes every `r` slot that may have been written since this was done last.
    ///
    /// # Safety
    /// No machine runs on these stacks.
    pub(crate) unsafe fn clear(&self) {
        let end = self
            .base
            .wrapping_byte_add(AREA_DISTANCE_BYTES + self.bytes);
        // SAFETY: with no frame open, all slots up to the area's end are of no live frame.
        unsafe { self.clear_stale(self.frames, self.first_refs(), end) };
    }

    /// Zeroes every `r` slot above the top of the stack that may have been written since this was
    /// done last. `live` is where the live slots start, `sp` where the next control frame goes.
    ///
    /// A control frame is written before any register beyond it can be, and frames are written
    /// without gaps: so the stale frames from `sp` up to the first one that is still zero tell
    /// how far down the `r` stack has been.
    ///
    /// # Safety
    /// `sp`, `refs` and `live` are those of the frame that runs.
    pub(crate) unsafe fn clear_stale(&self, sp: *mut Frame, refs: *mut u64, live: *mut u64) {
        self.is_untold.set(true);
        let end = self.frames.wrapping_byte_add(self.frames_bytes);
        let mut lowest = refs;
        let mut frame = sp;
        while frame < end {
            // SAFETY: the frame lies within the control stack.
            let stale = unsafe { &mut *frame };
            if stale.pc.is_null() {
                break;
            }
            lowest = lowest.min(stale.refs);
            *stale = Frame {
                pc: ptr::null(),
                ints: ptr::null_mut(),
                refs: ptr::null_mut(),
            };
            frame = frame.wrapping_add(1);
        }
        let area = self.base.wrapping_byte_add(AREA_DISTANCE_BYTES);
        // A frame's lowest register, and that of a callee at its highest window, lie less than
        // the slack below its base: at or above its `refs` pointer in the other area.
        let start = lowest.wrapping_byte_add(AREA_DISTANCE_BYTES).max(area);
        let count = (live as usize).saturating_sub(start as usize) / 8;
        // SAFETY: from `start` to `live` lie `r` slots of no live frame.
        unsafe { start.write_bytes(0, count) };
    }
}

impl Stack {
    /// How far up the `i` registers have been, in slots, when few frames and no collection have
    /// been there.
    fn n_ints(&self) -> Option<usize> {
        if self.is_untold.get() {
            return None;
        }
        let mut highest = self.base;
        for index in 0..MAX_SPARE_FRAMES {
            // SAFETY: the smallest control stack has more frames.
            let frame = unsafe { *self.frames.add(index) };
            if frame.pc.is_null() {
                // The innermost function's registers start within the 256 of its caller's.
                let end = highest.wrapping_add(2 * 256) as usize;
                return Some((end - self.base as usize) / 8);
            }
            highest = highest.max(frame.ints);
        }
        None
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let (Some(n_ints), Some(areas)) = (self.n_ints(), self.areas.take()) else {
            return;
        };
        // SAFETY: no machine runs on the stacks any more. Frames tell all registers that were
        // written: the `i` registers from the base on, and the `r` registers that `clear` zeroes.
        unsafe {
            self.clear();
            self.base.write_bytes(0, n_ints);
        }
        areas.keep();
    }
}

/// Zeroed memory that is not backed until it is touched.
fn map(bytes: usize) -> Option<*mut libc::c_void> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
    // SAFETY: a fresh anonymous mapping touches no memory of ours.
    let address = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    (address != libc::MAP_FAILED).then_some(address)
}
