//! What happens when allocation meets its limit: collections, budgets, samples; and what happens to
//! tracked blocks afterwards.

use super::api::{AllocInfo, CallStack, GcEvent, Source};
use super::entries::{Entries, Entry, Event, EventKind, State};
use super::profiles::{Listener, ProfileState};
use super::{Memprof, callbacks};
use crate::heap::{Fate, Heap, OutOfMemory, SMALL_LIMIT_BYTES};
use crate::interp::fault::Fault;
use crate::interp::machine::Context;
use crate::interp::slow::{Cause, collect_with_roots};
use crate::interp::word::{Frame, Pc};

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
#[inline]
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
        // This is what takes the time of a sampling profile.
        match (*ctx).heap.is_only_watched(bytes) {
            true => room_after(sample_young(pc, ctx, sp, bytes, source)),
            false => make_room_or_collect(pc, refs, ctx, sp, bytes, source),
        }
    }
}

/// [`make_room`] where it is not just a sample of a small block that is due.
#[cold]
#[inline(never)]
unsafe fn make_room_or_collect(
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
        if !is_watched {
            return Room::Ready;
        }
        let keep = |heap: &mut Heap, index| heap.weak.track_next_large(index);
        let is_allowed = match bytes <= SMALL_LIMIT_BYTES {
            true => sample_young(pc, ctx, sp, bytes, source),
            false => sample(pc, ctx, sp, bytes as u64 / 8, source, false, keep),
        };
        room_after(is_allowed)
    }
}

/// Samples the block in the nursery that is allocated next, of `bytes`. Gives whether it is
/// allowed; if not, the fault is in `ctx.fault`.
///
/// # Safety
/// As for [`make_room`], when the nursery has room.
#[inline(never)]
unsafe fn sample_young(
    pc: Pc,
    ctx: *mut Context,
    sp: *mut Frame,
    bytes: usize,
    source: Source,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        sample(
            pc,
            ctx,
            sp,
            bytes as u64 / 8,
            source,
            true,
            |heap, index| {
                heap.weak.track(index, heap.top);
            },
        )
    }
}

/// What comes of asking for room that a budget allows, or not.
fn room_after(is_allowed: bool) -> Room {
    match is_allowed {
        true => Room::Ready,
        false => Room::Fault,
    }
}

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
        let clock = (*ctx).memprof.clock(&(*ctx).heap);
        let mut blocks = Vec::new();
        let keep = |_: &mut Heap, index| blocks.push((index, clock));
        if !sample(pc, ctx, sp, words, Source::External, false, keep) {
            return None;
        }
        let memprof = &mut (*ctx).memprof;
        memprof.external_words = memprof.external_words.saturating_add(words);
        memprof.watch(&mut (*ctx).heap);
        if blocks.is_empty() {
            return Some(0);
        }
        memprof.n_externals += 1;
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
                let clock_now = memprof.clock(&(*ctx).heap);
                memprof.meet_fate(&mut (*ctx).heap, index, Fate::Died, clock_now);
            }
        }
        callbacks::arm_after(ctx, pc);
        true
    }
}

/// Samples the next `words` words for all profiles, and hands the index of each one's block to
/// `keep`. Gives whether the words are allowed; if not, the fault of a budget is in `ctx.fault`.
#[inline]
unsafe fn sample(
    pc: Pc,
    ctx: *mut Context,
    sp: *mut Frame,
    words: u64,
    source: Source,
    is_born_young: bool,
    mut keep: impl FnMut(&mut Heap, u32),
) -> bool {
    // SAFETY: the caller's promise; the parts of the context are apart.
    unsafe {
        let memprof = &mut (*ctx).memprof;
        let heap = &mut (*ctx).heap;
        let program = &mut *(*ctx).program;
        let from = memprof.clock(heap);
        let to = from.saturating_add(words);
        if memprof.budgets.next_end() < to && memprof.budgets.exceed(to, sp) {
            memprof.watch(heap);
            (*ctx).fault = Fault::BudgetExceeded;
            return false;
        }
        let mut call = None;
        let mut next_sample = u64::MAX;
        for (place, state) in memprof.profiles.running() {
            if state.sampler.next() < to {
                let wanted = call.is_none().then(|| {
                    let first = (*ctx).stack.first_frame();
                    let calls = &memprof.calls;
                    memprof.stack.call_stack(calls, program, first, sp, pc)
                });
                let n_samples = state.sampler.take(from, to);
                if let Some(wanted) = wanted {
                    let found = |wanted| memprof.stack.found(&mut memprof.calls, wanted);
                    call = wanted.map(found);
                }
                // For want of memory the sample is lost (S23).
                let index = memprof.entries.next_index().filter(|&index| {
                    let mut has_room = |entries: &mut Entries| {
                        // A block has three events at most.
                        let n_events = 3 * entries.n_slots();
                        entries.has_room_for_values()
                            && memprof.events.try_reserve(n_events).is_ok()
                    };
                    heap.weak.has_room(index)
                        && (!state.has_closures() || has_room(&mut memprof.entries))
                });
                let header_words = (source != Source::External) as u64;
                if let (Some(index), Some(call)) = (index, call) {
                    let info = AllocInfo {
                        n_samples,
                        size_words: words - header_words,
                        clock_words: words,
                        source,
                        stack: CallStack {
                            calls: &memprof.calls,
                            program,
                            call,
                            limit: state.callstack_size,
                        },
                        clock: from,
                    };
                    if let Some(entry) = state.offer(&info, is_born_young, place) {
                        memprof.entries.add(entry);
                        if entry.state.is_new {
                            let kind = EventKind::Alloc;
                            memprof.events.push_back(Event { entry: index, kind });
                        }
                        keep(heap, index);
                    }
                }
            }
            next_sample = next_sample.min(state.sampler.next());
        }
        memprof.watch_from(heap, next_sample);
        callbacks::arm_after(ctx, pc);
        true
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
                source: info.source,
                is_born_young,
                is_promoted: false,
                is_untracked: false,
                is_new: !is_native,
                n_events: !is_native as u8,
            },
        })
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
        let mut fates = heap.weak.take_fates();
        // The table's order depends on whatever else is tracked. Programs must not.
        if memprof.profiles.has_closures() {
            let entries = &memprof.entries;
            // A stable sort would need memory.
            fates.sort_unstable_by_key(|&(index, fate)| {
                let entry = entries.get(index);
                let block = entry.map(|entry| (entry.clock, entry.profile));
                (block, fate == Fate::Died)
            });
        }
        let clock = memprof.clock(heap);
        for &(index, fate) in &fates {
            memprof.meet_fate(heap, index, fate, clock);
        }
        heap.weak.reuse_fates(fates);
        memprof.profiles.collected(is_major);
        memprof.give_back(heap);
    }
}

impl Memprof {
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
            source: entry.state.source,
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
