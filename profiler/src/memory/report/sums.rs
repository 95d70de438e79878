//! Figures by function.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::cells::printable;
use crate::SourceId;
use crate::memory::{CallFigures, Measure, MemoryFile, MemorySource};
use crate::sampling::{CallId, CallTree, Estimate};

/// The functions of a program: sources that have the same name and place are one, and there is one
/// more for what was allocated with an empty stack.
pub(super) struct Groups {
    labels: Vec<String>,
    /// By the index of a source.
    of_source: Vec<usize>,
}

impl Groups {
    pub(super) fn new(file: &MemoryFile) -> Groups {
        let mut index: HashMap<&MemorySource, usize> = HashMap::new();
        let mut firsts: Vec<&MemorySource> = Vec::new();
        let mut of_source = Vec::new();
        let mut n_named: HashMap<&str, usize> = HashMap::new();
        for source in &file.sources {
            let group = *index.entry(source).or_insert_with(|| {
                firsts.push(source);
                *n_named.entry(&source.function).or_default() += 1;
                firsts.len() - 1
            });
            of_source.push(group);
        }
        let label = |source: &&MemorySource| match n_named[source.function.as_str()] {
            1 => printable(&source.function),
            _ => printable(&place(&source.function, &source.file, source.line)),
        };
        let mut labels: Vec<String> = firsts.iter().map(label).collect();
        labels.push("(no function)".to_owned());
        Groups { labels, of_source }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(super) fn label(&self, group: usize) -> String {
        self.labels[group].clone()
    }

    /// The function of a source.
    pub(super) fn of_source(&self, source: SourceId) -> usize {
        let none = self.labels.len() - 1;
        self.of_source.get(source.index()).copied().unwrap_or(none)
    }

    /// The innermost function of a call stack.
    pub(super) fn of_call(&self, file: &MemoryFile, call: CallId) -> usize {
        let none = self.labels.len() - 1;
        file.site(call)
            .map_or(none, |site| self.of_source(site.source))
    }
}

/// A function with its file and line, as far as they are known.
pub(super) fn place(function: &str, file: &str, line: u32) -> String {
    match (file, line) {
        ("", _) => function.to_owned(),
        (file, 0) => format!("{function} ({file})"),
        (file, line) => format!("{function} ({file}:{line})"),
    }
}

/// The sampled figures by function.
pub(super) struct Sums {
    /// Of stacks on which the function was innermost.
    pub(super) own: Vec<CallFigures>,
    /// Of one measure, of stacks on which the function was.
    pub(super) inclusive: Vec<Estimate>,
    /// Of all stacks.
    pub(super) total: CallFigures,
    /// The labels, to sort equal rows by.
    labels: Vec<String>,
}

impl Sums {
    pub(super) fn new(file: &MemoryFile, groups: &Groups, by: Measure) -> Sums {
        let mut own = vec![CallFigures::default(); groups.len()];
        let mut total = CallFigures::default();
        for (call, figures) in &file.rows {
            own[groups.of_call(file, *call)].add_all(figures);
            total.add_all(figures);
        }
        Sums {
            own,
            inclusive: inclusive(file, groups, by),
            total,
            labels: groups.labels.clone(),
        }
    }

    /// The functions that have figures, those with most bytes of a measure first, then those that
    /// allocated most.
    pub(super) fn order(&self, by: Measure) -> Vec<usize> {
        let has_figures = |&group: &usize| {
            let is_empty = |measure| self.own[group].get(measure).n_blocks == 0;
            !Measure::ALL.into_iter().all(is_empty) || self.inclusive[group].n_blocks > 0
        };
        let mut order: Vec<usize> = (0..self.own.len()).filter(has_figures).collect();
        order.sort_by(|&a, &b| {
            most(&self.own[a], &self.own[b], by).then_with(|| self.labels[a].cmp(&self.labels[b]))
        });
        order
    }
}

/// The order in which rows are shown: most bytes of the measure, then most allocated.
pub(super) fn most(a: &CallFigures, b: &CallFigures, by: Measure) -> Ordering {
    let key = |figures: &CallFigures| [figures.get(by).bytes, figures.allocated.bytes];
    let [a, b] = [key(a), key(b)];
    b[0].total_cmp(&a[0]).then(b[1].total_cmp(&a[1]))
}

/// What was allocated while each function was on the stack: the sums of the trees below its
/// outermost calls, for those hold all others.
fn inclusive(file: &MemoryFile, groups: &Groups, by: Measure) -> Vec<Estimate> {
    let n = file.calls.len() + 1;
    // Parents have lower ids; in a file made by hand the root takes in what breaks the rule.
    let parent = |id: usize| match file.call(CallId(id as u32)) {
        Some(call) if call.parent.index() < id => call.parent.index(),
        _ => CallTree::ROOT.index(),
    };
    let mut below = vec![Estimate::default(); n];
    for (call, figures) in &file.rows {
        if let Some(sum) = below.get_mut(call.index()) {
            sum.add_all(figures.get(by));
        }
    }
    let mut first_child = vec![0_usize; n];
    let mut next_sibling = vec![0_usize; n];
    for id in (1..n).rev() {
        let parent = parent(id);
        let sum = below[id];
        below[parent].add_all(&sum);
        next_sibling[id] = first_child[parent];
        first_child[parent] = id;
    }
    let mut sums = vec![Estimate::default(); groups.len()];
    let mut n_on_stack = vec![0_usize; groups.len()];
    // A walk with no recursion, for stacks may be deep: each call is met twice, going in and out.
    let mut todo = vec![(CallTree::ROOT.index(), true)];
    while let Some((id, is_entry)) = todo.pop() {
        let group = groups.of_call(file, CallId(id as u32));
        let depth = &mut n_on_stack[group];
        if !is_entry {
            *depth -= 1;
            continue;
        }
        *depth += 1;
        if *depth == 1 {
            sums[group].add_all(&below[id]);
        }
        todo.push((id, false));
        let mut child = first_child[id];
        while child != 0 {
            todo.push((child, true));
            child = next_sibling[child];
        }
    }
    // What the empty stack has is what it has itself, not what is called from it.
    let none = groups.len() - 1;
    sums[none] = Estimate::default();
    for (call, figures) in &file.rows {
        if groups.of_call(file, *call) == none {
            sums[none].add_all(figures.get(by));
        }
    }
    sums
}
