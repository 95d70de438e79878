//! Exceptions: faults become records, and handlers are found in tables.

use super::room::header_source;
use super::switch::context_of;
use super::{Way, callbacks, make_room, spend};
use crate::heap::{Value, record_header};
use crate::machine::{Backtrace, Exit, FAULT_TAG, Machine, Obstacle, Resume};
use crate::memprof::AllocOrigin;

/// How many frames an exception leaves before the machine looks whether the run is to end.
const FRAMES_BETWEEN_LOOKS: usize = 1 << 10;

/// Makes the record that a fault is and puts it among the roots, as the exception to raise.
///
/// # Errors
/// When there is no memory for it.
///
/// # Safety
/// The registers are those of the machine at a word of the running program.
#[inline(never)]
pub(crate) unsafe fn make_fault(m: Machine) -> Result<(), Obstacle> {
    const BYTES: usize = 16;
    let ctx = m.ctx;
    // SAFETY: the caller's promise; the record is written before anything else happens.
    unsafe {
        let object = loop {
            if let Some(object) = (*ctx).heap.try_small(BYTES) {
                break object;
            }
            match make_room(m, BYTES, AllocOrigin::Normal) {
                // A budget is exceeded once: then its fault is raised instead, and there is room.
                Err(Obstacle::Fault(fault)) => (*ctx).control.fault = fault,
                made => made?,
            }
        };
        *object = record_header(FAULT_TAG, 0, 1) | header_source(ctx, m.pc).bits();
        *object.add(1) = (*ctx).control.fault as u64;
        let known = (*(*ctx).program).node_at(m.pc);
        let node = known.unwrap_or_else(|| m.current());
        (*node).charge_bytes(BYTES as u64);
        (*ctx).roots.exception = Value::pointer(object);
        Ok(())
    }
}

/// Finds the handler of the exception among the roots and sets `control.resume` to it, or ends the
/// run when there is none.
///
/// # Errors
/// When somebody asks for the end of the run meanwhile.
///
/// # Safety
/// As for [`make_fault`].
pub(crate) unsafe fn unwind(m: Machine) -> Result<Way, Obstacle> {
    let ctx = m.ctx;
    // SAFETY: frames from `sp` down to the run's first one are whole; each `pc` in them but the
    // first one's follows a call's words.
    unsafe {
        let program = &*(*ctx).program;
        let mut at = m.place();
        let mut n_frames = 0_usize;
        while let Some((function, op)) = program.op_at(at.pc) {
            if let Some(handler) = function.handler_of(op) {
                at.pc = handler.target;
                let machine = m.at(at);
                machine.set_r(handler.register, (*ctx).roots.exception);
                (*ctx).roots.exception = Value::ZERO;
                if !(*ctx).profiling.contexts.is_null() {
                    let caller = *machine.saved_context(at.sp.sub(1));
                    machine.publish(context_of(ctx, caller, handler.open));
                } else if !handler.node.is_null() {
                    machine.publish(handler.node);
                }
                (*ctx).control.resume = at;
                let memprof = &mut (*ctx).profiling.memprof;
                memprof.unwind(&mut *(*ctx).program, at.sp);
                callbacks::arm_here(machine);
                return Ok(Way::Resume);
            }
            n_frames += 1;
            if n_frames.is_multiple_of(FRAMES_BETWEEN_LOOKS) {
                spend(m, 0)?;
            }
            let mut below = at.sp.sub(1);
            let mut frame = *below;
            frame.pc = program.return_pc(below);
            if program.is_callback_return(frame.pc) {
                // Below it is the frame of the op that has caused the callback.
                (*ctx).profiling.memprof.callback_raised(&mut (*ctx).heap);
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
        let first = (*ctx).stack.first_frame();
        (*ctx).control.exit = Exit::Uncaught(Backtrace::take(program, m.pc, first, m.sp));
        Ok(Way::Stop)
    }
}
