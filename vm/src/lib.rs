//! The Tally virtual machine.

pub mod host;
pub mod isa;
pub mod module;
pub mod verify;

pub use profiler;
