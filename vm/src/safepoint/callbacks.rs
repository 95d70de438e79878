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

use crate::code::{Frame, Pc};
use crate::machine::{Context, Machine, Resume};
use crate::memprof::{Armed, ClosureTracker};

/// `i` registers that a function may use. A callback's stand above them.
const INT_REGISTERS: usize = 256;

/// Arms the op after the one that the machine is at, if there are events to handle.
///
/// # Safety
/// The machine goes on with that op: the one it is at falls through, and has not raised.
pub(crate) unsafe fn arm_after(m: Machine) {
    // SAFETY: the caller's promise; the verifier has proved that an op which falls through has one
    // behind it in its function.
    unsafe {
        if (*m.ctx).profiling.memprof.has_callbacks() {
            let next = (*(*m.ctx).program).next_op(m.pc);
            arm(m.ctx, next, m.pc);
        }
    }
}

/// Arms the word that the machine is at, if there are events to handle.
///
/// # Safety
/// The machine goes on with this word, which is an op's first.
pub(crate) unsafe fn arm_here(m: Machine) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*m.ctx).profiling.memprof.has_callbacks() {
            arm(m.ctx, m.pc, m.pc);
        }
    }
}

unsafe fn arm(ctx: *mut Context, pc: Pc, cause: Pc) {
    // SAFETY: the caller's promise; the program's code is only read by this machine.
    unsafe {
        disarm(ctx);
        let program = &mut *(*ctx).program;
        let handler = program.replace_handler(pc, program.events_handler);
        (*ctx).profiling.memprof.callbacks.armed = Some(Armed { pc, handler, cause });
    }
}

/// Puts the armed word right again.
///
/// # Safety
/// `ctx` is a machine's, with the program that was armed.
pub(crate) unsafe fn disarm(ctx: *mut Context) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(armed) = (*ctx).profiling.memprof.callbacks.armed.take() {
            (*(*ctx).program).replace_handler(armed.pc, armed.handler);
        }
    }
}

/// Ends all callbacks with the run: the machine's stacks are empty.
///
/// # Safety
/// As for [`disarm`].
pub(crate) unsafe fn end_run(ctx: *mut Context) {
    // SAFETY: the caller's promise; frames below the top of the run that has ended still stand.
    unsafe {
        disarm(ctx);
        let memprof = &mut (*ctx).profiling.memprof;
        memprof.end_run(&mut (*ctx).heap);
        memprof.stack.forget();
        (*(*ctx).program).release_caught();
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
        let armed = (*m.ctx).profiling.memprof.callbacks.armed;
        let cause = armed.map_or(m.pc, |armed| armed.cause);
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
        let memprof = &mut (*m.ctx).profiling.memprof;
        let heap = &mut (*m.ctx).heap;
        memprof.suspend(heap);
        memprof.callbacks.resume_pc = Some(m.pc);
        m.sp.write(Frame {
            pc: cause.add(1),
            ints: m.ints,
            refs: m.refs,
        });
        let current = m.current();
        program.set_callback_node(current);
        if !(*m.ctx).profiling.contexts.is_null() {
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
        let memprof = &mut (*m.ctx).profiling.memprof;
        let is_kept = memprof.is_value_wanted() && m.i(0) != 0;
        let kept = is_kept.then(|| m.r(u8::MAX));
        memprof.end_callback(&mut (*m.ctx).heap, kept);
        go_on(m)
    }
}

/// Calls the next event's closure, or goes on with the program.
unsafe fn go_on(m: Machine) -> Resume {
    // SAFETY: `m` is the machine above frame A, with room for a callback's registers.
    unsafe {
        let memprof = &mut (*m.ctx).profiling.memprof;
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
        let pc = memprof.callbacks.resume_pc.take().unwrap_or(m.pc);
        Resume {
            pc,
            ints,
            refs,
            sp: below,
        }
    }
}
