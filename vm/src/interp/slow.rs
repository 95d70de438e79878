//! Cold handlers: each has its work done by a function that is not inlined, and follows the way
//! that comes of it.

use super::handlers::{handlers, outlined};
use crate::code::Pc;
use crate::machine::Obstacle;
use crate::memprof::AllocOrigin;
use crate::safepoint::{self, Way, callbacks};

handlers! {
    /// Makes room for `control.request_bytes` and samples them, then does the word again
    #[cold]
    #[inline(never)]
    fn collect(m) { m.follow(m.outlined(make_requested_room)) }
    /// Handles events of memory profiles before the op whose handler this replaces
    #[cold]
    #[inline(never)]
    fn handle_events(m) {
        match m.outlined(begin_callbacks) {
            true => m.resume(),
            false => m.enter(overflow),
        }
    }
    /// Goes on after a callback, with the next one or with the program
    #[cold]
    #[inline(never)]
    fn callback_returned(m) {
        m.outlined(end_callback);
        m.resume()
    }
    /// Notes that the program has returned from the frame whose return is caught, and goes on
    #[cold]
    #[inline(never)]
    fn barrier(m) {
        let pc = m.outlined(meet_barrier);
        m.go(pc)
    }
    /// Raises `control.fault`
    #[cold]
    #[inline(never)]
    fn raise_fault(m) { m.follow(m.outlined(raise_requested_fault)) }
    /// Raises the exception among the roots
    #[cold]
    #[inline(never)]
    fn raise(m) { m.follow(m.outlined(unwind)) }
    /// Makes the context that is wanted, so that its parent remembers it
    #[cold]
    #[inline(never)]
    fn make_context(m) {
        m.outlined(make_wanted_context);
        m.go(m.pc)
    }
    /// Looks why attention is wanted
    #[cold]
    #[inline(never)]
    fn attend(m) { m.follow(m.outlined(look_at_attention)) }
    /// Ends the run because its fuel is used up, or pauses it
    #[cold]
    #[inline(never)]
    fn out_of_fuel(m) { m.follow(m.outlined(run_out_of_fuel)) }
    /// Ends the run with a stack overflow. A result that is always the same would be taken for
    /// known: callers would call this handler for its effect, instead of jumping to it, and save
    /// registers for that on every call of a program
    #[cold]
    #[inline(never)]
    fn overflow(m) {
        m.outlined(overflow_stack);
        std::hint::black_box(m.stop())
    }
    /// Calls the host function of the word
    #[inline(never)]
    fn call_host(m) { m.follow(m.outlined(call_host_function)) }
}

outlined! {
    fn make_requested_room(m) -> Way {
        safepoint::settle(m, || {
            let bytes = (*m.ctx).control.request_bytes;
            safepoint::make_room(m, bytes, AllocOrigin::Normal)?;
            callbacks::arm_after(m);
            Ok(Way::Again)
        })
    }
    /// Sets `control.resume` to the first callback; `false` when there is no room for its
    /// registers.
    fn begin_callbacks(m) -> bool {
        let first = callbacks::begin(m);
        if let Some(first) = first {
            (*m.ctx).control.resume = first;
        }
        first.is_some()
    }
    /// Sets `control.resume` to what comes after a callback.
    fn end_callback(m) -> () {
        (*m.ctx).control.resume = callbacks::returned(m);
    }
    fn raise_requested_fault(m) -> Way {
        match safepoint::settle(m, || safepoint::make_fault(m).map(|()| Way::Raise)) {
            Way::Raise => m.outlined(unwind),
            way => way,
        }
    }
    fn unwind(m) -> Way {
        safepoint::way_after(m, safepoint::unwind(m))
    }
    fn look_at_attention(m) -> Way {
        safepoint::settle(m, || safepoint::look_at_attention(m))
    }
    fn run_out_of_fuel(m) -> Way {
        safepoint::way_after(m, safepoint::run_out_of_fuel(m))
    }
    fn meet_barrier(m) -> Pc { safepoint::meet_barrier(m) }
    fn make_wanted_context(m) -> () { safepoint::make_wanted_context(m) }
    fn overflow_stack(m) -> () { safepoint::overflow_stack(m) }
    fn call_host_function(m) -> Way {
        safepoint::settle(m, || {
            let table = (*m.ctx).control.hosts;
            let called = (table.call)(table.hosts, m);
            // A host function may not have minded that the heap has failed, or have made another
            // error of it, which the program must not handle.
            let goes_on = matches!(called, Ok(()) | Err(Obstacle::Fault(_) | Obstacle::Raise));
            if let Some(error) = (*m.ctx).heap_failure().filter(|_| goes_on) {
                return Err(Obstacle::from(error));
            }
            called?;
            callbacks::arm_after(m);
            Ok(Way::Next)
        })
    }
}
