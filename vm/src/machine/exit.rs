//! Why a run cannot go on, and why it has ended.

use std::fmt;

use super::{Backtrace, Fault, PanicPayload};
use crate::heap::OutOfMemory;

/// What keeps a machine from going on with the next op: the one outcome of all slow work.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// An exception that the program may handle.
    Fault(Fault),
    /// The exception among the roots, which the program may handle.
    Raise,
    /// The run ends.
    Trap(Trap),
    /// The program wants the end, with this exit code.
    ExitCode(u8),
    /// The run ends, as a call back that a host function has made.
    Ended(Trap, Backtrace),
    /// The fuel is used up, and the run may go on with more.
    Pause,
}

impl From<OutOfMemory> for Obstacle {
    fn from(error: OutOfMemory) -> Self {
        Self::Trap(Trap::OutOfMemory(error))
    }
}

/// Why a run ended, as the machine sees it.
#[derive(Debug)]
pub(crate) enum Exit {
    /// The function that the run started with returned.
    Returned,
    /// A host function asked for the end, with this exit code.
    Code(u8),
    /// The fuel is used up, and the run may go on with more.
    Paused,
    /// Nobody handled the exception in `ctx.exception`.
    Uncaught(Backtrace),
    /// The machine could not go on.
    Trap(Trap, Backtrace),
    /// Code of the embedder's has panicked, and whoever called the machine is to know.
    Panicked(PanicPayload),
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

impl std::error::Error for Trap {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::OutOfMemory(error) => Some(error),
            _ => None,
        }
    }
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
