//! The slow paths: collections, exceptions, attention, host calls, stack overflow.
//!
//! Each is a cold handler that calls a function which is not inlined, passes it the five
//! registers by value, and goes on where that function says or ends the run.

use std::sync::atomic::Ordering::Relaxed;

use profiler::{Node, SourceId};

use super::fault::FAULT_TAG;
use super::handlers::handlers;
use super::host_call::call_host_function;
use super::machine::{Context, Machine, Resume, WantedContext};
use super::trace::Backtrace;
use super::word::{Frame, Pc};
use super::{Exit, SNAPSHOT, Trap};
use crate::heap::{HeaderSource, OutOfMemory, Phase, Value, record_header};
use crate::memory::{self, Snapshot};
use crate::memprof::{self, Room, callbacks};

handlers! {
    /// Makes room for `ctx.request_bytes` and samples them, then does the word again
    #[cold]
    #[inline(never)]
    fn collect(m) {
        match make_requested_room(m.pc, m.refs, m.ctx, m.sp) {
            Way::Again => m.go(m.pc),
            Way::Fault => raise_fault(m.pc, m.ints, m.refs, m.ctx, m.sp),
            Way::Stop => m.stop(),
        }
    }
    /// Handles events of memory profiles before the op whose handler this replaces
    #[cold]
    #[inline(never)]
    fn handle_events(m) {
        match begin_callbacks(m.pc, m.ints, m.refs, m.ctx, m.sp) {
            true => m.resume(),
            false => overflow(m.pc, m.ints, m.refs, m.ctx, m.sp),
        }
    }
    /// Goes on after a callback, with the next one or with the program
    #[cold]
    #[inline(never)]
    fn callback_returned(m) {
        end_callback(m.pc, m.ints, m.refs, m.ctx, m.sp);
        m.resume()
    }
    /// Notes that the program has returned from the frame whose return is caught, and goes on
    #[cold]
    #[inline(never)]
    fn barrier(m) {
        let pc = meet_barrier(m.ctx);
        m.go(pc)
    }
    /// Raises `ctx.fault`
    #[cold]
    #[inline(never)]
    fn raise_fault(m) {
        if make_fault(m.pc, m.refs, m.ctx, m.sp) && unwind(m.pc, m.ints, m.refs, m.ctx, m.sp) {
            m.resume_attentive()
        } else {
            m.stop()
        }
    }
    /// Raises `ctx.exception`
    #[cold]
    #[inline(never)]
    fn raise(m) {
        if unwind(m.pc, m.ints, m.refs, m.ctx, m.sp) { m.resume_attentive() } else { m.stop() }
    }
    /// Makes the context that is wanted, so that its parent remembers it
    #[cold]
    #[inline(never)]
    fn make_context(m) {
        make_wanted_context(m.ctx);
        m.go(m.pc)
    }
    /// Looks why attention is wanted
    #[cold]
    #[inline(never)]
    fn attend(m) {
        if see_to_attention(m.pc, m.refs, m.ctx, m.sp) { m.go(m.pc) } else { m.stop() }
    }
    /// Ends the run with a stack overflow. A result that is always the same would be taken for
    /// known: callers would call this handler for its effect, instead of jumping to it, and save
    /// registers for that on every call of a program
    #[cold]
    #[inline(never)]
    fn overflow(m) {
        overflow_stack(m.pc, m.ctx, m.sp);
        std::hint::black_box(m.stop())
    }
    /// Calls the host function of the word
    #[inline(never)]
    fn call_host(m) {
        match call_host_function(m.pc, m.ints, m.refs, m.ctx, m.sp) {
            Way::Again => m.next(),
            Way::Fault => raise_fault(m.pc, m.ints, m.refs, m.ctx, m.sp),
            Way::Stop => m.stop(),
        }
    }
}

/// The bits of the attention word that hold the number of a signal.
const SIGNAL_BITS: u32 = 0xff;

/// Ends the run: the registers stay where they were, for a backtrace.
pub(super) unsafe fn trap(pc: Pc, ctx: *mut Context, sp: *mut Frame, trap: Trap) {
    // SAFETY: `ctx` is the machine's, and `sp` is above the run's first frame.
    unsafe {
        // A collection that was given up because the run is to end has failed as if for memory.
        let trap = match trap {
            Trap::OutOfMemory(error) => {
                match (*(*ctx).attention).fetch_and(!SIGNAL_BITS, Relaxed) as u8 {
                    0 => Trap::OutOfMemory(error),
                    signal => Trap::Interrupted(signal),
                }
            }
            other => other,
        };
        let backtrace = Backtrace::take(&*(*ctx).program, pc, sp);
        (*ctx).exit = Exit::Trap(trap, backtrace);
    }
}

/// How a run goes on after slow work.
pub(super) enum Way {
    /// With the word that asked, or behind it if that was a host call.
    Again,
    /// The fault in `ctx.fault` is raised.
    Fault,
    /// The run ends.
    Stop,
}

#[inline(never)]
unsafe fn make_requested_room(pc: Pc, refs: *mut u64, ctx: *mut Context, sp: *mut Frame) -> Way {
    // SAFETY: `pc` is the word that asks; a machine's registers are consistent at every word.
    unsafe {
        let bytes = (*ctx).request_bytes;
        match memprof::make_room(pc, refs, ctx, sp, bytes, memprof::Source::Normal) {
            Room::Ready => Way::Again,
            Room::Fault => Way::Fault,
            Room::OutOfMemory(error) => {
                trap(pc, ctx, sp, Trap::OutOfMemory(error));
                Way::Stop
            }
        }
    }
}

/// Sets `ctx.resume` to the first callback; `false` when there is no room for its registers.
#[inline(never)]
unsafe fn begin_callbacks(
    pc: Pc,
    ints: *mut u64,
    refs: *mut u64,
    ctx: *mut Context,
    sp: *mut Frame,
) -> bool {
    let machine = Machine {
        pc,
        ints,
        refs,
        ctx,
        sp,
    };
    // SAFETY: `pc` is the armed word.
    unsafe {
        let resume = callbacks::begin(machine);
        if let Some(resume) = resume {
            (*ctx).resume = resume;
        }
        resume.is_some()
    }
}

/// Sets `ctx.resume` to what comes after a callback.
#[inline(never)]
unsafe fn end_callback(pc: Pc, ints: *mut u64, refs: *mut u64, ctx: *mut Context, sp: *mut Frame) {
    let machine = Machine {
        pc,
        ints,
        refs,
        ctx,
        sp,
    };
    // SAFETY: `pc` is the word behind the call of callbacks.
    unsafe { (*ctx).resume = callbacks::returned(machine) }
}

#[inline(never)]
unsafe fn meet_barrier(ctx: *mut Context) -> Pc {
    // SAFETY: the frame with the barrier has just been popped.
    unsafe {
        let first = (*ctx).stack.first_frame();
        (*ctx)
            .memprof
            .stack
            .meet_barrier(&mut *(*ctx).program, first)
    }
}

/// Why there is a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Memory is needed.
    Need,
    /// The program asks for one of the whole heap.
    Wish,
    /// A memory profile wants to know what is alive. Nobody is charged.
    Look,
}

/// Collects with the machine's roots, charging the collector.
///
/// # Safety
/// The registers are those of the machine at a word of the running program.
pub(crate) unsafe fn collect_with_roots(
    pc: Pc,
    refs: *mut u64,
    ctx: *mut Context,
    sp: *mut Frame,
    request_bytes: usize,
    cause: Cause,
) -> Result<(), OutOfMemory> {
    // SAFETY: every word between the live registers and the stack's end is a reference, as is
    // every handle; nothing else refers into the heap while a machine is at a word.
    unsafe {
        // A host function may not have minded: what is left must not be looked at again.
        if let Some(error) = (*ctx).broken {
            return Err(error);
        }
        let count = match (*(*ctx).program).op_at(pc) {
            Some((function, _)) => function.ref_registers as usize,
            None => 256,
        };
        let (live, length) = (*ctx).stack.live_refs(refs, count);
        (*ctx).stack.clear_stale(sp, refs, live);
        let handles = &mut (*ctx).handles;
        let [closures, values] = (*ctx).memprof.roots();
        let mut roots = [
            (live, length),
            (handles.as_mut_ptr(), handles.len()),
            (&raw mut (*ctx).exception.0, 1),
            closures,
            values,
        ];
        let cell = (*ctx).cell;
        let interrupted = (*cell).current();
        let gc_node = match (*ctx).contexts.as_ref() {
            Some(contexts) => contexts.enter(&*interrupted, SourceId::GC),
            None => (*ctx).gc_node,
        };
        (*cell).publish(gc_node);
        let before = (*ctx).heap.moved_bytes();
        let n_major = (*ctx).heap.stats.major_collections;
        let force = (cause != Cause::Need).then_some(Phase::Major);
        let result = (*ctx).heap.collect(request_bytes, force, &mut roots);
        let moved = (*ctx).heap.moved_bytes() - before;
        (*cell).publish(interrupted);
        if cause != Cause::Look {
            (*gc_node).charge_bytes(moved);
            if let Some(census) = &mut (*ctx).heap.census {
                census.blame((*(*ctx).program).source_at(pc).index(), moved);
            }
        }
        (*ctx).broken = result.err();
        if result.is_ok() {
            let is_major = (*ctx).heap.stats.major_collections > n_major;
            memprof::collection_is_over(ctx, is_major);
            callbacks::arm_after(ctx, pc);
        }
        result
    }
}

#[inline(never)]
unsafe fn make_wanted_context(ctx: *mut Context) {
    // SAFETY: the node is one of the profile data that contexts are made in, and the word is one
    // of the program's that hold a source and a context.
    unsafe {
        let WantedContext {
            parent,
            source,
            word,
        } = (*ctx).wanted_context;
        let context = (*(*ctx).contexts).enter(&*parent, source);
        (*(*ctx).program).remember_context(word, context);
    }
}

/// The context of a frame: what is under the context it was called in, for the sources that are
/// open in it.
#[inline(never)]
pub(crate) unsafe fn context_of(
    ctx: *mut Context,
    caller: *const Node,
    open: &[SourceId],
) -> *const Node {
    // SAFETY: as for `make_wanted_context`.
    unsafe {
        let contexts = &*(*ctx).contexts;
        let mut context: &Node = &*caller;
        for &source in open {
            context = match context.cached_child(source).as_ref() {
                Some(known) => known,
                None => contexts.enter(context, source),
            };
        }
        context
    }
}

/// The source that an object's header holds which is allocated at a word without its own.
///
/// # Safety
/// `ctx` is the machine's that is at a word of its program.
pub(crate) unsafe fn header_source(ctx: *const Context, pc: Pc) -> HeaderSource {
    // SAFETY: the caller's promise.
    unsafe {
        match (*ctx).heap.census {
            Some(_) => HeaderSource::new((*(*ctx).program).source_at(pc).index()),
            None => HeaderSource::NONE,
        }
    }
}

/// Makes the record that a fault is and puts it into `ctx.exception`.
#[inline(never)]
unsafe fn make_fault(pc: Pc, refs: *mut u64, ctx: *mut Context, sp: *mut Frame) -> bool {
    const BYTES: usize = 16;
    // SAFETY: as for `collect_garbage`; the record is written before anything else happens.
    unsafe {
        (*ctx).request_bytes = BYTES;
        let object = loop {
            if let Some(object) = (*ctx).heap.try_small(BYTES) {
                break object;
            }
            // A budget is exceeded once: then its fault is raised instead, and there is room.
            if let Way::Stop = make_requested_room(pc, refs, ctx, sp) {
                return false;
            }
        };
        *object = record_header(FAULT_TAG, 0, 1) | header_source(ctx, pc).bits();
        *object.add(1) = (*ctx).fault as u64;
        let known = (*(*ctx).program).node_at(pc);
        let node = known.unwrap_or_else(|| (*(*ctx).cell).current());
        (*node).charge_bytes(BYTES as u64);
        (*ctx).exception = Value::pointer(object);
        true
    }
}

/// Finds the handler of `ctx.exception` and sets `ctx.resume` to it; `false` when there is none
/// and the run ends.
#[inline(never)]
unsafe fn unwind(
    pc: Pc,
    ints: *mut u64,
    refs: *mut u64,
    ctx: *mut Context,
    sp: *mut Frame,
) -> bool {
    // SAFETY: frames from `sp` down to the run's first one are whole; each `pc` in them but the
    // first one's follows a call's words.
    unsafe {
        let program = &*(*ctx).program;
        let mut at = Resume { pc, ints, refs, sp };
        while let Some((function, op)) = program.op_at(at.pc) {
            if let Some(handler) = function.handler_of(op) {
                at.pc = handler.target;
                let machine = Machine {
                    pc: at.pc,
                    ints: at.ints,
                    refs: at.refs,
                    ctx,
                    sp: at.sp,
                };
                machine.set_r(handler.register, (*ctx).exception);
                (*ctx).exception = Value::ZERO;
                if !(*ctx).contexts.is_null() {
                    let caller = *machine.saved_context(at.sp.sub(1));
                    machine.publish(context_of(ctx, caller, &handler.open));
                } else if !handler.node.is_null() {
                    machine.publish(handler.node);
                }
                (*ctx).resume = at;
                let first = (*ctx).stack.first_frame();
                (*ctx).memprof.unwind(&mut *(*ctx).program, first, at.sp);
                callbacks::arm_at(ctx, at.pc);
                return true;
            }
            let mut below = at.sp.sub(1);
            let mut frame = *below;
            frame.pc = program.return_pc(frame.pc);
            if program.is_callback_return(frame.pc) {
                // Below it is the frame of the op that has caused the callback.
                callbacks::raised(ctx);
                below = below.sub(1);
                frame = *below;
            }
            // A return address is behind its call; the word before it belongs to the call.
            let is_first = frame.pc == program.halt();
            let call = if is_first { frame.pc } else { frame.pc.sub(1) };
            at = Resume {
                pc: call,
                ints: frame.ints,
                refs: frame.refs,
                sp: below,
            };
        }
        (*ctx).exit = Exit::Uncaught(Backtrace::take(program, pc, sp));
        false
    }
}

/// Sees to whoever wants attention; `false` when the run ends.
#[inline(never)]
unsafe fn see_to_attention(pc: Pc, refs: *mut u64, ctx: *mut Context, sp: *mut Frame) -> bool {
    // SAFETY: as for `trap`; the flag outlives the context.
    unsafe {
        if (*ctx).fuel < 0 {
            trap(pc, ctx, sp, Trap::OutOfFuel);
            return false;
        }
        let signal = take_attention(pc, refs, ctx, sp);
        if let Some(error) = (*ctx).broken {
            trap(pc, ctx, sp, Trap::OutOfMemory(error));
            return false;
        }
        // This word is done again, and may be a jump or a call: what the collection for a snapshot
        // has found is told before it, not at the op behind it.
        callbacks::arm_at(ctx, pc);
        match signal {
            None => true,
            Some(signal) => {
                trap(pc, ctx, sp, Trap::Interrupted(signal));
                false
            }
        }
    }
}

/// Takes a snapshot if one is asked for. Gives the signal that asks for the end, if one does.
///
/// # Safety
/// The registers are those of the machine at a word of the running program.
pub(crate) unsafe fn take_attention(
    pc: Pc,
    refs: *mut u64,
    ctx: *mut Context,
    sp: *mut Frame,
) -> Option<u8> {
    // SAFETY: the caller's promise; the flag outlives the context.
    unsafe {
        let wanted = (*(*ctx).attention).swap(0, Relaxed);
        if wanted & SNAPSHOT != 0
            && let Some(mut action) = (*ctx).on_snapshot.take()
        {
            memory::census(pc, refs, ctx, sp);
            (*ctx).units.settle_time(&*(*ctx).cell);
            action(&Snapshot::of(&*ctx));
            (*ctx).on_snapshot = Some(action);
        }
        let signal = wanted as u8;
        (signal != 0).then_some(signal)
    }
}

#[inline(never)]
unsafe fn overflow_stack(pc: Pc, ctx: *mut Context, sp: *mut Frame) {
    // SAFETY: as for `trap`.
    unsafe {
        let limit_bytes = (*ctx).stack.bytes();
        trap(pc, ctx, sp, Trap::StackOverflow { limit_bytes });
    }
}
