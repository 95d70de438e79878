//! Call stacks of samples: the control frames, interned in a tree.
//!
//! A *site* is the index of a word of the program; the site of a frame is the word before the one
//! it returns to, which belongs to its call, or stands for all calls of its function (`Site`). A
//! call stack is a path in a tree of sites, and is looked for by a hash of all of them.
//!
//! Walking all frames at each sample would make a sample cost as much as the stack is deep. So one
//! frame has its return address replaced by a *barrier*: as long as nobody has returned to that,
//! the frames up to it are those of the last walk. The barrier stands a few frames below the top,
//! and moves down when it is reached, so that going up and down near the top seldom meets it.

use profiler::sampling::{CallId, CallTree, Probe, StackHash};

use crate::code::{Frame, Pc, Program, Site};

/// How many frames may come and go above the barrier of a sample: they are walked again by the
/// next, which takes less time than to meet the barrier.
const MIN_GAP: usize = 8;
/// The gap doubles each time that the barrier is met, up to this: on a long way down it is met less
/// often, and the next sample walks some more frames.
const MAX_GAP: usize = 512;

/// One call more, of a site of the program.
trait CallAt {
    fn call_at(self, site: Site) -> Self;
}

impl CallAt for StackHash {
    #[inline]
    fn call_at(self, site: Site) -> Self {
        match site {
            Site::NONE => self,
            Site(site) => self.call(site),
        }
    }
}

/// What is known of the control stack since the last walk.
#[derive(Debug, Default)]
pub(crate) struct StackCache {
    /// Where the frames of the last walk returned to, from the run's first one on, which no call
    /// made. With the same frames below it, a frame that returns there has the same call stack.
    return_pcs: Vec<Pc>,
    /// What those frames were, in a place of its own: of most of them only where they return to is
    /// read again.
    walked: Vec<Walked>,
    /// How many of them are still there for sure: those up to the barrier.
    n_known: usize,
    /// The index of the frame that returns to the barrier.
    barrier: Option<usize>,
    /// How far below the frame that was popped last the barrier will be put when it is met.
    gap: usize,
    /// Whether callers are told apart by op; else by function and source.
    has_lines: bool,
}

/// A frame of the last walk.
#[derive(Clone, Copy, Debug)]
struct Walked {
    /// The site of its call. With the same frames below it, a frame of the same site has the same
    /// call stack.
    site: Site,
    /// The call stack up to its call. Only the innermost calls of samples are looked up in the
    /// tree: each look would be a cache miss where there are many stacks.
    stack: StackHash,
}

/// How many frames are compared at once.
const N_COMPARED: usize = 8;

/// A call stack that is looked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    probe: Probe,
    n_frames: usize,
    /// The innermost site.
    site: Site,
}

impl StackCache {
    /// Begins to look for the call stack of a machine at `pc`; [`StackCache::found`] ends it.
    /// Between the two there should be other work to do, for which memory need not be waited for.
    /// `None` for want of memory.
    ///
    /// # Safety
    /// `first` is the run's first frame, the frames below `sp` are whole, and all but the first
    /// return to words of the program behind calls, or to the barrier.
    #[inline(always)]
    pub(super) unsafe fn call_stack(
        &mut self,
        calls: &CallTree,
        program: &mut Program,
        first: *mut Frame,
        sp: *mut Frame,
        pc: Pc,
    ) -> Option<Wanted> {
        program.tell_callers(self.has_lines)?;
        let n_frames = (sp as usize - first as usize) / size_of::<Frame>();
        // SAFETY: the caller's promise.
        let stack = self.walk(program, unsafe {
            std::slice::from_raw_parts(first, n_frames)
        })?;
        let site = program.site(pc);
        let probe = calls.probe(stack.call_at(site));
        self.gap = MIN_GAP;
        let wanted = n_frames.saturating_sub(1 + MIN_GAP);
        if wanted > self.barrier.unwrap_or(0) {
            // SAFETY: the caller's promise.
            unsafe { self.place_barrier(program, first, wanted) };
        } else {
            self.forget_above_barrier();
        }
        Some(Wanted {
            probe,
            n_frames,
            site,
        })
    }

    /// The call stack that was looked for, after whose beginning nothing else was walked.
    #[inline]
    pub(super) fn found(&self, calls: &mut CallTree, wanted: Wanted) -> CallId {
        match calls.find(wanted.probe) {
            Some(call) => call,
            None => self.intern(calls, wanted),
        }
    }

    /// Brings `walked` up to the frames of now, and gives the last one's call stack. Frames of an
    /// earlier walk above those stay: the program may come back to them.
    #[inline]
    fn walk(&mut self, program: &Program, frames: &[Frame]) -> Option<StackHash> {
        if self.walked.is_empty() {
            self.return_pcs.push(program.halt());
            self.walked.push(Walked {
                site: Site::NONE,
                stack: StackHash::EMPTY,
            });
        }
        let index = self.n_same(program, frames);
        let mut stack = self.walked[index - 1].stack;
        if index < frames.len() {
            let return_pcs = frames[index..].iter().map(|one| program.return_pc(one.pc));
            self.return_pcs.truncate(index);
            self.walked.truncate(index);
            // Both are as long when there is no memory for the one.
            let n_more = frames.len() - index;
            let has_lines = self.has_lines;
            self.return_pcs.try_reserve(n_more).ok()?;
            self.walked.try_reserve(n_more).ok()?;
            self.return_pcs.extend(return_pcs);
            self.walked
                .extend(self.return_pcs[index..].iter().map(|&return_pc| {
                    let site = program.caller_site(has_lines, return_pc);
                    stack = stack.call_at(site);
                    Walked { site, stack }
                }));
        }
        Some(stack)
    }

    /// How many frames have the call stacks that they had at the last walk.
    #[inline]
    fn n_same(&mut self, program: &Program, frames: &[Frame]) -> usize {
        let n_common = frames.len().min(self.walked.len());
        let (frames, walked) = (&frames[..n_common], &self.walked[..n_common]);
        let return_pcs = &mut self.return_pcs[..n_common];
        let mut index = self.n_known.max(1).min(n_common);
        // Most programs come back to where they have been.
        while let (Some(frames), Some(return_pcs)) = (
            frames[index..].first_chunk::<N_COMPARED>(),
            return_pcs[index..].first_chunk::<N_COMPARED>(),
        ) {
            let pairs = frames.iter().zip(return_pcs);
            let differ = pairs.map(|(frame, return_pc)| frame.pc.addr() ^ return_pc.addr());
            if differ.fold(0, |all, bits| all | bits) != 0 {
                break;
            }
            index += N_COMPARED;
        }
        // Or they have come there by other calls of the same functions.
        let calls = return_pcs[index..].iter_mut().zip(&walked[index..]);
        for (frame, (return_pc, walked)) in frames[index..].iter().zip(calls) {
            if program.caller_site(self.has_lines, frame.pc) != walked.site {
                break;
            }
            *return_pc = frame.pc;
            index += 1;
        }
        index
    }

    /// Adds a call stack to the tree.
    #[cold]
    #[inline(never)]
    fn intern(&self, calls: &mut CallTree, wanted: Wanted) -> CallId {
        // All the frames would be looked up in vain.
        if calls.is_full() {
            return calls.cut(wanted.site.0);
        }
        let frames = self.walked.get(1..wanted.n_frames).unwrap_or_default();
        // With a stack the tree has those around it too.
        let known = frames.iter().enumerate().rev().find_map(|(index, walked)| {
            let call = calls.find(calls.probe(walked.stack))?;
            Some((index + 1, call))
        });
        let (n_known, mut call) = known.unwrap_or((0, CallTree::ROOT));
        for walked in &frames[n_known..] {
            if calls.is_full() {
                return calls.cut(wanted.site.0);
            }
            if walked.site != Site::NONE {
                call = calls.child(call, walked.site.0);
            }
        }
        calls.child(call, wanted.site.0)
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
        *self = Self {
            has_lines: self.has_lines,
            ..Self::default()
        };
    }

    /// Says whether callers are told apart by op from now on.
    pub(super) fn set_lines(&mut self, has_lines: bool) {
        if has_lines != self.has_lines {
            self.has_lines = has_lines;
            self.forget();
        }
    }

    /// Forgets the call stacks: they are told in another way, or not at all. The barrier may stay
    /// where it is.
    pub(super) fn forget(&mut self) {
        self.return_pcs = Vec::new();
        self.walked = Vec::new();
        self.n_known = 0;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.return_pcs.capacity() * size_of::<Pc>() + self.walked.capacity() * size_of::<Walked>()
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
