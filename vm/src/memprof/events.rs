//! The queue of events for bytecode trackers, and the callbacks that they make.

use super::Memprof;
use super::entries::EventKind;
use super::profiles::ClosureTracker;
use crate::code::{Handler, Pc};
use crate::heap::{Heap, Value};

/// What is armed, and what runs.
#[derive(Debug, Default)]
pub(crate) struct Callbacks {
    pub(crate) armed: Option<Armed>,
    /// The word that the machine goes on with when all events are handled.
    pub(crate) resume_pc: Option<Pc>,
    /// The block whose callback runs, and what has happened to it.
    pub(super) handled: Option<(u32, EventKind)>,
}

/// A word whose handler is replaced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Armed {
    pub(crate) pc: Pc,
    pub(crate) handler: Handler,
    /// The word of the op that has caused the events.
    pub(crate) cause: Pc,
}

/// A call of a tracker's closure.
pub(crate) struct Call {
    pub(crate) closure: Value,
    /// Its place in the tracker.
    pub(crate) place: usize,
    pub(crate) ints: [u64; 3],
    pub(crate) value: Value,
}

impl Memprof {
    /// Whether the callback that runs has to do with an event after which its block may go on with
    /// a value.
    pub(crate) fn is_value_wanted(&self) -> bool {
        let kind = self.callbacks.handled.map(|(_, kind)| kind);
        matches!(kind, Some(EventKind::Alloc | EventKind::Promote))
    }

    /// Ends all callbacks, and the budgets of programs, with the run.
    pub(crate) fn end_run(&mut self, heap: &mut Heap) {
        self.callbacks.resume_pc = None;
        self.end_callback(heap, None);
        self.resume(heap);
        self.budgets.end_run();
        self.watch(heap);
    }

    /// An exception has left a callback: its block is not tracked any more (S15).
    pub(crate) fn callback_raised(&mut self, heap: &mut Heap) {
        self.callbacks.resume_pc = None;
        self.end_callback(heap, None);
        self.resume(heap);
    }

    pub(crate) fn has_callbacks(&self) -> bool {
        !self.events.is_empty() && !self.is_suspended()
    }

    /// The call for the first event that needs one. Events before it are handled.
    pub(crate) fn next_call(&mut self, heap: &mut Heap) -> Option<Call> {
        while let Some(event) = self.events.pop_front() {
            let Some(&entry) = self.entries.get(event.entry) else {
                continue;
            };
            self.callbacks.handled = Some((event.entry, event.kind));
            let place = ClosureTracker::place(&entry, event.kind);
            let closure = self.profiles.closure(entry.profile, place);
            let value = Value(self.entries.value(event.entry));
            if entry.state.is_untracked || closure.is_null() {
                // Without a closure a block is not tracked, but goes on with its value when it
                // is promoted.
                let keeps = event.kind == EventKind::Promote && !entry.state.is_untracked;
                self.end_callback(heap, keeps.then_some(value));
                continue;
            }
            // From here on stopping the profile does not drop the block (S12).
            if let Some(entry) = self.entries.get_mut(event.entry) {
                entry.state.is_new = false;
            }
            let header_words = (entry.state.origin != super::AllocOrigin::External) as u64;
            return Some(Call {
                closure,
                place,
                ints: [
                    entry.n_samples as u64,
                    entry.clock_words - header_words,
                    entry.state.origin as u64,
                ],
                value,
            });
        }
        None
    }

    /// Ends the handling of an event: the block goes on with `kept`, or is not tracked any more.
    pub(crate) fn end_callback(&mut self, heap: &mut Heap, kept: Option<Value>) {
        let Some((index, _)) = self.callbacks.handled.take() else {
            return;
        };
        let Some(entry) = self.entries.get_mut(index) else {
            return;
        };
        entry.state.n_events -= 1;
        match kept {
            Some(value) if !entry.state.is_untracked => self.entries.set_value(index, value.0),
            _ => self.untrack(heap, index),
        }
        if self.entries.is_empty() {
            self.give_back(heap);
        }
    }

    /// The roots that bytecode trackers hold: closures, and values of blocks.
    pub(crate) fn roots(&mut self) -> [(*mut u64, usize); 2] {
        let closures = &mut self.profiles.closures;
        let values = &mut self.entries.values;
        [
            (closures.as_mut_ptr(), closures.len()),
            (values.as_mut_ptr(), values.len()),
        ]
    }

    /// The call stack of the block whose allocation is being told, and how much of it is shown.
    pub(crate) fn told_stack(&mut self) -> Option<(profiler::sampling::CallId, usize)> {
        let (index, kind) = self.callbacks.handled?;
        let entry = *self.entries.get(index)?;
        let limit = self.profiles.state(entry.profile)?.callstack_size;
        (kind == EventKind::Alloc && self.is_suspended()).then_some((entry.call, limit))
    }
}
