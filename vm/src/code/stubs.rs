//! Words that belong to no function: where frames return to that are watched, and the call of
//! callbacks of memory profiles.

use profiler::Node;

use super::word::{DataWord, Handler, NodeWord, Pc, Word};
use super::{BARRIER, CALLBACK, Mode, Program, signature_word};
use crate::isa::Signature;

impl Program {
    /// The word that catches a return.
    pub(crate) fn barrier(&self) -> Pc {
        &self.code[BARRIER]
    }

    /// Where a frame returns to in truth, if it returns to `pc`.
    pub(crate) fn return_pc(&self, pc: Pc) -> Pc {
        if pc == self.barrier() {
            self.barrier_pc()
        } else {
            pc
        }
    }

    /// Where the frame returns to in truth whose return is caught.
    pub(crate) fn barrier_pc(&self) -> Pc {
        // SAFETY: the word behind the barrier is one of data.
        let address = unsafe { self.code[BARRIER + 1].data.x };
        std::ptr::with_exposed_provenance(address as usize)
    }

    /// Says where the frame returns to in truth whose return is caught. Returns publish the node
    /// before the word that they go to, so that is copied too.
    pub(crate) fn set_barrier_pc(&mut self, pc: Pc) {
        let data = DataWord {
            x: pc.expose_provenance() as u64,
            y: 0,
        };
        self.code[BARRIER + 1] = Word { data };
        if self.mode == Mode::Current {
            // SAFETY: in this mode words of nodes stand before all words that frames return to.
            let nodes = unsafe { (*pc.wrapping_sub(1)).nodes };
            self.code[BARRIER - 1] = Word { nodes };
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
        let word = unsafe { &mut self.code[CALLBACK].op };
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
            self.code[CALLBACK + 1] = Word { nodes };
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
        std::mem::replace(unsafe { &mut self.code[index].op.handler }, handler)
    }

    pub(super) fn index_of(&self, pc: Pc) -> usize {
        (pc.addr() - self.code.as_ptr().addr()) / size_of::<Word>()
    }
}
