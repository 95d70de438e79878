//! Words that belong to no function: where frames return to that are watched, and the call of
//! callbacks of memory profiles.

use profiler::Node;

use super::word::{Frame, Handler, NodeWord, Pc, Word};
use super::{BARRIER, CALLBACK, Mode, Program, signature_word};
use crate::isa::Signature;

/// A frame whose return is caught: it returns to the barrier.
pub(crate) struct CaughtReturn {
    frame: *mut Frame,
    /// Where it returns to in truth.
    pc: Pc,
}

// SAFETY: the frame is one of the machine's whose program this belongs to, and so is the word.
unsafe impl Send for CaughtReturn {}

/// Frames whose returns are caught. They are a stack, like the frames: the innermost is met first.
impl Program {
    /// The word that catches returns.
    fn barrier(&self) -> Pc {
        &self.code[BARRIER]
    }

    /// Where a frame returns to in truth.
    ///
    /// # Safety
    /// The frame is whole.
    #[inline]
    pub(crate) unsafe fn return_pc(&self, frame: *const Frame) -> Pc {
        // SAFETY: the caller's promise.
        let pc = unsafe { (*frame).pc };
        match pc == self.barrier() {
            true => self.caught_pc(frame),
            false => pc,
        }
    }

    #[cold]
    #[inline(never)]
    fn caught_pc(&self, frame: *const Frame) -> Pc {
        let after = (self.caught).partition_point(|one| one.frame.cast_const() <= frame);
        let caught = after.checked_sub(1).map(|index| &self.caught[index]);
        match caught {
            Some(caught) if caught.frame.cast_const() == frame => caught.pc,
            _ => unreachable!("only frames whose returns are caught return to the barrier"),
        }
    }

    /// The innermost frame whose return is caught; null if there is none.
    #[inline]
    pub(crate) fn innermost_caught(&self) -> *mut Frame {
        let innermost = self.caught.last();
        innermost.map_or(std::ptr::null_mut(), |caught| caught.frame)
    }

    /// Catches the return of a frame. The return of a callback's frame must be seen for what it is,
    /// so that is not caught; and none is when memory is short.
    ///
    /// # Safety
    /// The frame is whole, not the run's first one, and above those whose returns are caught.
    pub(crate) unsafe fn catch_return(&mut self, frame: *mut Frame) {
        // SAFETY: the caller's promise.
        unsafe {
            let pc = (*frame).pc;
            if !self.is_callback_return(pc) && self.caught.try_reserve(1).is_ok() {
                self.caught.push(CaughtReturn { frame, pc });
                (*frame).pc = self.barrier();
            }
        }
    }

    /// The innermost of the frames whose returns are caught has returned: gives where it returns to
    /// in truth.
    pub(crate) fn pop_caught(&mut self) -> Pc {
        let Some(CaughtReturn { pc, .. }) = self.caught.pop() else {
            unreachable!("only frames whose returns are caught return to the barrier");
        };
        self.prepare_barrier();
        pc
    }

    /// Forgets the frames from `sp` on, which an exception has left.
    pub(crate) fn drop_caught(&mut self, sp: *mut Frame) {
        while self.innermost_caught() >= sp && self.caught.pop().is_some() {}
        self.prepare_barrier();
    }

    /// Lets all frames return to where they return to in truth.
    ///
    /// # Safety
    /// The memory of all frames is still there.
    pub(crate) unsafe fn release_caught(&mut self) {
        for CaughtReturn { frame, pc } in std::mem::take(&mut self.caught) {
            // SAFETY: the caller's promise.
            unsafe { (*frame).pc = pc };
        }
    }

    /// Bytes of memory for frames whose returns are caught.
    pub(crate) fn caught_bytes(&self) -> usize {
        self.caught.capacity() * size_of::<CaughtReturn>()
    }

    /// Returns publish the node before the word that they go to. So the word before the barrier
    /// holds what the innermost frame is to publish whose return is caught: no other can meet it.
    pub(crate) fn prepare_barrier(&mut self) {
        if self.mode == Mode::Current
            && let Some(&CaughtReturn { pc, .. }) = self.caught.last()
        {
            // SAFETY: in this mode words of nodes stand before all words that frames return to.
            let nodes = unsafe { (*pc.wrapping_sub(1)).nodes };
            self.own().code[BARRIER - 1] = Word { nodes };
        }
    }

    /// The call of callbacks.
    pub(crate) fn callback(&self) -> Pc {
        &self.code[CALLBACK]
    }

    /// Whether a frame that returns to `pc` is a callback's.
    pub(crate) fn is_callback_return(&self, pc: Pc) -> bool {
        pc == &raw const self.code[self.callback_return]
    }

    /// Prepares the call of callbacks for a closure that stands behind its parameters.
    pub(crate) fn set_callback_signature(&mut self, signature: Signature) {
        let closure = u8::MAX - signature.ref_params;
        // SAFETY: the word was written as an op.
        let word = unsafe { &mut self.own().code[CALLBACK].op };
        (word.c, word.d) = (closure, closure);
        word.e = signature_word(signature) as i32;
    }

    /// Says which node is current again after a callback.
    pub(crate) fn set_callback_node(&mut self, node: *const Node) {
        if self.mode == Mode::Current {
            let nodes = NodeWord {
                callee: node,
                caller: node,
            };
            self.own().code[CALLBACK + 1] = Word { nodes };
        }
    }

    /// The first word of the op after that of the word `pc`.
    pub(crate) fn next_op(&self, pc: Pc) -> Pc {
        let Some((function, op)) = self.op_at(pc) else {
            return pc;
        };
        let index = self.index_of(pc) - function.start;
        let rest = function.op_of_word[index..].iter();
        pc.wrapping_add(rest.take_while(|&&other| other == op).count())
    }

    /// Gives the op of a word another handler, and returns the one that it had.
    pub(crate) fn replace_handler(&mut self, pc: Pc, handler: Handler) -> Handler {
        let index = self.index_of(pc);
        // SAFETY: the caller passes the first word of an op, which is one with a handler.
        std::mem::replace(unsafe { &mut self.own().code[index].op.handler }, handler)
    }

    pub(super) fn index_of(&self, pc: Pc) -> usize {
        (pc.addr() - self.code.as_ptr().addr()) / size_of::<Word>()
    }
}
