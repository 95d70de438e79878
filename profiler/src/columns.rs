//! MLton's columns, made from the nodes of a unit.
//!
//! MLton keeps three numbers for each source and moves them at every call. Here a node has one
//! number, what it counted itself, and the columns follow from where the nodes are in the tree: a
//! source is on the stack of all nodes below its outermost occurrence on a path.

use std::sync::atomic::Ordering::Relaxed;

use crate::mlmon::{CountRow, Totals};
use crate::{Kind, Node, ProfileData, SourceId, Style};

/// The counts of one kind in a unit at one moment.
pub(crate) struct Snapshot<'a> {
    style: Style,
    contexts: Vec<(&'a Node, Option<usize>)>,
    own: Vec<u64>,
}

/// What was counted in a context and below it.
#[derive(Clone, Copy, Default)]
struct Sum {
    program: u64,
    gc: u64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.program = self.program.wrapping_add(other.program);
        self.gc = self.gc.wrapping_add(other.gc);
    }
}

impl<'a> Snapshot<'a> {
    /// The counts of `kind` as they are now. Each counter is read once.
    pub(crate) fn new(data: &'a ProfileData, kind: Kind) -> Snapshot<'a> {
        let contexts: Vec<_> = data.contexts().collect();
        let count = |(node, _): &(&Node, _)| match kind {
            Kind::Time => node.ticks.load(Relaxed),
            Kind::Alloc => node.bytes.load(Relaxed),
            Kind::Count => node.calls.load(Relaxed),
        };
        Snapshot {
            style: data.style(),
            own: contexts.iter().map(count).collect(),
            contexts,
        }
    }

    /// The sums of all counts.
    pub(crate) fn totals(&self) -> Totals {
        let mut all = Sum::default();
        (0..self.contexts.len()).for_each(|index| all.add(self.own_sum(index)));
        Totals {
            total: all.program,
            total_gc: all.gc,
        }
    }

    /// One row for each of `n` labels, where `label` says which one a source has: itself, or its
    /// name. Several sources of the same label count as one.
    pub(crate) fn rows(&self, n: usize, label: impl Fn(SourceId) -> usize) -> Vec<CountRow> {
        let mut rows = vec![CountRow::default(); n];
        let labels: Vec<usize> = self
            .contexts
            .iter()
            .map(|(node, _)| label(node.source))
            .collect();
        for (&label, &own) in labels.iter().zip(&self.own) {
            if let Some(row) = rows.get_mut(label) {
                row.current = row.current.wrapping_add(own);
            }
        }
        if self.style == Style::Stack {
            self.add_stack_columns(&mut rows, &labels);
        }
        rows
    }

    fn own_sum(&self, index: usize) -> Sum {
        let (node, own) = (self.contexts[index].0, self.own[index]);
        match node.source {
            SourceId::GC => Sum {
                program: 0,
                gc: own,
            },
            _ => Sum {
                program: own,
                gc: 0,
            },
        }
    }

    /// What was counted in each context and below it. Children come after their parents, so one
    /// pass from the end sums up all trees of any depth.
    fn sums(&self) -> Vec<Sum> {
        let mut sums: Vec<Sum> = (0..self.contexts.len()).map(|i| self.own_sum(i)).collect();
        for index in (0..self.contexts.len()).rev() {
            if let Some(parent) = self.contexts[index].1 {
                let sum = sums[index];
                sums[parent].add(sum);
            }
        }
        sums
    }

    /// Walks the tree and adds the sum of each context that is the outermost of its label.
    fn add_stack_columns(&self, rows: &mut [CountRow], labels: &[usize]) {
        let sums = self.sums();
        let mut n_on_path = vec![0_u32; rows.len()];
        for step in Walk::new(&self.contexts) {
            let (Step::Enter(index) | Step::Leave(index)) = step;
            let label = labels[index];
            let (Some(row), Some(n)) = (rows.get_mut(label), n_on_path.get_mut(label)) else {
                continue;
            };
            match step {
                Step::Leave(_) => *n -= 1,
                Step::Enter(_) => {
                    if *n == 0 {
                        row.stack = row.stack.wrapping_add(sums[index].program);
                        row.stack_gc = row.stack_gc.wrapping_add(sums[index].gc);
                    }
                    *n += 1;
                }
            }
        }
    }
}

/// A walk of the tree that enters each context before those below it and leaves it after them. It
/// needs no stack of its own, let alone the thread's.
struct Walk {
    /// The first child, the next sibling and the parent of each context; `NONE` if there is none.
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
    parent: Vec<u32>,
    next: Option<Step>,
}

#[derive(Clone, Copy)]
enum Step {
    Enter(usize),
    Leave(usize),
}

const NONE: u32 = u32::MAX;

impl Walk {
    fn new(contexts: &[(&Node, Option<usize>)]) -> Walk {
        let n = contexts.len();
        let mut walk = Walk {
            first_child: vec![NONE; n],
            next_sibling: vec![NONE; n],
            parent: vec![NONE; n],
            next: (n > 0).then_some(Step::Enter(0)),
        };
        for (index, &(_, parent)) in contexts.iter().enumerate().rev() {
            if let Some(parent) = parent {
                // Indices are those of nodes, which are 32 bits.
                walk.parent[index] = parent as u32;
                walk.next_sibling[index] = walk.first_child[parent];
                walk.first_child[parent] = index as u32;
            }
        }
        walk
    }
}

impl Iterator for Walk {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.next?;
        let enter = |index| (index != NONE).then_some(Step::Enter(index as usize));
        let leave = |index| (index != NONE).then_some(Step::Leave(index as usize));
        self.next = match step {
            Step::Enter(index) => enter(self.first_child[index]).or(Some(Step::Leave(index))),
            Step::Leave(index) => {
                enter(self.next_sibling[index]).or_else(|| leave(self.parent[index]))
            }
        };
        Some(step)
    }
}
