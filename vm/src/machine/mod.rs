//! The machine: registers, stacks, and the context that they run in.
//!
//! A handler is a function of five values that stay in processor registers: `pc`, `ints`, `refs`,
//! `ctx`, `sp`. It receives them as one [`Machine`], and so does everything else that needs them.
//!
//! | module | what it holds |
//! |---|---|
//! | `context` | what a machine has besides the registers |
//! | `stack` | the memory of registers and frames |
//! | `fault`, `exit` | exceptions of the machine's own, and why a run ends |
//! | `backtrace` | which calls were open |
//! | `roots` | what Rust holds of the heap |
//! | `snapshot` | what a machine shows of its profiles while it runs |

mod backtrace;
mod context;
mod exit;
mod fault;
mod roots;
mod snapshot;
mod stack;

pub use backtrace::Backtrace;
pub use exit::Trap;
pub use fault::{FAULT_TAG, Fault};
pub use roots::{Root, RootError};
pub use snapshot::Snapshot;

pub(crate) use context::{
    Broken, Context, Control, HostTable, PanicPayload, Profiling, WantedContext,
};
pub(crate) use exit::{Exit, Obstacle};
pub(crate) use roots::Roots;
pub(crate) use stack::{CONTEXT_DISTANCE_BYTES, REF_DISPLACEMENT_BYTES, Stack};

use std::sync::atomic::Ordering::Relaxed;

use profiler::Node;

use crate::code::{Frame, Handler, OpWord, Pc};
use crate::heap::{KIND_MASK, ObjectKind, STATIC, Value};

/// The bit of the attention word that asks for a snapshot. The lowest eight hold the number of a
/// signal that asks for the end.
pub(crate) const SNAPSHOT: u32 = 1 << 8;
/// The bits of the attention word that hold the number of a signal.
pub(crate) const SIGNAL_BITS: u32 = 0xff;

/// Registers to go on with.
#[derive(Clone, Copy)]
pub(crate) struct Resume {
    pub(crate) pc: Pc,
    pub(crate) ints: *mut u64,
    pub(crate) refs: *mut u64,
    pub(crate) sp: *mut Frame,
}

/// The machine's registers.
#[derive(Clone, Copy, Debug)]
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
    /// The machine at a place.
    #[inline(always)]
    pub(crate) fn new(Resume { pc, ints, refs, sp }: Resume, ctx: *mut Context) -> Self {
        Self {
            pc,
            ints,
            refs,
            ctx,
            sp,
        }
    }

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
                ((*pc).op.handler)(pc, self.ints, self.refs, self.ctx.cast(), self.sp)
            }
            #[cfg(not(tail_dispatch))]
            {
                (*self.ctx).control.resume = Resume { pc, ..self.place() };
                pc
            }
        }
    }

    /// Goes to a handler that is not the word's own, for the word at `pc`.
    #[inline(always)]
    pub(crate) unsafe fn enter(self, handler: Handler) -> Pc {
        unsafe { handler(self.pc, self.ints, self.refs, self.ctx.cast(), self.sp) }
    }

    /// Has slow work done, by a function of the registers.
    #[inline(always)]
    pub(crate) unsafe fn outlined<T>(
        self,
        work: unsafe fn(Pc, *mut u64, *mut u64, *mut Context, *mut Frame) -> T,
    ) -> T {
        unsafe { work(self.pc, self.ints, self.refs, self.ctx, self.sp) }
    }

    /// The machine at another place.
    #[inline(always)]
    pub(crate) fn at(self, Resume { pc, ints, refs, sp }: Resume) -> Self {
        Self {
            pc,
            ints,
            refs,
            sp,
            ..self
        }
    }

    /// Where the machine is.
    #[inline(always)]
    pub(crate) fn place(self) -> Resume {
        let Self {
            pc, ints, refs, sp, ..
        } = self;
        Resume { pc, ints, refs, sp }
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

    /// Ends the run. `control.exit` says why, and `control.resume` keeps where.
    #[inline(always)]
    pub(crate) unsafe fn stop(self) -> Pc {
        unsafe { (*self.ctx).control.resume = self.place() };
        std::ptr::null()
    }

    /// Whether somebody wants attention.
    #[inline(always)]
    pub(crate) unsafe fn is_wanted(self) -> bool {
        unsafe { (*(*self.ctx).control.attention).load(Relaxed) != 0 }
    }

    /// The object of `r[operand]` when it is of this kind.
    #[inline(always)]
    pub(crate) unsafe fn object(self, operand: u8, kind: ObjectKind) -> Option<*mut u64> {
        unsafe {
            let object = self.r(operand).object()?;
            (*object as u8 & KIND_MASK == kind.header_byte()).then_some(object)
        }
    }

    /// The slot of an element of the array `r[operand]` with elements of `T`, or the fault of a
    /// wrong kind or index.
    #[inline(always)]
    pub(crate) unsafe fn element<T>(
        self,
        operand: u8,
        kind: ObjectKind,
        index: u64,
    ) -> Result<*mut T, Fault> {
        unsafe {
            match self.object(operand, kind) {
                Some(array) => element_of(array, index),
                None => Err(Fault::WrongKind),
            }
        }
    }

    /// The same of an array that may be written: constants may not.
    #[inline(always)]
    pub(crate) unsafe fn element_to_write<T>(
        self,
        operand: u8,
        kind: ObjectKind,
        index: u64,
    ) -> Result<*mut T, Fault> {
        unsafe {
            match self.r(operand).object() {
                Some(array) if is_writable(array, kind) => element_of(array, index),
                _ => Err(Fault::WrongKind),
            }
        }
    }

    /// Publishes the node that is current from here on.
    #[inline(always)]
    pub(crate) unsafe fn publish(self, node: *const Node) {
        unsafe { (*(*self.ctx).profiling.cell).publish(node) }
    }

    /// The node that is current.
    #[inline(always)]
    pub(crate) unsafe fn current(self) -> *const Node {
        unsafe { (*(*self.ctx).profiling.cell).current() }
    }

    /// Where the context is saved that a frame returns to, in stack style.
    #[inline(always)]
    pub(crate) unsafe fn saved_context(self, frame: *mut Frame) -> *mut *const Node {
        Context::saved_context(frame)
    }

    /// Charges bytes to the node that is current.
    #[inline(always)]
    pub(crate) unsafe fn charge(self, bytes: usize) {
        unsafe { (*self.current()).charge_bytes(bytes as u64) }
    }
}

/// Whether an object is of a kind, and no constant.
#[inline(always)]
pub(crate) unsafe fn is_writable(object: *mut u64, kind: ObjectKind) -> bool {
    const MASK: u32 = KIND_MASK as u32 | STATIC as u32;
    // SAFETY: the caller passes an object.
    unsafe { *object as u32 & MASK == kind.header_byte() as u32 }
}

/// The slot of an element of an array with elements of `T`, or the fault of a wrong index.
#[inline(always)]
unsafe fn element_of<T>(array: *mut u64, index: u64) -> Result<*mut T, Fault> {
    // SAFETY: the caller passes an array with such elements, which its second word counts.
    unsafe {
        if index >= *array.add(1) {
            return Err(Fault::IndexOutOfBounds);
        }
        Ok(array.add(2).cast::<T>().add(index as usize))
    }
}
