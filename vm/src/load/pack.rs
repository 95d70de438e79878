//! Where the operands of an op stand in its word, as their roles say: registers and fields in the
//! letters `a` to `d` in the table's order, a tag in `c` and `d`, and what is wider in `e`, as is a
//! fifth letter.

use super::select::r;
use crate::isa::{Op, Operand};

/// The operands of a word. A jump's target is put into `e` once all code stands.
#[derive(Default)]
pub(super) struct Packed {
    pub(super) letters: [u8; 4],
    pub(super) e: i32,
    pub(super) target: Option<u32>,
    n_letters: usize,
}

impl Packed {
    /// Packs an op that one word holds.
    pub(super) fn new(op: &Op) -> Self {
        let mut packed = Self::default();
        for operand in op.operands() {
            packed.put(&operand);
        }
        packed
    }

    fn put(&mut self, operand: &Operand) {
        match operand {
            Operand::IIn(byte)
            | Operand::IOut(byte)
            | Operand::IWindow(byte)
            | Operand::RWindow(byte)
            | Operand::Field(byte) => self.letter(*byte),
            Operand::RIn(register) | Operand::ROut(register) => self.letter(r(*register)),
            Operand::Int32(value) => self.e = *value,
            Operand::Tag(tag) => self.letters[2..].copy_from_slice(&tag.to_le_bytes()),
            Operand::IntGlobal(id) | Operand::RefGlobal(id) | Operand::HostId(id) => {
                self.e = *id as i32
            }
            Operand::Target(target) => self.target = Some(*target),
            Operand::IRegs(_)
            | Operand::RRegs(_)
            | Operand::Int64(_)
            | Operand::Float64(_)
            | Operand::Targets(_)
            | Operand::FuncId(_)
            | Operand::ConstId(_)
            | Operand::SourceRef(_)
            | Operand::Sig(_) => unreachable!("{operand:?} stands in words of its op's own"),
        }
    }

    fn letter(&mut self, byte: u8) {
        match self.letters.get_mut(self.n_letters) {
            Some(letter) => *letter = byte,
            None => self.e = byte as i32,
        }
        self.n_letters += 1;
    }
}
