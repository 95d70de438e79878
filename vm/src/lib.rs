//! The Tally virtual machine: instruction set, module files, verifier, loader, interpreter, heap.
//!
//! Modules stand in one line: each uses those above it in this list only.
//!
//! - [`isa`]: the instruction set, one table and what is derived from it.
//! - [`module`]: `.bc` files.
//! - [`verify`](mod@verify): what must hold before code may run.
//! - `heap`: objects and their collector.
//! - `code`: what threaded code is.
//! - `objects`: values as data.
//! - `units`: units of profile data.
//! - [`memprof`]: memory profiles.
//! - `machine`: registers, stacks, and the context they run in.
//! - `safepoint`: what happens between two ops.
//! - `interp`: the handlers.
//! - `load`: verified modules to threaded code.
//! - [`host`]: what programs can ask of the world.
//! - `border`: what goes across between Rust and programs.
//! - `embed`: [`Vm`], a machine with a program, from Rust.

pub mod isa;

pub mod module;

pub mod verify;

mod heap;

mod code;

mod objects;

mod units;

pub mod memprof;

mod machine;

mod safepoint;

mod interp;

mod load;

pub mod host;

mod border;

mod embed;

pub use border::{
    Access, Argument, CallError, FromProgram, HostClosure, HostResult, Kind, ObjectError, Outcome,
    Progress, RunError, ToProgram, TypedFunction, Value,
};
pub use code::Location;
pub use embed::{HoldError, Interrupt, Program, ProgramError, Vm, VmConfig, VmError};
pub use heap::{GcStress, HeapConfig, HeapStats, OutOfMemory};
pub use machine::{Backtrace, FAULT_TAG, Fault, Root, RootError, Snapshot, Trap};
pub use objects::{Datum, ObjectData, ReadBack};
pub use units::{Unit, UnitError, profile_path};
