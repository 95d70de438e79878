//! Memory profiles: the sampler against an oracle, trackers from Rust and from programs.
//!
//! `docs/memory.md` numbers the rules of `Gc.Memprof`; tests name those that they check.

#[path = "../support/mod.rs"]
mod support;

mod oracle;
mod programs;
mod recorder;
