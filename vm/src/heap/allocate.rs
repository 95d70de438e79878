//! Allocation beyond the interpreter's own fast path, and the write barrier's slow half.

use super::layout::*;
use super::region::Region;
use super::{Heap, OutOfMemory};

/// Objects up to this size are born in the nursery; larger ones get a region of their own. The
/// largest record and the largest closure are just within it.
pub(crate) const SMALL_LIMIT_BYTES: usize = 4096;
/// Bytes of one block of the old space.
const BLOCK_BYTES: usize = 256 << 10;
/// Reference arrays longer than this are remembered slot by slot, not as a whole.
const SLOT_LOG_LENGTH: u64 = 128;
/// Logged slots after which a collection is due.
const MAX_LOGGED_SLOTS: usize = 1 << 20;

/// A block of the old space: whole objects from its start to `top`.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) region: Region,
    pub(super) top: *mut u64,
}

/// A large object.
#[derive(Debug)]
pub(super) struct Large {
    pub(super) region: Region,
}

impl Heap {
    /// Room for a small object in the nursery; `None` when a collection is due first.
    #[inline]
    pub(crate) fn try_small(&mut self, bytes: usize) -> Option<*mut u64> {
        debug_assert!(bytes <= SMALL_LIMIT_BYTES && bytes.is_multiple_of(8));
        let object = self.top;
        // Compared as addresses: `top` may run past the limit, which a pointer must not.
        if (object as usize) + bytes > self.limit as usize {
            return None;
        }
        self.top = object.wrapping_byte_add(bytes);
        Some(object)
    }

    /// An array with header and length written and its elements not; `None` when a collection is
    /// due first. The caller must fill the elements before anything else happens, and then call
    /// [`Heap::born`]. `source` goes into the header.
    pub(crate) fn try_array(
        &mut self,
        kind: ObjectKind,
        length: usize,
        source: HeaderSource,
    ) -> Option<*mut u64> {
        let bytes = array_bytes(kind, length)?;
        let (object, flags) = if bytes <= SMALL_LIMIT_BYTES {
            (self.try_small(bytes)?, 0)
        } else {
            (self.try_large(bytes)?, LARGE | LOG)
        };
        // SAFETY: the object's memory is ours alone and holds at least two words.
        unsafe {
            object.write(array_header(kind) | flags | source.bits());
            object.add(1).write(length as u64);
            // The last word of a byte array may be padding; equal strings have equal words.
            if matches!(kind, ObjectKind::ByteArray | ObjectKind::Text) && length > 0 {
                object.byte_add(bytes - 8).write(0);
            }
        }
        Some(object)
    }

    /// Tells the heap that a large reference array has been filled, perhaps with references into
    /// the nursery: it starts remembered.
    pub(crate) fn born(&mut self, object: *mut u64) {
        // SAFETY: the caller has just allocated and filled the object.
        let header = unsafe { *object };
        if header & LARGE != 0 && ObjectKind::RefArray.header_byte() == header as u8 & KIND_MASK {
            self.remember_object(object);
        }
    }

    /// Room for a large object; `None` when it must not be had without a collection.
    fn try_large(&mut self, bytes: usize) -> Option<*mut u64> {
        if self.is_watched(bytes) {
            return None;
        }
        let region = match self.spare.take_if(|spare| spare.bytes() == bytes) {
            Some(spare) => spare,
            None if self.is_large_due(bytes) => return None,
            None => Region::new(bytes)?,
        };
        let object = region.start();
        self.large.push(Large { region });
        self.large_bytes += bytes;
        self.stats.allocated_bytes += bytes as u64;
        self.tracked.born_large(object);
        // The clock has moved on, so the watched word is nearer to the nursery's top.
        self.set_hard_limit(self.hard_limit);
        Some(object)
    }

    /// Room for a survivor in the old space. Fails only when the system has no memory.
    #[inline]
    pub(super) fn old_room(&mut self, words: usize) -> Result<*mut u64, OutOfMemory> {
        if let Some(block) = self.old.last_mut() {
            let object = block.top;
            if object as usize + words * 8 <= block.region.end() as usize {
                block.top = object.wrapping_add(words);
                return Ok(object);
            }
        }
        self.old_room_in_new_block(words)
    }

    #[cold]
    fn old_room_in_new_block(&mut self, words: usize) -> Result<*mut u64, OutOfMemory> {
        if self.is_run_ending() {
            return Err(self.out_of_memory(BLOCK_BYTES));
        }
        let region = Region::new(BLOCK_BYTES).ok_or_else(|| self.out_of_memory(BLOCK_BYTES))?;
        let object = region.start();
        self.old_bytes += BLOCK_BYTES;
        self.old.push(Block {
            top: object.wrapping_add(words),
            region,
        });
        Ok(object)
    }

    /// The write barrier's slow half: a reference is about to be stored into `slot` of an object
    /// whose LOG bit is set. Large arrays log the slot and keep the bit while the log has room,
    /// others log themselves.
    #[cold]
    #[inline(never)]
    pub(crate) fn remember(&mut self, object: *mut u64, slot: *mut u64) {
        // SAFETY: the caller stores into this object, whose header it has read.
        let (header, length) = unsafe { (*object, *object.add(1)) };
        let is_array = ObjectKind::RefArray.header_byte() == header as u8 & KIND_MASK;
        let has_room = self.remembered_slots.len() < MAX_LOGGED_SLOTS;
        if is_array && length > SLOT_LOG_LENGTH && has_room {
            self.remembered_slots.push(slot);
            if self.remembered_slots.len() >= MAX_LOGGED_SLOTS {
                // The next allocation collects, so that the log cannot outgrow the heap.
                self.set_hard_limit(self.top);
            }
        } else {
            self.remember_object(object);
        }
    }

    /// Clears the LOG bit and lists the object.
    pub(super) fn remember_object(&mut self, object: *mut u64) {
        // SAFETY: callers pass objects outside the nursery.
        unsafe { *object &= !LOG };
        self.remembered.push(object);
    }
}
