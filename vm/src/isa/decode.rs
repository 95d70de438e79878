//! The checked decoder: bytes of unknown origin to ops.

use std::fmt;

use super::op::Op;
use super::opcode::Opcode;

/// Why bytes are no op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end within an op or a value.
    Truncated {
        /// Where the missing bytes should stand, in bytes from the start of what is read.
        offset: usize,
    },
    /// No opcode has this byte.
    UnknownOpcode {
        /// Where the byte stands.
        offset: usize,
        /// The byte.
        byte: u8,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { offset } => write!(f, "offset {offset:#x}: the bytes end here"),
            Self::UnknownOpcode { offset, byte } => {
                write!(f, "offset {offset:#x}: no opcode has the byte {byte:#04x}")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// A position in bytes; every read checks that the bytes are there.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// How many bytes have been read.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.offset..];
        let taken = rest.get(..count).ok_or(DecodeError::Truncated {
            offset: self.bytes.len(),
        })?;
        self.offset += count;
        Ok(taken)
    }

    /// The next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }
}

/// Reads the next op. After an error the reader's position means nothing.
pub fn decode_one(reader: &mut Reader<'_>) -> Result<Op, DecodeError> {
    let offset = reader.offset();
    let [byte] = reader.array()?;
    let opcode = Opcode::from_byte(byte).ok_or(DecodeError::UnknownOpcode { offset, byte })?;
    Op::decode_operands(opcode, reader)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{OPS, random_op};

    /// A small generator of known quality (splitmix64), so that a failure repeats.
    fn numbers(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    #[test]
    fn decoding_gives_back_what_was_encoded() {
        let mut next = numbers(1);
        for info in OPS {
            for _ in 0..50 {
                let op = random_op(info.opcode, &mut next);
                let mut bytes = Vec::new();
                op.encode(&mut bytes);
                let mut reader = Reader::new(&bytes);
                let decoded = decode_one(&mut reader).expect("an encoded op decodes");
                // Compared as bytes, because a double may be not-a-number.
                let mut again = Vec::new();
                decoded.encode(&mut again);
                assert_eq!(bytes, again, "{}", info.mnemonic);
                assert_eq!(reader.remaining(), 0, "{}", info.mnemonic);
            }
        }
    }

    #[test]
    fn operands_rebuild_the_op() {
        let mut next = numbers(2);
        for info in OPS {
            let op = random_op(info.opcode, &mut next);
            let rebuilt = Op::from_operands(info.opcode, &op.operands()).expect("roles fit");
            assert_eq!(format!("{op:?}"), format!("{rebuilt:?}"));
        }
    }

    #[test]
    fn every_truncation_is_an_error() {
        let mut next = numbers(3);
        for info in OPS {
            let mut bytes = Vec::new();
            random_op(info.opcode, &mut next).encode(&mut bytes);
            for length in 0..bytes.len() {
                let result = decode_one(&mut Reader::new(&bytes[..length]));
                assert_eq!(result, Err(DecodeError::Truncated { offset: length }));
            }
        }
    }

    #[test]
    fn an_unknown_byte_is_named() {
        let result = decode_one(&mut Reader::new(&[0xff]));
        assert_eq!(
            result,
            Err(DecodeError::UnknownOpcode {
                offset: 0,
                byte: 0xff
            })
        );
    }
}
