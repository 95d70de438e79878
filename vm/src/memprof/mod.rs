//! Statistical allocation profiling with lifetimes, after OCaml 5.3's `Gc.Memprof`.
//!
//! # The rules
//!
//! The numbers S1 to S23 are those of `docs/memory.md`, which lists what `Gc.Memprof` does and
//! where this differs.
//!
//! **Sampling.** Allocated words, headers included, are numbered by a *word clock*. A profile
//! samples each word with its rate, and which words those are depends on its seed and rate alone:
//! positions are drawn one after the other and never again. A block is sampled when one of its
//! words is; `n_samples` says how many are (S1). The heap's allocation limit is lowered to the next
//! sampled word of any profile, so allocation of words that are not sampled costs nothing. When the
//! limit is met, the op asks (`safepoint/room.rs`), and is done again with the limit moved on: so
//! the block's address is known before it is made.
//!
//! **Trackers.** A sampled block is offered to the profile's tracker, which may keep a word of its
//! own for it. From then on the block is held weakly, the tracker's word strongly (S14), and the
//! tracker hears of the block's promotion and death, each at most once and in that order (S13).
//!
//! - A *native* tracker ([`Tracker`]) is called at once: it cannot reach the machine.
//! - A *bytecode* tracker is five closures. What happens to a block becomes an event in one queue,
//!   in the order of occurrence, for all profiles (`events.rs`). Events are handled at the next
//!   boundary between two ops (`safepoint/callbacks.rs`), never within an op or a host function.
//!   Neither sampling nor callbacks happen while a callback runs (S19): what it allocates advances
//!   no word clock, so the words that are sampled do not depend on the tracker.
//!
//! **Call stacks** are walked at each sample along the control frames and interned in a tree. How
//! much of the last walk still holds is known from frames whose returns are caught (`stacks.rs`),
//! so a sample costs as much as the stack has changed, not as much as it is deep.
//!
//! **Profiles** are started, stopped and discarded (S8 to S12). A stopped profile samples no more
//! but goes on to hear of its blocks; a discarded one hears of nothing.
//!
//! **Budgets** use the same limit: they raise a fault at an exact word (`budget.rs`).

mod api;
mod budget;
mod entries;
mod events;
mod figures;
mod profiles;
mod sample;
mod stacks;

pub use api::Tracker;
pub use api::{
    AllocInfo, AllocOrigin, CallStack, GcEvent, MemprofConfig, MemprofError, ProfileId, StackFrame,
};

pub(crate) use events::Armed;
pub(crate) use figures::{Adder, Figures, MemoryParts};
pub(crate) use profiles::ClosureTracker;
pub(crate) use sample::{NextBlock, NotSampled, StackTop};

use std::collections::{HashMap, VecDeque};

use profiler::sampling::CallTree;

use crate::code::{Frame, Program};
use crate::heap::{Fate, Heap};
use budget::Budgets;
use entries::{Entries, Event};
use events::Callbacks;
use profiles::Profiles;
use stacks::StackCache;

/// All that a machine keeps for memory profiles.
#[derive(Debug, Default)]
pub(crate) struct Memprof {
    profiles: Profiles,
    entries: Entries,
    events: VecDeque<Event>,
    pub(crate) callbacks: Callbacks,
    pub(crate) calls: CallTree,
    pub(crate) stack: StackCache,
    budgets: Budgets,
    /// Words that callbacks have allocated: the word clock leaves them out.
    hidden_words: u64,
    /// Words outside the heap that the program has accounted for: the word clock counts them.
    external_words: u64,
    /// Sampled memory outside the heap that has not been freed, by the numbers that programs have
    /// for it: the blocks that stand for it, with their word clocks.
    externals: HashMap<u64, Vec<(u32, u64)>>,
    /// How many such numbers were given.
    n_externals: u64,
    /// Where the heap's clock stood when the callback began that is running.
    suspended_at: Option<u64>,
    /// Why the program's last wish could not be granted.
    pub(crate) last_error: Option<MemprofError>,
}

impl Memprof {
    /// The word clock: words that the program has allocated, without those of callbacks and with
    /// those outside the heap.
    pub(crate) fn clock(&self, heap: &Heap) -> u64 {
        let words = self.suspended_at.unwrap_or_else(|| heap.clock());
        (words - self.hidden_words).saturating_add(self.external_words)
    }

    /// Whether a callback runs, so that nothing is sampled.
    pub(crate) fn is_suspended(&self) -> bool {
        self.suspended_at.is_some()
    }

    /// Makes the heap ask at the next word that somebody wants to see.
    fn watch(&self, heap: &mut Heap) {
        self.watch_from(heap, self.profiles.next_sample());
    }

    /// [`Memprof::watch`] when the next sampled word is known.
    #[inline]
    fn watch_from(&self, heap: &mut Heap, next_sample: u64) {
        let next = next_sample.min(self.budgets.next_end());
        let word = match (self.is_suspended(), next) {
            (true, _) | (_, u64::MAX) => u64::MAX,
            // The heap's own clock counts hidden words, and no external ones.
            _ => next
                .saturating_sub(self.external_words)
                .saturating_add(self.hidden_words),
        };
        heap.watch(word);
    }

    /// Stops the word clock, for a callback or for an embedder's objects.
    pub(crate) fn suspend(&mut self, heap: &mut Heap) {
        self.suspended_at = Some(heap.clock());
        self.watch(heap);
    }

    /// Lets the word clock go on.
    pub(crate) fn resume(&mut self, heap: &mut Heap) {
        if let Some(start) = self.suspended_at.take() {
            self.hidden_words += heap.clock() - start;
        }
        self.watch(heap);
    }

    /// An exception has left the frames from `sp` on.
    pub(crate) fn unwind(&mut self, program: &mut Program, sp: *mut Frame) {
        program.drop_caught(sp);
        self.budgets.unwind(sp);
    }

    /// Bytes of memory that tracking takes just now.
    pub(crate) fn memory_bytes(&self, heap: &Heap) -> usize {
        self.entries.memory_bytes()
            + self.events.capacity() * size_of::<Event>()
            + self.calls.memory_bytes()
            + self.stack.memory_bytes()
            + heap.tracked.memory_bytes()
    }

    /// The heap has been replaced by an empty one: all blocks in it are gone, and with them the
    /// closures of bytecode trackers, whose profiles are discarded.
    pub(crate) fn heap_is_new(&mut self, heap: &mut Heap) {
        self.discard_closures(heap);
        let clock = self.clock(heap);
        for index in 0..self.entries.n_slots() as u32 {
            let entry = self.entries.get(index);
            if entry.is_some_and(|entry| entry.state.origin != AllocOrigin::External) {
                self.meet_fate(heap, index, Fate::Died, clock);
            }
        }
        self.watch(heap);
    }

    /// Gives memory back when there are no blocks left and no profile will add some.
    fn give_back(&mut self, heap: &mut Heap) {
        if !self.entries.is_empty() || self.profiles.is_sampling() {
            return;
        }
        self.entries = Entries::default();
        heap.tracked.clear();
        if self.events.is_empty() {
            self.events = VecDeque::new();
        }
        if self.profiles.is_empty() {
            self.calls = CallTree::default();
            self.stack.forget();
        }
    }
}
