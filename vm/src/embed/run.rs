//! Calls of functions from outside, and runs that pause.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use profiler::{Kind, SourceId, Ticker};

use super::Vm;
use crate::border::{
    CallError, Giver, ObjectError, Outcome, Progress, Reach, RunError, Taker, enter,
};
use crate::isa::Signature;
use crate::machine::{Context, Exit, Machine, PanicPayload, Resume, SIGNAL_BITS, Trap};
use crate::safepoint::{callbacks, census_at_end};
use crate::verify::VerifiedModule;
use enter::{Call, callee};

/// A run whose fuel is used up.
pub(super) struct Paused {
    call: Call,
    /// At the word that has found no fuel.
    at: Resume,
}

// SAFETY: the place is one in the stacks and the code of the machine that the run belongs to.
unsafe impl Send for Paused {}

/// An attention word by which nobody asks for anything.
static CALM: AtomicU32 = AtomicU32::new(0);

/// What came of a call.
enum Ended<T> {
    Returned(T),
    Otherwise(Progress),
}

impl Ended<Vec<i64>> {
    fn progress(self) -> Progress {
        match self {
            Self::Returned(ints) => Progress::Ended(Outcome::Returned(ints)),
            Self::Otherwise(progress) => progress,
        }
    }
}

impl Vm {
    /// Runs the entry function.
    ///
    /// # Errors
    /// When an exception is not handled, or the machine cannot go on.
    pub fn run(&mut self) -> Result<Outcome, RunError> {
        let entry = self.program.module.entry;
        self.call(entry, &[])
    }

    /// Calls a function that takes integers only, by its index in the module, and gives the
    /// integers that it returns. [`Access::typed`](crate::Access::typed) and
    /// [`Access::invoke`](crate::Access::invoke) are for functions that take or give anything else.
    ///
    /// # Errors
    /// As for [`Vm::run`], and [`RunError::Call`] when the function cannot be called like this.
    ///
    /// # Panics
    /// When code of the embedder's panics that the run calls: a host function, a tracker, an action
    /// for snapshots. The panic is carried across the machine, which can be used again; after one
    /// in a tracker the heap is renewed first, as after a collection that has failed.
    pub fn call(&mut self, function: u32, ints: &[i64]) -> Result<Outcome, RunError> {
        let call = self.call_of_ints(function, ints)?;
        let give = |giver: &mut Giver| give_ints(giver, ints);
        let take = |taker: &mut Taker| Ok(take_ints(taker, call.signature));
        match self.start(call, None, give, take)?.progress() {
            Progress::Ended(outcome) => Ok(outcome),
            Progress::Paused => unreachable!("a run pauses only where it may"),
        }
    }

    /// As [`Vm::call`], with a budget for this call. When the fuel is used up, the run is
    /// [`Progress::Paused`]: [`Vm::resume`] goes on with the run, and any other call gives it up.
    /// An op that takes much fuel is finished first, and its fuel is owed. A run cannot pause while
    /// a host function calls back: there it ends with [`Trap::OutOfFuel`](crate::Trap::OutOfFuel).
    ///
    /// # Errors
    /// As for [`Vm::call`], or when the machine counts no fuel.
    pub fn call_with_fuel(
        &mut self,
        function: u32,
        ints: &[i64],
        fuel: u64,
    ) -> Result<Progress, RunError> {
        if self.config.fuel.is_none() {
            return Err(RunError::Call(CallError::NoFuel));
        }
        let call = self.call_of_ints(function, ints)?;
        let give = |giver: &mut Giver| give_ints(giver, ints);
        let take = |taker: &mut Taker| Ok(take_ints(taker, call.signature));
        Ok(self.start(call, Some(fuel), give, take)?.progress())
    }

    /// Goes on with the run that is paused, with more fuel. If that does not pay what the run owes,
    /// it stays paused.
    ///
    /// # Errors
    /// As for [`Vm::call`], or when no run is paused.
    pub fn resume(&mut self, fuel: u64) -> Result<Progress, RunError> {
        if self.ctx.control.broken.is_some() {
            // The objects of the run are gone.
            self.renew_heap().map_err(CallError::OutOfMemory)?;
        }
        let Some(Paused { call, at }) = self.paused.take() else {
            return Err(RunError::Call(CallError::NotPaused));
        };
        let control = &mut self.ctx.control;
        control.fuel = control.fuel.saturating_add_unsigned(fuel);
        if control.fuel < 0 {
            self.paused = Some(Paused { call, at });
            return Ok(Progress::Paused);
        }
        let ticker = match self.start_ticker() {
            Ok(ticker) => ticker,
            Err(error) => {
                self.paused = Some(Paused { call, at });
                return Err(error.into());
            }
        };
        self.ctx.control.can_pause = true;
        // SAFETY: the run stands where it was paused, at a word that has been paid for.
        unsafe {
            if let Some(node) = self.ctx.profiling.outer_nodes.pop() {
                self.cell.publish(node);
            }
            let mut m = Machine::new(at, &raw mut *self.ctx);
            m.pc = m.pc.add(1);
            enter::go(m);
        }
        let take = |taker: &mut Taker| Ok(take_ints(taker, call.signature));
        Ok(self.finish(call, ticker, take)?.progress())
    }

    /// Whether a run is paused.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some() && self.ctx.control.broken.is_none()
    }

    /// Says how much fuel each call from now on may use, those of [`Vm::call_with_fuel`] excepted.
    ///
    /// # Errors
    /// When the machine counts no fuel.
    pub fn set_fuel(&mut self, fuel: u64) -> Result<(), CallError> {
        let budget = self.config.fuel.as_mut().ok_or(CallError::NoFuel)?;
        *budget = fuel;
        Ok(())
    }

    /// Gives up the run that is paused, if one is.
    pub fn give_up(&mut self) {
        if self.paused.take().is_some() {
            self.ctx.profiling.outer_nodes.pop();
            // SAFETY: the run will not go on, and its program is still there.
            unsafe { callbacks::end_run(&raw mut *self.ctx) };
        }
    }

    /// A call of a function with these integers, when it can be called so.
    fn call_of_ints(&self, function: u32, ints: &[i64]) -> Result<Call, CallError> {
        let callee = callee(&self.program.module, function)?;
        let signature = callee.signature;
        if ints.len() != signature.int_params as usize || signature.ref_params > 0 {
            return Err(CallError::Signature {
                function: callee.name.clone(),
                wanted: Signature {
                    int_params: u8::try_from(ints.len()).unwrap_or(u8::MAX),
                    ref_params: 0,
                    ..signature
                },
                offered: signature,
            });
        }
        Ok(Call {
            function,
            signature,
            is_closure: false,
        })
    }

    /// Calls a function from empty stacks. With `fuel` the run may pause.
    fn start<T>(
        &mut self,
        call: Call,
        fuel: Option<u64>,
        give: impl FnOnce(&mut Giver) -> Result<(), ObjectError>,
        take: impl FnOnce(&mut Taker) -> Result<T, ObjectError>,
    ) -> Result<Ended<T>, RunError> {
        self.give_up();
        if self.ctx.control.broken.is_some() {
            self.renew_heap().map_err(CallError::OutOfMemory)?;
        }
        // A panic may have left some there.
        self.ctx.roots.passing.clear();
        let window = self.idle_machine();
        if call.signature.ref_params == 0 && !call.is_closure {
            let machine = window;
            let ints = window.ints;
            give(&mut Giver { machine, ints })?;
        } else {
            let given = self.allocating(|machine| {
                let ints = window.ints;
                give(&mut Giver { machine, ints })
            });
            if given.is_err() {
                self.ctx.roots.passing.clear();
            }
            given?;
            // SAFETY: as many references were given as the function takes.
            unsafe { enter::pass(window, 0) };
        }
        let budget = fuel.or(self.config.fuel);
        self.ctx.control.fuel = budget.map_or(i64::MAX, |fuel| fuel.min(i64::MAX as u64) as i64);
        self.ctx.control.can_pause = fuel.is_some();
        let ticker = self.start_ticker()?;
        if std::mem::take(&mut self.is_output_hurried) {
            self.hosts.io().watch(self.attention.clone());
        }
        // What an earlier run handled is not what this one does not handle.
        self.hosts.take_reason();
        // SAFETY: the stacks are empty, and the first frame has room for all registers. The
        // context, the program and the profile's nodes live as long as `self`.
        unsafe { enter::run(window, None, call.function) };
        self.finish(call, ticker, take)
    }

    /// Sees to the end of a run, and gives what came of it.
    fn finish<T>(
        &mut self,
        call: Call,
        ticker: Option<Ticker>,
        take: impl FnOnce(&mut Taker) -> Result<T, ObjectError>,
    ) -> Result<Ended<T>, RunError> {
        let ctx = &raw mut *self.ctx;
        let exit = std::mem::replace(&mut self.ctx.control.exit, Exit::Returned);
        self.ctx.control.can_pause = false;
        let has_returned = matches!(exit, Exit::Returned);
        let is_paused = matches!(exit, Exit::Paused);
        // Taken, shown and held before the heap is collected: that may fail, and leave nothing.
        let result = match exit {
            Exit::Panicked(payload) => Err(payload),
            // SAFETY: the function has returned, and its results stand in its registers.
            Exit::Returned => Ok(unsafe { take(&mut enter::results(ctx)) }
                .map(Ended::Returned)
                .map_err(RunError::from)),
            // SAFETY: the context is this machine's.
            exit => Ok(unsafe { enter::outcome(ctx, &mut self.hosts, exit) }.map(Ended::Otherwise)),
        };
        if let Ok(Err(RunError::Trap {
            trap: Trap::Interrupted(signal),
            ..
        })) = &result
        {
            // What is left of the output must not wait for a reader that never comes.
            let raised = AtomicU32::new((*signal).into());
            self.hosts.io().watch(Arc::new(raised));
            self.is_output_hurried = true;
        }
        let mut told = Ok(());
        let mut written = Ok(());
        if is_paused {
            let at = self.ctx.control.resume;
            self.ctx.profiling.outer_nodes.push(self.cell.current());
            self.paused = Some(Paused { call, at });
        } else {
            told = self.end_run(call.function, has_returned);
            let was_interrupted = matches!(
                result,
                Ok(Err(RunError::Trap {
                    trap: Trap::Interrupted(_),
                    ..
                }))
            );
            written = self.hosts.write_out(&self.attention, was_interrupted);
            if !self.is_interrupt_shared && self.attention.load(Relaxed) != 0 {
                self.attention.fetch_and(!SIGNAL_BITS, Relaxed);
            }
        }
        if let Some(ticker) = ticker {
            self.tick_rate = Some(ticker.rate());
            self.ctx.profiling.units.settle_time(&self.cell);
        }
        self.publish_sink();
        match (result, told) {
            // The run's own panic came first.
            (Err(payload), _) | (_, Err(payload)) => resume_unwind(payload),
            (Ok(result), Ok(())) => match (result, written) {
                // What ended the run otherwise came first.
                (Ok(_), Err(message)) => Err(RunError::Trap {
                    trap: Trap::Host(message),
                    backtrace: Box::default(),
                }),
                (result, _) => result,
            },
        }
    }

    /// Finds out what is alive at the end of a run, if somebody wants to know, and leaves the
    /// machine as one that does not run. Gives what a tracker has panicked with.
    fn end_run(&mut self, function: u32, has_returned: bool) -> Result<(), PanicPayload> {
        let entry = self.program.function(function).entry;
        let ctx = &raw mut *self.ctx;
        // SAFETY: the run is over, and its program has not been replaced.
        let told = catch_unwind(AssertUnwindSafe(|| unsafe {
            census_at_end(ctx, has_returned.then_some(entry));
        }));
        // SAFETY: as above.
        unsafe { callbacks::end_run(ctx) };
        told
    }

    fn start_ticker(&self) -> Result<Option<Ticker>, CallError> {
        match &self.config.profile {
            Some(profile) if profile.kinds().contains(Kind::Time) => {
                let (hz, source) = (profile.hz(), profile.tick_source());
                let ticker = Ticker::start_from(self.cell.clone(), hz, source);
                ticker
                    .map(Some)
                    .map_err(|error| CallError::Ticker(error.to_string()))
            }
            _ => Ok(None),
        }
    }

    /// The machine with empty stacks.
    fn idle_machine(&mut self) -> Machine {
        let stack = &self.ctx.stack;
        let place = Resume {
            pc: self.program.halt(),
            ints: stack.first_ints(),
            refs: stack.first_refs(),
            sp: stack.first_frame(),
        };
        Machine::new(place, &raw mut *self.ctx)
    }

    /// The node that is charged for what Rust allocates between runs.
    fn outside_node(&self) -> *const profiler::Node {
        let profiling = &self.ctx.profiling;
        // SAFETY: the unit that is current lives on.
        match unsafe { profiling.contexts.as_ref() } {
            Some(contexts) => contexts.enter(contexts.root(), SourceId::UNKNOWN),
            None => match profiling.units.own(profiling.units.current()) {
                Some(data) => data.node(SourceId::UNKNOWN),
                None => &*self.sink,
            },
        }
    }
}

fn give_ints(giver: &mut Giver, ints: &[i64]) -> Result<(), ObjectError> {
    ints.iter().for_each(|&int| giver.int(int));
    Ok(())
}

fn take_ints(taker: &mut Taker, signature: Signature) -> Vec<i64> {
    (0..signature.int_results).map(|_| taker.int()).collect()
}

impl Reach for Vm {
    fn alive(&self) -> Result<*mut Context, ObjectError> {
        match self.ctx.heap_failure() {
            Some(error) => Err(error.into()),
            None => Ok(std::ptr::from_ref(&*self.ctx).cast_mut()),
        }
    }

    fn allocating<T>(
        &mut self,
        work: impl FnOnce(Machine) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        if self.ctx.control.broken.is_some() {
            self.renew_heap()?;
        }
        let mut machine = self.idle_machine();
        if let Some(paused) = &self.paused {
            machine = machine.at(paused.at);
        }
        let node = self.outside_node();
        let ctx = &mut *self.ctx;
        // Whoever asks for an end asks it of a run.
        ctx.control.attention = &raw const CALM;
        ctx.heap.attention = &raw const CALM;
        let fuel = std::mem::replace(&mut ctx.control.fuel, i64::MAX);
        let was_suspended = ctx.profiling.memprof.is_suspended();
        if !was_suspended {
            ctx.profiling.memprof.suspend(&mut ctx.heap);
        }
        // SAFETY: the node is one of a unit that lives on, and no ticker runs between runs.
        unsafe { self.cell.publish(node) };
        let result = catch_unwind(AssertUnwindSafe(|| work(machine)));
        self.publish_sink();
        let ctx = &mut *self.ctx;
        if !was_suspended {
            ctx.profiling.memprof.resume(&mut ctx.heap);
        }
        ctx.control.fuel = fuel;
        ctx.control.attention = Arc::as_ptr(&self.attention);
        ctx.heap.attention = ctx.control.attention;
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    fn enter<T>(
        &mut self,
        call: Call,
        give: impl FnOnce(&mut Giver) -> Result<(), ObjectError>,
        take: impl FnOnce(&mut Taker) -> Result<T, ObjectError>,
    ) -> Result<T, RunError> {
        match self.start(call, None, give, take)? {
            Ended::Returned(result) => Ok(result),
            Ended::Otherwise(Progress::Ended(Outcome::ExitCode(code))) => Err(RunError::Exit(code)),
            Ended::Otherwise(_) => unreachable!("a run pauses only where it may"),
        }
    }

    fn verified(&self) -> &VerifiedModule {
        self.module()
    }
}
