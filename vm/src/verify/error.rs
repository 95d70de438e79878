//! What can be wrong with a module.

use std::fmt;

use profiler::{SourceId, SourceMapError};

use crate::isa::{DecodeError, Signature};
use crate::module::Captures;

/// Why a module cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Index of the function at fault.
    pub function: u32,
    /// Offset of the op at fault, in bytes from the function's first op.
    pub offset: u32,
    /// What is wrong.
    pub kind: VerifyErrorKind,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "function {} at {:#x}: {}",
            self.function, self.offset, self.kind
        )
    }
}

impl std::error::Error for VerifyError {}

/// A register of either class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// An `i` register, by index.
    Int(u8),
    /// An `r` register, by index.
    Ref(u8),
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(index) => write!(f, "i{index}"),
            Self::Ref(index) => write!(f, "r{index}"),
        }
    }
}

/// What is wrong with an op, a function or a module. Each is displayed as a sentence without a
/// stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyErrorKind {
    /// The module's entry index names no function.
    NoEntry,
    /// The entry function has parameters.
    EntryParameters,
    /// The entry function is a closure's.
    EntryCaptures,
    /// Another function has the same name.
    NameTwice {
        /// The name.
        name: String,
    },
    /// The profiling sources make no sense.
    Sources(SourceMapError),
    /// The function's bytes are no ops.
    Decode(DecodeError),
    /// The function has no ops.
    EmptyFunction,
    /// The function's last op goes on to a next one.
    NoEnd,
    /// A handler's range covers nothing.
    EmptyRange,
    /// A handler's range begins or ends within an op, or outside of the function.
    RangeNotAtOps,
    /// No op starts where a handler does.
    HandlerNotAtOp,
    /// A line table is out of order.
    LinesOutOfOrder,
    /// No op starts where an entry of the line table says.
    LineNotAtOp,
    /// The line table names a file that is not in the module.
    NoFile {
        /// The file's index.
        file: u32,
    },
    /// An op names a constant that is not in the module.
    NoConstant {
        /// The constant's index.
        constant: u32,
    },
    /// An op wants a string, and the constant is an array.
    NotText {
        /// The constant's index.
        constant: u32,
    },
    /// An op wants an array of numbers, and the constant is something else.
    NotData {
        /// The constant's index.
        constant: u32,
    },
    /// A constant refers to one that does not stand before it.
    ConstantAhead {
        /// The constant's index.
        constant: u32,
        /// What it refers to.
        named: u32,
    },
    /// A constant record has more fields than a record can have.
    RecordTooLarge {
        /// The constant's index.
        constant: u32,
    },
    /// An immediate needs more than 63 bits.
    ImmediateTooLarge {
        /// The number.
        number: i64,
    },
    /// An op names a global that is not in the module.
    NoGlobal {
        /// The global's index within its class.
        global: u32,
    },
    /// An op names a host function that the module does not import.
    NoHost {
        /// The import's index.
        host: u32,
    },
    /// An op names a function that is not in the module.
    NoFunction {
        /// The function's index.
        function: u32,
    },
    /// An op names a source that is not in the module.
    NoSource {
        /// The source's index.
        source: u32,
    },
    /// An op opens or closes a source that only the machine may charge.
    MachineSource {
        /// The source's index.
        source: u32,
    },
    /// A jump goes to where no op starts.
    NoTarget {
        /// Where it goes, in bytes from the function's first op.
        target: u32,
    },
    /// An op keeps a number of bits that no word has.
    BitCount {
        /// How many bits.
        bits: i32,
    },
    /// A direct call of a function that captures something.
    DirectCallOfClosure {
        /// The function's name.
        name: String,
    },
    /// A closure of a function that captures nothing.
    NotAClosure {
        /// The function's name.
        name: String,
    },
    /// A closure captures something else than its function wants.
    WrongCaptures {
        /// The function's name.
        name: String,
        /// What the function wants.
        wanted: Captures,
        /// How many references the op gives.
        refs: usize,
        /// How many integers the op gives.
        ints: usize,
    },
    /// A tail call's callee has other results than the function.
    TailCallResults {
        /// The callee's signature.
        callee: Signature,
        /// The function's.
        own: Signature,
    },
    /// A call's window goes beyond the last register.
    NoRoom {
        /// The first register of the window.
        window: Register,
        /// The callee's signature.
        signature: Signature,
    },
    /// A call whose windows both start at register 0: endless recursion would not be noticed.
    CallMovesNothing,
    /// A path on which a register is read before it is written.
    Unwritten {
        /// The register.
        register: Register,
    },
    /// A way into a handler's range leads there before anything is known of its first op.
    RangeEnteredLate,
    /// A handler's range leaves a source that is open at its first op.
    SourceLeftInRange,
    /// A Leave where no source is open.
    UnmatchedLeave,
    /// A Leave of another source than the one that was opened last.
    MismatchedLeave {
        /// The source that was opened last.
        open: SourceId,
        /// The source that is left.
        left: SourceId,
    },
    /// Paths join that have opened different sources.
    MismatchedBlock,
    /// The function is left while a source is open.
    OpenAtExit,
    /// The function's paths are too intertwined to follow all registers along them in a time that
    /// is linear in the function's size.
    TooManySteps {
        /// How many steps were allowed.
        limit: usize,
    },
}

impl fmt::Display for VerifyErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = match self {
            Self::NameTwice { name } => return write!(f, "two functions are named `{name}`"),
            Self::Sources(problem) => return problem.fmt(f),
            Self::Decode(problem) => return problem.fmt(f),
            Self::NoEntry => "the module has no function to start with",
            Self::EntryParameters => "the entry function must have no parameters",
            Self::EntryCaptures => "the entry function must not be a closure's",
            Self::EmptyFunction => "the function is empty",
            Self::NoEnd => "control runs off the end of the function",
            Self::EmptyRange => "a handler's range is empty",
            Self::RangeNotAtOps => "a handler's range does not begin and end at ops",
            Self::HandlerNotAtOp => "a handler does not start at an op",
            Self::LinesOutOfOrder => "a line table's offsets must rise",
            Self::LineNotAtOp => "a line table names an offset that is no op's",
            Self::CallMovesNothing => "a call's windows must not both start at register 0",
            Self::RangeEnteredLate => "a handler's range is entered before its first op",
            Self::SourceLeftInRange => {
                "a source that is open where a handler's range starts is left inside it"
            }
            Self::UnmatchedLeave => "unmatched leave: no source is open",
            Self::MismatchedBlock => {
                "mismatched block: paths with different open sources join here"
            }
            Self::OpenAtExit => "nonempty sources when leaving function",
            of_an_op => return of_an_op.describe_op(f),
        };
        f.write_str(sentence)
    }
}

impl VerifyErrorKind {
    /// The sentence of a kind that holds what the op at fault names.
    fn describe_op(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile { file } => {
                write!(f, "a line table names file {file}, which does not exist")
            }
            Self::NoConstant { constant } => write!(f, "no constant has the index {constant}"),
            Self::NotText { constant } => write!(f, "constant {constant} is no string"),
            Self::NotData { constant } => {
                write!(f, "constant {constant} is no array of numbers")
            }
            Self::ConstantAhead { constant, named } => write!(
                f,
                "constant {constant} refers to constant {named}, which must stand before it"
            ),
            Self::RecordTooLarge { constant } => {
                write!(f, "constant {constant} has more than 255 fields of a class")
            }
            Self::ImmediateTooLarge { number } => {
                write!(f, "the immediate {number} needs more than 63 bits")
            }
            Self::NoGlobal { global } => write!(f, "no global has the index {global}"),
            Self::NoHost { host } => write!(f, "no host function has the index {host}"),
            Self::NoFunction { function } => write!(f, "no function has the index {function}"),
            Self::NoSource { source } => write!(f, "no source has the index {source}"),
            Self::MachineSource { source } => write!(f, "source {source} is the machine's own"),
            Self::NoTarget { target } => {
                write!(f, "the target {target:#x} is not the offset of an op")
            }
            Self::BitCount { bits } => write!(f, "{bits} bits; from 1 to 64 can be kept"),
            Self::DirectCallOfClosure { name } => {
                write!(f, "`{name}` is a closure's function; call a closure")
            }
            Self::NotAClosure { name } => {
                write!(f, "`{name}` is not declared as a closure's function")
            }
            Self::WrongCaptures {
                name,
                wanted,
                refs,
                ints,
            } => write!(
                f,
                "`{name}` captures {} references and {} integers, not {refs} and {ints}",
                wanted.refs, wanted.ints
            ),
            Self::TailCallResults { callee, own } => {
                write!(
                    f,
                    "a tail call of {callee} cannot return the results of {own}"
                )
            }
            Self::NoRoom { window, signature } => {
                write!(f, "the window at {window} has no room for {signature}")
            }
            Self::Unwritten { register } => {
                write!(f, "{register} may be read before it is written")
            }
            Self::MismatchedLeave { open, left } => write!(
                f,
                "mismatched leave: source {} was opened last, not {}",
                open.0, left.0
            ),
            Self::TooManySteps { limit } => write!(
                f,
                "the function's jumps are too intertwined: its registers cannot be followed in \
                 {limit} steps; split it into smaller functions"
            ),
            _ => unreachable!("kinds that name nothing are described by their caller"),
        }
    }
}
