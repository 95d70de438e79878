//! Memory profiles: what `--profile mem` and `--profile heap` collect, their file and their report.
//!
//! - [`MemoryProfile`] holds estimates by call stack of what was allocated, is alive, was alive at
//!   the peak, was promoted and was short-lived. The VM feeds it the blocks of which a word was
//!   sampled.
//! - [`HeapProfile`] holds exact figures by source, which the VM counts itself.
//! - [`MemoryFile`] is one file that holds either or both, with all names in it.
//! - [`report`] writes the tables.
//!
//! Sizes in words and bytes include the header of each block.

mod file;
mod heap;
mod profile;
pub mod report;
mod team;

pub(crate) use file::MEMORY_FILE_START;
pub use file::{AbsorbError, MemoryCall, MemoryFile, MemoryHeader, MemorySite, MemorySource};
pub use heap::{HeapProfile, HeapRow, MAX_SURVIVED};
pub use profile::{CallFigures, Measure, MemoryProfile};
pub use team::{MemorySeat, MemoryTeam};
