//! What is fuzzed: functions of bytes, which must not panic whatever the bytes are. Tests call them
//! with inputs of a seeded generator (`tests/fuzz/main.rs`), the package `fuzz` with inputs that a
//! coverage-guided fuzzer has found. `docs/fuzzing.md` says how to run and extend them.

#![allow(
    unreachable_pub,
    dead_code,
    reason = "tests and the package `fuzz` each use their part"
)]

mod assembly;
mod edits;
mod examples;
mod input;
mod machine;
mod module;
mod profiles;
mod session;
#[path = "../../support/shapes.rs"]
mod shapes;
mod trouble;
mod ways;

pub use examples::EXAMPLES;
#[cfg(test)]
pub use machine::run_everywhere;

/// Something that takes bytes from anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called on the command line and in `tests/fuzz/found`.
    pub name: &'static str,
    /// Works on an input; whether the input made sense, so that the real work was done.
    pub run: fn(&[u8]) -> bool,
    /// Inputs to begin with, made of the examples.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words to put into inputs.
    pub words: fn() -> Vec<String>,
}

/// All targets.
pub const TARGETS: [Target; 5] = [
    Target {
        name: "module",
        run: module::run,
        seeds: module::seeds,
        words: Vec::new,
    },
    Target {
        name: "machine",
        run: machine::run,
        seeds: machine::seeds,
        words: assembly::words,
    },
    Target {
        name: "assembly",
        run: assembly::run,
        seeds: assembly::seeds,
        words: assembly::words,
    },
    Target {
        name: "profiles",
        run: profiles::run,
        seeds: profiles::seeds,
        words: profiles::words,
    },
    Target {
        name: "session",
        run: session::run,
        seeds: session::seeds,
        words: session::words,
    },
];

impl Target {
    /// The target of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }
}
