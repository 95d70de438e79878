//! The interpreter: handlers that jump from one to the next over threaded code.
//!
//! | module | what it holds |
//! |---|---|
//! | `word` | threaded code and control frames |
//! | `stack` | the memory of registers and frames |
//! | `machine` | the registers, and the ways on from a handler |
//! | `handlers` | the handlers, by topic |
//! | `slow` | collections, exceptions, attention |
//! | `host_call` | calls of host functions |
//! | `trace` | backtraces |
//!
//! The interpreter never asks whether a profile is taken: the loader writes other handlers.

pub(crate) mod fault;
pub(crate) mod handlers;
mod host_call;
pub(crate) mod machine;
pub(crate) mod slow;
pub(crate) mod stack;
pub(crate) mod trace;
pub(crate) mod word;

use std::fmt;

use crate::heap::OutOfMemory;

/// The bit of the attention word that asks for a snapshot. The lowest eight hold the number of a
/// signal that asks for the end.
pub(crate) const SNAPSHOT: u32 = 1 << 8;

/// Why a run ended, as the machine sees it.
#[derive(Debug)]
pub(crate) enum Exit {
    /// The function that the run started with returned.
    Returned,
    /// A host function asked for the end, with this exit code.
    Code(u8),
    /// Nobody handled the exception in `ctx.exception`.
    Uncaught(trace::Backtrace),
    /// The machine could not go on.
    Trap(Trap, trace::Backtrace),
}

/// What a program cannot handle: the run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trap {
    /// The register stack is full.
    StackOverflow {
        /// The limit.
        limit_bytes: usize,
    },
    /// The heap is full.
    OutOfMemory(OutOfMemory),
    /// All fuel is used up.
    OutOfFuel,
    /// Somebody asked for the end: a signal's number, or what the embedder passed.
    Interrupted(u8),
    /// A host function cannot do its work, and says why.
    Host(String),
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StackOverflow { limit_bytes } => {
                write!(
                    f,
                    "stack overflow: the limit is {limit_bytes} bytes of registers"
                )
            }
            Self::OutOfMemory(error) => error.fmt(f),
            Self::OutOfFuel => f.write_str("out of fuel"),
            Self::Interrupted(signal) => write!(f, "interrupted by signal {signal}"),
            Self::Host(message) => f.write_str(message),
        }
    }
}
