//! `mlmon.out`: the file that MLton's profiler writes and `mlprof` reads.
//!
//! ```text
//! file    = "MLton prof" NL kind NL style NL magic NL totals NL sources names
//! kind    = "alloc" | "count" | "time"
//! style   = "current" | "stack"
//! magic   = "0x" 8 hexadecimal digits
//! totals  = total SPACE total-gc
//! sources = N NL, then N lines: row     (one for each split source)
//! names   = N NL, then N lines: row     (one for each master source)
//! row     = current                                (in current style)
//!         | current SPACE stack SPACE stack-gc     (in stack style)
//! ```
//!
//! All numbers are unsigned decimal and every line ends in a newline. The unit is ticks, bytes or
//! calls, by kind. `total` is what the program counted and `total-gc` what the collector counted
//! on its own account. `current` counts while the source was running, `stack` the program's part
//! of what was counted while the source was on the stack, `stack-gc` the collector's part.

mod read;
mod write;

use crate::{Kind, Style};

pub use crate::files::{MAX_FILE_BYTES, ReadError};

/// The first line of every `mlmon.out`.
pub(crate) const HEADER: &str = "MLton prof";

/// The contents of one `mlmon.out`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mlmon {
    /// What was counted.
    pub kind: Kind,
    /// Which columns of the rows are in use.
    pub style: Style,
    /// The magic of the program that was profiled.
    pub magic: u32,
    /// The sums.
    pub totals: Totals,
    /// One row for each split source.
    pub sources: Vec<CountRow>,
    /// One row for each master source.
    pub names: Vec<CountRow>,
}

/// The sums of a profile, in ticks, bytes or calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What the program counted, without `total_gc`.
    pub total: u64,
    /// What the collector counted on its own account: the current count of `<gc>`.
    pub total_gc: u64,
}

/// The counts of one source, in ticks, bytes or calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountRow {
    /// While the source was running.
    pub current: u64,
    /// While the source was on the stack, without GC. Zero in current style.
    pub stack: u64,
    /// In GC while the source was on the stack. Zero in current style.
    pub stack_gc: u64,
}
