//! Memory that bumpalo owns and the heap bumps through.
//!
//! bumpalo's own allocation path costs 10 to 30 % more than a pointer and a limit of our own, and
//! it bumps downward, which a Cheney scan cannot follow. So it owns whole regions, and frees them.

use std::alloc::Layout;
use std::ptr::NonNull;

use bumpalo::Bump;

/// A piece of memory, not initialised, aligned to 16 bytes; freed when dropped.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    /// Holds the memory and hands out nothing else, so that `start` stays the only way to it.
    _arena: Bump<16>,
}

impl Region {
    /// A region of `bytes` bytes; `None` when the system has no memory.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, 16).ok()?;
        let arena = Bump::<16>::try_with_min_align_and_capacity(bytes).ok()?;
        let start = arena.try_alloc_layout(layout).ok()?;
        Some(Self {
            start,
            bytes,
            _arena: arena,
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
