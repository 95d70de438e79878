//! Memory that bumpalo owns and the heap bumps through.
//!
//! bumpalo's own allocation path costs 10 to 30 % more than a pointer and a limit of our own, and
//! it bumps downward, which a Cheney scan cannot follow. So it owns whole regions, and frees them.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use bumpalo::Bump;

/// How many nurseries are kept for heaps to come: to be given their pages takes longer than a small
/// program does.
const MAX_SPARE: usize = 4;
/// The largest nursery that is kept.
const MAX_SPARE_BYTES: usize = 2 << 20;

/// Nurseries that heaps have given back.
static SPARE: Mutex<Vec<Region>> = Mutex::new(Vec::new());

/// A piece of memory, not initialised, aligned to 16 bytes; freed when dropped.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    /// Holds the memory and hands out nothing else, so that `start` stays the only way to it.
    /// `None` once it is dropped.
    arena: Option<Bump<16>>,
    /// Whether it is a nursery, which is kept when it is dropped.
    is_nursery: bool,
}

// SAFETY: nothing else has the memory.
unsafe impl Send for Region {}

impl Region {
    /// A region for a nursery: one that was given back, if there is one of that size.
    pub(super) fn nursery(bytes: usize) -> Option<Self> {
        let spare = || {
            let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
            let index = spare.iter().position(|one| one.bytes == bytes)?;
            Some(spare.swap_remove(index))
        };
        let mut region = spare().or_else(|| Self::new(bytes))?;
        region.is_nursery = bytes <= MAX_SPARE_BYTES;
        Some(region)
    }

    /// A region of `bytes` bytes; `None` when the system has no memory.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, 16).ok()?;
        let arena = Bump::<16>::try_with_min_align_and_capacity(bytes).ok()?;
        let start = arena.try_alloc_layout(layout).ok()?;
        Some(Self {
            start,
            bytes,
            arena: Some(arena),
            is_nursery: false,
        })
    }

    pub(super) fn start(&self) -> *mut u64 {
        self.start.as_ptr().cast()
    }

    pub(super) fn end(&self) -> *mut u64 {
        self.start().wrapping_byte_add(self.bytes)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn contains(&self, address: *const u64) -> bool {
        self.start() as usize <= address as usize && (address as usize) < self.end() as usize
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if !self.is_nursery {
            return;
        }
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MAX_SPARE {
            spare.push(Self {
                start: self.start,
                bytes: self.bytes,
                arena: self.arena.take(),
                is_nursery: false,
            });
        }
    }
}
