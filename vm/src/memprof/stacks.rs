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
    /// The frames of the last walk, from the run's first one on, which no call made.
    walked: Vec<Walked>,
    /// How many of them are still there for sure: those up to the barrier.
    n_known: usize,
    /// The index of the frame that returns to the barrier.
    barrier: Option<usize>,
    /// How far below the frame that was popped last the barrier will be put when it is met.
    gap: usize,
}

/// A frame of the last walk.
#[derive(Clone, Copy, Debug)]
struct Walked {
    /// Where it returned to. With the same frames below it, a frame that returns there has the
    /// same call stack.
    return_pc: Pc,
    /// The call stack up to its call.
    call: CallId,
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
        if self.walked.is_empty() {
            self.walked.push(Walked {
                return_pc: program.halt(),
                call: CallTree::ROOT,
            });
        }
        let mut index = self.n_known.max(1);
        // SAFETY: callers pass the index of a frame below `sp`.
        let pc_of = |index: usize| unsafe { (*first.add(index)).pc };
        // Most programs come back to where they have been.
        while index < n_frames.min(self.walked.len())
            && self.walked[index].return_pc == pc_of(index)
        {
            index += 1;
        }
        let mut call = self.walked[index - 1].call;
        while index < n_frames {
            let return_pc = program.return_pc(pc_of(index));
            call = match program.is_callback_return(return_pc) {
                // A callback's own frame is not a call of the program.
                true => call,
                false => calls.child(call, program.site(return_pc.wrapping_sub(1))),
            };
            let walked = Walked { return_pc, call };
            match self.walked.get_mut(index) {
                // The frames above it are as they were if this one is.
                Some(before) if before.return_pc == return_pc && before.call == call => {}
                Some(_) => {
                    self.walked.truncate(index);
                    self.walked.push(walked);
                }
                None => self.walked.push(walked),
            }
            index += 1;
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

    /// Frames from `sp` on were popped by an exception. What is known of the others stays known, or
    /// samples in a deep recursion would be dear that raises now and then.
    ///
    /// # Safety
    /// As for [`StackCache::call_stack`].
    pub(super) unsafe fn unwind(
        &mut self,
        program: &mut Program,
        first: *mut Frame,
        sp: *mut Frame,
    ) {
        let n_frames = (sp as usize - first as usize) / size_of::<Frame>();
        if self.barrier.is_some_and(|barrier| barrier >= n_frames) {
            self.barrier = None;
            // SAFETY: the caller's promise; the frame is one of those that are left.
            unsafe { self.place_barrier(program, first, n_frames.saturating_sub(1 + self.gap)) };
        }
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

    /// Forgets the call stacks: their tree is no more. The barrier may stay where it is.
    pub(super) fn forget(&mut self) {
        self.walked = Vec::new();
        self.n_known = 0;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.walked.capacity() * size_of::<Walked>()
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
        self.n_known = (self.barrier.unwrap_or(0) + 1).min(self.walked.len());
    }
}
