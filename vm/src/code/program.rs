//! A loaded program: its code, its functions, and what they were before they were lowered.

use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

use profiler::{Node, SourceId};

use super::Mode;
use super::contexts::{FrameContexts, OpenContext};
use super::sites::CallerSites;
use super::stubs::CaughtReturn;
use super::word::{DataWord, Handler, NodeWord, Pc, Word};
use crate::heap::Statics;
use crate::module::Module;
use crate::verify::VerifiedModule;

/// The program of one machine: its code, and what is known of the machine's frames.
pub(crate) struct Program {
    loaded: Arc<LoadedProgram>,
    /// The frames whose returns are caught, the outermost first.
    pub(super) caught: Vec<CaughtReturn>,
    /// The sites of callers.
    pub(super) caller_sites: CallerSites,
}

impl Deref for Program {
    type Target = LoadedProgram;

    #[inline]
    fn deref(&self) -> &LoadedProgram {
        &self.loaded
    }
}

/// Threaded code and what is needed to run it and to tell what it was.
///
/// Machines share it that write nothing into it: those without a profile, and without trackers of
/// programs. Any other machine has its own.
pub(crate) struct LoadedProgram {
    pub(crate) module: VerifiedModule,
    /// The code of all functions. The first words end a run; they belong to no function.
    pub(crate) code: Vec<Word>,
    pub(crate) functions: Box<[LoadedFunction]>,
    /// The words that hold nodes; in stack style, those that hold a source and a context.
    pub(crate) node_words: Vec<u32>,
    /// By function, the ways to contexts that the code and handlers point to, in stack style.
    pub(crate) contexts: Vec<FrameContexts>,
    /// What calls and returns do for a profile.
    pub(crate) mode: Mode,
    /// Whether entries of sources are counted.
    pub(crate) counts: bool,
    /// The word behind the call of callbacks.
    pub(crate) callback_return: usize,
    /// What globals hold in a new machine.
    pub(crate) globals: Globals,
    /// The handler that an op is armed with when callbacks are due before it.
    pub(crate) events_handler: Handler,
    /// Owns the constants that words refer to.
    pub(crate) _statics: Statics,
}

/// What globals hold, by class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globals {
    pub(crate) ints: Vec<u64>,
    pub(crate) refs: Vec<u64>,
}

// SAFETY: its pointers lead to its own words and functions, to its constants, and to nodes of a
// profile, whose counters are atomic and which the machine keeps alive.
unsafe impl Send for LoadedProgram {}
// SAFETY: only `Program::own` writes to it, and `FrameContexts` have cells that are written through
// a shared reference in stack style: such a program has one machine, by `Arc::get_mut` in the first
// case, and by the loader's configuration in the second.
unsafe impl Sync for LoadedProgram {}

/// The word that ends a run. Before it stands a word of nodes, as before every word that a return
/// of a profiled program may go to.
pub(crate) const HALT: usize = 1;
/// The word that frames return to whose returns are caught, behind a word of nodes.
pub(crate) const BARRIER: usize = 3;
/// The call of callbacks of memory profiles.
pub(crate) const CALLBACK: usize = 4;

/// A function in threaded code. Closures point to it, so it must not move.
#[repr(C)]
pub(crate) struct LoadedFunction {
    /// Where calls go.
    pub(crate) entry: Pc,
    /// The node that is current from the entry on.
    pub(crate) entry_node: *const Node,
    /// The node that counts calls; the sink when the function opens no source of its own.
    pub(crate) count_node: *const Node,
    /// The source that is open from the entry on, in stack style.
    pub(crate) entry_source: SourceId,
    /// Whether the function opens a source of its own, so that its calls count, in stack style.
    pub(crate) is_counted: bool,
    /// The signature as a closure call's word holds it.
    pub(crate) signature_word: u32,
    /// How many `r` registers a collection must look at while the function runs.
    pub(crate) ref_registers: u16,
    /// The function's index in the module.
    pub(crate) index: u32,
    /// The index of the function's first word.
    pub(crate) start: usize,
    /// For each of its words the op it belongs to.
    pub(crate) op_of_word: Vec<u32>,
    pub(crate) handlers: Vec<ExceptionHandler>,
    /// For each op the node that its allocations are charged to, when that is known.
    pub(crate) nodes: Vec<*const Node>,
}

/// An exception handler in threaded code.
#[derive(Clone)]
pub(crate) struct ExceptionHandler {
    pub(crate) start_op: u32,
    pub(crate) end_op: u32,
    /// Where the handler starts.
    pub(crate) target: Pc,
    /// The operand of the `r` register that receives the exception.
    pub(crate) register: u8,
    /// The node that is current at the handler; null when none is published.
    pub(crate) node: *const Node,
    /// The way to the context of the handler, in stack style.
    pub(crate) open: *const OpenContext,
}

/// A place in a program: a function and the op that runs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The function's index.
    pub function: u32,
    /// The op's offset in the function, in bytes.
    pub offset: u32,
}

impl Program {
    /// A machine's program over code that it may share.
    pub(crate) fn new(loaded: Arc<LoadedProgram>) -> Self {
        Self {
            loaded,
            caught: Vec::new(),
            caller_sites: CallerSites::default(),
        }
    }

    /// The code, to be written to.
    ///
    /// # Panics
    /// When another machine shares it. Only programs with a profile or with trackers of their own
    /// are written to, and those are loaded for one machine.
    pub(super) fn own(&mut self) -> &mut LoadedProgram {
        Arc::get_mut(&mut self.loaded).expect("code that is written to has one machine")
    }

    /// Replaces every node that the code and its tables name.
    pub(crate) fn move_nodes(&mut self, moved: impl Fn(*const Node) -> *const Node) {
        self.own().move_nodes(moved);
    }

    /// Lets a data word remember the context that was entered from it last.
    pub(crate) fn remember_context(&mut self, word: Pc, context: *const Node) {
        self.own().remember_context(word, context);
    }

    /// Forgets all contexts: another unit of profile data has others.
    pub(crate) fn forget_contexts(&mut self) {
        self.own().forget_contexts();
    }
}

impl LoadedProgram {
    /// The word that a run's first frame returns to.
    pub(crate) fn halt(&self) -> Pc {
        &self.code[HALT]
    }

    pub(crate) fn function(&self, index: u32) -> &LoadedFunction {
        &self.functions[index as usize]
    }

    /// The function that a word belongs to, with the index of the op there; `None` for the word
    /// that ends a run.
    pub(crate) fn op_at(&self, pc: Pc) -> Option<(&LoadedFunction, u32)> {
        let word = (pc.addr() - self.code.as_ptr().addr()) / size_of::<Word>();
        let after = self
            .functions
            .partition_point(|function| function.start <= word);
        let function = &self.functions[after.checked_sub(1)?];
        let op = *function.op_of_word.get(word - function.start)?;
        Some((function, op))
    }

    fn move_nodes(&mut self, moved: impl Fn(*const Node) -> *const Node) {
        for &word in &self.node_words {
            // SAFETY: these words were written as words of nodes.
            let NodeWord { callee, caller } = unsafe { self.code[word as usize].nodes };
            let nodes = NodeWord {
                callee: moved(callee),
                caller: moved(caller),
            };
            self.code[word as usize] = Word { nodes };
        }
        for function in &mut self.functions {
            function.entry_node = moved(function.entry_node);
            function.count_node = moved(function.count_node);
            function
                .nodes
                .iter_mut()
                .for_each(|node| *node = moved(*node));
            function
                .handlers
                .iter_mut()
                .for_each(|handler| handler.node = moved(handler.node));
        }
    }

    fn remember_context(&mut self, word: Pc, context: *const Node) {
        let index = (word.addr() - self.code.as_ptr().addr()) / size_of::<Word>();
        // SAFETY: the caller passes a word of data.
        let DataWord { x, .. } = unsafe { self.code[index].data };
        let y = context.expose_provenance() as u64;
        self.code[index] = Word {
            data: DataWord { x, y },
        };
    }

    fn forget_contexts(&mut self) {
        for &word in &self.node_words {
            // SAFETY: in stack style these words were written as words of data.
            let DataWord { x, .. } = unsafe { self.code[word as usize].data };
            self.code[word as usize] = Word {
                data: DataWord { x, y: 0 },
            };
        }
        self.contexts.iter_mut().for_each(FrameContexts::forget);
    }

    /// The node that an allocation by a word is charged to, when that is known.
    pub(crate) fn node_at(&self, pc: Pc) -> Option<*const Node> {
        let (function, op) = self.op_at(pc)?;
        function.nodes.get(op as usize).copied()
    }

    /// The source that is current at a word.
    pub(crate) fn source_at(&self, pc: Pc) -> SourceId {
        let Some((function, op)) = self.op_at(pc) else {
            return SourceId::UNKNOWN;
        };
        let index = function.index as usize;
        let facts = &self.module.facts()[index];
        let stack = facts.stacks[op as usize];
        let top = stack.and_then(|stack| facts.control_stacks.top(stack));
        top.map_or_else(|| base_source(&self.module, index), |(source, _)| source)
    }

    /// A place in the program as `function (file:line)`.
    pub(crate) fn describe(&self, location: Location) -> String {
        let function = &self.module.functions[location.function as usize];
        match function.line_at(location.offset) {
            Some(entry) => {
                let file = &self.module.files[entry.file as usize];
                format!("{} ({file}:{})", function.name, entry.line)
            }
            None => format!("{} (offset {:#x})", function.name, location.offset),
        }
    }

    /// The place in the module that a word came from.
    pub(crate) fn location(&self, pc: Pc) -> Option<Location> {
        let (function, op) = self.op_at(pc)?;
        let offset = self.module.facts()[function.index as usize].offsets[op as usize];
        Some(Location {
            function: function.index,
            offset,
        })
    }
}

impl LoadedFunction {
    pub(crate) fn unloaded(index: u32) -> Self {
        Self {
            entry: ptr::null(),
            entry_node: ptr::null(),
            count_node: ptr::null(),
            entry_source: SourceId::UNKNOWN,
            is_counted: false,
            signature_word: 0,
            ref_registers: 0,
            index,
            start: 0,
            op_of_word: Vec::new(),
            handlers: Vec::new(),
            nodes: Vec::new(),
        }
    }

    /// The handler that an exception raised by the op goes to.
    pub(crate) fn handler_of(&self, op: u32) -> Option<&ExceptionHandler> {
        self.handlers
            .iter()
            .find(|handler| handler.start_op <= op && op < handler.end_op)
    }
}

/// The source that is charged where a function has none open: the program's own top level in the
/// entry function, nobody in particular elsewhere.
pub(crate) fn base_source(module: &Module, function: usize) -> SourceId {
    if function == module.entry as usize {
        SourceId::MAIN
    } else {
        SourceId::UNKNOWN
    }
}
