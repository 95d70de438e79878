//! Faults: exceptions that the machine raises on a program's behalf.

use std::fmt;

/// Why the machine raised an exception. A program sees it as a record with the tag [`FAULT_TAG`]
/// and the fault's code in its only raw field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// A checked operation has no result in 64 bits, or an immediate's value none in 63.
    Overflow = 1,
    /// A division by zero.
    DivideByZero = 2,
    /// An index or a length outside of an array or string.
    IndexOutOfBounds = 3,
    /// An object of another kind, null or an immediate where an op needs something else.
    WrongKind = 4,
    /// No case of a match fits.
    MatchFailed = 5,
    /// A host function was asked for something that it cannot do.
    HostFailed = 6,
    /// More was allocated than a budget allows.
    BudgetExceeded = 7,
}

/// The tag of the records that faults are.
pub const FAULT_TAG: u16 = u16::MAX;

impl Fault {
    /// All faults.
    pub const ALL: [Self; 7] = [
        Self::Overflow,
        Self::DivideByZero,
        Self::IndexOutOfBounds,
        Self::WrongKind,
        Self::MatchFailed,
        Self::HostFailed,
        Self::BudgetExceeded,
    ];

    /// The fault of a code.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|&fault| fault as u64 == code)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overflow => "overflow",
            Self::DivideByZero => "division by zero",
            Self::IndexOutOfBounds => "index out of bounds",
            Self::WrongKind => "wrong kind of value",
            Self::MatchFailed => "no case of a match fits",
            Self::HostFailed => "a host function failed",
            Self::BudgetExceeded => "allocation budget exceeded",
        })
    }
}
