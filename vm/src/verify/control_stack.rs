//! Local control stacks: which sources are open at a point of a function, outermost first.
//!
//! All stacks of a function form a tree whose root is the empty stack, so that a stack is one
//! index, equal stacks have equal indices, and entering or leaving a source is one step.

use std::collections::HashMap;

use profiler::SourceId;
use smallvec::SmallVec;

/// One local control stack of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ControlStackId(u32);

impl ControlStackId {
    /// The stack on which no source is open.
    pub const EMPTY: Self = Self(0);

    /// The index of the stack in the order of discovery.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The local control stacks of one function.
#[derive(Clone, Debug, Default)]
pub struct ControlStacks {
    /// For each stack but the empty one: the stack below its top, and its top.
    tops: Vec<(ControlStackId, SourceId)>,
    children: HashMap<(ControlStackId, SourceId), ControlStackId>,
}

impl ControlStacks {
    /// The stack after `Enter source`.
    pub fn enter(&mut self, stack: ControlStackId, source: SourceId) -> ControlStackId {
        *self.children.entry((stack, source)).or_insert_with(|| {
            self.tops.push((stack, source));
            ControlStackId(self.tops.len() as u32)
        })
    }

    /// The source that was opened last and the stack without it; `None` on the empty stack.
    pub fn top(&self, stack: ControlStackId) -> Option<(SourceId, ControlStackId)> {
        let (below, source) = *self.tops.get(stack.index().checked_sub(1)?)?;
        Some((source, below))
    }

    /// Whether `stack` is `base` with any number of sources opened on top of it.
    pub fn extends(&self, stack: ControlStackId, base: ControlStackId) -> bool {
        let mut current = stack;
        loop {
            if current == base {
                return true;
            }
            match self.top(current) {
                Some((_, below)) => current = below,
                None => return false,
            }
        }
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
        assert_eq!(stacks.enter(ControlStackId::EMPTY, SourceId(3)), first);
        assert_eq!(stacks.top(inner), Some((SourceId(4), first)));
        assert_eq!(stacks.sources(inner).as_slice(), [SourceId(3), SourceId(4)]);
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
}
