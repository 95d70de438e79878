//! What a machine shows of its profiles while it runs.

use profiler::ProfileData;
use profiler::memory::MemoryFile;

use super::Context;
use crate::memprof::MemoryParts;

/// What an embedder does when a snapshot is asked for.
pub(crate) type SnapshotAction = Box<dyn FnMut(&Snapshot<'_>) + Send>;

/// What a machine knows at the moment of a snapshot.
#[derive(Clone, Copy)]
pub struct Snapshot<'a> {
    ctx: &'a Context,
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

impl<'a> Snapshot<'a> {
    pub(crate) fn of(ctx: &'a Context) -> Self {
        Self { ctx }
    }

    /// The current unit of profile data; `None` without a profile.
    pub fn data(&self) -> Option<&'a ProfileData> {
        let units = &self.ctx.profiling.units;
        units.data(units.current()).ok().flatten()
    }

    /// The memory profile of a program of this name; `None` when none is taken.
    pub fn memory_file(&self, program: &str) -> Option<MemoryFile> {
        self.ctx.memory_file(program)
    }
}

impl Context {
    /// The memory profile as it is now, for a program of this name.
    pub(crate) fn memory_file(&self, program: &str) -> Option<MemoryFile> {
        let parts = MemoryParts {
            // SAFETY: the program lives as long as the context.
            program: unsafe { &*self.program },
            heap: &self.heap,
            units: &self.profiling.units,
            memprof: &self.profiling.memprof,
            figures: self.profiling.figures.as_deref(),
        };
        parts.file(program)
    }
}
