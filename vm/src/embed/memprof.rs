//! Memory profiles from Rust.

use std::rc::Rc;

use profiler::memory::MemoryFile;
use profiler::sampling::CallId;

use super::Vm;
use crate::machine::Context;
use crate::memprof::{Adder, CallStack, Figures, MemprofConfig, MemprofError, ProfileId, Tracker};

impl Context {
    /// After the heap has been replaced: what was in it is gone.
    pub(crate) fn heap_is_new(&mut self) {
        self.profiling.memprof.heap_is_new(&mut self.heap);
    }
}

/// Memory profiles. They can be started and stopped between runs, and by programs while they run.
impl Vm {
    /// Starts a memory profile; it samples from the next word on.
    ///
    /// # Errors
    /// When the rate makes no sense, or an exclusive profile is asked for while one is sampling.
    pub fn memprof_start(
        &mut self,
        config: MemprofConfig,
        tracker: Box<dyn Tracker>,
    ) -> Result<ProfileId, MemprofError> {
        let ctx = &mut *self.ctx;
        ctx.profiling.memprof.start(&mut ctx.heap, config, tracker)
    }

    /// Stops a memory profile: it samples no more, but hears of its blocks until it is discarded.
    ///
    /// # Errors
    /// When it is not sampling.
    pub fn memprof_stop(&mut self, profile: ProfileId) -> Result<(), MemprofError> {
        let ctx = &mut *self.ctx;
        ctx.profiling.memprof.stop(&mut ctx.heap, profile)
    }

    /// Discards a memory profile that is stopped, with its tracker.
    ///
    /// # Errors
    /// When it is not stopped, or was discarded before.
    pub fn memprof_discard(&mut self, profile: ProfileId) -> Result<(), MemprofError> {
        let ctx = &mut *self.ctx;
        ctx.profiling.memprof.discard(&mut ctx.heap, profile)
    }

    /// Starts the profile whose figures are in [`Vm::memory_file`], if the machine is to have one.
    pub(crate) fn start_sampling(&mut self) -> Result<(), MemprofError> {
        if let Some(config) = self.config.sampling {
            let figures = Rc::new(Figures::new(config.rate, config.seed));
            self.memprof_start(config, Box::new(Adder(figures.clone())))?;
            self.ctx.profiling.figures = Some(figures);
        }
        Ok(())
    }

    /// The memory profile of the machine, for a program of this name: sampled figures, exact ones,
    /// or both, as its configuration asks. `None` when it asks for neither.
    pub fn memory_file(&self, program: &str) -> Option<MemoryFile> {
        self.ctx.memory_file(program)
    }

    /// Hands the machine's figures in to the memory profile that it has joined
    /// ([`VmConfig::memory_team`](crate::VmConfig::memory_team)), in place of earlier ones. A
    /// machine does so by itself when it is dropped.
    pub fn hand_in_memory(&self) {
        if let Some(seat) = &self.seat
            && let Some(file) = self.memory_file(&seat.name())
        {
            seat.hand_in(file);
        }
    }

    /// The number of the next word to be allocated: words that programs have allocated, without
    /// those of callbacks, and with memory outside the heap that they have accounted for.
    pub fn word_clock(&self) -> u64 {
        self.ctx.profiling.memprof.clock(&self.ctx.heap)
    }

    /// Bytes of memory that tracked blocks and their call stacks take just now.
    pub fn memprof_bytes(&self) -> usize {
        self.ctx.profiling.memprof.memory_bytes(&self.ctx.heap) + self.program.caught_bytes()
    }

    /// The calls of a call stack of this machine's.
    pub fn call_stack(&self, call: CallId) -> CallStack<'_> {
        CallStack {
            calls: &self.ctx.profiling.memprof.calls,
            program: &self.program,
            call,
            limit: usize::MAX,
        }
    }

    /// Does something within a budget of allocated words: the allocation that would take the first
    /// word beyond it raises [`Fault::BudgetExceeded`](crate::Fault::BudgetExceeded) instead, once.
    pub fn with_budget<T>(&mut self, words: u64, action: impl FnOnce(&mut Self) -> T) -> T {
        let end = self.word_clock().saturating_add(words);
        let ctx = &mut *self.ctx;
        let memprof = &mut ctx.profiling.memprof;
        memprof.open_budget(&mut ctx.heap, end, std::ptr::null_mut());
        let result = action(self);
        let ctx = &mut *self.ctx;
        let memprof = &mut ctx.profiling.memprof;
        memprof.close_budget(&mut ctx.heap, std::ptr::null_mut());
        result
    }
}
