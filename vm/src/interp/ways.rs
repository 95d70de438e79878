//! The ways on from a handler. A handler does its row of the opcode table, and ends with one:
//!
//! | way on | meaning |
//! |---|---|
//! | [`Machine::next`] | to the word after this one |
//! | [`Machine::jump`] | to a word at a distance |
//! | [`Machine::fault`] | raise an exception of the machine's own |
//! | [`Machine::collect`] | make room for an allocation, then do this word again |
//! | [`Machine::make_context`] | make a context of a stack-style profile, then do this word again |
//! | [`Machine::attend`] | look why somebody wants attention, then do this word again |
//! | [`Machine::overflow`] | end the run with a stack overflow |
//! | [`Machine::follow`] | what has come of slow work |
//! | [`Machine::stop`] | end the run |
//!
//! All of them end in a call that the optimiser turns into a jump, so a handler must not have a
//! local that is dropped, nor one whose address escapes: slow work is done by functions that are
//! not inlined and receive the registers one by one ([`Machine::outlined`]).

use profiler::SourceId;

use super::slow;
use crate::code::Pc;
use crate::machine::{Fault, Machine, WantedContext};
use crate::safepoint::Way;

#[allow(
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    reason = "the safety argument at the machine's other methods serves these too"
)]
impl Machine {
    /// Raises a fault at this word.
    #[inline(always)]
    pub(crate) unsafe fn fault(self, fault: Fault) -> Pc {
        unsafe {
            (*self.ctx).control.fault = fault;
            self.enter(slow::raise_fault)
        }
    }

    /// Makes room for `bytes`, then does this word again.
    #[inline(always)]
    pub(crate) unsafe fn collect(self, bytes: usize) -> Pc {
        unsafe {
            (*self.ctx).control.request_bytes = bytes;
            self.enter(slow::collect)
        }
    }

    /// Looks why attention is wanted, then does this word again or ends the run.
    #[inline(always)]
    pub(crate) unsafe fn attend(self) -> Pc {
        unsafe { self.enter(slow::attend) }
    }

    /// Ends the run with a stack overflow.
    #[inline(always)]
    pub(crate) unsafe fn overflow(self) -> Pc {
        unsafe { self.enter(slow::overflow) }
    }

    /// Makes the child context of `parent` for a source, which the data word at `at` will remember,
    /// then does this word again.
    #[inline(always)]
    pub(crate) unsafe fn make_context(
        self,
        parent: *const profiler::Node,
        source: SourceId,
        at: usize,
    ) -> Pc {
        unsafe {
            let word = self.pc.add(at);
            (*self.ctx).profiling.wanted_context = WantedContext {
                parent,
                source,
                word,
            };
            self.enter(slow::make_context)
        }
    }

    /// Goes on where slow work has said.
    #[inline(always)]
    pub(crate) unsafe fn resume(self) -> Pc {
        unsafe {
            let place = (*self.ctx).control.resume;
            self.at(place).go(place.pc)
        }
    }

    /// Goes on where slow work has said, looking first whether attention is wanted: a handler may
    /// be the only way that a loop goes.
    #[inline(always)]
    pub(crate) unsafe fn resume_attentive(self) -> Pc {
        unsafe {
            let place = (*self.ctx).control.resume;
            let resumed = self.at(place);
            if resumed.is_wanted() {
                resumed.attend()
            } else {
                resumed.go(place.pc)
            }
        }
    }

    /// Goes on as slow work has said.
    #[inline(always)]
    pub(crate) unsafe fn follow(self, way: Way) -> Pc {
        unsafe {
            match way {
                Way::Again => self.go(self.pc),
                Way::Next => self.next(),
                Way::Resume => self.resume_attentive(),
                Way::Collect => self.enter(slow::collect),
                Way::Raise => self.enter(slow::raise_fault),
                Way::Throw => self.enter(slow::raise),
                Way::Stop => self.stop(),
            }
        }
    }
}
