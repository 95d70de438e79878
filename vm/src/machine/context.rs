//! What a machine has besides the five registers, in parts that have owners.

use std::any::Any;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;

use profiler::{CurrentCell, Node, ProfileData, SourceId};

use super::snapshot::SnapshotAction;
use super::{Exit, Fault, Machine, Obstacle, Resume, Roots, Stack};
use crate::code::{Frame, Globals, Pc, Program};
use crate::heap::{Heap, OutOfMemory};
use crate::memprof::{Figures, Memprof};
use crate::units::Units;

/// What a machine has besides the five registers. Handlers reach it through a pointer.
#[repr(C)]
pub(crate) struct Context {
    /// First, so that allocation's `top` and `limit` are at short displacements.
    pub(crate) heap: Heap,
    pub(crate) control: Control,
    pub(crate) profiling: Profiling,
    pub(crate) roots: Roots,
    /// What the program's globals hold. The references are roots.
    pub(crate) globals: Globals,
    pub(crate) stack: Stack,
    pub(crate) program: *mut Program,
}

/// How a run goes on or ends. Handlers write it for the cold ones that they go to.
pub(crate) struct Control {
    /// Not zero when somebody wants the machine's attention at its next safepoint.
    pub(crate) attention: *const AtomicU32,
    /// What is left of the fuel, when the program was loaded to count it.
    pub(crate) fuel: i64,
    /// Whether a run whose fuel is used up pauses, instead of ending.
    pub(crate) can_pause: bool,
    /// How many host functions call back just now, one within the other.
    pub(crate) depth: u32,
    /// Bytes that the handler which asks for room will allocate.
    pub(crate) request_bytes: usize,
    /// The fault to raise.
    pub(crate) fault: Fault,
    /// Why the run ended.
    pub(crate) exit: Exit,
    /// Where a slow path wants the run to go on.
    pub(crate) resume: Resume,
    /// Why the heap is of no further use, if it is.
    pub(crate) broken: Option<Broken>,
    pub(crate) hosts: HostTable,
}

/// Why a heap is of no further use: objects may be half copied, or blocks half told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// A collection found no memory, or was given up because the run is to end.
    OutOfMemory(OutOfMemory),
    /// A tracker of a memory profile has panicked.
    Panicked,
}

/// The host functions that the program's imports are bound to.
#[derive(Clone, Copy)]
pub(crate) struct HostTable {
    pub(crate) hosts: *mut c_void,
    /// Calls the host function of the word at which the machine is.
    pub(crate) call: unsafe fn(hosts: *mut c_void, m: Machine) -> Result<(), Obstacle>,
}

/// What profiles keep.
pub(crate) struct Profiling {
    /// Where the node that is current is published.
    pub(crate) cell: *const CurrentCell,
    /// The node that nobody asks about: current between runs.
    pub(crate) idle_node: *const Node,
    /// What was current where host functions call back that have not returned, the outermost first,
    /// and where a run was paused.
    pub(crate) outer_nodes: Vec<*const Node>,
    /// What collections are charged to; null in stack style, where each context has its own.
    pub(crate) gc_node: *const Node,
    /// The profile data that contexts are made in; null but in stack style.
    pub(crate) contexts: *const ProfileData,
    /// The context to make.
    pub(crate) wanted_context: WantedContext,
    /// Units of profile data.
    pub(crate) units: Units,
    /// Memory profiles.
    pub(crate) memprof: Memprof,
    /// The figures of the memory profile that needs no tracker.
    pub(crate) figures: Option<Rc<Figures>>,
    /// What to do when a snapshot is asked for.
    pub(crate) on_snapshot: Option<SnapshotAction>,
}

// SAFETY: a context belongs to one machine, and so does all that its pointers lead to: registers,
// frames, objects, hosts, code that is written to. What machines share is not written (code without
// a profile, constants) or atomic (attention words, nodes and cells). What is not `Send` by itself,
// the figures that a tracker shares with the context, is reached by this machine only.
unsafe impl Send for Context {}

impl Context {
    /// Where the context is saved that a frame returns to, in stack style.
    #[inline(always)]
    pub(crate) fn saved_context(frame: *mut Frame) -> *mut *const Node {
        frame
            .wrapping_byte_add(super::CONTEXT_DISTANCE_BYTES)
            .cast()
    }

    /// Why the heap is of no further use for a program, if it is.
    pub(crate) fn heap_failure(&self) -> Option<OutOfMemory> {
        match self.control.broken {
            Some(Broken::OutOfMemory(error)) => Some(error),
            Some(Broken::Panicked) => Some(self.heap.out_of_memory(0)),
            None => None,
        }
    }

    /// Says whether the collection that comes only looks what is alive.
    pub(crate) fn set_looking(&mut self, is_looking: bool) {
        if let Some(census) = &mut self.heap.census {
            census.set_looking(is_looking);
        }
        if let Some(figures) = &self.profiling.figures {
            figures.set_looking(is_looking);
        }
    }
}

/// What a panic carries.
pub(crate) type PanicPayload = Box<dyn Any + Send>;

/// A context that a call needs: the child of `parent` for `source`.
#[derive(Clone, Copy)]
pub(crate) struct WantedContext {
    pub(crate) parent: *const Node,
    pub(crate) source: SourceId,
    /// The data word that will remember it.
    pub(crate) word: Pc,
}
