//! The heap: a bump nursery, an old space of copied survivors, and large objects that never move.
//!
//! # Words
//!
//! A reference ([`Value`]) is a word. Low bit 0: an immediate, 63 bits above it; so memory full of
//! zeros is memory full of valid references. Low bit 1: the address of an object plus one. Null is
//! the address of a static record without fields: the bounds check of a field access is its null
//! check. `layout.rs` has the objects.
//!
//! # Invariants
//!
//! 1. Every `r` register and every reference field of an object holds an immediate or a pointer to
//!    the header of a whole, initialised object; also stale registers, because each collection
//!    zeroes the `r` stack above its top.
//! 2. Outside a collection no header is a forwarding address.
//! 3. An object outside the nursery points into the nursery only if the remembered set holds it,
//!    or holds the slot that points there. A set LOG bit in its header says that the remembered
//!    set does not hold it; the write barrier looks at nothing else.
//! 4. A minor collection empties the nursery: survivors are promoted all at once.
//! 5. Large objects are born outside the nursery, in the remembered set when they have references.
//! 6. Static objects (null, constants of programs) belong to no heap ([`Statics`]): they refer to
//!    static objects only, and are never moved, freed or changed.
//!
//! [`Heap::check`] walks the whole heap and asserts these.
//!
//! # Room for what comes
//!
//! `limit` is the one word that allocation compares with; whatever wants to see an allocation
//! lowers it ([`Heap::watch`]). Roots come from the caller as a list of ranges, so that a stack
//! watermark can hand in fewer of them.
//!
//! # The word clock
//!
//! Allocated words are numbered from 0 on, large objects included ([`Heap::clock`]). A *watched*
//! word is one that must not be allocated without asking: the limit is lowered to it, so that
//! watching costs nothing until the word is reached. Tracked blocks are references that collections
//! update and do not follow (`tracked.rs`), as are a program's weak references (`weak.rs`); a
//! census counts survivors by the source in their headers (`census.rs`).

mod allocate;
mod census;
mod check;
mod collect;
mod layout;
mod region;
mod statics;
mod stats;
mod tracked;
mod weak;

pub use stats::HeapStats;

pub(crate) use allocate::SMALL_LIMIT_BYTES;
pub(crate) use census::Census;
pub(crate) use collect::Phase;
pub(crate) use layout::*;
pub(crate) use statics::Statics;
pub(crate) use tracked::{Fate, Tracked};

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use region::Region;

/// How hard the collector is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum GcStress {
    /// Collections happen when they are due.
    #[default]
    Off,
    /// Every allocation that can collect does a minor collection, every 16th a major one, and
    /// freed memory is overwritten.
    On,
}

/// Sizes and limits of a heap.
#[derive(Clone, Copy, Debug)]
pub struct HeapConfig {
    /// Bytes of the nursery.
    pub nursery_bytes: usize,
    /// The most bytes that the heap may hold after a collection, nursery included. While a major
    /// collection copies, up to twice as many are in use.
    pub max_bytes: usize,
    /// Whether to collect far more often than needed.
    pub stress: GcStress,
    /// By how many percent the live data may grow before a major collection, so that a memory
    /// profile's peak is at most that much too low; `None` to collect when it is best for speed.
    pub peak_percent: Option<u32>,
}

impl Default for HeapConfig {
    fn default() -> Self {
        Self {
            nursery_bytes: 2 << 20,
            max_bytes: 4 << 30,
            stress: GcStress::Off,
            peak_percent: None,
        }
    }
}

/// The heap could not grow, by its own limit or the system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Bytes that were asked for.
    pub request_bytes: usize,
    /// Bytes that survived the last major collection.
    pub live_bytes: usize,
    /// The limit.
    pub max_bytes: usize,
}

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "out of memory: {} bytes wanted with {} bytes in use and a limit of {}",
            self.request_bytes, self.live_bytes, self.max_bytes
        )
    }
}

impl std::error::Error for OutOfMemory {}

/// The heap of one machine.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Heap {
    /// Where the next small object goes; always at most `limit`. First, for short encodings.
    pub(crate) top: *mut u64,
    /// Where small allocation must stop and ask.
    pub(crate) limit: *mut u64,
    /// Where small allocation must collect: `limit` but for watched words.
    hard_limit: *mut u64,
    /// The number of the first word that may not be allocated without asking.
    watched: u64,
    /// The first word of the nursery that the byte counter does not know yet.
    counted: *mut u64,
    nursery: Region,
    old: Vec<allocate::Block>,
    large: Vec<allocate::Large>,
    /// Room for the large object that the last collection was asked for.
    spare: Option<Region>,
    /// Objects whose references a minor collection must look at; their LOG bits are clear.
    remembered: Vec<*mut u64>,
    /// Slots of large reference arrays that were stored to, perhaps several times.
    remembered_slots: Vec<*mut u64>,
    old_bytes: usize,
    large_bytes: usize,
    live_bytes: usize,
    stress_countdown: u32,
    /// The machine's attention word, so that a collection of a large heap can be given up when the
    /// run is to end; null without a machine.
    pub(crate) attention: *const AtomicU32,
    config: HeapConfig,
    /// Tracked blocks.
    pub(crate) tracked: Tracked,
    weak: weak::WeakReferences,
    /// Counts of survivors by source, when they are asked for.
    pub(crate) census: Option<Box<Census>>,
    pub(crate) stats: HeapStats,
}

impl Heap {
    /// An empty heap, or an error when the system has no memory for its nursery.
    pub(crate) fn new(config: HeapConfig) -> Result<Self, OutOfMemory> {
        let nursery_bytes = config
            .nursery_bytes
            .clamp(MIN_NURSERY_BYTES, MAX_NURSERY_BYTES)
            & !7;
        let nursery = Region::nursery(nursery_bytes).ok_or(OutOfMemory {
            request_bytes: nursery_bytes,
            live_bytes: 0,
            max_bytes: config.max_bytes,
        })?;
        let mut heap = Self {
            top: nursery.start(),
            limit: nursery.start(),
            hard_limit: nursery.start(),
            watched: u64::MAX,
            counted: nursery.start(),
            nursery,
            old: Vec::new(),
            large: Vec::new(),
            spare: None,
            remembered: Vec::new(),
            remembered_slots: Vec::new(),
            old_bytes: 0,
            large_bytes: 0,
            live_bytes: 0,
            stress_countdown: 0,
            attention: std::ptr::null(),
            config,
            tracked: Tracked::default(),
            weak: weak::WeakReferences::default(),
            census: None,
            stats: HeapStats::default(),
        };
        heap.reset_limit(0);
        Ok(heap)
    }

    /// Bytes allocated so far: headers included, copies by the collector and statics excluded.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        let uncounted = self.top as usize - self.counted as usize;
        self.stats.allocated_bytes + uncounted as u64
    }

    /// What the heap has done so far.
    pub(crate) fn stats(&self) -> HeapStats {
        HeapStats {
            allocated_bytes: self.allocated_bytes(),
            ..self.stats.clone()
        }
    }

    /// Bytes that collections have moved so far.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.stats.promoted_bytes + self.stats.copied_bytes
    }

    /// Bytes that the heap holds: the nursery, old blocks and large objects.
    pub(crate) fn held_bytes(&self) -> usize {
        self.nursery.bytes() + self.old_bytes + self.large_bytes
    }

    /// Whether somebody asks for the end of the run. The heap is of no further use then: a
    /// collection that is given up fails as one does that finds no memory.
    fn is_run_ending(&self) -> bool {
        // SAFETY: the attention word outlives the machine, whose heap this is.
        let attention = unsafe { self.attention.as_ref() };
        attention.is_some_and(|attention| attention.load(Relaxed) as u8 != 0)
    }

    /// Lets allocation run to the nursery's end, or, under stress, only for the next
    /// `request_bytes`, so that each allocation asks first.
    fn reset_limit(&mut self, request_bytes: usize) {
        let limit = match self.config.stress {
            GcStress::Off => self.nursery.end(),
            GcStress::On => {
                let wanted = self.top.wrapping_byte_add(request_bytes);
                wanted.min(self.nursery.end())
            }
        };
        self.set_hard_limit(limit);
    }

    /// Lets allocation run to `limit`, or to the watched word if that comes before.
    fn set_hard_limit(&mut self, limit: *mut u64) {
        self.hard_limit = limit;
        let room_words = (limit as usize - self.top as usize) as u64 / 8;
        let free_words = self.watched.saturating_sub(self.clock());
        self.limit = if free_words < room_words {
            self.top.wrapping_add(free_words as usize)
        } else {
            limit
        };
    }

    /// How many words were allocated so far; the number of the next word.
    pub(crate) fn clock(&self) -> u64 {
        self.allocated_bytes() / 8
    }

    /// Makes every allocation ask that would take the word of this number or a later one, by
    /// failing until another word is watched.
    pub(crate) fn watch(&mut self, word: u64) {
        self.watched = word;
        self.set_hard_limit(self.hard_limit);
    }

    /// Whether an allocation of so many bytes would take the watched word.
    pub(crate) fn is_watched(&self, bytes: usize) -> bool {
        self.clock().saturating_add(bytes as u64 / 8) > self.watched
    }

    /// Whether an allocation of so many bytes would take the watched word, and has room in the
    /// nursery.
    #[inline]
    pub(crate) fn is_only_watched(&self, bytes: usize) -> bool {
        self.is_watched(bytes) && bytes <= SMALL_LIMIT_BYTES && !self.is_small_due(bytes)
    }

    /// Whether the nursery has no room for so many bytes, up to [`SMALL_LIMIT_BYTES`].
    fn is_small_due(&self, bytes: usize) -> bool {
        (self.top as usize).saturating_add(bytes) > self.hard_limit as usize
    }

    /// Whether an allocation of so many bytes must wait for a collection.
    pub(crate) fn is_due(&self, bytes: usize) -> bool {
        if bytes <= SMALL_LIMIT_BYTES {
            return self.is_small_due(bytes);
        }
        let has_spare = self
            .spare
            .as_ref()
            .is_some_and(|spare| spare.bytes() == bytes);
        !has_spare && self.is_large_due(bytes)
    }

    pub(crate) fn out_of_memory(&self, request_bytes: usize) -> OutOfMemory {
        OutOfMemory {
            request_bytes,
            live_bytes: self.live_bytes,
            max_bytes: self.config.max_bytes,
        }
    }
}

/// The smallest nursery: it must hold the largest small object several times.
const MIN_NURSERY_BYTES: usize = 16 << 10;
/// The largest nursery: beyond the caches a larger one gains nothing.
const MAX_NURSERY_BYTES: usize = 256 << 20;
