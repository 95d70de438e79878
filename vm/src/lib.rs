//! The Tally virtual machine: instruction set, module files, verifier, loader, interpreter, heap.
//!
//! Modules stand in reading order:
//!
//! - [`isa`]: the instruction set, one table and what is derived from it.
//! - [`module`]: `.bc` files.
//! - [`verify`](mod@verify): what must hold before code may run.
//! - `load`: verified modules to threaded code.
//! - `interp`: the interpreter.
//! - `heap`: objects and their collector.
//! - [`host`]: what programs can ask of the world.
//! - [`Vm`]: a machine with a program, the embedding API.

pub mod isa;

pub mod module;

pub mod verify;

mod load;

mod interp;

mod heap;

pub mod host;

mod config;
mod embed;
mod memory;
pub mod memprof;
mod show;
mod units;

pub use config::{VmConfig, VmError};
pub use embed::inspect::{Datum, HoldError, ObjectData, ReadBack};
pub use embed::{Interrupt, Outcome, RunError, Vm};
pub use heap::{GcStress, HeapConfig, HeapStats, OutOfMemory};
pub use interp::Trap;
pub use interp::fault::{FAULT_TAG, Fault};
pub use interp::trace::Backtrace;
pub use load::Location;
pub use memory::Snapshot;
pub use profiler;
pub use units::{Unit, UnitError, profile_path};
