//! An allocator that counts: what work allocates tells how much work there is, at any load.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test program uses its own part"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what is allocated by this thread.
struct Counting;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    static TOTAL: Cell<usize> = const { Cell::new(0) };
    static BLOCKS: Cell<usize> = const { Cell::new(0) };
}

impl Counting {
    fn add(bytes: usize) {
        let live = LIVE.get() + bytes;
        LIVE.set(live);
        PEAK.set(PEAK.get().max(live));
        TOTAL.set(TOTAL.get() + bytes);
        BLOCKS.set(BLOCKS.get() + 1);
    }

    fn remove(bytes: usize) {
        LIVE.set(LIVE.get().saturating_sub(bytes));
    }
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::add(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        Self::remove(layout.size());
        // SAFETY: the block is the system's.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        Self::remove(layout.size());
        Self::add(bytes);
        // SAFETY: the caller's promise; the block is the system's.
        unsafe { System.realloc(block, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What some work allocated.
pub struct Work {
    /// The most bytes at a time.
    pub peak_bytes: usize,
    /// All bytes, those of blocks that grew counted again.
    pub total_bytes: usize,
    /// How many blocks, those that grew counted again.
    pub blocks: usize,
}

/// Does some work of this thread, and says what it took.
pub fn measure<T>(work: impl FnOnce() -> T) -> (Work, T) {
    let (live, total, blocks) = (LIVE.get(), TOTAL.get(), BLOCKS.get());
    PEAK.set(live);
    let done = work();
    let work = Work {
        peak_bytes: PEAK.get() - live,
        total_bytes: TOTAL.get() - total,
        blocks: BLOCKS.get() - blocks,
    };
    (work, done)
}
