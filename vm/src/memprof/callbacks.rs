//! Callbacks of bytecode trackers: closures that the machine calls between two ops.
//!
//! When something happens to a block, the word of the op that runs next is *armed*: its handler is
//! replaced by one that handles events. That handler puts the word right again and calls the first
//! event's closure, as if there were a call before the op:
//!
//! ```text
//! frame of the program    its registers, which the op will go on with
//! frame A                 returns to the op that caused the event (for backtraces and handlers)
//! frame B                 returns to the word behind the callback's call
//! frames of the closure
//! ```
//!
//! Behind the callback's call stands a handler that takes the closure's results, calls the next
//! event's closure if there is one, and otherwise drops frame A and goes on with the op. An
//! exception that leaves the closure leaves frames B and A too, and goes on from the op that caused
//! the event (S16). Events that are left are handled at the handler that catches it.

use super::Memprof;
use super::entries::EventKind;
use super::profiles::ClosureTracker;
use crate::heap::{Heap, Value};
use crate::interp::machine::{Context, Machine, Resume};
use crate::interp::word::{Frame, Handler, Pc};

/// What is armed, and what runs.
#[derive(Debug, Default)]
pub(crate) struct Callbacks {
    armed: Option<Armed>,
    running: Option<Running>,
    /// The block whose callback runs, and what has happened to it.
    handled: Option<(u32, EventKind)>,
}

/// A word whose handler is replaced.
#[derive(Clone, Copy, Debug)]
struct Armed {
    pc: Pc,
    handler: Handler,
    /// The word of the op that has caused the events.
    cause: Pc,
}

/// What the machine goes on with when all events are handled.
#[derive(Clone, Copy, Debug)]
struct Running {
    pc: Pc,
}

/// `i` registers that a function may use. A callback's stand above them.
const INT_REGISTERS: usize = 256;

/// Arms the op after that of the word `pc`, if there are events to handle.
///
/// # Safety
/// `ctx` is the context of the machine that is at the word `pc` of its program, of an op that goes
/// on with the one after it.
pub(crate) unsafe fn arm_after(ctx: *mut Context, pc: Pc) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*ctx).memprof.has_callbacks() {
            let next = (*(*ctx).program).next_op(pc);
            arm(ctx, next, pc);
        }
    }
}

/// Arms the word `pc`, if there are events to handle: an exception was caught there.
///
/// # Safety
/// As for [`arm_after`], but the machine goes on at `pc`.
pub(crate) unsafe fn arm_at(ctx: *mut Context, pc: Pc) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*ctx).memprof.has_callbacks() {
            arm(ctx, pc, pc);
        }
    }
}

unsafe fn arm(ctx: *mut Context, pc: Pc, cause: Pc) {
    // SAFETY: the caller's promise; the program's code is only read by this machine.
    unsafe {
        disarm(ctx);
        let handler = (*(*ctx).program).replace_handler(pc, crate::interp::slow::handle_events);
        (*ctx).memprof.callbacks.armed = Some(Armed { pc, handler, cause });
    }
}

/// Puts the armed word right again.
///
/// # Safety
/// `ctx` is a machine's, with the program that was armed.
pub(crate) unsafe fn disarm(ctx: *mut Context) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(armed) = (*ctx).memprof.callbacks.armed.take() {
            (*(*ctx).program).replace_handler(armed.pc, armed.handler);
        }
    }
}

/// Ends all callbacks with the run: the machine's stacks are empty.
///
/// # Safety
/// As for [`disarm`].
pub(crate) unsafe fn end_run(ctx: *mut Context) {
    // SAFETY: the caller's promise.
    unsafe {
        disarm(ctx);
        let memprof = &mut (*ctx).memprof;
        let heap = &mut (*ctx).heap;
        memprof.callbacks.running = None;
        memprof.end_callback(heap, None);
        memprof.resume(heap);
        memprof.budgets.end_run();
        memprof.watch(heap);
        // SAFETY: frames below the top of the run that has ended still stand.
        let first = (*ctx).stack.first_frame();
        memprof.stack.reset(&*(*ctx).program, first);
    }
}

/// The armed word is reached: where to go on, with the first event's closure or with the op. `None`
/// when there is no room for a callback's registers.
///
/// # Safety
/// The registers are the machine's at the armed word.
pub(crate) unsafe fn begin(m: Machine) -> Option<Resume> {
    // SAFETY: the caller's promise.
    unsafe {
        let cause = (*m.ctx)
            .memprof
            .callbacks
            .armed
            .map_or(m.pc, |armed| armed.cause);
        disarm(m.ctx);
        let program = &mut *(*m.ctx).program;
        let n_refs = match program.op_at(m.pc) {
            Some((function, _)) => function.ref_registers as usize,
            None => 0,
        };
        let window = Machine {
            pc: program.callback(),
            ints: m.ints.add(INT_REGISTERS),
            refs: m.refs.wrapping_sub(n_refs),
            sp: m.sp.add(1),
            ..m
        };
        if window.ints as usize >= window.refs as usize {
            return None;
        }
        let memprof = &mut (*m.ctx).memprof;
        let heap = &mut (*m.ctx).heap;
        memprof.suspend(heap);
        memprof.callbacks.running = Some(Running { pc: m.pc });
        m.sp.write(Frame {
            pc: cause.add(1),
            ints: m.ints,
            refs: m.refs,
        });
        let current = m.current();
        program.set_callback_node(current);
        if !(*m.ctx).contexts.is_null() {
            *m.saved_context(m.sp) = current;
        }
        Some(go_on(window))
    }
}

/// A callback has returned: takes its results, and gives where to go on.
///
/// # Safety
/// The registers are the machine's behind the callback's call.
pub(crate) unsafe fn returned(m: Machine) -> Resume {
    // SAFETY: the caller's promise; results stand in the first registers.
    unsafe {
        let memprof = &mut (*m.ctx).memprof;
        let handled = memprof.callbacks.handled.map(|(_, kind)| kind);
        let kept = match handled {
            Some(EventKind::Alloc | EventKind::Promote) if m.i(0) != 0 => Some(m.r(u8::MAX)),
            _ => None,
        };
        memprof.end_callback(&mut (*m.ctx).heap, kept);
        go_on(m)
    }
}

/// Calls the next event's closure, or goes on with the program.
unsafe fn go_on(m: Machine) -> Resume {
    // SAFETY: `m` is the machine above frame A, with room for a callback's registers.
    unsafe {
        let memprof = &mut (*m.ctx).memprof;
        let heap = &mut (*m.ctx).heap;
        let program = &mut *(*m.ctx).program;
        if let Some(call) = memprof.next_call(heap) {
            for (register, &int) in call.ints.iter().enumerate() {
                m.set_i(register as u8, int);
            }
            let signature = ClosureTracker::SIGNATURES[call.place];
            if signature.ref_params > 0 {
                m.set_r(u8::MAX, call.value);
            }
            m.set_r(u8::MAX - signature.ref_params, call.closure);
            program.set_callback_signature(signature);
            return Resume {
                pc: program.callback(),
                ints: m.ints,
                refs: m.refs,
                sp: m.sp,
            };
        }
        memprof.resume(heap);
        let below = m.sp.sub(1);
        let Frame { ints, refs, .. } = *below;
        let pc = memprof
            .callbacks
            .running
            .take()
            .map_or(m.pc, |running| running.pc);
        Resume {
            pc,
            ints,
            refs,
            sp: below,
        }
    }
}

/// An exception has left a callback: its block is not tracked any more (S15).
///
/// # Safety
/// As for [`disarm`].
pub(crate) unsafe fn raised(ctx: *mut Context) {
    // SAFETY: the caller's promise.
    unsafe {
        let memprof = &mut (*ctx).memprof;
        let heap = &mut (*ctx).heap;
        memprof.callbacks.running = None;
        memprof.end_callback(heap, None);
        memprof.resume(heap);
    }
}

/// A call of a tracker's closure.
struct Call {
    closure: Value,
    /// Its place in the tracker.
    place: usize,
    ints: [u64; 3],
    value: Value,
}

impl Memprof {
    fn has_callbacks(&self) -> bool {
        !self.events.is_empty() && !self.is_suspended()
    }

    /// The call for the first event that needs one. Events before it are handled.
    fn next_call(&mut self, heap: &mut Heap) -> Option<Call> {
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
            let header_words = (entry.state.source != super::Source::External) as u64;
            return Some(Call {
                closure,
                place,
                ints: [
                    entry.n_samples as u64,
                    entry.clock_words - header_words,
                    entry.state.source as u64,
                ],
                value,
            });
        }
        None
    }

    /// Ends the handling of an event: the block goes on with `kept`, or is not tracked any more.
    fn end_callback(&mut self, heap: &mut Heap, kept: Option<Value>) {
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
