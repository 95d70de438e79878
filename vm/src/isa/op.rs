//! Ops as values. The loader, the verifier and tools work on these; the interpreter never does.

use smallvec::SmallVec;

use super::decode::{DecodeError, Reader};
use super::opcode::Opcode;
use super::operand::*;
use super::table::for_each_op;

macro_rules! define_ops {
    ($( $(#[doc = $doc:literal])+ $code:literal $mnemonic:ident = $name:ident
        { $($operand:ident : $role:ident),* } $(-> $never:tt)? $(: $($effect:ident)+)? ; )+) => {
        /// One op with its operands.
        #[allow(missing_docs, reason = "the row's sentence explains its operands")]
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op {
            $( $(#[doc = $doc])+ $name { $($operand: $role),* }, )+
        }

        impl Op {
            /// The op's opcode.
            pub const fn opcode(&self) -> Opcode {
                match self {
                    $( Self::$name { .. } => Opcode::$name, )+
                }
            }

            /// The op's operands, in the table's order.
            pub fn operands(&self) -> SmallVec<[Operand; 4]> {
                match self {
                    $( Self::$name { $($operand),* } => {
                        SmallVec::from_iter([ $( $operand.to_operand() ),* ] as [Operand; _])
                    } )+
                }
            }

            /// The op of these operands; `None` when their number or a role does not fit.
            pub fn from_operands(opcode: Opcode, operands: &[Operand]) -> Option<Self> {
                match opcode {
                    $( Opcode::$name => {
                        let [ $($operand),* ] = operands else { return None };
                        Some(Self::$name { $( $operand: $role::from_operand($operand)? ),* })
                    } )+
                }
            }

            /// Calls `visit` with each register that the op names, in the table's order: those
            /// that it writes stand first. Windows are left out.
            pub fn visit_registers(&self, visit: &mut dyn FnMut(Role, u8)) {
                match self {
                    $( Self::$name { $($operand),* } => { $(
                        for &index in $operand.registers() {
                            visit(<$role as Encoded>::ROLE, index);
                        }
                    )* } )+
                }
            }

            /// The same with registers that may be replaced.
            pub fn visit_registers_mut(&mut self, visit: &mut dyn FnMut(Role, &mut u8)) {
                match self {
                    $( Self::$name { $($operand),* } => { $(
                        for index in $operand.registers_mut() {
                            visit(<$role as Encoded>::ROLE, index);
                        }
                    )* } )+
                }
            }

            /// Calls `visit` with each target of the op.
            pub fn visit_targets(&self, visit: &mut dyn FnMut(u32)) {
                match self {
                    $( Self::$name { $($operand),* } => {
                        $( $operand.targets().iter().for_each(|&target| visit(target)); )*
                    } )+
                }
            }

            /// The same with targets that may be replaced.
            pub fn visit_targets_mut(&mut self, visit: &mut dyn FnMut(&mut u32)) {
                match self {
                    $( Self::$name { $($operand),* } => {
                        $( $operand.targets_mut().iter_mut().for_each(&mut *visit); )*
                    } )+
                }
            }

            /// Appends the op's bytes: the opcode, then each operand.
            pub fn encode(&self, out: &mut Vec<u8>) {
                out.push(self.opcode() as u8);
                match self {
                    $( Self::$name { $($operand),* } => { $( $operand.encode(out); )* } )+
                }
            }

            /// Reads the operands that follow the opcode.
            pub(super) fn decode_operands(
                opcode: Opcode,
                reader: &mut Reader<'_>,
            ) -> Result<Self, DecodeError> {
                Ok(match opcode {
                    $( Opcode::$name => Self::$name { $( $operand: $role::decode(reader)? ),* }, )+
                })
            }
        }
    };
}

for_each_op!(define_ops);
