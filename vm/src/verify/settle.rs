//! Which registers are written where: the blocks' summaries, joined until nothing changes.
//!
//! A set of written registers can shrink 512 times, so joining could take 512 visits of each
//! block. Blocks are therefore visited in reverse postorder, pass by pass. As a register's fate
//! does not depend on others', a register needs as many passes as the most back edges on a way
//! without a detour that brings the news (Kam and Ullman): two or three in all code that was
//! seen, and two more than loops are nested in the worst. Only blocks with news are visited
//! again, and there is a limit on that.

use super::positions::Positions;
use super::registers::{Registers, Transfer};

/// How often edges may be followed again, for each byte of the function.
pub(super) const STEPS_PER_BYTE: usize = 2;
/// How often edges may be followed again in any function.
pub(super) const LEAST_STEPS: usize = 4096;

/// A run of ops that is entered at its first only and left behind its last only, but for ops that
/// raise.
#[derive(Debug)]
pub(super) struct Block {
    /// The index of the first op.
    pub(super) first: u32,
    /// What the ops do.
    pub(super) transfer: Transfer,
    /// The registers that must be written before.
    pub(super) needs: Registers,
    /// Whether a register is read that no way here could have written.
    pub(super) is_faulty: bool,
    /// Where the block's own edges start in the list of all.
    pub(super) first_edge: u32,
    /// What holds at the handler of ops that raise, and the op at which it starts.
    pub(super) raising: Option<u32>,
}

/// The blocks of a function that control comes to.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The blocks; the first is that of the function's first op.
    pub(super) blocks: Vec<Block>,
    /// The first ops of the blocks that each block leads to.
    pub(super) edges: Vec<u32>,
    /// What holds at handlers, and the op at which each starts.
    pub(super) raising: Vec<(Transfer, u32)>,
}

impl Blocks {
    /// How many blocks the block leads to, handlers included, counting one twice that it leads to
    /// in two ways.
    fn count_successors(&self, block: usize) -> usize {
        self.plain_edges(block).len() + self.blocks[block].raising.is_some() as usize
    }

    /// The first op of one of the blocks that the block leads to.
    fn successor(&self, block: usize, index: usize) -> u32 {
        match (
            self.plain_edges(block).get(index),
            self.blocks[block].raising,
        ) {
            (Some(&edge), _) => edge,
            (None, Some(raising)) => self.raising[raising as usize].1,
            (None, None) => unreachable!("the caller counts"),
        }
    }

    fn plain_edges(&self, block: usize) -> &[u32] {
        let end = self.blocks.get(block + 1);
        let end = end.map_or(self.edges.len(), |next| next.first_edge as usize);
        &self.edges[self.blocks[block].first_edge as usize..end]
    }

    /// For each block the registers that are written before it on every path, when the function
    /// starts with those of `entry`. `block_of` has for each op the block that it starts.
    ///
    /// # Errors
    /// The limit, if following edges again took more steps than that.
    pub(super) fn settle(
        &self,
        block_of: &[u32],
        entry: Registers,
        limit: usize,
    ) -> Result<Settled, usize> {
        let mut before = vec![Registers::ALL; self.blocks.len()];
        before[0] = entry;
        let mut settling = Settling {
            blocks: self,
            block_of,
            before,
            numbers: Vec::new(),
            visited: 0,
            again: None,
        };
        if self.edges.is_empty() && self.raising.is_empty() {
            return Ok(Settled {
                before: settling.before,
                steps: 0,
            });
        }
        let order = settling.number();
        for (number, &block) in order.iter().enumerate() {
            settling.visited = number + 1;
            settling.visit(block as usize);
        }
        let steps = settling.visit_again(&order, limit)?;
        Ok(Settled {
            before: settling.before,
            steps,
        })
    }
}

/// What is known once nothing changes.
pub(super) struct Settled {
    /// For each block the registers that are written before it on every path.
    pub(super) before: Vec<Registers>,
    /// How many edges were followed again.
    pub(super) steps: usize,
}

struct Settling<'a> {
    blocks: &'a Blocks,
    block_of: &'a [u32],
    before: Vec<Registers>,
    /// The place of each block in reverse postorder.
    numbers: Vec<u32>,
    /// How many blocks have been visited at all.
    visited: usize,
    /// Blocks to visit again, by number; there is no such set until one is.
    again: Option<Positions>,
}

/// A block that has no number yet.
const UNSEEN: u32 = u32::MAX;
/// A block that will get its number behind all blocks that it leads to.
const SEEN: u32 = u32::MAX - 1;

impl Settling<'_> {
    /// Numbers the blocks in reverse postorder, and returns them in that order.
    fn number(&mut self) -> Vec<u32> {
        let count = self.blocks.blocks.len();
        self.numbers = vec![UNSEEN; count];
        let mut order = vec![0; count];
        let mut left = count;
        let mut path = vec![(0, 0)];
        self.numbers[0] = SEEN;
        while let Some((block, edge)) = path.last_mut() {
            let current = *block;
            if *edge < self.blocks.count_successors(current) {
                let next = self.block_of[self.blocks.successor(current, *edge) as usize];
                *edge += 1;
                if self.numbers[next as usize] == UNSEEN {
                    self.numbers[next as usize] = SEEN;
                    path.push((next as usize, 0));
                }
            } else {
                left -= 1;
                self.numbers[current] = left as u32;
                order[left] = current as u32;
                path.pop();
            }
        }
        debug_assert_eq!(left, 0, "blocks are made of what control comes to");
        order
    }

    /// Joins what holds behind a block into what holds before those that it leads to.
    fn visit(&mut self, block: usize) {
        let blocks = self.blocks;
        let edges = blocks.plain_edges(block);
        if !edges.is_empty() {
            let after = blocks.blocks[block].transfer.apply(&self.before[block]);
            for &edge in edges {
                self.join(edge, &after);
            }
        }
        if let Some(raising) = blocks.blocks[block].raising {
            let (transfer, target) = &blocks.raising[raising as usize];
            let after = transfer.apply(&self.before[block]);
            self.join(*target, &after);
        }
    }

    /// Joins what holds on a way to an op into what holds before its block. A block that has news
    /// and was visited is to be visited again.
    fn join(&mut self, target: u32, after: &Registers) {
        let target = self.block_of[target as usize] as usize;
        let has_news = self.before[target].intersect(after);
        let number = self.numbers[target] as usize;
        if has_news && number < self.visited {
            let count = self.numbers.len();
            let again = self.again.get_or_insert_with(|| Positions::new(count));
            again.insert(number);
        }
    }

    /// Visits blocks that have news, pass by pass, until there are none; returns how many edges
    /// that took, or the limit if it was more.
    fn visit_again(&mut self, order: &[u32], limit: usize) -> Result<usize, usize> {
        let mut steps = 0;
        let mut from = 0;
        while let Some(again) = &mut self.again {
            let Some(number) = again.pop_from(from) else {
                if from == 0 {
                    break;
                }
                from = 0;
                continue;
            };
            from = number;
            let block = order[number] as usize;
            steps += 1 + self.blocks.count_successors(block);
            if steps > limit {
                return Err(limit);
            }
            self.visit(block);
        }
        Ok(steps)
    }
}
