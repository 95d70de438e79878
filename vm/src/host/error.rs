//! Why a host function does not return, and why a program cannot have the one it wants.

use std::error::Error;
use std::fmt;

use super::{Denied, standard};
use crate::heap::OutOfMemory;
use crate::isa::Signature;
use crate::machine::{Backtrace, Fault, Obstacle, Root, Trap};

/// Why a host function does not return to the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostError {
    /// The request makes no sense: the program gets a fault that it can handle.
    Failed,
    /// The same, with a message for who runs the program, if the program does not handle the fault.
    Message(String),
    /// The policy does not allow it: the program gets the same fault, and who runs it is told what
    /// was denied, if the program does not handle it.
    Denied(Denied),
    /// The program gets this object as an exception.
    Raise(Root),
    /// The run ends with this exit code.
    Exit(u8),
    /// Input or output failed: the run ends with this message.
    Io(String),
    /// A result would exceed an allocation budget: the program gets a fault that it can handle.
    BudgetExceeded,
    /// There is no memory for a result.
    OutOfMemory(OutOfMemory),
    /// A signal asks for the end of the run.
    Interrupted(u8),
    /// The work costs more fuel than there is: the run ends.
    OutOfFuel,
    /// A call back has ended like this, and so does the run.
    Ended(Box<(Trap, Backtrace)>),
}

impl HostError {
    /// The failure of something else, with its message and those of its sources.
    pub fn other(error: impl Error) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            text.push_str(&format!(": {error}"));
            source = error.source();
        }
        Self::Message(text)
    }

    /// What keeps the machine from going on. [`HostError::Raise`] is for the caller to see to.
    pub(crate) fn obstacle(self) -> Obstacle {
        match self {
            Self::Failed | Self::Message(_) | Self::Denied(_) => Obstacle::Fault(Fault::HostFailed),
            Self::Raise(_) => Obstacle::Raise,
            Self::BudgetExceeded => Obstacle::Fault(Fault::BudgetExceeded),
            Self::Exit(code) => Obstacle::ExitCode(code),
            Self::Io(message) => Obstacle::Trap(Trap::Host(message)),
            Self::OutOfMemory(error) => Obstacle::from(error),
            Self::Interrupted(signal) => Obstacle::Trap(Trap::Interrupted(signal)),
            Self::OutOfFuel => Obstacle::Trap(Trap::OutOfFuel),
            Self::Ended(end) => Obstacle::Ended(end.0, end.1),
        }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed => Fault::HostFailed.fmt(f),
            Self::Message(message) | Self::Io(message) => f.write_str(message),
            Self::Denied(denied) => denied.fmt(f),
            Self::Raise(_) => f.write_str("an exception is raised"),
            Self::Exit(code) => write!(f, "the program ended with exit code {code}"),
            Self::BudgetExceeded => Fault::BudgetExceeded.fmt(f),
            Self::OutOfMemory(error) => error.fmt(f),
            Self::Interrupted(signal) => Trap::Interrupted(*signal).fmt(f),
            Self::OutOfFuel => Trap::OutOfFuel.fmt(f),
            Self::Ended(end) => end.0.fmt(f),
        }
    }
}

impl Error for HostError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Denied(denied) => Some(denied),
            Self::OutOfMemory(error) => Some(error),
            Self::Ended(end) => Some(&end.0),
            _ => None,
        }
    }
}

impl From<Denied> for HostError {
    fn from(denied: Denied) -> Self {
        Self::Denied(denied)
    }
}

impl From<Obstacle> for HostError {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::Fault(Fault::BudgetExceeded) => Self::BudgetExceeded,
            Obstacle::Fault(_) | Obstacle::Raise => Self::Failed,
            Obstacle::ExitCode(code) => Self::Exit(code),
            Obstacle::Trap(Trap::OutOfMemory(error)) => Self::OutOfMemory(error),
            Obstacle::Trap(Trap::Interrupted(signal)) => Self::Interrupted(signal),
            Obstacle::Trap(Trap::OutOfFuel) | Obstacle::Pause => Self::OutOfFuel,
            Obstacle::Trap(trap) => Self::Io(trap.to_string()),
            Obstacle::Ended(trap, backtrace) => Self::Ended(Box::new((trap, backtrace))),
        }
    }
}

/// Why a program cannot have a host function that it imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// None of this name is offered.
    Missing {
        /// The name.
        name: String,
        /// What the program wants.
        wanted: Signature,
    },
    /// The one that is offered has another signature.
    Mismatch {
        /// The name.
        name: String,
        /// What the program wants.
        wanted: Signature,
        /// What is offered.
        offered: Signature,
    },
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name, wanted } => {
                write!(
                    f,
                    "no host function is named `{name}`; the program wants {wanted}"
                )
            }
            Self::Mismatch {
                name,
                wanted,
                offered,
            } => {
                let offered = standard::shown(name, *offered);
                write!(f, "the host function `{name}` is {offered}, not {wanted}")
            }
        }
    }
}

impl Error for LinkError {}
