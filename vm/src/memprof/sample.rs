//! What happens when allocation meets its limit: collections, budgets, samples; and what happens to
//! tracked blocks afterwards.

use smallvec::SmallVec;

use super::api::{AllocInfo, CallStack, GcEvent, Source};
use super::entries::{Entry, Event, EventKind, State};
use super::profiles::Listener;
use super::{Memprof, callbacks};
use crate::heap::{Fate, Heap, OutOfMemory, SMALL_LIMIT_BYTES};
use crate::interp::fault::Fault;
use crate::interp::machine::Context;
use crate::interp::slow::{Cause, collect_with_roots};
use crate::interp::word::{Frame, Pc};
use crate::load::Program;

/// What comes of asking for room.
pub(crate) enum Room {
    /// The allocation can be done.
    Ready,
    /// The fault in `ctx.fault` forbids it.
    Fault,
    /// There is no memory.
    OutOfMemory(OutOfMemory),
}

/// Makes room for an allocation of `bytes` that has met the limit, and samples the block that it
/// will make. The allocation must be done next, and nothing else may be allocated before.
///
/// # Safety
/// The registers are those of the machine at a word of the running program.
pub(crate) unsafe fn make_room(
    pc: Pc,
    refs: *mut u64,
    ctx: *mut Context,
    sp: *mut Frame,
    bytes: usize,
    source: Source,
) -> Room {
    // SAFETY: the caller's promise.
    unsafe {
        let is_watched = (*ctx).heap.is_watched(bytes);
        if (!is_watched || (*ctx).heap.is_due(bytes))
            && let Err(error) = collect_with_roots(pc, refs, ctx, sp, bytes, Cause::Need)
        {
            return Room::OutOfMemory(error);
        }
        if !(*ctx).heap.is_watched(bytes) {
            return Room::Ready;
        }
        let words = bytes as u64 / 8;
        let is_small = bytes <= SMALL_LIMIT_BYTES;
        let Some(blocks) = sample(pc, ctx, sp, words, source, is_small) else {
            (*ctx).fault = Fault::BudgetExceeded;
            return Room::Fault;
        };
        let heap = &mut (*ctx).heap;
        for index in blocks {
            match is_small {
                true => heap.weak.track(index, heap.top),
                false => heap.weak.track_next_large(index),
            }
        }
        Room::Ready
    }
}

/// The blocks, one for each profile that has sampled it.
type Blocks = SmallVec<[u32; 2]>;

/// Accounts for memory outside the heap, which is sampled like a block without a header (S6). Gives
/// what to say when it is freed, 0 if nobody has sampled it; `None` when a budget forbids it.
///
/// # Safety
/// As for [`make_room`].
pub(crate) unsafe fn sample_external(
    pc: Pc,
    ctx: *mut Context,
    sp: *mut Frame,
    words: u64,
) -> Option<u64> {
    // SAFETY: the caller's promise.
    unsafe {
        if (*ctx).memprof.is_suspended() {
            return Some(0);
        }
        let blocks = sample(pc, ctx, sp, words, Source::External, false)?;
        let memprof = &mut (*ctx).memprof;
        memprof.external_words = memprof.external_words.saturating_add(words);
        memprof.watch(&mut (*ctx).heap);
        if blocks.is_empty() {
            return Some(0);
        }
        memprof.n_externals += 1;
        let clock = memprof.clock(&(*ctx).heap) - words;
        let blocks = blocks.into_iter().map(|index| (index, clock)).collect();
        memprof.externals.insert(memprof.n_externals, blocks);
        Some(memprof.n_externals)
    }
}

/// Memory outside the heap was freed that [`sample_external`] gave this number for. Gives whether
/// there was such memory.
///
/// # Safety
/// `ctx` is the machine's, whose program is at the word `pc`.
pub(crate) unsafe fn free_external(pc: Pc, ctx: *mut Context, number: u64) -> bool {
    // SAFETY: the caller's promise; the parts of the context are apart.
    unsafe {
        let memprof = &mut (*ctx).memprof;
        let Some(blocks) = memprof.externals.remove(&number) else {
            return number == 0;
        };
        for (index, clock) in blocks {
            let entry = memprof.entries.get(index);
            // The block may be untracked by now, and its index another's.
            if entry.is_some_and(|one| one.clock == clock && one.state.source == Source::External) {
                memprof.meet_fate(&mut (*ctx).heap, index, Fate::Died);
            }
        }
        callbacks::arm_after(ctx, pc);
        true
    }
}

/// Samples the next `words` words for all profiles; `None` when a budget forbids them.
unsafe fn sample(
    pc: Pc,
    ctx: *mut Context,
    sp: *mut Frame,
    words: u64,
    source: Source,
    is_born_young: bool,
) -> Option<Blocks> {
    // SAFETY: the caller's promise; the parts of the context are apart.
    unsafe {
        let memprof = &mut (*ctx).memprof;
        let heap = &mut (*ctx).heap;
        let from = memprof.clock(heap);
        let to = from.saturating_add(words);
        if memprof.budgets.exceed(to, sp) {
            memprof.watch(heap);
            return None;
        }
        let mut blocks = Blocks::new();
        let mut call = None;
        for place in memprof.profiles.places() {
            let Some(state) = memprof.profiles.state(place) else {
                continue;
            };
            if !state.is_running || state.sampler.next() >= to {
                continue;
            }
            let n_samples = state.sampler.take(from, to);
            let program = &mut *(*ctx).program;
            let call = *call.get_or_insert_with(|| {
                let first = (*ctx).stack.first_frame();
                memprof
                    .stack
                    .call_stack(&mut memprof.calls, program, first, sp, pc)
            });
            let entry = Entry {
                cookie: 0,
                clock: from,
                clock_words: words,
                call,
                n_samples: u32::try_from(n_samples).unwrap_or(u32::MAX),
                profile: place,
                state: State {
                    source,
                    is_born_young,
                    is_promoted: false,
                    is_untracked: false,
                    is_new: true,
                    n_events: 0,
                },
            };
            blocks.extend(memprof.add_block(entry, &*program));
        }
        memprof.watch(heap);
        callbacks::arm_after(ctx, pc);
        Some(blocks)
    }
}

impl Memprof {
    /// Offers a sampled block to its tracker: at once to a native one, to closures by an event. Its
    /// index, unless the tracker does not want it.
    fn add_block(&mut self, entry: Entry, program: &Program) -> Option<u32> {
        let state = self.profiles.state(entry.profile)?;
        let header_words = (entry.state.source != Source::External) as u64;
        let info = AllocInfo {
            n_samples: entry.n_samples as u64,
            size_words: entry.clock_words - header_words,
            clock_words: entry.clock_words,
            source: entry.state.source,
            stack: CallStack {
                calls: &self.calls,
                program,
                call: entry.call,
                limit: state.callstack_size,
            },
            clock: entry.clock,
        };
        match &mut state.listener {
            Listener::Native(tracker) => {
                let cookie = match entry.state.is_born_young {
                    true => tracker.alloc_minor(&info)?,
                    false => tracker.alloc_major(&info)?,
                };
                let mut entry = entry;
                entry.cookie = cookie;
                entry.state.is_new = false;
                self.entries.add(entry)
            }
            Listener::Closures => {
                let index = self.entries.add(entry)?;
                self.add_event(index, EventKind::Alloc);
                Some(index)
            }
        }
    }

    fn add_event(&mut self, index: u32, kind: EventKind) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.state.n_events += 1;
            self.events.push_back(Event { entry: index, kind });
        }
    }
}

/// Tells trackers what a collection has done.
///
/// # Safety
/// `ctx` is the machine's, and a collection has just ended.
pub(crate) unsafe fn collection_is_over(ctx: *mut Context, is_major: bool) {
    // SAFETY: the caller's promise; the parts of the context are apart.
    unsafe {
        let memprof = &mut (*ctx).memprof;
        let heap = &mut (*ctx).heap;
        let mut fates = std::mem::take(&mut memprof.fates);
        heap.weak.take_fates(&mut fates);
        // The table's order depends on whatever else is tracked. Programs must not.
        if memprof.profiles.has_closures() {
            let entries = &memprof.entries;
            fates.sort_by_key(|&(index, _)| entries.get(index).map(|entry| entry.clock));
        }
        for (index, fate) in fates.drain(..) {
            memprof.meet_fate(heap, index, fate);
        }
        memprof.fates = fates;
        memprof.profiles.collected(is_major);
        memprof.give_back(heap);
    }
}

impl Memprof {
    pub(super) fn meet_fate(&mut self, heap: &mut Heap, index: u32, fate: Fate) {
        let clock = self.clock(heap);
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        if fate == Fate::Promoted {
            entry.state.is_promoted = true;
        }
        let entry = *entry;
        let Some(state) = self.profiles.state(entry.profile) else {
            return;
        };
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
            source: entry.state.source,
            call: entry.call,
            alloc_clock: entry.clock,
            clock,
        };
        let is_young = entry.state.is_born_young && !entry.state.is_promoted;
        match fate {
            Fate::Promoted => match tracker.promote(entry.cookie, &event) {
                Some(cookie) => {
                    if let Some(entry) = self.entries.get_mut(index) {
                        entry.cookie = cookie;
                    }
                }
                None => self.untrack(heap, index),
            },
            Fate::Died if is_young => {
                tracker.dealloc_minor(entry.cookie, &event);
                self.untrack(heap, index);
            }
            Fate::Died => {
                tracker.dealloc_major(entry.cookie, &event);
                self.untrack(heap, index);
            }
        }
    }
}
