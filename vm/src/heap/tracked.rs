//! Tracked blocks, which somebody wants to hear of without keeping them alive.
//!
//! A tracked block has an index that its tracker chooses. Each collection moves the reference along
//! with the block, or notes that the block died. A minor collection looks at young blocks only, so
//! its cost does not grow with what is tracked in the old space.

use super::layout::{LARGE, MARK};

/// What a collection did to a tracked block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It left the nursery alive.
    Promoted,
    /// It is no more.
    Died,
}

/// Tracked blocks, by index.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    slots: Vec<Slot>,
    /// Indices of young blocks. One may stand here twice, or no longer be young: the slot knows.
    young: Vec<u32>,
    /// The indices that wait for the next large object: one for each profile that samples it.
    next_large: Vec<u32>,
    fates: Vec<(u32, Fate)>,
}

/// A tracked block: its address, and in the lowest bit whether it is in the nursery. 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot(usize);

impl Slot {
    const NONE: Self = Self(0);

    fn block(self) -> Option<*mut u64> {
        (self != Self::NONE).then_some((self.0 & !1) as *mut u64)
    }

    fn is_young(self) -> bool {
        self.0 & 1 == 1
    }
}

impl Tracked {
    /// Whether there is memory to track a block by this index, and for its fate.
    #[inline]
    pub(crate) fn has_room(&mut self, index: u32) -> bool {
        ((index as usize) < self.slots.len() || self.add_slots(index))
            && self.young.try_reserve(1).is_ok()
            && self.next_large.try_reserve(1).is_ok()
    }

    /// Makes slots up to an index, unless there is no memory for them and for what collections may
    /// do to their blocks: a block may be promoted and die in the same one.
    #[cold]
    #[inline(never)]
    fn add_slots(&mut self, index: u32) -> bool {
        let len = index as usize + 1;
        let n_more = len - self.slots.len();
        let has_room = self.slots.try_reserve(n_more).is_ok()
            && self.fates.try_reserve(2 * len - self.fates.len()).is_ok();
        if has_room {
            self.slots.resize(len, Slot::NONE);
        }
        has_room
    }

    /// Tracks a block in the nursery.
    pub(crate) fn track(&mut self, index: u32, block: *mut u64) {
        self.set(index, Slot(block as usize | 1));
        self.young.push(index);
    }

    /// Tracks the large object that is allocated next.
    pub(crate) fn track_next_large(&mut self, index: u32) {
        self.set(index, Slot::NONE);
        self.next_large.push(index);
    }

    /// Tracks a block no longer.
    pub(crate) fn forget(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(index as usize) {
            *slot = Slot::NONE;
        }
        self.next_large.retain(|&next| next != index);
    }

    /// Forgets all blocks, and gives their memory back.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Gives what collections have done since this was asked last, in the order of the blocks.
    pub(crate) fn take_fates(&mut self) -> Vec<(u32, Fate)> {
        std::mem::take(&mut self.fates)
    }

    /// Takes the fates' memory, to use it again.
    pub(crate) fn reuse_fates(&mut self, mut fates: Vec<(u32, Fate)>) {
        fates.clear();
        self.fates = fates;
    }

    /// How many bytes of memory this takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
            + self.young.capacity() * size_of::<u32>()
            + self.fates.capacity() * size_of::<(u32, Fate)>()
    }

    fn set(&mut self, index: u32, slot: Slot) {
        let index = index as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, Slot::NONE);
        }
        self.slots[index] = slot;
    }

    /// A large object was allocated.
    pub(super) fn born_large(&mut self, block: *mut u64) {
        while let Some(index) = self.next_large.pop() {
            self.set(index, Slot(block as usize));
        }
    }

    /// Updates young blocks at the end of a minor collection.
    ///
    /// # Safety
    /// The nursery stands as the collection left it.
    pub(super) unsafe fn minor_is_over(&mut self) {
        for place in 0..self.young.len() {
            let index = self.young[place];
            let slot = self.slots[index as usize];
            if let Some(block) = slot.block()
                && slot.is_young()
            {
                // SAFETY: the block was a whole object when it was tracked, and still is one or
                // has been replaced by a forwarding address.
                unsafe { self.update(index, block, true) };
            }
        }
        self.young.clear();
    }

    /// Updates all blocks at the end of a major collection.
    ///
    /// # Safety
    /// The nursery, from-space and large objects stand as the scan left them.
    pub(super) unsafe fn major_is_over(&mut self) {
        self.young.clear();
        for index in 0..self.slots.len() {
            let slot = self.slots[index];
            if let Some(block) = slot.block() {
                // SAFETY: as for a minor collection.
                unsafe { self.update(index as u32, block, slot.is_young()) };
            }
        }
    }

    unsafe fn update(&mut self, index: u32, block: *mut u64, was_young: bool) {
        // SAFETY: the caller passes a header or a forwarding address.
        let header = unsafe { *block };
        let is_forwarded = header & 1 == 0;
        let slot = &mut self.slots[index as usize];
        if is_forwarded {
            *slot = Slot(header as usize);
            if was_young {
                self.fates.push((index, Fate::Promoted));
            }
        } else if header & (LARGE | MARK) != LARGE | MARK {
            *slot = Slot::NONE;
            self.fates.push((index, Fate::Died));
        }
    }
}
