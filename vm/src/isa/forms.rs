//! Rows that are like others but for an immediate in the place of a register.
//!
//! Mnemonics tell: `rem_imm` is `rem` with a constant. A difference becomes a sum, with the other
//! sign; and some ops say the same with their operands swapped.

use super::opcode::{OpInfo, Opcode};
use super::operand::{Operand, Role};

/// A row with an immediate.
#[derive(Clone, Copy, Debug)]
pub struct ImmediateForm {
    /// The row.
    pub row: &'static OpInfo,
    /// The index of the immediate among the row's operands.
    pub place: usize,
    /// Whether the immediate is the number with the other sign.
    pub is_negated: bool,
}

/// Ops that say the same with the first two operands that they read swapped, by the name that they
/// then have before `_imm`.
const SWAPPED: [(&str, &str); 24] = [
    ("add", "add"),
    ("add_ovf", "add_ovf"),
    ("and", "and"),
    ("eq", "eq"),
    ("fadd", "fadd"),
    ("fdiv", "frdiv"),
    ("fmul", "fmul"),
    ("fsub", "frsub"),
    ("jeq", "jeq"),
    ("jge", "jle"),
    ("jgt", "jlt"),
    ("jle", "jge"),
    ("jlt", "jgt"),
    ("jne", "jne"),
    ("le", "ge"),
    ("lt", "gt"),
    ("mul", "mul"),
    ("mul_ovf", "mul_ovf"),
    ("ne", "ne"),
    ("or", "or"),
    ("sub", "rsub"),
    ("sub_ovf", "rsub_ovf"),
    ("tadd", "tadd"),
    ("xor", "xor"),
];

/// Ops that subtract, and the ones that add.
const DIFFERENCES: [(&str, &str); 4] = [
    ("fsub", "fadd"),
    ("sub", "add"),
    ("sub_ovf", "add_ovf"),
    ("tsub", "tadd"),
];

impl OpInfo {
    /// The form with an immediate as the operand of this index, if there is one.
    pub fn immediate_form(&self, place: usize) -> Option<ImmediateForm> {
        let sum = DIFFERENCES.iter().find(|(name, _)| *name == self.mnemonic);
        let name = sum.map_or(self.mnemonic, |&(_, sum)| sum);
        ImmediateForm::named(name, self, place, sum.is_some())
    }

    /// The form with the first two operands that are read swapped, of which the second is then an
    /// immediate.
    pub fn swapped_form(&self) -> Option<ImmediateForm> {
        let &(_, name) = SWAPPED.iter().find(|(name, _)| *name == self.mnemonic)?;
        ImmediateForm::named(name, self, self.n_written() + 1, false)
    }
}

impl ImmediateForm {
    /// The form of this name, if it is like `info` but for an immediate where a register is read.
    fn named(name: &str, info: &OpInfo, place: usize, is_negated: bool) -> Option<Self> {
        let row = Opcode::from_mnemonic(&format!("{name}_imm"))?.info();
        let is_immediate = |role| matches!(role, Role::Int32 | Role::Float64);
        let is_alike = |index: usize| match (info.operands[index].role, row.operands[index].role) {
            (Role::IIn | Role::RIn, role) if index == place => is_immediate(role),
            (role, found) => role == found && index != place,
        };
        let is_form =
            row.operands.len() == info.operands.len() && (0..row.operands.len()).all(is_alike);
        (is_form && place < row.operands.len()).then_some(Self {
            row,
            place,
            is_negated,
        })
    }

    /// The immediate that an integer is, if it can be one.
    pub fn immediate(&self, value: i64) -> Option<Operand> {
        match self.row.operands[self.place].role {
            Role::Float64 => None,
            _ => {
                let value = if self.is_negated {
                    value.checked_neg()?
                } else {
                    value
                };
                i32::try_from(value).ok().map(Operand::Int32)
            }
        }
    }

    /// The immediate that a double is, if it can be one.
    pub fn immediate_float(&self, value: f64) -> Option<Operand> {
        match self.row.operands[self.place].role {
            Role::Float64 if self.is_negated => Some(Operand::Float64(-value)),
            Role::Float64 => Some(Operand::Float64(value)),
            _ => None,
        }
    }
}
