//! The embedding API: a machine with a program, from Rust.

mod config;
mod held;
mod interrupt;
mod memprof;

pub use config::{VmConfig, VmError};
pub use held::HoldError;
pub use interrupt::Interrupt;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use profiler::{CurrentCell, Kind, Node, Profile, ProfileData, Rate, SourceId, Ticker};

use crate::code::{Frame, Location, Program};
use crate::heap::{Census, Heap, HeapStats, OutOfMemory, Value};
use crate::host::{Denied, HostIo, Hosts};
use crate::load::{LoadConfig, load};
use crate::machine::{
    Backtrace, Context, Control, Exit, FAULT_TAG, Fault, Machine, PanicPayload, Profiling, Resume,
    Roots, SIGNAL_BITS, Snapshot, Stack, Trap, WantedContext,
};
use crate::memprof::Memprof;
use crate::objects::show;
use crate::safepoint::{callbacks, census_at_end, switch_unit};
use crate::units::{Unit, UnitError, Units};
use crate::verify::VerifiedModule;

/// How a run ended that ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The function returned these integers (doubles as their bits).
    Returned(Vec<i64>),
    /// The program asked for the end, with this exit code.
    ExitCode(u8),
}

/// How a run ended that did not end well. The machine can be used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// Nobody handled an exception.
    Uncaught {
        /// The exception, shown.
        exception: String,
        /// What the host function was denied that raised it, if the policy did not allow it.
        denied: Option<Denied>,
        /// Where it was raised.
        backtrace: Backtrace,
    },
    /// The machine could not go on.
    Trap {
        /// Why.
        trap: Trap,
        /// Where.
        backtrace: Backtrace,
    },
    /// The machine could not be set up for the run.
    Setup(VmError),
}

/// A machine with a loaded program.
pub struct Vm {
    // The order matters for dropping: code and context refer to the nodes.
    pub(crate) ctx: Box<Context>,
    pub(crate) program: Box<Program>,
    /// The context refers to them, too.
    hosts: Box<Hosts>,
    pub(crate) config: VmConfig,
    cell: Arc<CurrentCell>,
    attention: Arc<AtomicU32>,
    /// Whether the interrupt serves other machines too, so that runs do not clear it.
    is_interrupt_shared: bool,
    sink: Box<Node>,
    tick_rate: Option<Rate>,
}

impl fmt::Debug for Vm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vm")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Vm {
    /// Loads a program for a machine of its own.
    ///
    /// # Errors
    /// When an import cannot be bound, there is no memory, or another machine counts in the
    /// profile.
    pub fn new(
        module: VerifiedModule,
        mut hosts: Hosts,
        mut config: VmConfig,
    ) -> Result<Self, VmError> {
        if config.census {
            let n_sources = module.sources.sources.len();
            let profile = || Arc::new(Profile::new(Kind::Alloc.into(), n_sources));
            let profile = config.profile.get_or_insert_with(profile);
            if !profile.kinds().contains(Kind::Alloc) {
                return Err(VmError::NoAllocation);
            }
        }
        let claim = config.profile.as_ref().map(Profile::claim).transpose()?;
        hosts.bind(&module.hosts).map_err(VmError::Host)?;
        let mut heap = Heap::new(config.heap).map_err(VmError::OutOfMemory)?;
        if config.census {
            let census = Census::new(module.sources.sources.len());
            heap.census = Some(Box::new(census));
        }
        let has_contexts = config
            .profile
            .as_ref()
            .is_some_and(|one| one.data().has_contexts());
        let sink = Box::new(Node::new(SourceId::UNKNOWN));
        let config_of_load = LoadConfig {
            profile: config.profile.as_deref(),
            sink: &sink,
            counts_fuel: config.fuel.is_some(),
            fuses: config.fuses,
            has_census: config.census,
        };
        let mut program = Box::new(load(module, config_of_load, &mut heap)?);
        let stack = Stack::new(config.stack_bytes, has_contexts, program.halt()).ok_or(
            VmError::OutOfMemory(OutOfMemory {
                request_bytes: config.stack_bytes,
                live_bytes: 0,
                max_bytes: config.stack_bytes,
            }),
        )?;
        let cell = Arc::new(CurrentCell::new());
        let attention = Arc::new(AtomicU32::new(0));
        heap.attention = Arc::as_ptr(&attention);
        hosts.io().watch(attention.clone());
        let gc_node = match &config.profile {
            Some(profile) => profile.gc_node(),
            None => &*sink,
        };
        let mut hosts = Box::new(hosts);
        let ctx = Box::new(Context {
            heap,
            control: Control {
                attention: Arc::as_ptr(&attention),
                fuel: i64::MAX,
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
                gc_node,
                contexts: match &config.profile {
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
            roots: Roots {
                exception: Value::ZERO,
                handles: Vec::new(),
            },
            globals: program.globals.clone(),
            stack,
            program: &raw mut *program,
        });
        let mut vm = Self {
            ctx,
            program,
            hosts,
            config,
            cell,
            attention,
            is_interrupt_shared: false,
            sink,
            tick_rate: None,
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

    /// Whether a profile is taken.
    pub fn is_profiled(&self) -> bool {
        self.ctx.profiling.units.is_on()
    }

    /// The unit of profile data that is charged.
    pub fn current_unit(&self) -> Unit {
        self.ctx.profiling.units.current()
    }

    /// Makes an empty unit of profile data. Without a profile, that is the only unit there is.
    pub fn new_unit(&mut self) -> Unit {
        self.ctx.profiling.units.make()
    }

    /// The unit that a program knows by this number.
    ///
    /// # Errors
    /// When there is none, or it was freed.
    pub fn unit(&self, number: u32) -> Result<Unit, UnitError> {
        self.ctx
            .profiling
            .units
            .data(Unit(number))
            .map(|_| Unit(number))
    }

    /// Frees a unit.
    ///
    /// # Errors
    /// When the unit is current, or was freed before.
    pub fn free_unit(&mut self, unit: Unit) -> Result<(), UnitError> {
        self.ctx.profiling.units.free(unit)
    }

    /// Makes a unit current, and gives the one that was.
    ///
    /// # Errors
    /// When the unit was freed.
    pub fn switch_unit(&mut self, unit: Unit) -> Result<Unit, UnitError> {
        // SAFETY: between runs no frame is open.
        unsafe { switch_unit(&mut *self.ctx, std::ptr::null_mut(), unit) }
    }

    /// Does something with a unit current, and switches back whatever comes of it.
    ///
    /// # Errors
    /// When the unit was freed.
    pub fn with_unit<T>(
        &mut self,
        unit: Unit,
        action: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, UnitError> {
        let before = self.switch_unit(unit)?;
        let result = action(self);
        self.switch_unit(before)?;
        Ok(result)
    }

    /// The counts of a unit; `None` when no profile is taken.
    ///
    /// # Errors
    /// When the unit was freed.
    pub fn unit_data(&self, unit: Unit) -> Result<Option<&ProfileData>, UnitError> {
        self.ctx.profiling.units.data(unit)
    }

    /// What the machine does with its profiles at a safepoint after [`Interrupt::snapshot`]: as a
    /// rule, write them. It runs on the machine's thread, between two ops.
    pub fn on_snapshot(&mut self, action: impl FnMut(&Snapshot<'_>) + 'static) {
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

    /// The tick rate that the last run of a time profile got.
    pub fn tick_rate(&self) -> Option<Rate> {
        self.tick_rate
    }

    /// The machine's input and output.
    pub fn io(&mut self) -> &mut HostIo {
        self.hosts.io()
    }

    /// Runs the entry function.
    ///
    /// # Errors
    /// When an exception is not handled, or the machine cannot go on.
    pub fn run(&mut self) -> Result<Outcome, RunError> {
        let entry = self.program.module.entry;
        self.call(entry, &[])
    }

    /// Calls a function that takes integers only, by its index in the module.
    ///
    /// # Errors
    /// As for [`Vm::run`].
    ///
    /// # Panics
    /// When code of the embedder's panics that the run calls: a host function, a tracker, an action
    /// for snapshots. The panic is carried across the machine, which can be used again; after one
    /// in a tracker the heap is renewed first, as after a collection that has failed.
    ///
    /// When there is no such function, it is a closure's, or `ints` does not fit its signature.
    pub fn call(&mut self, function: u32, ints: &[i64]) -> Result<Outcome, RunError> {
        let callee = &self.program.module.functions[function as usize];
        let signature = callee.signature;
        assert!(
            callee.captures.is_none(),
            "a closure's function is called through closures"
        );
        assert_eq!(
            ints.len(),
            signature.int_params as usize,
            "integers for the parameters"
        );
        assert_eq!(signature.ref_params, 0, "references cannot be passed");
        self.ctx.control.fuel = self
            .config
            .fuel
            .map_or(i64::MAX, |fuel| fuel.min(i64::MAX as u64) as i64);
        if self.ctx.control.broken.is_some() {
            self.renew_heap().map_err(RunError::Setup)?;
        }
        let ticker = self.start_ticker().map_err(RunError::Setup)?;
        // What an earlier run handled is not what this one does not handle.
        self.hosts.take_denied();
        self.execute(function, ints);
        // Shown before the heap is collected: that may fail, and leave nothing to look at.
        let is_uncaught = matches!(self.ctx.control.exit, Exit::Uncaught(_));
        let shown = is_uncaught.then(|| self.show_exception());
        let told = self.end_run(function);
        let was_interrupted = matches!(self.ctx.control.exit, Exit::Trap(Trap::Interrupted(_), _));
        let written = self.hosts.write_out(&self.attention, was_interrupted);
        if !self.is_interrupt_shared {
            self.attention.fetch_and(!SIGNAL_BITS, Relaxed);
        }
        if let Some(ticker) = ticker {
            self.tick_rate = Some(ticker.rate());
            self.ctx.profiling.units.settle_time(&self.cell);
        }
        self.publish_sink();
        let exit = match std::mem::replace(&mut self.ctx.control.exit, Exit::Returned) {
            // What ended the run otherwise came first.
            Exit::Returned | Exit::Code(_) if let Err(message) = written => {
                Exit::Trap(Trap::Host(message), Backtrace::default())
            }
            exit => exit,
        };
        match (exit, told) {
            // The run's own panic came first.
            (Exit::Panicked(payload), _) | (_, Err(payload)) => resume_unwind(payload),
            (Exit::Returned, _) => {
                let results = (0..signature.int_results).map(|register| {
                    // SAFETY: the run's first frame starts at the stack's start, and results
                    // stand in its first registers.
                    unsafe { *self.ctx.control.resume.ints.add(register as usize) as i64 }
                });
                Ok(Outcome::Returned(results.collect()))
            }
            (Exit::Code(code), _) => Ok(Outcome::ExitCode(code)),
            (Exit::Uncaught(backtrace), _) => {
                self.ctx.roots.exception = Value::ZERO;
                let (exception, denied) = shown.unwrap_or_default();
                Err(RunError::Uncaught {
                    exception,
                    denied,
                    backtrace,
                })
            }
            (Exit::Trap(trap, backtrace), _) => Err(RunError::Trap { trap, backtrace }),
        }
    }

    /// Finds out what is alive at the end of a run, if somebody wants to know, and leaves the
    /// machine as one that does not run. Gives what a tracker has panicked with.
    fn end_run(&mut self, function: u32) -> Result<(), PanicPayload> {
        let entry = self.program.function(function).entry;
        let ctx = &raw mut *self.ctx;
        // SAFETY: the run is over, and its program has not been replaced.
        let told = catch_unwind(AssertUnwindSafe(|| unsafe { census_at_end(ctx, entry) }));
        // SAFETY: as above.
        unsafe { callbacks::end_run(ctx) };
        told
    }

    /// Runs a function from an empty stack until the machine stops; `ctx.exit` says why.
    fn execute(&mut self, function: u32, ints: &[i64]) {
        let ctx: *mut Context = &mut *self.ctx;
        let loaded = self.program.function(function);
        // SAFETY: the stacks are empty, and the first frame has room for all registers. The
        // context, the program and the profile's nodes live as long as `self`.
        unsafe {
            let machine = Machine {
                pc: loaded.entry,
                ints: (*ctx).stack.first_ints(),
                refs: (*ctx).stack.first_refs(),
                ctx,
                sp: (*ctx).stack.first_frame().add(1),
            };
            for (register, &value) in ints.iter().enumerate() {
                machine.set_i(register as u8, value as u64);
            }
            machine.sp.sub(1).write(Frame {
                pc: self.program.halt(),
                ints: machine.ints,
                refs: machine.refs,
            });
            match (*ctx).profiling.contexts.as_ref() {
                Some(contexts) => {
                    let root = contexts.root();
                    *machine.saved_context(machine.sp.sub(1)) = root;
                    let is_main = loaded.entry_source == SourceId::MAIN;
                    let first = if is_main {
                        root
                    } else {
                        contexts.enter(root, loaded.entry_source)
                    };
                    machine.publish(first);
                }
                None => machine.publish(loaded.entry_node),
            }
            let pc = machine.go(machine.pc);
            #[cfg(tail_dispatch)]
            debug_assert!(pc.is_null(), "handlers jump to one another until one stops");
            #[cfg(not(tail_dispatch))]
            {
                let mut pc = pc;
                while !pc.is_null() {
                    let Resume { ints, refs, sp, .. } = (*ctx).control.resume;
                    pc = ((*pc).op.handler)(pc, ints, refs, ctx.cast(), sp);
                }
            }
        }
    }

    fn start_ticker(&self) -> Result<Option<Ticker>, VmError> {
        match &self.config.profile {
            Some(profile) if profile.kinds().contains(Kind::Time) => {
                let (hz, source) = (profile.hz(), profile.tick_source());
                let ticker = Ticker::start_from(self.cell.clone(), hz, source);
                ticker
                    .map(Some)
                    .map_err(|error| VmError::Ticker(error.to_string()))
            }
            _ => Ok(None),
        }
    }

    fn publish_sink(&self) {
        // SAFETY: the sink lives as long as the machine, and no ticker runs between runs.
        unsafe { self.cell.publish(&*self.sink) };
    }

    /// After the heap has failed, objects may be half copied: the program is loaded anew over an
    /// empty heap, and so the machine can be used again.
    fn renew_heap(&mut self) -> Result<(), VmError> {
        let stats = self.ctx.heap.stats();
        let mut heap = Heap::new(self.config.heap).map_err(VmError::OutOfMemory)?;
        let config_of_load = LoadConfig {
            profile: self.config.profile.as_deref(),
            sink: &self.sink,
            counts_fuel: self.config.fuel.is_some(),
            fuses: self.config.fuses,
            has_census: self.config.census,
        };
        let module = self.program.module.clone();
        *self.program = load(module, config_of_load, &mut heap)?;
        heap.stats = stats;
        heap.census = self.ctx.heap.census.take();
        heap.attention = Arc::as_ptr(&self.attention);
        self.ctx.heap = heap;
        self.ctx.heap_is_new();
        self.ctx.roots.handles.clear();
        self.ctx.globals = self.program.globals.clone();
        self.ctx.roots.exception = Value::ZERO;
        self.ctx.control.broken = None;
        let unit = self.ctx.profiling.units.reloaded();
        // SAFETY: no run is going on, so no register will be used again and no frame is open.
        unsafe {
            self.ctx.stack.clear();
            // The code names the first unit's nodes again.
            let switched = switch_unit(&mut *self.ctx, std::ptr::null_mut(), unit);
            debug_assert!(switched.is_ok(), "the unit was current, so it is not freed");
        }
        Ok(())
    }

    /// The exception as text, and what was denied if it was raised for that.
    fn show_exception(&mut self) -> (String, Option<Denied>) {
        let exception = self.ctx.roots.exception;
        match show::record_int(exception, FAULT_TAG).and_then(Fault::from_code) {
            Some(Fault::HostFailed) => (Fault::HostFailed.to_string(), self.hosts.take_denied()),
            Some(fault) => (fault.to_string(), None),
            None => (show::show(exception), None),
        }
    }

    /// An error with its backtrace, one call a line.
    pub fn describe_error(&self, error: &RunError) -> String {
        let (message, backtrace) = match error {
            RunError::Uncaught {
                exception,
                denied,
                backtrace,
            } => {
                let denied = denied.as_ref().map(|denied| format!(": {denied}"));
                let denied = denied.unwrap_or_default();
                (
                    format!("uncaught exception: {exception}{denied}"),
                    backtrace,
                )
            }
            RunError::Trap { trap, backtrace } => (trap.to_string(), backtrace),
            RunError::Setup(error) => return format!("{error}\n"),
        };
        let mut text = format!("{message}\n");
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
