//! Which handler range counts for an op: the first in the table that holds it.

use super::operands::Decoded;
use crate::module::HandlerRange;

/// For each op the range that counts, by index; nothing at all if there are no ranges.
pub(super) struct Covering(Vec<u32>);

const NONE: u32 = u32::MAX;

impl Covering {
    /// The ranges of a function. Each op is given to its range once, so that ranges within ranges
    /// cost no more than others: `next[op]` leads to the first op from there on that has none.
    pub(super) fn new(handlers: &[HandlerRange], decoded: &Decoded) -> Self {
        if handlers.is_empty() {
            return Self(Vec::new());
        }
        let count = decoded.ops.len();
        let mut covering = vec![NONE; count];
        let mut next: Vec<u32> = (0..=count as u32).collect();
        for (index, range) in (0..).zip(handlers) {
            let end = decoded.end_position(range.end);
            let mut op = skip(&mut next, decoded.position(range.start));
            while op < end {
                covering[op] = index;
                next[op] = op as u32 + 1;
                op = skip(&mut next, op);
            }
        }
        Self(covering)
    }

    /// The range that counts for an op.
    pub(super) fn of(&self, op: usize) -> Option<usize> {
        let range = *self.0.get(op)?;
        (range != NONE).then_some(range as usize)
    }
}

/// The first op from `op` on that has no range, by links that are shortened on the way.
fn skip(next: &mut [u32], op: usize) -> usize {
    let mut op = op;
    while next[op] as usize != op {
        next[op] = next[next[op] as usize];
        op = next[op] as usize;
    }
    op
}
