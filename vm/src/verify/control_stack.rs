//! Local control stacks: which sources are open at a point of a function, outermost first.
//!
//! All stacks of a function form a tree whose root is the empty stack, so that a stack is one
//! index, equal stacks have equal indices, and entering or leaving a source is one step. Each
//! stack also knows one far below it, chosen so that any stack below is a logarithmic number of
//! steps away (Myers, "An applicative random-access stack").

use std::collections::HashMap;
use std::num::NonZeroU32;

use profiler::SourceId;
use smallvec::SmallVec;

/// One local control stack of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ControlStackId(NonZeroU32);

impl ControlStackId {
    /// The stack on which no source is open.
    pub const EMPTY: Self = Self(NonZeroU32::MIN);

    /// The index of the stack in the order of discovery; that of the empty stack is 0, and a
    /// stack is discovered after those below it.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    fn from_index(index: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index as u32))
    }
}

/// A stack on which something is open.
#[derive(Clone, Copy, Debug)]
struct Stack {
    below: ControlStackId,
    source: SourceId,
    depth: u32,
    /// A stack below this one, at a distance that follows from the depth.
    far_below: ControlStackId,
}

/// The local control stacks of one function.
#[derive(Clone, Debug, Default)]
pub struct ControlStacks {
    /// All stacks but the empty one.
    stacks: Vec<Stack>,
    /// For each stack the first that was found on top of it. Few have another.
    first_above: Vec<Option<ControlStackId>>,
    others_above: HashMap<(ControlStackId, SourceId), ControlStackId>,
}

impl ControlStacks {
    /// How many stacks there are, the empty one included. Their indices are less.
    pub fn count(&self) -> usize {
        self.stacks.len() + 1
    }

    /// The stacks but the empty one, in the order of their indices: what was opened last, and the
    /// stack without it.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, ControlStackId)> {
        self.stacks.iter().map(|stack| (stack.source, stack.below))
    }

    /// The stack after `Enter source`.
    pub fn enter(&mut self, stack: ControlStackId, source: SourceId) -> ControlStackId {
        let first = self.first_above.get(stack.index()).copied().flatten();
        match first {
            None => {
                let new = self.push(stack, source);
                self.first_above.resize(self.count(), None);
                self.first_above[stack.index()] = Some(new);
                new
            }
            Some(first) if self.stacks[first.index() - 1].source == source => first,
            Some(_) => match self.others_above.get(&(stack, source)) {
                Some(&other) => other,
                None => {
                    let new = self.push(stack, source);
                    self.others_above.insert((stack, source), new);
                    new
                }
            },
        }
    }

    fn push(&mut self, below: ControlStackId, source: SourceId) -> ControlStackId {
        let near = self.far_below(below);
        let far = self.far_below(near);
        let depth = self.depth(below);
        let evenly = depth - self.depth(near) == self.depth(near) - self.depth(far);
        self.stacks.push(Stack {
            below,
            source,
            depth: depth + 1,
            far_below: if evenly { far } else { below },
        });
        ControlStackId::from_index(self.stacks.len())
    }

    fn get(&self, stack: ControlStackId) -> Option<&Stack> {
        self.stacks.get(stack.index().checked_sub(1)?)
    }

    fn depth(&self, stack: ControlStackId) -> u32 {
        self.get(stack).map_or(0, |stack| stack.depth)
    }

    fn far_below(&self, stack: ControlStackId) -> ControlStackId {
        self.get(stack)
            .map_or(ControlStackId::EMPTY, |stack| stack.far_below)
    }

    /// The source that was opened last and the stack without it; `None` on the empty stack.
    pub fn top(&self, stack: ControlStackId) -> Option<(SourceId, ControlStackId)> {
        self.get(stack).map(|stack| (stack.source, stack.below))
    }

    /// Whether `stack` is `base` with any number of sources opened on top of it. It takes time
    /// logarithmic in the depth.
    pub fn extends(&self, stack: ControlStackId, base: ControlStackId) -> bool {
        let depth = self.depth(base);
        let mut current = stack;
        while let Some(&Stack {
            below,
            far_below,
            depth: current_depth,
            ..
        }) = self.get(current)
        {
            if current_depth <= depth {
                break;
            }
            current = if self.depth(far_below) >= depth {
                far_below
            } else {
                below
            };
        }
        current == base
    }

    /// The open sources, outermost first.
    pub fn sources(&self, stack: ControlStackId) -> SmallVec<[SourceId; 4]> {
        let mut sources = SmallVec::new();
        let mut current = stack;
        while let Some((source, below)) = self.top(current) {
            sources.push(source);
            current = below;
        }
        sources.reverse();
        sources
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_one_index() {
        let mut stacks = ControlStacks::default();
        let first = stacks.enter(ControlStackId::EMPTY, SourceId(3));
        let inner = stacks.enter(first, SourceId(4));
        let other = stacks.enter(first, SourceId(5));
        assert_eq!(stacks.enter(ControlStackId::EMPTY, SourceId(3)), first);
        assert_eq!(stacks.enter(first, SourceId(5)), other);
        assert_eq!(stacks.enter(first, SourceId(4)), inner);
        assert_eq!(stacks.top(inner), Some((SourceId(4), first)));
        assert_eq!(stacks.sources(inner).as_slice(), [SourceId(3), SourceId(4)]);
        assert_eq!(stacks.top(other), Some((SourceId(5), first)));
        assert_eq!(stacks.top(ControlStackId::EMPTY), None);
        assert_eq!(stacks.count(), 4);
    }

    #[test]
    fn a_stack_extends_its_own_bottom_only() {
        let mut stacks = ControlStacks::default();
        let left = stacks.enter(ControlStackId::EMPTY, SourceId(3));
        let right = stacks.enter(ControlStackId::EMPTY, SourceId(4));
        let inner = stacks.enter(left, SourceId(4));
        assert!(stacks.extends(inner, left) && stacks.extends(inner, ControlStackId::EMPTY));
        assert!(!stacks.extends(inner, right) && !stacks.extends(left, inner));
    }

    #[test]
    fn deep_stacks_extend_what_a_walk_down_finds() {
        let mut stacks = ControlStacks::default();
        let mut all = vec![ControlStackId::EMPTY];
        let mut state = 1_u64;
        for _ in 0..400 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            // Mostly on top of the last one, so that the tree grows deep.
            let back = if state >> 60 == 0 {
                (state >> 33) as usize % all.len()
            } else {
                0
            };
            let stack = all[all.len() - 1 - back];
            all.push(stacks.enter(stack, SourceId((state >> 40) as u32 % 3)));
        }
        for &stack in &all {
            let mut below = vec![stack];
            while let Some((_, next)) = stacks.top(below[below.len() - 1]) {
                below.push(next);
            }
            for &base in &all {
                assert_eq!(stacks.extends(stack, base), below.contains(&base));
            }
        }
    }
}
