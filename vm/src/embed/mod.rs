//! The embedding API: a machine with a program, from Rust.
//!
//! | module | what it holds |
//! |---|---|
//! | `program` | programs that machines share |
//! | `config` | how a machine is made |
//! | `run` | calls of functions, and runs that pause |
//! | `held` | values handed over as a whole, for sessions |
//! | `units`, `memprof` | profiles |
//! | `interrupt` | what asks a machine for its attention |

mod config;
mod held;
mod interrupt;
mod memprof;
mod program;
mod run;
mod units;

pub use config::{VmConfig, VmError};
pub use held::HoldError;
pub use interrupt::Interrupt;
pub use program::{Program, ProgramError};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use profiler::memory::{MemorySeat, MemoryTeam};
use profiler::{CurrentCell, Kind, Node, Profile, Rate, SourceId};

use crate::border::RunError;
use crate::code::{Location, Program as MachineProgram};
use crate::heap::{Census, Heap, HeapStats, OutOfMemory};
use crate::host::{HostIo, Hosts};
use crate::load::LoadConfig;
use crate::machine::{
    Context, Control, Exit, Fault, Profiling, Resume, Roots, Snapshot, Stack, WantedContext,
};
use crate::memprof::Memprof;
use crate::units::Units;
use crate::verify::VerifiedModule;
use run::Paused;

/// What the seeds of two machines differ by that have joined a memory profile one after the other.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A machine with a loaded program.
///
/// It may be handed from thread to thread between runs. What both a machine and a host function can
/// do with objects and functions is in [`Access`](crate::Access).
pub struct Vm {
    // The order matters for dropping: code and context refer to the nodes.
    pub(crate) ctx: Box<Context>,
    pub(crate) program: Box<MachineProgram>,
    /// The context refers to them, too.
    hosts: Box<Hosts>,
    pub(crate) config: VmConfig,
    cell: Arc<CurrentCell>,
    attention: Arc<AtomicU32>,
    /// Whether the interrupt serves other machines too, so that runs do not clear it.
    is_interrupt_shared: bool,
    /// Whether output that blocks is given up, because the last run was interrupted.
    is_output_hurried: bool,
    sink: Box<Node>,
    tick_rate: Option<Rate>,
    paused: Option<Paused>,
    /// The machine's place in the memory profile that it has joined.
    seat: Option<MemorySeat>,
    /// Owns code that machines share.
    _shared: Program,
}

impl fmt::Debug for Vm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vm")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Vm {
    /// A machine that runs a program: one that is shared with other machines (`&program`), or a
    /// verified module, of which a program is made for this machine alone.
    ///
    /// # Errors
    /// When an import cannot be bound, there is no memory, or another machine counts in the
    /// profile.
    pub fn new(
        program: impl Into<Program>,
        hosts: Hosts,
        config: VmConfig,
    ) -> Result<Self, VmError> {
        Self::with_program(program.into(), hosts, config)
    }

    fn with_program(
        shared: Program,
        mut hosts: Hosts,
        mut config: VmConfig,
    ) -> Result<Self, VmError> {
        let module = shared.module();
        if config.census {
            let n_sources = module.sources.sources.len();
            let profile = || Arc::new(Profile::new(Kind::Alloc.into(), n_sources));
            let profile = config.profile.get_or_insert_with(profile);
            if !profile.kinds().contains(Kind::Alloc) {
                return Err(VmError::NoAllocation);
            }
        }
        let seat = config.memory_team.as_ref().map(MemoryTeam::join);
        if let (Some(seat), Some(sampling)) = (&seat, &mut config.sampling) {
            sampling.seed = sampling
                .seed
                .wrapping_add(seat.number().wrapping_mul(SEED_STEP));
        }
        let claim = config.profile.as_ref().map(Profile::claim).transpose()?;
        hosts.bind(&module.hosts)?;
        let sink = Box::new(Node::new(SourceId::UNKNOWN));
        let loaded = shared.load(LoadConfig {
            profile: config.profile.as_deref(),
            sink: &sink,
            counts_fuel: config.fuel.is_some(),
            fuses: config.fuses,
            has_census: config.census,
        })?;
        let mut program = Box::new(MachineProgram::new(loaded));
        let attention = Arc::new(AtomicU32::new(0));
        let cell = Arc::new(CurrentCell::new());
        let mut hosts = Box::new(hosts);
        let has_contexts = config
            .profile
            .as_ref()
            .is_some_and(|one| one.data().has_contexts());
        let stack = Stack::new(config.stack_bytes, has_contexts, program.halt());
        let stack = stack.ok_or(OutOfMemory {
            request_bytes: config.stack_bytes,
            live_bytes: 0,
            max_bytes: config.stack_bytes,
        })?;
        let ctx = Box::new(Context {
            heap: new_heap(&config, module, &attention)?,
            control: Control {
                attention: Arc::as_ptr(&attention),
                fuel: i64::MAX,
                can_pause: false,
                depth: 0,
                request_bytes: 0,
                fault: Fault::Overflow,
                exit: Exit::Returned,
                resume: Resume {
                    pc: std::ptr::null(),
                    ints: stack.first_ints(),
                    refs: stack.first_refs(),
                    sp: stack.first_frame(),
                },
                broken: None,
                hosts: hosts.table(),
            },
            profiling: Profiling {
                cell: Arc::as_ptr(&cell),
                idle_node: &*sink,
                outer_nodes: Vec::new(),
                gc_node: match &claim {
                    Some(profile) => profile.gc_node(),
                    None => &*sink,
                },
                contexts: match &claim {
                    Some(profile) if has_contexts => profile.data(),
                    _ => std::ptr::null(),
                },
                wanted_context: WantedContext {
                    parent: std::ptr::null(),
                    source: SourceId::UNKNOWN,
                    word: std::ptr::null(),
                },
                units: Units::new(claim),
                memprof: Memprof::default(),
                figures: None,
                on_snapshot: None,
            },
            roots: Roots::default(),
            globals: program.globals.clone(),
            stack,
            program: &raw mut *program,
        });
        hosts.io().watch(attention.clone());
        let mut vm = Self {
            ctx,
            program,
            hosts,
            config,
            cell,
            attention,
            is_interrupt_shared: false,
            is_output_hurried: false,
            sink,
            tick_rate: None,
            paused: None,
            seat,
            _shared: shared,
        };
        vm.publish_sink();
        vm.start_sampling()
            .map_err(|error| VmError::Sampling(error.to_string()))?;
        Ok(vm)
    }

    /// What asks this machine to stop.
    pub fn interrupt(&self) -> Interrupt {
        Interrupt(self.attention.clone())
    }

    /// What the machine does with its profiles at a safepoint after [`Interrupt::snapshot`]: as a
    /// rule, write them. It runs on the machine's thread, between two ops.
    pub fn on_snapshot(&mut self, action: impl FnMut(&Snapshot<'_>) + Send + 'static) {
        self.ctx.profiling.on_snapshot = Some(Box::new(action));
    }

    /// The program's module.
    pub fn module(&self) -> &VerifiedModule {
        &self.program.module
    }

    /// Bytes that the program has allocated so far, by the heap's own count.
    pub fn allocated_bytes(&self) -> u64 {
        self.ctx.heap.allocated_bytes()
    }

    /// What the heap has done so far.
    pub fn heap_stats(&self) -> HeapStats {
        self.ctx.heap.stats()
    }

    /// How many references are held by [`Root`](crate::Root)s that have not been dropped.
    pub fn n_roots(&mut self) -> usize {
        self.ctx.roots.table.len()
    }

    /// The tick rate that the last run of a time profile got.
    pub fn tick_rate(&self) -> Option<Rate> {
        self.tick_rate
    }

    /// The machine's input and output.
    pub fn io(&mut self) -> &mut HostIo {
        self.hosts.io()
    }

    fn publish_sink(&self) {
        // SAFETY: the sink lives as long as the machine, and no ticker runs between runs.
        unsafe { self.cell.publish(&*self.sink) };
    }

    /// After the heap has failed, objects may be half copied: an empty one takes its place, and so
    /// the machine can be used again. What was held is lost.
    fn renew_heap(&mut self) -> Result<(), OutOfMemory> {
        self.give_up();
        let mut heap = new_heap(&self.config, &self.program.module, &self.attention)?;
        heap.stats = self.ctx.heap.stats();
        heap.census = self.ctx.heap.census.take();
        self.ctx.heap = heap;
        self.ctx.heap_is_new();
        let roots = &mut self.ctx.roots;
        roots.held.clear();
        roots.passing.clear();
        roots.table.forget();
        roots.exception = Default::default();
        self.ctx.globals = self.program.globals.clone();
        self.ctx.control.broken = None;
        // SAFETY: no run is going on, so no register will be used again.
        unsafe { self.ctx.stack.clear() };
        Ok(())
    }

    /// An error with its backtrace, one call a line.
    pub fn describe_error(&self, error: &RunError) -> String {
        let backtrace = match error {
            RunError::Uncaught { backtrace, .. } | RunError::Trap { backtrace, .. } => backtrace,
            _ => return format!("{error}\n"),
        };
        let mut text = format!("{error}\n");
        let line = |location: &Location| format!("  in {}\n", self.describe(*location));
        text.extend(backtrace.innermost.iter().map(line));
        if backtrace.n_skipped > 0 {
            text.push_str(&format!("  ... {} more calls\n", backtrace.n_skipped));
        }
        text.extend(backtrace.outermost.iter().map(line));
        text
    }

    /// A place in the program as `function (file:line)`, for backtraces.
    pub fn describe(&self, location: Location) -> String {
        self.program.describe(location)
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        self.hand_in_memory();
    }
}

/// An empty heap for a machine.
fn new_heap(
    config: &VmConfig,
    module: &VerifiedModule,
    attention: &Arc<AtomicU32>,
) -> Result<Heap, OutOfMemory> {
    let mut heap = Heap::new(config.heap)?;
    if config.census {
        let census = Census::new(module.sources.sources.len());
        heap.census = Some(Box::new(census));
    }
    heap.attention = Arc::as_ptr(attention);
    Ok(heap)
}
