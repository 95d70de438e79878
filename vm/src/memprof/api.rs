//! What embedders see of memory profiles.

use std::fmt;

use profiler::sampling::{CallId, CallTree};

use crate::code::{Location, Program, Site};

/// How blocks are sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemprofConfig {
    /// The probability with which each allocated word is sampled, from 0 to 1.
    pub rate: f64,
    /// How many calls a call stack shows, from the innermost on; `None` for all.
    pub callstack_size: Option<u32>,
    /// Whether callers are told apart by the ops that call, so that their lines are known; else by
    /// function and source. The innermost call is known to the op in any case. A function that
    /// calls itself in two places has two to the power of `n` call stacks of depth `n` if lines
    /// count: each has few samples then, and samples cost more. While a profile that wants lines
    /// samples, others get them too.
    pub call_lines: bool,
    /// What the sampled words depend on, besides the rate.
    pub seed: u64,
    /// Whether the profile cannot be started while another exclusive one samples, which is the
    /// rule of `Gc.Memprof`. Programs start exclusive profiles.
    pub exclusive: bool,
}

impl Default for MemprofConfig {
    /// One word in ten thousand, with whole call stacks whose callers are told by function.
    fn default() -> Self {
        Self {
            rate: 1e-4,
            callstack_size: None,
            call_lines: false,
            seed: 0,
            exclusive: false,
        }
    }
}

/// A memory profile of a machine. No two profiles of a machine are ever the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProfileId(pub(crate) u64);

impl ProfileId {
    /// The number by which programs know the profile.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// Why a memory profile cannot be started, stopped or discarded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemprofError {
    /// The rate is not between 0 and 1.
    InvalidRate(f64),
    /// The size of call stacks is negative.
    InvalidCallstackSize(i64),
    /// A closure of the tracker has another signature than it must have; its place is told.
    InvalidTracker(usize),
    /// An exclusive profile is sampling.
    AlreadyStarted,
    /// No such profile is sampling.
    NotRunning,
    /// The profile has not been stopped.
    NotStopped,
    /// The profile has been discarded, or there never was one.
    AlreadyDiscarded,
    /// More profiles than a machine can tell apart are not discarded.
    TooManyProfiles,
}

impl fmt::Display for MemprofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidRate(rate) => {
                write!(f, "memprof start: the rate {rate} is not between 0 and 1")
            }
            Self::InvalidCallstackSize(size) => {
                write!(f, "memprof start: the call stack size {size} is negative")
            }
            Self::InvalidTracker(place) => {
                write!(
                    f,
                    "memprof start: field {place} of the tracker is neither null nor a closure of \
                     the right signature"
                )
            }
            Self::AlreadyStarted => f.write_str("memprof start: a profile is sampling already"),
            Self::NotRunning => f.write_str("memprof stop: no profile is sampling"),
            Self::NotStopped => f.write_str("memprof discard: the profile is not stopped"),
            Self::AlreadyDiscarded => {
                f.write_str("memprof discard: the profile has been discarded already")
            }
            Self::TooManyProfiles => f.write_str("memprof start: too many profiles"),
        }
    }
}

impl std::error::Error for MemprofError {}

/// Where a block came from (S7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AllocOrigin {
    /// An op of the program.
    Normal = 0,
    /// A host function, which made it of data from outside.
    Deserialised = 1,
    /// Memory outside the heap that the program has accounted for.
    External = 2,
}

/// A sampled block, when it is allocated.
#[derive(Clone, Copy, Debug)]
pub struct AllocInfo<'a> {
    /// How many of its words were sampled; at least 1.
    pub n_samples: u64,
    /// Its words, without the header. External memory has no header.
    pub size_words: u64,
    /// Its words as the word clock counts them.
    pub clock_words: u64,
    /// Where it came from.
    pub origin: AllocOrigin,
    /// The calls that were open.
    pub stack: CallStack<'a>,
    /// The number of its first word.
    pub clock: u64,
}

/// What happened to a tracked block.
#[derive(Clone, Copy, Debug)]
pub struct GcEvent {
    /// How many of its words were sampled.
    pub n_samples: u64,
    /// Its words as the word clock counts them.
    pub clock_words: u64,
    /// Where it came from.
    pub origin: AllocOrigin,
    /// The calls that were open when it was allocated.
    pub call: CallId,
    /// The number of its first word.
    pub alloc_clock: u64,
    /// The word clock now.
    pub clock: u64,
}

/// A call of a [`CallStack`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackFrame {
    /// The op that allocates, or that calls.
    Op(Location),
    /// The index of the function that calls, from whichever op.
    Function(u32),
}

impl StackFrame {
    /// The function's index.
    pub fn function(self) -> u32 {
        match self {
            Self::Op(location) => location.function,
            Self::Function(function) => function,
        }
    }
}

/// The calls that were open when a block was allocated.
#[derive(Clone, Copy)]
pub struct CallStack<'a> {
    pub(crate) calls: &'a CallTree,
    pub(crate) program: &'a Program,
    pub(crate) call: CallId,
    pub(crate) limit: usize,
}

impl fmt::Debug for CallStack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.frames()).finish()
    }
}

impl<'a> CallStack<'a> {
    /// What stands for the whole stack in the machine's tree of calls; not cut.
    pub fn call(&self) -> CallId {
        self.call
    }

    /// What stands for each call in the machine's tree, innermost first, cut to the profile's call
    /// stack size (S22).
    pub(crate) fn calls(&self) -> impl Iterator<Item = CallId> + use<'a> {
        let calls = self.calls;
        let inner = (self.call != CallTree::ROOT).then_some(self.call);
        std::iter::successors(inner, move |&call| {
            let parent = calls.parent(call);
            (parent != CallTree::ROOT).then_some(parent)
        })
        .take(self.limit)
    }

    /// The calls, innermost first, cut to the profile's call stack size (S22).
    pub fn frames(&self) -> impl Iterator<Item = StackFrame> + use<'a> {
        let (calls, program) = (self.calls, self.program);
        self.calls().filter_map(move |call| {
            let site = Site(calls.site(call));
            let location = program.location(program.pc_of_site(site)?)?;
            Some(match site.is_exact() {
                true => StackFrame::Op(location),
                false => StackFrame::Function(location.function),
            })
        })
    }
}

/// Who hears of the blocks of a profile.
///
/// What the methods return is kept with the block and handed to the next one; `None` means that
/// the tracker does not want to hear of the block again. They run in the midst of an allocation or
/// after a collection, and cannot reach the machine.
///
/// A tracker of what survives the nursery, whose cookies are sizes:
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use vm::memprof::{AllocInfo, GcEvent, Tracker};
///
/// struct Survivors(Arc<AtomicU64>);
///
/// impl Tracker for Survivors {
///     fn alloc_minor(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
///         Some(info.clock_words)
///     }
///     fn alloc_major(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
///         None
///     }
///     fn promote(&mut self, words: u64, _: &GcEvent) -> Option<u64> {
///         self.0.fetch_add(words, Relaxed);
///         None
///     }
///     fn dealloc_minor(&mut self, _: u64, _: &GcEvent) {}
///     fn dealloc_major(&mut self, _: u64, _: &GcEvent) {}
/// }
///
/// let words = Arc::new(AtomicU64::new(0));
/// let tracker: Box<dyn Tracker> = Box::new(Survivors(words.clone()));
/// # assert_eq!(Arc::strong_count(&words), 2);
/// # drop(tracker);
/// ```
pub trait Tracker: Send {
    /// A block was allocated in the nursery.
    fn alloc_minor(&mut self, info: &AllocInfo<'_>) -> Option<u64>;
    /// A block was allocated outside the nursery.
    fn alloc_major(&mut self, info: &AllocInfo<'_>) -> Option<u64>;
    /// A block has left the nursery alive.
    fn promote(&mut self, cookie: u64, event: &GcEvent) -> Option<u64>;
    /// A block has died in the nursery.
    fn dealloc_minor(&mut self, cookie: u64, event: &GcEvent);
    /// A block has died that was born outside the nursery or had left it.
    fn dealloc_major(&mut self, cookie: u64, event: &GcEvent);
    /// A collection is over, and its events have been told. Only after a major one is all dead that
    /// nothing refers to.
    fn collected(&mut self, is_major: bool) {
        let _ = is_major;
    }
}
