//! The ledger of Tally: who is charged for every call, byte and tick, and how that is written
//! down, read again and reported.
//!
//! The crate follows MLton's profiler and knows nothing of bytecode, values or the heap:
//!
//! - [`SourceMap`] says what can be charged: the sources of a program.
//! - [`Profile`] holds the counters. The VM charges a [`Node`]; it publishes the node that is
//!   current in a [`CurrentCell`], where the [`Ticker`]'s signal handler finds it.
//! - [`ProfileData`] is one set of counters: a node for each source or, in stack style, a tree of
//!   calling contexts, from which all columns of MLton's reports follow.
//! - [`mlmon`] reads and writes the profile file, `mlmon.out`.
//! - [`report`] is `mlprof`: tables and call graphs.
//! - [`sampling`] decides which words of the heap are sampled, names call stacks by numbers, and
//!   turns what was seen into estimates.
//! - [`memory`] holds profiles of memory, sampled and exact, with their file and their report.
//!
//! ```
//! use profiler::{Kind, Profile, SourceId};
//!
//! let profile = Profile::new("alloc,count".parse().unwrap(), 3);
//! profile.node(SourceId::MAIN).charge_bytes(24);
//! profile.gc_node().charge_bytes(64);
//! let totals = profile.data().counts(Kind::Alloc).totals;
//! assert_eq!((totals.total, totals.total_gc), (24, 64));
//! ```
//!
//! In stack style a charge also counts for every source that has been entered and not left:
//!
//! ```
//! use profiler::{Kind, Profile, SourceId, Style};
//!
//! let profile = Profile::new(Kind::Alloc.into(), 5).with_style(Style::Stack);
//! let data = profile.data();
//! let [f, g] = [SourceId(3), SourceId(4)];
//! let in_f = data.enter(data.root(), f);
//! data.enter(in_f, g).charge_bytes(24);
//! data.enter(in_f, SourceId::GC).charge_bytes(64);
//! let row = data.counts(Kind::Alloc).rows[f.index()];
//! assert_eq!((row.current, row.stack, row.stack_gc), (0, 24, 64));
//! ```

mod columns;
mod context;
mod cpu_time;
mod data;
mod files;
mod filter;
mod kind;
mod lines;
mod members;
pub mod memory;
pub mod mlmon;
mod node;
mod profile;
pub mod report;
pub mod sampling;
mod show_sources;
mod source;
mod ticker;
mod units;

pub use context::ContextConfig;
pub use data::{Counts, ProfileData, SizeMismatch};
pub use filter::{FilterError, SourceFilter};
pub use kind::{Kind, KindSet, Style, UnknownWord};
pub use lines::LineError;
pub use node::Node;
pub use profile::{DEFAULT_HZ, Profile, ProfileClaim, ProfileInUse};
pub use show_sources::parse_show_sources;
pub use source::{
    FIXED_NAMES, NameId, Source, SourceId, SourceMap, SourceMapBuilder, SourceMapError, SourceSeqId,
};
pub use ticker::{CurrentCell, MAX_HZ, ManualTicks, Rate, TickSource, Ticker, TickerError};
pub use units::Translator;
