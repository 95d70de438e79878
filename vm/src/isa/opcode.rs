//! The opcode enum, and for each opcode what tools need to know of it.

use super::effects::{Effects, effect};
use super::operand::{Access, Encoded, Role};
use super::table::for_each_op;

/// One operand's name and role, as the table's row gives them.
#[derive(Clone, Copy, Debug)]
pub struct OperandInfo {
    /// The operand's name in the row's sentence.
    pub name: &'static str,
    /// What the operand is.
    pub role: Role,
}

/// What the table's row says of an opcode.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The opcode.
    pub opcode: Opcode,
    /// The name in text.
    pub mnemonic: &'static str,
    /// The operands in the order in which they are encoded; written registers come first.
    pub operands: &'static [OperandInfo],
    /// Whether control may go on to the next op.
    pub falls_through: bool,
    /// What the op may do besides writing its outputs and jumping to its targets.
    pub effects: Effects,
    /// The register-transfer sentence, in Markdown.
    pub doc: &'static str,
}

impl OpInfo {
    /// Whether the op may jump: whether a role names offsets.
    pub fn has_targets(&self) -> bool {
        self.names(Role::Target) || self.names(Role::Targets)
    }

    /// Whether an operand has this role.
    pub fn names(&self, role: Role) -> bool {
        self.operands.iter().any(|operand| operand.role == role)
    }

    /// Whether the op does nothing but write its outputs, so that it can go when nobody reads them.
    pub fn is_pure(&self) -> bool {
        let others = Effects::of(&[
            Effects::FAULTS,
            Effects::ALLOCATES,
            Effects::STORES,
            Effects::CALLS,
            Effects::PROFILES,
        ]);
        self.falls_through && !self.effects.has(others) && !self.has_targets()
    }

    /// How many registers the op names as written: its first operands.
    pub fn n_written(&self) -> usize {
        let operands = self.operands.iter();
        operands
            .take_while(|operand| operand.role.access() == Access::Write)
            .count()
    }

    /// Whether an op of this kind may raise an exception, wherever it stands.
    pub const fn may_raise(&self) -> bool {
        self.effects
            .has(Effects::of(&[Effects::FAULTS, Effects::ALLOCATES]))
    }
}

macro_rules! falls_through {
    () => {
        true
    };
    (!) => {
        false
    };
}

macro_rules! define_opcodes {
    ($( $(#[doc = $doc:literal])+ $code:literal $mnemonic:ident = $name:ident
        { $($operand:ident : $role:ident),* } $(-> $never:tt)? $(: $($effect:ident)+)? ; )+) => {
        /// An opcode; its discriminant is the byte that stands in files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $( $(#[doc = $doc])+ $name = $code, )+
        }

        impl Opcode {
            /// The opcode of a byte, when there is one.
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $( $code => Some(Self::$name), )+
                    _ => None,
                }
            }

            /// The opcode that a mnemonic names.
            pub fn from_mnemonic(mnemonic: &str) -> Option<Self> {
                match mnemonic {
                    $( stringify!($mnemonic) => Some(Self::$name), )+
                    _ => None,
                }
            }

            /// What the table says of this opcode.
            pub const fn info(self) -> &'static OpInfo {
                match self {
                    $( Self::$name => {
                        const INFO: OpInfo = OpInfo {
                            opcode: Opcode::$name,
                            mnemonic: stringify!($mnemonic),
                            operands: &[ $( OperandInfo {
                                name: stringify!($operand),
                                role: <super::operand::$role as Encoded>::ROLE,
                            } ),* ],
                            falls_through: falls_through!($($never)?),
                            effects: Effects::of(&[ $($(effect!($effect)),+)? ]),
                            doc: concat!($($doc),+),
                        };
                        &INFO
                    } )+
                }
            }
        }

        /// All opcodes in the table's order.
        pub static OPS: &[&OpInfo] = &[ $( Opcode::$name.info(), )+ ];
    };
}

for_each_op!(define_opcodes);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Access;

    #[test]
    fn a_byte_names_one_opcode() {
        for info in OPS {
            assert_eq!(Opcode::from_byte(info.opcode as u8), Some(info.opcode));
            assert_eq!(Opcode::from_mnemonic(info.mnemonic), Some(info.opcode));
        }
        let known = (0..=255)
            .filter(|&byte| Opcode::from_byte(byte).is_some())
            .count();
        assert_eq!(known, OPS.len());
    }

    #[test]
    fn every_row_has_a_sentence_and_writes_before_it_reads() {
        for info in OPS {
            assert!(
                info.doc.contains('`'),
                "{} has no register transfer",
                info.mnemonic
            );
            let mut writes = true;
            for operand in info.operands {
                let is_write = operand.role.access() == Access::Write;
                assert!(
                    writes || !is_write,
                    "{}: outputs stand first",
                    info.mnemonic
                );
                writes = is_write;
            }
        }
    }
}
