//! What is done for sampled words, and for the blocks that have some.

use super::Memprof;
use super::api::{AllocInfo, AllocOrigin, CallStack, GcEvent};
use super::entries::{Entries, Entry, Event, EventKind, State};
use super::profiles::{Listener, ProfileState};
use crate::code::{Frame, Pc, Program};
use crate::heap::{Fate, Heap};

/// Where a machine stands: its call stack is what a sample is told with.
#[derive(Clone, Copy)]
pub(crate) struct StackTop {
    /// The run's first frame.
    pub(crate) first: *mut Frame,
    pub(crate) sp: *mut Frame,
    pub(crate) pc: Pc,
}

/// A block that is about to be allocated.
#[derive(Clone, Copy)]
pub(crate) struct NextBlock {
    /// Its words as the word clock counts them.
    pub(crate) words: u64,
    pub(crate) origin: AllocOrigin,
    pub(crate) is_born_young: bool,
}

/// Why words are not sampled, and so must not be allocated.
pub(crate) enum NotSampled {
    /// A budget forbids them.
    BudgetExceeded,
    /// Whoever was asked wanted it to stop.
    Stopped,
}

/// How many samples are drawn, on average, before somebody is asked whether to go on.
const SAMPLES_PER_PART: f64 = 2048.0;

impl Memprof {
    /// Samples the next `words` words for all profiles, and hands the index of each one's block to
    /// `keep`. Of many words it asks now and then whether to go on.
    ///
    /// # Errors
    /// When a budget forbids the words, or it is not to go on; then none is sampled.
    ///
    /// # Safety
    /// `top` is where the machine of this program stands.
    #[inline]
    pub(crate) unsafe fn sample(
        &mut self,
        heap: &mut Heap,
        program: &mut Program,
        top: StackTop,
        block: NextBlock,
        goes_on: impl FnMut() -> bool,
        mut keep: impl FnMut(&mut Heap, u32),
    ) -> Result<(), NotSampled> {
        let NextBlock {
            words,
            origin,
            is_born_young,
        } = block;
        let from = self.clock(heap);
        let to = from.saturating_add(words);
        if words as f64 > SAMPLES_PER_PART && !self.draw_in_parts(from, to, goes_on) {
            return Err(NotSampled::Stopped);
        }
        if self.budgets.next_end() < to && self.budgets.exceed(to, top.sp) {
            self.watch(heap);
            return Err(NotSampled::BudgetExceeded);
        }
        let mut call = None;
        let mut next_sample = u64::MAX;
        for (place, state) in self.profiles.running() {
            if state.sampler.next() < to || state.n_drawn > 0 {
                let wanted = call.is_none().then(|| {
                    let calls = &self.calls;
                    // SAFETY: the caller's promise.
                    unsafe {
                        self.stack
                            .call_stack(calls, program, top.first, top.sp, top.pc)
                    }
                });
                let drawn = std::mem::take(&mut state.n_drawn);
                let n_samples = drawn + state.sampler.take(from, to);
                if let Some(wanted) = wanted {
                    let found = |wanted| self.stack.found(&mut self.calls, program, wanted);
                    call = wanted.map(found);
                }
                // For want of memory the sample is lost (S23).
                let index = self.entries.next_index().filter(|&index| {
                    let mut has_room = |entries: &mut Entries| {
                        // A block has three events at most.
                        let n_events = 3 * entries.n_slots();
                        entries.has_room_for_values() && self.events.try_reserve(n_events).is_ok()
                    };
                    heap.tracked.has_room(index)
                        && (!state.has_closures() || has_room(&mut self.entries))
                });
                let header_words = (origin != AllocOrigin::External) as u64;
                if let (Some(index), Some(call)) = (index, call) {
                    let info = AllocInfo {
                        n_samples,
                        size_words: words - header_words,
                        clock_words: words,
                        origin,
                        stack: CallStack {
                            calls: &self.calls,
                            program,
                            call,
                            limit: state.callstack_size,
                        },
                        clock: from,
                    };
                    if let Some(entry) = state.offer(&info, is_born_young, place) {
                        self.entries.add(entry);
                        if entry.state.is_new {
                            let kind = EventKind::Alloc;
                            self.events.push_back(Event { entry: index, kind });
                        }
                        keep(heap, index);
                    }
                }
            }
            next_sample = next_sample.min(state.sampler.next());
        }
        self.watch_from(heap, next_sample);
        Ok(())
    }

    /// Draws the samples of a long block, so many at a time, and asks in between whether to go on.
    /// If not, those that were drawn are lost.
    #[cold]
    #[inline(never)]
    fn draw_in_parts(&mut self, from: u64, to: u64, mut goes_on: impl FnMut() -> bool) -> bool {
        let mut is_stopped = false;
        for (_, state) in self.profiles.running() {
            let part_words = (SAMPLES_PER_PART / state.sampler.rate()) as u64;
            let mut start = from;
            while !is_stopped && start < to && state.sampler.next() < to {
                let end = to.min(start.saturating_add(part_words));
                state.n_drawn += state.sampler.take(start, end);
                start = end;
                is_stopped = !goes_on();
            }
        }
        if is_stopped {
            self.profiles.forget_drawn();
        }
        !is_stopped
    }

    /// Accounts for memory outside the heap, which is sampled like a block without a header (S6).
    /// Gives the number by which it is freed: whether somebody samples makes no difference to it.
    ///
    /// # Errors
    /// As for [`Memprof::sample`].
    ///
    /// # Safety
    /// As for [`Memprof::sample`].
    pub(crate) unsafe fn sample_external(
        &mut self,
        heap: &mut Heap,
        program: &mut Program,
        top: StackTop,
        words: u64,
        goes_on: impl FnMut() -> bool,
    ) -> Result<u64, NotSampled> {
        if !self.is_suspended() {
            let clock = self.clock(heap);
            let mut blocks = Vec::new();
            let block = NextBlock {
                words,
                origin: AllocOrigin::External,
                is_born_young: false,
            };
            let keep = |_: &mut Heap, index| blocks.push((index, clock));
            // SAFETY: the caller's promise.
            unsafe { self.sample(heap, program, top, block, goes_on, keep)? };
            self.external_words = self.external_words.saturating_add(words);
            self.watch(heap);
            if !blocks.is_empty() {
                self.externals.insert(self.n_externals + 1, blocks);
            }
        }
        self.n_externals += 1;
        Ok(self.n_externals)
    }

    /// Memory outside the heap was freed that [`Memprof::sample_external`] gave this number for.
    /// Gives whether it gave such a number.
    pub(crate) fn free_external(&mut self, heap: &mut Heap, number: u64) -> bool {
        for (index, clock) in self.externals.remove(&number).unwrap_or_default() {
            let entry = self.entries.get(index);
            // The block may be untracked by now, and its index another's.
            let is_it =
                |one: &Entry| one.clock == clock && one.state.origin == AllocOrigin::External;
            if entry.is_some_and(is_it) {
                let clock_now = self.clock(heap);
                self.meet_fate(heap, index, Fate::Died, clock_now);
            }
        }
        (1..=self.n_externals).contains(&number)
    }

    /// Tells trackers what a collection has done that has just ended.
    pub(crate) fn collection_is_over(&mut self, heap: &mut Heap, is_major: bool) {
        let mut fates = heap.tracked.take_fates();
        // The table's order depends on whatever else is tracked. Programs must not.
        if self.profiles.has_closures() {
            let entries = &self.entries;
            // A stable sort would need memory.
            fates.sort_unstable_by_key(|&(index, fate)| {
                let entry = entries.get(index);
                let block = entry.map(|entry| (entry.clock, entry.profile));
                (block, fate == Fate::Died)
            });
        }
        let clock = self.clock(heap);
        for &(index, fate) in &fates {
            self.meet_fate(heap, index, fate, clock);
        }
        heap.tracked.reuse_fates(fates);
        self.profiles.collected(is_major);
        self.give_back(heap);
    }

    fn add_event(&mut self, index: u32, kind: EventKind) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.state.n_events += 1;
            self.events.push_back(Event { entry: index, kind });
        }
    }

    /// Tells what has become of a block when the word clock stood at `clock`.
    pub(super) fn meet_fate(&mut self, heap: &mut Heap, index: u32, fate: Fate, clock: u64) {
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        let Some(state) = self.profiles.state(entry.profile) else {
            return;
        };
        let is_young = entry.state.is_born_young && !entry.state.is_promoted;
        entry.state.is_promoted |= fate == Fate::Promoted;
        let Listener::Native(tracker) = &mut state.listener else {
            let kind = match fate {
                Fate::Promoted => EventKind::Promote,
                Fate::Died => EventKind::Dealloc,
            };
            return self.add_event(index, kind);
        };
        let event = GcEvent {
            n_samples: entry.n_samples as u64,
            clock_words: entry.clock_words,
            origin: entry.state.origin,
            call: entry.call,
            alloc_clock: entry.clock,
            clock,
        };
        match fate {
            Fate::Promoted => match tracker.promote(entry.cookie, &event) {
                Some(cookie) => entry.cookie = cookie,
                None => self.untrack(heap, index),
            },
            Fate::Died => {
                match is_young {
                    true => tracker.dealloc_minor(entry.cookie, &event),
                    false => tracker.dealloc_major(entry.cookie, &event),
                }
                // The heap has forgotten the block already.
                self.entries.remove(index);
            }
        }
    }
}

impl ProfileState {
    /// Offers a sampled block to the tracker: at once to a native one; closures are to hear of it
    /// by an event. `None` if the tracker does not want it.
    #[inline]
    fn offer(&mut self, info: &AllocInfo<'_>, is_born_young: bool, place: u16) -> Option<Entry> {
        let is_native = !self.has_closures();
        let cookie = match &mut self.listener {
            Listener::Native(tracker) if is_born_young => tracker.alloc_minor(info)?,
            Listener::Native(tracker) => tracker.alloc_major(info)?,
            Listener::Closures => 0,
        };
        Some(Entry {
            cookie,
            clock: info.clock,
            clock_words: info.clock_words,
            call: info.stack.call,
            n_samples: u32::try_from(info.n_samples).unwrap_or(u32::MAX),
            profile: place,
            state: State {
                origin: info.origin,
                is_born_young,
                is_promoted: false,
                is_untracked: false,
                is_new: !is_native,
                n_events: !is_native as u8,
            },
        })
    }
}
