//! Bytes as a row of choices. Every row of bytes says something, and a small change of the bytes is
//! a small change of what they say: that is what a fuzzer needs to learn from its inputs.

/// What is left of an input.
pub struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    /// All of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether nothing is left. Choices are then all 0.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((&first, rest)) => {
                self.bytes = rest;
                first
            }
            None => 0,
        }
    }

    /// A number below `bound`, which is at most 65,536; one byte chooses where that is enough.
    pub fn below(&mut self, bound: usize) -> usize {
        let number = match bound {
            0..=256 => usize::from(self.byte()),
            _ => usize::from(self.byte()) << 8 | usize::from(self.byte()),
        };
        number % bound.max(1)
    }

    /// A number that is small as a rule, and otherwise one at which something may break.
    pub fn number(&mut self) -> u64 {
        const EDGES: [u64; 16] = [
            16,
            63,
            64,
            255,
            256,
            0xffff,
            1 << 17,
            (1 << 17) + 8,
            1 << 20,
            1 << 31,
            1 << 32,
            1 << 62,
            i64::MAX as u64,
            i64::MIN as u64,
            u64::MAX,
            0x3fe0_0000_0000_0000,
        ];
        match self.byte() {
            edge @ 0xf0.. => EDGES[usize::from(edge & 15)],
            small => u64::from(small % 8),
        }
    }

    /// The next bytes up to a 0, which is passed over; all that are left if there is none.
    pub fn piece(&mut self) -> &'a [u8] {
        let end = self.bytes.iter().position(|&byte| byte == 0);
        let piece = &self.bytes[..end.unwrap_or(self.bytes.len())];
        self.bytes = &self.bytes[(piece.len() + 1).min(self.bytes.len())..];
        piece
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }
}
