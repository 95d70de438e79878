//! Why a call does not return, and why an object cannot be had.

use std::error::Error;
use std::fmt;

use crate::heap::OutOfMemory;
use crate::host::{Denied, HostError};
use crate::isa::Signature;
use crate::machine::{Backtrace, Fault, Obstacle, Root, RootError, Trap};

/// How a run ended that ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The function returned these integers (doubles as their bits).
    Returned(Vec<i64>),
    /// The program asked for the end, with this exit code.
    ExitCode(u8),
}

/// How far a run has come that may pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has ended well.
    Ended(Outcome),
    /// The fuel is used up, and the run can go on with more ([`Vm::resume`](crate::Vm::resume)).
    Paused,
}

/// How a run ended that did not end well. The machine can be used again.
///
/// Two are equal that say the same, whichever object was raised: it is one of another run.
#[derive(Clone, Debug)]
pub enum RunError {
    /// Nobody handled an exception.
    Uncaught {
        /// The exception, shown.
        exception: String,
        /// The exception itself.
        object: Option<Root>,
        /// What the host function was denied that raised it, if the policy did not allow it.
        denied: Option<Denied>,
        /// What the host function said that raised it, if it did.
        message: Option<String>,
        /// Where it was raised.
        backtrace: Box<Backtrace>,
    },
    /// The machine could not go on.
    Trap {
        /// Why.
        trap: Trap,
        /// Where.
        backtrace: Box<Backtrace>,
    },
    /// The program asked for the end with this exit code, where a result was wanted.
    Exit(u8),
    /// The call makes no sense.
    Call(CallError),
}

impl PartialEq for RunError {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Uncaught {
                    exception,
                    object: _,
                    denied,
                    message,
                    backtrace,
                },
                Self::Uncaught {
                    exception: its_exception,
                    object: _,
                    denied: its_denied,
                    message: its_message,
                    backtrace: its_backtrace,
                },
            ) => {
                exception == its_exception
                    && (denied, message) == (its_denied, its_message)
                    && backtrace == its_backtrace
            }
            (
                Self::Trap { trap, backtrace },
                Self::Trap {
                    trap: its_trap,
                    backtrace: its_backtrace,
                },
            ) => trap == its_trap && backtrace == its_backtrace,
            (Self::Exit(code), Self::Exit(its_code)) => code == its_code,
            (Self::Call(error), Self::Call(its_error)) => error == its_error,
            _ => false,
        }
    }
}

impl Eq for RunError {}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncaught {
                exception,
                denied,
                message,
                ..
            } => {
                write!(f, "uncaught exception: {exception}")?;
                if let Some(denied) = denied {
                    write!(f, ": {denied}")?;
                }
                if let Some(message) = message {
                    write!(f, ": {message}")?;
                }
                Ok(())
            }
            Self::Trap { trap, .. } => trap.fmt(f),
            Self::Exit(code) => write!(f, "the program ended with exit code {code}"),
            Self::Call(error) => error.fmt(f),
        }
    }
}

impl Error for RunError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Uncaught { denied, .. } => denied.as_ref().map(|denied| denied as _),
            Self::Trap { trap, .. } => Some(trap),
            Self::Exit(_) => None,
            Self::Call(error) => Some(error),
        }
    }
}

/// Why a function cannot be called as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The program has no function of this index.
    NoFunction(u32),
    /// The program has no function of this name.
    NoFunctionNamed(String),
    /// The function is a closure's: it is called through closures.
    NeedsCaptures(String),
    /// The function has another signature than the caller wants.
    Signature {
        /// The function's name.
        function: String,
        /// What the caller's types make.
        wanted: Signature,
        /// What the function has.
        offered: Signature,
    },
    /// The function belongs to another program than the machine's.
    OtherProgram,
    /// The value that is called is no closure.
    NoClosure,
    /// An argument or a result cannot be handed over.
    Object(ObjectError),
    /// Host functions that call back are nested too deep.
    TooDeep {
        /// The limit.
        limit: u32,
    },
    /// The machine counts no fuel: [`VmConfig::fuel`](crate::VmConfig::fuel) is `None`.
    NoFuel,
    /// There is no paused run to go on with.
    NotPaused,
    /// There is no memory for a heap in place of one that has failed.
    OutOfMemory(OutOfMemory),
    /// The ticker of a time profile could not be started.
    Ticker(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFunction(index) => write!(f, "the program has no function {index}"),
            Self::NoFunctionNamed(name) => {
                write!(f, "the program has no function named `{name}`")
            }
            Self::NeedsCaptures(name) => {
                write!(f, "the function `{name}` is called through closures only")
            }
            Self::Signature {
                function,
                wanted,
                offered,
            } => write!(f, "the function `{function}` is {offered}, not {wanted}"),
            Self::OtherProgram => f.write_str("the function is one of another program"),
            Self::NoClosure => f.write_str("the value that is called is no closure"),
            Self::Object(error) => error.fmt(f),
            Self::TooDeep { limit } => {
                write!(f, "host functions call back more than {limit} deep")
            }
            Self::NoFuel => f.write_str("the machine was made to count no fuel"),
            Self::NotPaused => f.write_str("no run is paused"),
            Self::OutOfMemory(error) => error.fmt(f),
            Self::Ticker(message) => f.write_str(message),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Object(error) => Some(error),
            Self::OutOfMemory(error) => Some(error),
            _ => None,
        }
    }
}

impl From<CallError> for RunError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<ObjectError> for RunError {
    fn from(error: ObjectError) -> Self {
        Self::Call(CallError::Object(error))
    }
}

/// Why an object cannot be made or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectError {
    /// The handle cannot be used with this machine.
    Root(RootError),
    /// There is no memory for it.
    OutOfMemory(OutOfMemory),
    /// The object is of another kind.
    WrongKind {
        /// What is wanted.
        wanted: &'static str,
        /// What there is.
        found: &'static str,
    },
    /// There is no field or element of this index.
    NoField(usize),
    /// More than 255 fields of a class, or other captures than the closure's function has.
    WrongFields,
    /// 63 bits do not hold the number of an immediate.
    NoImmediate(i64),
    /// The bytes of a string are no UTF-8.
    NotUtf8,
    /// A number does not fit the Rust type.
    OutOfRange(i64),
    /// It would exceed an allocation budget of the program.
    BudgetExceeded,
    /// A signal asks for the end of the run.
    Interrupted(u8),
    /// There is no fuel for it.
    OutOfFuel,
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(error) => error.fmt(f),
            Self::OutOfMemory(error) => error.fmt(f),
            Self::WrongKind { wanted, found } => write!(f, "{wanted} is wanted, not {found}"),
            Self::NoField(index) => write!(f, "there is no field or element {index}"),
            Self::WrongFields => f.write_str("the object cannot have these fields"),
            Self::NoImmediate(number) => write!(f, "63 bits do not hold {number}"),
            Self::NotUtf8 => f.write_str("the string is no UTF-8"),
            Self::OutOfRange(number) => write!(f, "the Rust type does not hold {number}"),
            Self::BudgetExceeded => f.write_str("allocation budget exceeded"),
            Self::Interrupted(signal) => write!(f, "interrupted by signal {signal}"),
            Self::OutOfFuel => f.write_str("out of fuel"),
        }
    }
}

impl Error for ObjectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Root(error) => Some(error),
            Self::OutOfMemory(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RootError> for ObjectError {
    fn from(error: RootError) -> Self {
        Self::Root(error)
    }
}

impl From<OutOfMemory> for ObjectError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

impl From<Obstacle> for ObjectError {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::Trap(Trap::OutOfMemory(error)) => Self::OutOfMemory(error),
            Obstacle::Trap(Trap::Interrupted(signal)) => Self::Interrupted(signal),
            Obstacle::Fault(Fault::BudgetExceeded) => Self::BudgetExceeded,
            // Nothing else keeps an allocation from being done.
            _ => Self::OutOfFuel,
        }
    }
}

impl From<ObjectError> for HostError {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::OutOfMemory(error) => Self::OutOfMemory(error),
            ObjectError::BudgetExceeded => Self::BudgetExceeded,
            ObjectError::Interrupted(signal) => Self::Interrupted(signal),
            ObjectError::OutOfFuel => Self::OutOfFuel,
            other => Self::Message(other.to_string()),
        }
    }
}

/// What ended a call back ends the host function's caller in the same way: an exception is raised
/// again, an exit or a trap ends the run.
impl From<RunError> for HostError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Uncaught {
                object: Some(object),
                denied,
                message,
                ..
            } => match (denied, message) {
                (Some(denied), _) => Self::Denied(denied),
                (None, Some(message)) => Self::Message(message),
                (None, None) => Self::Raise(object),
            },
            RunError::Trap { trap, backtrace } => Self::Ended(Box::new((trap, *backtrace))),
            RunError::Exit(code) => Self::Exit(code),
            RunError::Call(CallError::Object(error)) => error.into(),
            other => Self::Message(other.to_string()),
        }
    }
}

impl From<CallError> for HostError {
    fn from(error: CallError) -> Self {
        RunError::Call(error).into()
    }
}
