//! What a host function may see of the run that calls it: for debuggers, and for embedders that
//! hand values in.

use super::{HostCall, HostError};
use crate::code::Location;
use crate::heap::Value;
use crate::machine::Backtrace;
use crate::objects::{ReadBack, read_objects};

impl HostCall {
    /// Sets result `index` of the `r` class to an object that is held
    /// ([`Vm::hold`](crate::Vm::hold)); an index beyond those held, or beyond the signature, fails.
    pub fn set_held(&mut self, index: u8, held: u32) -> Result<(), HostError> {
        // SAFETY: the context outlives the call.
        let handles = unsafe { &(*self.ctx()).roots.held };
        let handle = handles.get(held as usize).copied();
        let handle = handle.filter(|_| self.has_ref(index));
        let handle = handle.ok_or(HostError::Failed)?;
        // SAFETY: as for `int`; a handle is a reference.
        unsafe { self.window().set_r(u8::MAX - index, Value(handle)) }
        Ok(())
    }

    /// Where the caller of this host function stands.
    pub fn location(&self) -> Option<Location> {
        // SAFETY: the program outlives the call, and `pc` is one of its words.
        unsafe { (*(*self.ctx()).program).location(self.caller.pc) }
    }

    /// The calls that are open, the caller of this host function first.
    pub fn backtrace(&self) -> Backtrace {
        // SAFETY: the program outlives the call, and `sp` is above the run's first frame.
        unsafe {
            let first = (*self.ctx()).stack.first_frame();
            Backtrace::take(
                &*(*self.ctx()).program,
                self.caller.pc,
                first,
                self.caller.sp,
            )
        }
    }

    /// How many control frames are open.
    pub fn depth(&self) -> usize {
        // SAFETY: `sp` is in the machine's control stack, above its first frame.
        unsafe {
            self.caller
                .sp
                .offset_from((*self.ctx()).stack.first_frame()) as usize
        }
    }

    /// The first `count` `i` registers of the function that calls. Some may never have been
    /// written; they hold what was there before.
    pub fn caller_ints(&self, count: u8) -> Vec<i64> {
        let machine = self.caller;
        // SAFETY: a frame has room for 256 registers of each class.
        (0..count)
            .map(|register| unsafe { machine.i(register) as i64 })
            .collect()
    }

    /// The first `count` `r` registers of the function that calls, and up to `limit` objects that
    /// they lead to.
    /// When a collection has failed, nothing is read.
    pub fn caller_refs(&self, count: u8, limit: usize) -> ReadBack {
        // SAFETY: the context outlives the call.
        if unsafe { (*self.ctx()).control.broken.is_some() } {
            return ReadBack::unread(count);
        }
        let machine = self.caller;
        // SAFETY: as above; every `r` register holds a reference to a whole object, also a stale
        // one.
        unsafe {
            let register = |index: u8| machine.r(u8::MAX - index);
            let roots: Vec<Value> = (0..count).map(register).collect();
            read_objects(&[], &roots, limit, &*(*self.ctx()).control.attention)
        }
    }
}
