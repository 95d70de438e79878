//! Call stacks of samples: the control frames, interned in a tree.
//!
//! A *site* is the index of a word of the program; the site of a frame is the word before the one
//! it returns to, which belongs to its call, or stands for all calls of its function (`Site`). A
//! call stack is a path in a tree of sites, and is looked for by a hash of all of them.
//!
//! # What a sample costs
//!
//! Walking all frames at each sample would make a sample cost as much as the stack is deep. So some
//! frames have their return addresses replaced by a *barrier*: as long as nobody has returned to
//! that, the frames up to the innermost of them are those of the last walk. A sample compares the
//! frames above that one with those that stood there, and walks those that differ. Then it catches
//! the returns of more of them, a few frames below the top and from there down at even distances.
//!
//! Let a sample find `n` frames, and let `m` be the fewest that there have been since the last one.
//! The `n - m` frames above those were pushed since. The last sample has left barriers fewer than
//! [`DISTANCE`] + [`MIN_DISTANCE`] frames apart up to near its top, and those of the `m` frames are
//! all there still. So this one looks at no more than `n - m` + 96 frames, at any depth. Each
//! barrier is met once at most, and a sample sets one, and one more for each [`DISTANCE`] frames
//! that it has looked at. So the cost of all samples grows with their number and with the frames
//! that were pushed, whatever the stack does between them.
//!
//! A stack that the tree does not know is made from one around it that it does. The tree finds one
//! by looking at those that are new and at a few dozen others ([`CallTree::nearest`]). If the last
//! stack that was found parts from the new one nearby, the way from one to the other is taken.

use profiler::sampling::{CallId, CallTree, Lookup, StackHash};

use crate::code::{Frame, Pc, Program, ReturnTo, Site};

/// How many frames at the top have no barrier: they come and go. To compare them takes less time
/// than to meet one.
const TOP_GAP: usize = 8;
/// How far barriers are apart that are set at once: to meet one takes as long as to compare about
/// this many frames.
const DISTANCE: usize = 64;
/// How long a way in the tree takes less time than to look for a stack.
const MAX_WAY: usize = 64;
/// How far above the others a barrier is worth its cost.
const MIN_DISTANCE: usize = 32;

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
    returns: Vec<ReturnTo>,
    /// The call stack up to each of their calls. Only the innermost calls of samples are looked up
    /// in the tree: each look would be a cache miss where there are many stacks.
    stacks: Vec<StackHash>,
    /// The stack that was found last.
    last: Option<LastStack>,
    /// Whether callers are told apart by op; else by function and source.
    has_lines: bool,
    /// How many frames were compared, walked, or gone up or down in the tree.
    #[cfg(test)]
    n_steps: usize,
}

/// A stack of the tree that was found at some time.
#[derive(Clone, Copy, Debug)]
struct LastStack {
    call: CallId,
    /// How many frames it was made of.
    n_frames: usize,
    /// How many of them are those of the last walk still.
    n_same: usize,
}

impl LastStack {
    fn new(call: CallId, n_frames: usize) -> Self {
        Self {
            call,
            n_frames,
            n_same: n_frames,
        }
    }
}

/// How many frames are compared at once.
const N_COMPARED: usize = 8;

/// A call stack that is looked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    lookup: Lookup,
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
        let n_frames = n_frames_between(first, sp);
        let n_known = n_known(program, first);
        // SAFETY: the caller's promise.
        let frames = unsafe { std::slice::from_raw_parts(first, n_frames) };
        let stack = self.walk(program, frames, n_known)?;
        let site = program.site(pc);
        let lookup = calls.look_up(stack.call_at(site));
        let innermost = n_frames.saturating_sub(1 + TOP_GAP);
        if innermost + 1 >= n_known + MIN_DISTANCE {
            // SAFETY: the frames are whole, and those from `n_known` on are above all barriers.
            unsafe { set_barriers(program, first, n_known, innermost) };
        }
        Some(Wanted {
            lookup,
            n_frames,
            site,
        })
    }

    /// The call stack that was looked for, after whose beginning nothing else was walked.
    #[inline]
    pub(super) fn found(
        &mut self,
        calls: &mut CallTree,
        program: &Program,
        wanted: Wanted,
    ) -> CallId {
        match calls.find(wanted.lookup) {
            Some(call) => {
                self.last = Some(LastStack::new(call, wanted.n_frames));
                call
            }
            None => self.intern(calls, program, wanted),
        }
    }

    /// Brings what is known up to the frames of now, and gives the last one's call stack. Frames of
    /// an earlier walk above those stay: the program may come back to them.
    #[inline]
    fn walk(&mut self, program: &Program, frames: &[Frame], n_known: usize) -> Option<StackHash> {
        if self.stacks.is_empty() {
            self.returns.push(ReturnTo::new(program.halt()));
            self.stacks.push(StackHash::EMPTY);
        }
        let index = self.n_same(program, frames, n_known);
        if index < frames.len() {
            self.walk_from(program, frames, index)?;
        }
        Some(self.stacks[frames.len() - 1])
    }

    /// Walks the frames from `index` on.
    fn walk_from(&mut self, program: &Program, frames: &[Frame], index: usize) -> Option<()> {
        self.returns.truncate(index);
        self.stacks.truncate(index);
        if let Some(last) = &mut self.last {
            last.n_same = last.n_same.min(index);
        }
        // Both are as long when there is no memory for the one.
        let n_more = frames.len() - index;
        self.count_steps(n_more);
        self.returns.try_reserve(n_more).ok()?;
        self.stacks.try_reserve(n_more).ok()?;
        // SAFETY: the frames are whole.
        let return_to = |frame: &Frame| ReturnTo::new(unsafe { program.return_pc(frame) });
        self.returns.extend(frames[index..].iter().map(return_to));
        let mut stack = self.stacks[index - 1];
        let has_lines = self.has_lines;
        let stacks = self.returns[index..].iter().map(|&return_to| {
            stack = stack.call_at(program.caller_site(has_lines, return_to));
            stack
        });
        self.stacks.extend(stacks);
        Some(())
    }

    /// How many frames have the call stacks that they had at the last walk, when the first
    /// `n_known` are the same frames for sure if they were walked.
    #[inline]
    fn n_same(&mut self, program: &Program, frames: &[Frame], n_known: usize) -> usize {
        let n_common = frames.len().min(self.returns.len());
        let (frames, returns) = (&frames[..n_common], &mut self.returns[..n_common]);
        let first = n_known.min(n_common);
        let mut index = first;
        // Most programs come back to where they have been.
        while let (Some(frames), Some(returns)) = (
            frames[index..].first_chunk::<N_COMPARED>(),
            returns[index..].first_chunk::<N_COMPARED>(),
        ) {
            let pairs = frames.iter().zip(returns);
            let differ = pairs.map(|(frame, return_to)| return_to.differences(frame.pc));
            if differ.fold(0, |all, bits| all | bits) != 0 {
                break;
            }
            index += N_COMPARED;
        }
        // Or they have come there by other calls of the same functions.
        let site = |return_to| program.caller_site(self.has_lines, return_to);
        for (frame, return_to) in frames[index..].iter().zip(&mut returns[index..]) {
            let now = ReturnTo::new(frame.pc);
            if site(now) != site(*return_to) {
                break;
            }
            *return_to = now;
            index += 1;
        }
        self.count_steps(index - first);
        index
    }

    /// Adds a call stack to the tree.
    #[cold]
    #[inline(never)]
    fn intern(&mut self, calls: &mut CallTree, program: &Program, wanted: Wanted) -> CallId {
        let Wanted { n_frames, site, .. } = wanted;
        // All the frames would be gone down in vain.
        if calls.is_full() {
            return calls.cut(site.0);
        }
        let (n_known, around) = self.nearest_known(calls, n_frames);
        self.count_steps(n_frames - n_known);
        let sites = self.returns[n_known..n_frames]
            .iter()
            .map(|&return_to| program.caller_site(self.has_lines, return_to))
            .filter(|&site| site != Site::NONE);
        let Some(caller) = calls.descend(around, sites.map(|site| site.0)) else {
            return calls.cut(site.0);
        };
        let call = calls.child(caller, site.0);
        // A stack that is cut says nothing of those around it.
        if calls.parent(call) == caller {
            self.last = Some(LastStack::new(call, n_frames));
        }
        call
    }

    /// A stack of the tree around the one that is made of so many frames, and how many it is made
    /// of: where the last stack that was found parts from it, if that is near.
    fn nearest_known(&mut self, calls: &CallTree, n_frames: usize) -> (usize, CallId) {
        if let Some(last) = self.last {
            let n_same = last.n_same.min(n_frames);
            let n_up = last.n_frames - n_same;
            if n_up + n_frames - n_same <= MAX_WAY {
                self.count_steps(n_up);
                let call = (0..=n_up).fold(last.call, |call, _| calls.parent(call));
                // Two stacks of the same hash would be taken for the same.
                if calls.hash(call) == self.stacks[n_same - 1] {
                    return (n_same, call);
                }
            }
        }
        let nearest = calls.nearest(&self.stacks[1..n_frames]);
        // The first frame stands for the empty stack.
        let (n_known, call) =
            nearest.map_or((1, CallTree::ROOT), |(index, call)| (index + 2, call));
        self.count_steps(n_frames - n_known);
        (n_known, call)
    }

    /// Says whether callers are told apart by op from now on.
    pub(super) fn set_lines(&mut self, has_lines: bool) {
        if has_lines != self.has_lines {
            self.has_lines = has_lines;
            self.forget();
        }
    }

    /// Forgets the call stacks: they are told in another way, or not at all. Barriers may stay
    /// where they are.
    pub(crate) fn forget(&mut self) {
        *self = Self {
            has_lines: self.has_lines,
            ..Self::default()
        };
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.returns.capacity() * size_of::<ReturnTo>()
            + self.stacks.capacity() * size_of::<StackHash>()
    }

    #[cfg(test)]
    fn count_steps(&mut self, n_steps: usize) {
        self.n_steps += n_steps;
    }

    #[cfg(not(test))]
    #[inline(always)]
    fn count_steps(&mut self, _: usize) {}
}

#[inline]
fn n_frames_between(first: *mut Frame, sp: *mut Frame) -> usize {
    (sp as usize - first as usize) / size_of::<Frame>()
}

/// How many frames are those that were there when the innermost barrier was set; the run's first
/// one always is.
#[inline]
fn n_known(program: &Program, first: *mut Frame) -> usize {
    let innermost = program.innermost_caught();
    match innermost.is_null() {
        true => 1,
        false => n_frames_between(first, innermost) + 1,
    }
}

/// Sets barriers at frame `innermost` and below it, as far as the first `n_known` frames.
///
/// # Safety
/// The frames up to `innermost` are whole, and those from `n_known` on are above all barriers.
#[inline(never)]
unsafe fn set_barriers(program: &mut Program, first: *mut Frame, n_known: usize, innermost: usize) {
    let n_more = (innermost + 1 - n_known - MIN_DISTANCE) / DISTANCE;
    for place in (0..=n_more).rev() {
        // SAFETY: the caller's promise.
        unsafe { program.catch_return(first.add(innermost - place * DISTANCE)) };
    }
    program.prepare_barrier();
}

#[cfg(test)]
mod tests;
