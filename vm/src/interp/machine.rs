//! The machine's registers as handlers see them, and the names of what a handler may do.
//!
//! A handler is a function of five values that stay in processor registers: `pc`, `ints`, `refs`,
//! `ctx`, `sp`. It receives them as one [`Machine`], does its row of the opcode table, and ends
//! with one of the ways on:
//!
//! | way on | meaning |
//! |---|---|
//! | [`Machine::next`] | to the word after this one |
//! | [`Machine::jump`] | to a word at a distance |
//! | [`Machine::fault`] | raise an exception of the machine's own |
//! | [`Machine::collect`] | collect garbage, then do this word again |
//! | [`Machine::make_context`] | make a context of a stack-style profile, then do this word again |
//! | [`Machine::attend`] | look why somebody wants attention, then do this word again |
//! | [`Machine::stop`] | end the run |
//!
//! All of them end in a call that the optimiser turns into a jump, so a handler must not have a
//! local that is dropped, nor one whose address escapes: slow work is done by cold functions that
//! take the five values by value (`slow.rs`).

use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use profiler::{CurrentCell, Node, ProfileData, SourceId};

use super::fault::Fault;
use super::slow;
use super::stack::{CONTEXT_DISTANCE_BYTES, REF_DISPLACEMENT_BYTES, Stack};
use super::word::{Frame, OpWord, Pc};
use crate::heap::{Heap, KIND_MASK, Kind, OutOfMemory, Value};
use crate::host::Hosts;
use crate::load::Program;
use crate::memory::{Figures, Snapshot};
use crate::memprof::Memprof;
use crate::units::Units;

/// What a machine has besides the five registers. Handlers reach it through a pointer.
#[repr(C)]
pub(crate) struct Context {
    /// First, so that allocation's `top` and `limit` are at short displacements.
    pub(crate) heap: Heap,
    /// Not zero when a safepoint should call [`Machine::attend`].
    pub(crate) attention: *const AtomicU32,
    /// Where the node that is current is published.
    pub(crate) cell: *const CurrentCell,
    /// Ops that may still be run, when the program was loaded to count them.
    pub(crate) fuel: i64,
    /// Bytes that the handler which asks for a collection will allocate.
    pub(crate) request_bytes: usize,
    /// The fault to raise.
    pub(crate) fault: Fault,
    /// The exception to raise, or the one that nobody handled.
    pub(crate) exception: Value,
    /// Why the run ended.
    pub(crate) exit: super::Exit,
    /// Where a slow path wants the run to go on.
    pub(crate) resume: Resume,
    pub(crate) program: *mut Program,
    /// Why the heap is of no further use, if a collection has failed.
    pub(crate) broken: Option<OutOfMemory>,
    /// Units of profile data.
    pub(crate) units: Units,
    /// Memory profiles.
    pub(crate) memprof: Memprof,
    /// The figures of the memory profile that needs no tracker.
    pub(crate) figures: Option<Rc<Figures>>,
    pub(crate) stack: Stack,
    /// What collections are charged to; null in stack style, where each context has its own.
    pub(crate) gc_node: *const Node,
    /// The profile data that contexts are made in; null but in stack style.
    pub(crate) contexts: *const ProfileData,
    /// The context to make.
    pub(crate) wanted_context: WantedContext,
    pub(crate) hosts: Hosts,
    /// References that the embedder holds; the collector updates them.
    pub(crate) handles: Vec<u64>,
    /// What to do when a snapshot is asked for.
    pub(crate) on_snapshot: Option<SnapshotAction>,
}

impl Context {
    /// Where the context is saved that a frame returns to, in stack style.
    #[inline(always)]
    pub(crate) fn saved_context(frame: *mut Frame) -> *mut *const Node {
        frame.wrapping_byte_add(CONTEXT_DISTANCE_BYTES).cast()
    }
}

/// What an embedder does when a snapshot is asked for.
pub(crate) type SnapshotAction = Box<dyn FnMut(&Snapshot<'_>)>;

/// A context that a call needs: the child of `parent` for `source`.
#[derive(Clone, Copy)]
pub(crate) struct WantedContext {
    pub(crate) parent: *const Node,
    pub(crate) source: SourceId,
    /// The data word that will remember it.
    pub(crate) word: Pc,
}

/// Registers to go on with.
#[derive(Clone, Copy)]
pub(crate) struct Resume {
    pub(crate) pc: Pc,
    pub(crate) ints: *mut u64,
    pub(crate) refs: *mut u64,
    pub(crate) sp: *mut Frame,
}

/// The machine's registers.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) pc: Pc,
    pub(crate) ints: *mut u64,
    pub(crate) refs: *mut u64,
    pub(crate) ctx: *mut Context,
    pub(crate) sp: *mut Frame,
}

/// Bytes per slot and per word of threaded code.
const SLOT: usize = 8;

#[allow(
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    reason = "one safety argument serves them all, and stands here"
)]
/// # Safety
///
/// All methods rest on the same facts, which the verifier and the loader establish: `pc` is at a
/// word of the loaded program whose operands are those its handler reads; register operands are
/// bytes, so they stay within the 256 registers of each class that the stack check of the call
/// left free; `ctx` is the context of the machine that runs; every `r` register holds an immediate
/// or points to a whole object.
impl Machine {
    /// The word at `pc`.
    #[inline(always)]
    pub(crate) unsafe fn word<'a>(self) -> &'a OpWord {
        unsafe { &(*self.pc).op }
    }

    /// `i[operand]`.
    #[inline(always)]
    pub(crate) unsafe fn i(self, operand: u8) -> u64 {
        unsafe { *self.ints.add(operand as usize) }
    }

    /// `f[operand]`.
    #[inline(always)]
    pub(crate) unsafe fn f(self, operand: u8) -> f64 {
        f64::from_bits(unsafe { self.i(operand) })
    }

    /// `i[operand] = value`.
    #[inline(always)]
    pub(crate) unsafe fn set_i(self, operand: u8, value: u64) {
        unsafe { *self.ints.add(operand as usize) = value }
    }

    /// `f[operand] = value`.
    #[inline(always)]
    pub(crate) unsafe fn set_f(self, operand: u8, value: f64) {
        unsafe { self.set_i(operand, value.to_bits()) }
    }

    /// The slot of `r[operand]`.
    #[inline(always)]
    pub(crate) unsafe fn r_slot(self, operand: u8) -> *mut u64 {
        self.refs
            .wrapping_byte_add(REF_DISPLACEMENT_BYTES + operand as usize * SLOT)
    }

    /// `r[operand]`.
    #[inline(always)]
    pub(crate) unsafe fn r(self, operand: u8) -> Value {
        Value(unsafe { *self.r_slot(operand) })
    }

    /// `r[operand] = value`.
    #[inline(always)]
    pub(crate) unsafe fn set_r(self, operand: u8, value: Value) {
        unsafe { *self.r_slot(operand) = value.0 }
    }

    /// Goes on at `pc`.
    #[inline(always)]
    pub(crate) unsafe fn go(self, pc: Pc) -> Pc {
        unsafe {
            #[cfg(tail_dispatch)]
            {
                ((*pc).op.handler)(pc, self.ints, self.refs, self.ctx, self.sp)
            }
            #[cfg(not(tail_dispatch))]
            {
                let Self { ints, refs, sp, .. } = self;
                (*self.ctx).resume = Resume { pc, ints, refs, sp };
                pc
            }
        }
    }

    /// Goes on `words` words further.
    #[inline(always)]
    pub(crate) unsafe fn skip(self, words: usize) -> Pc {
        unsafe { self.go(self.pc.add(words)) }
    }

    /// Goes on with the next word.
    #[inline(always)]
    pub(crate) unsafe fn next(self) -> Pc {
        unsafe { self.skip(1) }
    }

    /// Goes on `distance_bytes` from here.
    #[inline(always)]
    pub(crate) unsafe fn jump(self, distance_bytes: i32) -> Pc {
        unsafe { self.go(self.pc.byte_offset(distance_bytes as isize)) }
    }

    /// Ends the run. `ctx.exit` says why, and `ctx.resume` keeps where.
    #[inline(always)]
    pub(crate) unsafe fn stop(self) -> Pc {
        let Self {
            pc,
            ints,
            refs,
            sp,
            ctx,
        } = self;
        unsafe { (*ctx).resume = Resume { pc, ints, refs, sp } };
        std::ptr::null()
    }

    /// Raises a fault at this word.
    #[inline(always)]
    pub(crate) unsafe fn fault(self, fault: Fault) -> Pc {
        unsafe {
            (*self.ctx).fault = fault;
            slow::raise_fault(self.pc, self.ints, self.refs, self.ctx, self.sp)
        }
    }

    /// Collects so that `bytes` can be allocated, then does this word again.
    #[inline(always)]
    pub(crate) unsafe fn collect(self, bytes: usize) -> Pc {
        unsafe {
            (*self.ctx).request_bytes = bytes;
            slow::collect(self.pc, self.ints, self.refs, self.ctx, self.sp)
        }
    }

    /// Whether somebody wants attention.
    #[inline(always)]
    pub(crate) unsafe fn is_wanted(self) -> bool {
        unsafe { (*(*self.ctx).attention).load(Relaxed) != 0 }
    }

    /// Looks why attention is wanted, then does this word again or ends the run.
    #[inline(always)]
    pub(crate) unsafe fn attend(self) -> Pc {
        unsafe { slow::attend(self.pc, self.ints, self.refs, self.ctx, self.sp) }
    }

    /// Ends the run with a stack overflow.
    #[inline(always)]
    pub(crate) unsafe fn overflow(self) -> Pc {
        unsafe { slow::overflow(self.pc, self.ints, self.refs, self.ctx, self.sp) }
    }

    /// Goes on where a slow path has said.
    #[inline(always)]
    pub(crate) unsafe fn resume(self) -> Pc {
        unsafe {
            let Resume { pc, ints, refs, sp } = (*self.ctx).resume;
            Self {
                pc,
                ints,
                refs,
                sp,
                ..self
            }
            .go(pc)
        }
    }

    /// Goes on where a slow path has said, looking first whether attention is wanted: a handler may
    /// be the only way that a loop goes.
    #[inline(always)]
    pub(crate) unsafe fn resume_attentive(self) -> Pc {
        unsafe {
            let Resume { pc, ints, refs, sp } = (*self.ctx).resume;
            let resumed = Self {
                pc,
                ints,
                refs,
                sp,
                ..self
            };
            if resumed.is_wanted() {
                resumed.attend()
            } else {
                resumed.go(pc)
            }
        }
    }

    /// The object of `r[operand]` when it is of this kind.
    #[inline(always)]
    pub(crate) unsafe fn object(self, operand: u8, kind: Kind) -> Option<*mut u64> {
        unsafe {
            let object = self.r(operand).object()?;
            (*object as u8 & KIND_MASK == kind.header_byte()).then_some(object)
        }
    }

    /// The slot of element `i[index]` of the array `r[operand]` with elements of `T`, or the
    /// fault of a wrong kind or index.
    #[inline(always)]
    pub(crate) unsafe fn element<T>(
        self,
        operand: u8,
        kind: Kind,
        index: u8,
    ) -> Result<*mut T, Fault> {
        unsafe {
            let Some(array) = self.object(operand, kind) else {
                return Err(Fault::WrongKind);
            };
            let index = self.i(index);
            if index >= *array.add(1) {
                return Err(Fault::IndexOutOfBounds);
            }
            Ok(array.add(2).cast::<T>().add(index as usize))
        }
    }

    /// Publishes the node that is current from here on.
    #[inline(always)]
    pub(crate) unsafe fn publish(self, node: *const Node) {
        unsafe { (*(*self.ctx).cell).publish(node) }
    }

    /// The node that is current.
    #[inline(always)]
    pub(crate) unsafe fn current(self) -> *const Node {
        unsafe { (*(*self.ctx).cell).current() }
    }

    /// Where the context is saved that a frame returns to, in stack style.
    #[inline(always)]
    pub(crate) unsafe fn saved_context(self, frame: *mut Frame) -> *mut *const Node {
        Context::saved_context(frame)
    }

    /// Makes the child context of `parent` for a source, which the data word at `at` will remember,
    /// then does this word again.
    #[inline(always)]
    pub(crate) unsafe fn make_context(
        self,
        parent: *const Node,
        source: SourceId,
        at: usize,
    ) -> Pc {
        unsafe {
            let word = self.pc.add(at);
            (*self.ctx).wanted_context = WantedContext {
                parent,
                source,
                word,
            };
            slow::make_context(self.pc, self.ints, self.refs, self.ctx, self.sp)
        }
    }

    /// Charges bytes to the node that is current.
    #[inline(always)]
    pub(crate) unsafe fn charge(self, bytes: usize) {
        unsafe { (*self.current()).charge_bytes(bytes as u64) }
    }
}
