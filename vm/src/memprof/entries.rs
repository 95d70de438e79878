//! The table of tracked blocks.
//!
//! A block's index stays the same as long as it is tracked, also while a callback runs that makes
//! other blocks come and go; so nothing needs to be moved, and free entries are used again. The
//! addresses of the blocks are in the heap's own table of weak references, by the same index.

use profiler::sampling::CallId;

use super::api::AllocOrigin;

/// A tracked block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// What a native tracker keeps with the block.
    pub(super) cookie: u64,
    /// The number of the block's first word.
    pub(super) clock: u64,
    /// The block's words as the word clock counts them.
    pub(super) clock_words: u64,
    /// The calls that were open.
    pub(super) call: CallId,
    /// How many of its words were sampled.
    pub(super) n_samples: u32,
    /// The place of its profile.
    pub(super) profile: u16,
    /// What has happened to it.
    pub(super) state: State,
}

const _: () = assert!(
    size_of::<Entry>() <= 40,
    "with its weak reference, a tracked block takes at most 48 bytes"
);

/// What has happened to a tracked block.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub(super) origin: AllocOrigin,
    /// It was allocated in the nursery.
    pub(super) is_born_young: bool,
    /// It has left the nursery alive.
    pub(super) is_promoted: bool,
    /// Its tracker does not want to hear of it again, or the profile was discarded.
    pub(super) is_untracked: bool,
    /// The tracker's callback for its allocation has not been called.
    pub(super) is_new: bool,
    /// How many events of it are in the queue, or being handled.
    pub(super) n_events: u8,
}

/// What can happen to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    Alloc,
    Promote,
    Dealloc,
}

/// Something that has happened to a block, for a bytecode tracker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) entry: u32,
    pub(super) kind: EventKind,
}

/// The tracked blocks of all profiles.
#[derive(Debug, Default)]
pub(super) struct Entries {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// What bytecode trackers keep with the blocks, as far as there are any; 0 for others. Roots of
    /// collections.
    pub(super) values: Vec<u64>,
}

impl Entries {
    /// The index that the next block will have. `None` when there is no memory for it, and the
    /// sample is lost (S23).
    #[inline]
    pub(super) fn next_index(&mut self) -> Option<u32> {
        match self.free.last() {
            Some(&index) => Some(index),
            None => self.add_room(),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_room(&mut self) -> Option<u32> {
        let index = u32::try_from(self.entries.len()).ok()?;
        self.entries.try_reserve(1).ok()?;
        // So that removing cannot fail.
        self.free.try_reserve(self.entries.len() + 1).ok()?;
        self.entries.push(None);
        self.free.push(index);
        Some(index)
    }

    /// Adds a block at [`Entries::next_index`].
    #[inline]
    pub(super) fn add(&mut self, entry: Entry) {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = Some(entry);
        }
    }

    pub(super) fn get(&self, index: u32) -> Option<&Entry> {
        self.entries.get(index as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.entries.get_mut(index as usize)?.as_mut()
    }

    #[inline]
    pub(super) fn remove(&mut self, index: u32) {
        if self.entries[index as usize].take().is_some() {
            self.set_value(index, 0);
            self.free.push(index);
        }
    }

    /// What a bytecode tracker keeps with the block.
    pub(super) fn value(&self, index: u32) -> u64 {
        self.values.get(index as usize).copied().unwrap_or(0)
    }

    /// Whether there is memory for a value of each block, as programs' trackers want it.
    pub(super) fn has_room_for_values(&mut self) -> bool {
        let n_more = self.entries.len().saturating_sub(self.values.len());
        self.values.try_reserve(n_more).is_ok()
    }

    /// Keeps a value with the block. For values but 0 there must have been room.
    pub(super) fn set_value(&mut self, index: u32, value: u64) {
        let index = index as usize;
        if index >= self.values.len() && value != 0 {
            self.values.resize(self.entries.len(), 0);
        }
        if let Some(slot) = self.values.get_mut(index) {
            *slot = value;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    /// How many indices are in use, or have been. To go through all blocks takes no memory so.
    pub(super) fn n_slots(&self) -> usize {
        self.entries.len()
    }

    /// Whether a profile's block has this index.
    pub(super) fn is_of_profile(&self, index: u32, profile: u16) -> bool {
        self.get(index).is_some_and(|one| one.profile == profile)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Option<Entry>>()
            + self.values.capacity() * 8
            + self.free.capacity() * 4
    }
}
