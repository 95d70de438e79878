//! Call stacks of samples: the control frames, interned in a tree.
//!
//! A *site* is the index of a word of the program; the site of a frame is the word before the one
//! it returns to, which belongs to its call. A call stack is a path in a tree of sites.
//!
//! Walking all frames at each sample would make a sample cost as much as the stack is deep. So one
//! frame has its return address replaced by a *barrier*: as long as nobody has returned to that,
//! the frames up to it are those of the last walk. The barrier stands a few frames below the top,
//! and moves down when it is reached, so that going up and down near the top seldom meets it.

use profiler::sampling::{CallId, CallTree};

use crate::interp::word::{Frame, Pc};
use crate::load::Program;

/// How many frames may come and go above the barrier of a sample: they are walked again by the
/// next.
const MIN_GAP: usize = 4;
/// The gap doubles each time that the barrier is met, up to this: on a long way down it is met less
/// often, and the next sample walks a few frames more.
const MAX_GAP: usize = 64;

/// What is known of the control stack since the last walk.
#[derive(Debug, Default)]
pub(crate) struct StackCache {
    /// The call stacks up to the call of each frame, from the run's first one on, which no call
    /// made, up to the barrier or less far.
    known: Vec<CallId>,
    /// The index of the frame that returns to the barrier.
    barrier: Option<usize>,
    /// How far below the frame that was popped last the barrier will be put when it is met.
    gap: usize,
}

impl StackCache {
    /// The call stack of a machine at `pc`.
    ///
    /// # Safety
    /// `first` is the run's first frame, the frames below `sp` are whole, and all but the first
    /// return to words of the program behind calls, or to the barrier.
    pub(super) unsafe fn call_stack(
        &mut self,
        calls: &mut CallTree,
        program: &mut Program,
        first: *mut Frame,
        sp: *mut Frame,
        pc: Pc,
    ) -> CallId {
        let n_frames = (sp as usize - first as usize) / size_of::<Frame>();
        if self.known.is_empty() {
            self.known.push(CallTree::ROOT);
        }
        let mut call = self.known[self.known.len() - 1];
        for index in self.known.len()..n_frames {
            // SAFETY: the frame lies below `sp`.
            let return_pc = program.return_pc(unsafe { (*first.add(index)).pc });
            call = match program.is_callback_return(return_pc) {
                // A callback's own frame is not a call of the program.
                true => call,
                false => calls.child(call, program.site(return_pc.wrapping_sub(1))),
            };
            self.known.push(call);
        }
        let call = calls.child(call, program.site(pc));
        self.gap = MIN_GAP;
        let wanted = n_frames.saturating_sub(1 + MIN_GAP);
        if self.barrier.is_none_or(|barrier| barrier < wanted) {
            // SAFETY: the caller's promise.
            unsafe { self.place_barrier(program, first, wanted) };
        } else {
            self.forget_above_barrier();
        }
        call
    }

    /// The machine has returned to the barrier: gives the word that it returns to in truth.
    ///
    /// # Safety
    /// As for [`StackCache::call_stack`]; the frame with the barrier has just been popped.
    pub(crate) unsafe fn meet_barrier(&mut self, program: &mut Program, first: *mut Frame) -> Pc {
        let pc = program.barrier_pc();
        if let Some(barrier) = self.barrier.take() {
            self.gap = (self.gap * 2).min(MAX_GAP);
            let index = barrier.saturating_sub(1 + self.gap);
            // SAFETY: the caller's promise; lower frames are whole.
            unsafe { self.place_barrier(program, first, index) };
        }
        pc
    }

    /// Frames from `sp` on were popped by an exception.
    pub(crate) fn unwind(&mut self, first: *mut Frame, sp: *mut Frame) {
        let n_frames = (sp as usize - first as usize) / size_of::<Frame>();
        if self.barrier.is_some_and(|barrier| barrier >= n_frames) {
            self.barrier = None;
            self.forget_above_barrier();
        }
    }

    /// Forgets the call stacks: the tree that they are in is given back. The barrier stays.
    pub(super) fn forget_calls(&mut self) {
        self.known = Vec::new();
    }

    /// Takes the barrier away and forgets all.
    ///
    /// # Safety
    /// As for [`StackCache::call_stack`], if a run is going on.
    pub(crate) unsafe fn reset(&mut self, program: &Program, first: *mut Frame) {
        // SAFETY: the caller's promise.
        unsafe { self.take_barrier(program, first) };
        *self = Self::default();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.known.capacity() * size_of::<CallId>()
    }

    /// Moves the barrier to frame `index`; the first frame never has it.
    unsafe fn place_barrier(&mut self, program: &mut Program, first: *mut Frame, index: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            self.take_barrier(program, first);
            if index > 0 {
                let frame = first.add(index);
                // The return of a callback's frame must be seen for what it is.
                if !program.is_callback_return((*frame).pc) {
                    program.set_barrier_pc((*frame).pc);
                    (*frame).pc = program.barrier();
                    self.barrier = Some(index);
                }
            }
        }
        self.forget_above_barrier();
    }

    unsafe fn take_barrier(&mut self, program: &Program, first: *mut Frame) {
        if let Some(barrier) = self.barrier.take() {
            // SAFETY: the frame with the barrier has not been popped, or the barrier had been met.
            unsafe { (*first.add(barrier)).pc = program.barrier_pc() };
        }
    }

    /// Nothing is known of frames above the barrier once the machine goes on.
    fn forget_above_barrier(&mut self) {
        self.known.truncate(self.barrier.unwrap_or(0) + 1);
    }
}
