//! The calling contexts of a profile in stack style: the tree, and who calls whom in it.

use std::collections::{BTreeMap, HashMap};

use profiler::{Kind, ProfileData, SourceId, SourceMap, Style};

use super::{Run, of_node};
use crate::render;

/// The deepest context that is shown.
const MAX_DEPTH: usize = 60;

/// A calling context: a function, called in another context.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) source: SourceId,
    /// The context that it was called in, by its place in the list; it stands before this one.
    parent: Option<usize>,
    /// What was counted in it, by kind.
    own: [u64; 3],
    /// What was counted in it and below it.
    sum: [u64; 3],
}

/// The contexts of a unit of profile data in which something was counted, or below which.
pub(crate) fn contexts(data: &ProfileData) -> Vec<Context> {
    if data.style() != Style::Stack {
        return Vec::new();
    }
    let mut all: Vec<Context> = data
        .contexts()
        .map(|(node, parent)| {
            let own = Kind::ALL.map(|kind| of_node(node, kind));
            Context {
                source: node.source,
                parent,
                own,
                sum: own,
            }
        })
        .collect();
    add_up(&mut all);
    // Every source has a node under the root, called or not.
    let mut places = vec![None; all.len()];
    let mut kept: Vec<Context> = Vec::new();
    for (index, context) in all.into_iter().enumerate() {
        if context.sum != [0; 3] {
            places[index] = Some(kept.len());
            let parent = context.parent.and_then(|parent| places[parent]);
            kept.push(Context { parent, ..context });
        }
    }
    kept
}

fn add_up(contexts: &mut [Context]) {
    for index in (0..contexts.len()).rev() {
        let sum = contexts[index].sum;
        if let Some(parent) = contexts[index].parent {
            let above = &mut contexts[parent].sum;
            above
                .iter_mut()
                .zip(sum)
                .for_each(|(above, sum)| *above += sum);
        }
    }
}

/// The trees of runs as one; `sources` has a source for each name, in the order of names.
pub(crate) fn merged(runs: &[&Run], sources: &SourceMap) -> Vec<Context> {
    if runs.iter().any(|run| run.style != Style::Stack) {
        return Vec::new();
    }
    let ids: HashMap<&str, u32> = sources.names.iter().map(String::as_str).zip(0..).collect();
    let mut merged: Vec<Context> = Vec::new();
    let mut known: HashMap<(Option<usize>, SourceId), usize> = HashMap::new();
    for run in runs {
        let mut places = Vec::with_capacity(run.contexts.len());
        for context in &run.contexts {
            let name = run.sources.name_of(context.source).unwrap_or_default();
            let source = SourceId(ids.get(name).copied().unwrap_or(0));
            let parent = context.parent.map(|parent: usize| places[parent]);
            let place = *known.entry((parent, source)).or_insert_with(|| {
                merged.push(Context {
                    source,
                    parent,
                    own: [0; 3],
                    sum: [0; 3],
                });
                merged.len() - 1
            });
            let own = &mut merged[place].own;
            own.iter_mut()
                .zip(context.own)
                .for_each(|(sum, own)| *sum += own);
            places.push(place);
        }
    }
    for context in &mut merged {
        context.sum = context.own;
    }
    add_up(&mut merged);
    merged
}

fn index_of(kind: Kind) -> usize {
    Kind::ALL.iter().position(|&one| one == kind).unwrap_or(0)
}

/// The tree, each context under its caller, heaviest first; those below `thresh` percent are left
/// out.
pub(crate) fn tree(run: &Run, kind: Kind, thresh: f64) -> String {
    let kind_index = index_of(kind);
    let contexts = &run.contexts;
    let mut children = children_of(contexts);
    let roots = (0..contexts.len()).filter(|&index| contexts[index].parent.is_none());
    let mut roots: Vec<usize> = roots.collect();
    let weight = |index: &usize| std::cmp::Reverse(contexts[*index].sum[kind_index]);
    for list in children.iter_mut().chain([&mut roots]) {
        list.sort_by_key(weight);
    }
    let total: u64 = roots
        .iter()
        .map(|&root| contexts[root].sum[kind_index])
        .sum();
    let smallest = thresh / 100.0 * total as f64;
    let mut rows = vec![
        ["context", "with calls", "", "own"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut open: Vec<(usize, usize)> = roots.iter().rev().map(|&root| (root, 0)).collect();
    while let Some((index, depth)) = open.pop() {
        let context = &contexts[index];
        let sum = context.sum[kind_index];
        if sum == 0 || (sum as f64) < smallest {
            continue;
        }
        let name = super::label(&run.sources, context.source);
        if depth == MAX_DEPTH {
            rows.push(vec![format!("{}…", "  ".repeat(depth))]);
            continue;
        }
        let share = 100.0 * sum as f64 / total.max(1) as f64;
        rows.push(vec![
            format!("{}{name}", "  ".repeat(depth)),
            render::count(sum),
            format!("{share:.1}%"),
            render::count(context.own[kind_index]),
        ]);
        open.extend(
            children[index]
                .iter()
                .rev()
                .map(|&child| (child, depth + 1)),
        );
    }
    render::columns(&rows)
}

/// Which side of a call is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Callers,
    Callees,
}

/// For each function that calls `name`, or that it calls, what was counted in those calls, theirs
/// included; of recursive calls the outermost count. `None` when nothing was counted in `name`.
pub(crate) fn neighbours(run: &Run, name: &str, kind: Kind, side: Side) -> Option<String> {
    let kind_index = index_of(kind);
    let label = |index: usize| super::label(&run.sources, run.contexts[index].source);
    let children = children_of(&run.contexts);
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    // How many calls of each pair are open on the way from the root.
    let mut n_open: HashMap<(&str, &str), usize> = HashMap::new();
    let mut is_known = false;
    let mut own = 0;
    let mut steps: Vec<Step> = vec![Step::Enter(0)];
    if run.contexts.is_empty() {
        return None;
    }
    while let Some(step) = steps.pop() {
        let (Step::Enter(index) | Step::Leave(index)) = step;
        let context = &run.contexts[index];
        let callee = label(index);
        let caller = context.parent.map_or("the start", label);
        let n_above = n_open.entry((caller, callee)).or_default();
        if let Step::Leave(_) = step {
            *n_above -= 1;
            continue;
        }
        *n_above += 1;
        if callee == name {
            is_known = true;
            own += context.own[kind_index];
        }
        let neighbour = match side {
            Side::Callers => (callee == name).then_some(caller),
            Side::Callees => (caller == name).then_some(callee),
        };
        // Below an outer call of the same pair, everything is counted already.
        if let Some(neighbour) = neighbour
            && *n_above == 1
        {
            *sums.entry(neighbour).or_default() += context.sum[kind_index];
        }
        steps.push(Step::Leave(index));
        steps.extend(children[index].iter().map(|&child| Step::Enter(child)));
    }
    if !is_known {
        return None;
    }
    let mut rows: Vec<(&str, u64)> = sums.into_iter().collect();
    rows.sort_by_key(|&(name, sum)| (std::cmp::Reverse(sum), name));
    let (head, word) = match side {
        Side::Callers => ("caller", "called from"),
        Side::Callees => ("callee", "calls"),
    };
    let mut cells = vec![vec![head.to_owned(), super::unit(kind).to_owned()]];
    cells.extend(
        rows.iter()
            .map(|&(name, sum)| vec![name.to_owned(), render::count(sum)]),
    );
    let (own, unit) = (render::count(own), super::unit(kind));
    Some(format!(
        "{name} {word}, with what was counted in the calls (in {name} itself: {own} {unit})\n{}",
        render::columns(&cells)
    ))
}

/// A step of a walk over the tree.
#[derive(Clone, Copy)]
enum Step {
    Enter(usize),
    Leave(usize),
}

/// The places of each context's children.
fn children_of(contexts: &[Context]) -> Vec<Vec<usize>> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); contexts.len()];
    for (index, context) in contexts.iter().enumerate() {
        if let Some(parent) = context.parent {
            children[parent].push(index);
        }
    }
    children
}
