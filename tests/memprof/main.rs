//! Memory profiles: the sampler against an oracle, trackers from Rust and from programs.
//!
//! `docs/memory.md` numbers the rules of `Gc.Memprof`; tests name those that they check.

#[path = "../support/mod.rs"]
mod support;

#[path = "../reference/smith/mod.rs"]
#[allow(dead_code, reason = "programs are not shrunk here")]
mod smith;

mod budgets;
mod chaos;
mod counts;
mod oracle;
mod profiles;
mod programs;
mod random;
mod recorder;
mod traps;
mod walk;
