//! Backtraces: which calls were open when a run ended.

use crate::code::{Frame, Location, Pc, Program};

/// The most calls that a backtrace keeps at either end.
const KEPT: usize = 16;

/// The calls that were open, innermost first. Of a deep stack only the ends are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backtrace {
    /// The innermost calls.
    pub innermost: Vec<Location>,
    /// How many calls are left out in between.
    pub n_skipped: usize,
    /// The outermost calls, the outermost last.
    pub outermost: Vec<Location>,
}

impl Backtrace {
    /// The backtrace of a machine at `pc`.
    ///
    /// # Safety
    /// `first` is the run's first frame, and `sp` is above it.
    pub(crate) unsafe fn take(
        program: &Program,
        pc: Pc,
        first: *mut Frame,
        sp: *mut Frame,
    ) -> Self {
        // No call made the first frame, which returns to the word that ends the run.
        let n_levels = (sp as usize - first as usize) / size_of::<Frame>();
        let location = |level: usize| match level {
            0 => program.location(pc),
            // A return address is behind its call; the word before it belongs to the call.
            _ => {
                // SAFETY: the frame is one of those that were counted.
                let return_pc = unsafe { program.return_pc(sp.sub(level)) };
                program.location(return_pc.wrapping_sub(1))
            }
        };
        let n_skipped = n_levels.saturating_sub(2 * KEPT);
        let n_innermost = if n_skipped > 0 { KEPT } else { n_levels };
        Self {
            innermost: (0..n_innermost).filter_map(location).collect(),
            n_skipped,
            outermost: (n_innermost + n_skipped..n_levels)
                .filter_map(location)
                .collect(),
        }
    }
}
