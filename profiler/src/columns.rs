//! MLton's columns, made from the nodes of a unit.
//!
//! MLton keeps three numbers for each source and moves them at every call. Here a node has one
//! number, what it counted itself, and the columns follow from where the nodes are in the tree: a
//! source is on the stack of all nodes below its outermost occurrence on a path.

use std::sync::atomic::Ordering::Relaxed;

use crate::mlmon::{CountRow, Totals};
use crate::{Kind, Node, ProfileData, SourceId, Style};

/// The counts of one kind in a unit at one moment.
pub(crate) struct Reading<'a> {
    style: Style,
    nodes: Vec<&'a Node>,
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

impl<'a> Reading<'a> {
    /// The counts of `kind` as they are now. Each counter is read once.
    pub(crate) fn new(data: &'a ProfileData, kind: Kind) -> Reading<'a> {
        let nodes = data.all_nodes();
        let count = |node: &&Node| match kind {
            Kind::Time => node.ticks.load(Relaxed),
            Kind::Alloc => node.bytes.load(Relaxed),
            Kind::Count => node.calls.load(Relaxed),
        };
        Reading {
            style: data.style(),
            own: nodes.iter().map(count).collect(),
            nodes,
        }
    }

    /// The sums of all counts.
    pub(crate) fn totals(&self) -> Totals {
        let mut all = Sum::default();
        (0..self.nodes.len()).for_each(|index| all.add(self.own_sum(index)));
        Totals {
            total: all.program,
            total_gc: all.gc,
        }
    }

    /// One row for each of `n` labels, where `label` says which one a source has: itself, or its
    /// name. Several sources of the same label count as one, also if they are on one path.
    pub(crate) fn rows(&self, n: usize, label: impl Fn(SourceId) -> usize) -> Vec<CountRow> {
        let mut rows = vec![CountRow::default(); n];
        for (node, &own) in self.nodes.iter().zip(&self.own) {
            if let Some(row) = rows.get_mut(label(node.source)) {
                row.current = row.current.wrapping_add(own);
            }
        }
        if self.style == Style::Stack {
            self.add_stack_columns(&mut rows, label);
        }
        rows
    }

    fn own_sum(&self, index: usize) -> Sum {
        let own = self.own[index];
        match self.nodes[index].source {
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
    /// pass from the end sums up a tree of any depth.
    fn sums(&self) -> Vec<Sum> {
        let mut sums: Vec<Sum> = (0..self.nodes.len()).map(|i| self.own_sum(i)).collect();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent.get() {
                let sum = sums[index];
                sums[parent.index as usize].add(sum);
            }
        }
        sums
    }

    /// Walks the tree and adds the sum of each context that is the outermost of its label.
    fn add_stack_columns(&self, rows: &mut [CountRow], label: impl Fn(SourceId) -> usize) {
        let sums = self.sums();
        let mut n_on_path = vec![0_u32; rows.len()];
        for step in Walk::new(&self.nodes) {
            let (Step::Enter(index) | Step::Leave(index)) = step;
            let label = label(self.nodes[index].source);
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
struct Walk<'a> {
    nodes: &'a [&'a Node],
    /// The first child and the next sibling of each node; `NONE` if there is none.
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
    next: Option<Step>,
}

#[derive(Clone, Copy)]
enum Step {
    Enter(usize),
    Leave(usize),
}

/// No node has this index: it would be the 2^32nd.
const NONE: u32 = u32::MAX;

impl<'a> Walk<'a> {
    /// A walk from the first of `nodes`, which is the root.
    fn new(nodes: &'a [&'a Node]) -> Walk<'a> {
        let mut first_child = vec![NONE; nodes.len()];
        let mut next_sibling = vec![NONE; nodes.len()];
        for node in nodes.iter().rev() {
            if let Some(parent) = node.parent.get() {
                let first = &mut first_child[parent.index as usize];
                next_sibling[node.index as usize] = std::mem::replace(first, node.index);
            }
        }
        Walk {
            nodes,
            first_child,
            next_sibling,
            next: Some(Step::Enter(0)),
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.next?;
        let enter = |index: u32| (index != NONE).then_some(Step::Enter(index as usize));
        self.next = match step {
            Step::Enter(index) => enter(self.first_child[index]).or(Some(Step::Leave(index))),
            Step::Leave(index) => enter(self.next_sibling[index]).or_else(|| {
                let parent = self.nodes[index].parent.get();
                parent.map(|parent| Step::Leave(parent.index as usize))
            }),
        };
        Some(step)
    }
}
