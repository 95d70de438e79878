//! The call graph of a program, and the part of it that a report keeps.

use std::collections::{HashMap, HashSet};

use crate::SourceMap;

/// The call graph: a node for each split source, an edge to each of its successors. The map's
/// indices must be in range.
pub(super) struct CallGraph<'a> {
    map: &'a SourceMap,
}

impl<'a> CallGraph<'a> {
    pub(super) fn new(map: &'a SourceMap) -> CallGraph<'a> {
        CallGraph { map }
    }

    pub(super) fn len(&self) -> usize {
        self.map.sources.len()
    }

    /// The targets of a node's edges, the last one of its sequence first. Upstream pushes edges on
    /// a list, and the order decides which of two edges to a node is drawn.
    pub(super) fn successors(&self, node: usize) -> impl Iterator<Item = usize> + use<'a> {
        let sequence = self.map.sequences.get(self.map.sources[node].successors.index());
        sequence.map_or(&[][..], Vec::as_slice).iter().rev().map(|to| to.index())
    }

    /// The nodes that can be reached from `roots`, which are among them.
    pub(super) fn reachable(&self, roots: Vec<bool>) -> Vec<bool> {
        closure(roots, |node| self.successors(node))
    }

    /// The nodes from which one of `roots` can be reached; `roots` are among them.
    pub(super) fn reaching(&self, roots: Vec<bool>) -> Vec<bool> {
        let mut predecessors = vec![Vec::new(); self.len()];
        for from in 0..self.len() {
            // A sequence may name a node many times; once is enough.
            let to: HashSet<usize> = self.successors(from).collect();
            to.into_iter().for_each(|to| predecessors[to].push(from));
        }
        closure(roots, |node| predecessors[node].iter().copied())
    }
}

/// Adds to `seen` whatever can be reached from it through `next`.
fn closure<I: Iterator<Item = usize>>(
    mut seen: Vec<bool>,
    next: impl Fn(usize) -> I,
) -> Vec<bool> {
    let mut stack: Vec<usize> = (0..seen.len()).filter(|&node| seen[node]).collect();
    while let Some(node) = stack.pop() {
        for to in next(node) {
            if !seen[to] {
                seen[to] = true;
                stack.push(to);
            }
        }
    }
    seen
}

/// An edge of a [`KeptGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptEdge {
    pub(super) to: usize,
    /// The edge stands for paths through nodes that are not kept.
    pub(super) dashed: bool,
}

/// The graph that is drawn: the nodes that are kept and the edges between them. Of several edges
/// from one node to another, the one that was added last is drawn.
pub(super) struct KeptGraph {
    /// For each node, when each target's edge was added, and whether it is dashed.
    edges: Vec<HashMap<usize, (usize, bool)>>,
    n_added: usize,
}

impl KeptGraph {
    /// The graph of `n_nodes` nodes. `node_of` gives the node of each split source, if it is kept.
    pub(super) fn new(
        graph: &CallGraph<'_>,
        n_nodes: usize,
        node_of: &[Option<usize>],
    ) -> KeptGraph {
        let mut kept = KeptGraph { edges: vec![HashMap::new(); n_nodes], n_added: 0 };
        for source in (0..graph.len()).rev() {
            let Some(from) = node_of[source] else { continue };
            for to in graph.successors(source).filter_map(|to| node_of[to]) {
                kept.add(from, to, false);
            }
        }
        for source in 0..graph.len() {
            let Some(from) = node_of[source] else { continue };
            for to in reach_through_others(graph, source, node_of) {
                kept.add(from, to, true);
            }
        }
        kept
    }

    fn add(&mut self, from: usize, to: usize, dashed: bool) {
        self.n_added += 1;
        self.edges[from].insert(to, (self.n_added, dashed));
    }

    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// The edges of a node, in the order in which they were added.
    pub(super) fn edges(&self, node: usize) -> Vec<KeptEdge> {
        let mut edges: Vec<_> = self.edges[node].iter().collect();
        edges.sort_unstable_by_key(|(_, (added, _))| *added);
        edges.into_iter().map(|(&to, &(_, dashed))| KeptEdge { to, dashed }).collect()
    }
}

/// The kept nodes that can be reached from `root` through at least one source that is not kept and
/// no source that is, each once, in the order of a depth-first search.
fn reach_through_others(
    graph: &CallGraph<'_>,
    root: usize,
    node_of: &[Option<usize>],
) -> Vec<usize> {
    let mut seen = HashSet::new();
    let mut is_found = HashSet::new();
    let mut found = Vec::new();
    for first in graph.successors(root).filter(|&to| node_of[to].is_none()) {
        // The search goes on in `stack` and not by recursion: chains may be long.
        let mut stack = vec![graph.successors(first)];
        while let Some(top) = stack.last_mut() {
            let Some(to) = top.next() else {
                stack.pop();
                continue;
            };
            if seen.insert(to) {
                match node_of[to] {
                    None => stack.push(graph.successors(to)),
                    Some(node) if is_found.insert(node) => found.push(node),
                    Some(_) => {}
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NameId, Source, SourceId, SourceSeqId};

    fn map(successors: &[&[u32]]) -> SourceMap {
        let source = |i| Source { name: NameId(0), successors: SourceSeqId(i) };
        SourceMap {
            names: vec![],
            sources: (0..successors.len() as u32).map(source).collect(),
            sequences: successors.iter().map(|ids| ids.iter().map(|&id| SourceId(id)).collect()).collect(),
            magic: 0,
        }
    }

    fn edge(to: usize, dashed: bool) -> KeptEdge {
        KeptEdge { to, dashed }
    }

    #[test]
    fn a_path_through_others_is_one_dashed_edge() {
        let map = map(&[&[1], &[2], &[3], &[]]);
        let kept = KeptGraph::new(&CallGraph::new(&map), 2, &[Some(0), None, None, Some(1)]);
        assert_eq!(kept.edges(0), [edge(1, true)]);
        assert_eq!(kept.edges(1), []);
    }

    #[test]
    fn a_dashed_edge_replaces_a_solid_one() {
        let map = map(&[&[1, 2], &[2], &[]]);
        let kept = KeptGraph::new(&CallGraph::new(&map), 2, &[Some(0), None, Some(1)]);
        assert_eq!(kept.edges(0), [edge(1, true)]);
    }

    #[test]
    fn edges_come_in_reverse_sequence_order() {
        let map = map(&[&[0, 1, 2], &[], &[]]);
        let kept = KeptGraph::new(&CallGraph::new(&map), 3, &[Some(0), Some(1), Some(2)]);
        assert_eq!(kept.edges(0), [edge(2, false), edge(1, false), edge(0, false)]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let n = 200_000;
        let mut map = map(&vec![&[][..]; n]);
        for i in 1..n {
            map.sequences[i - 1] = vec![SourceId(i as u32)];
        }
        let mut node_of = vec![None; n];
        (node_of[0], node_of[n - 1]) = (Some(0), Some(1));
        let graph = CallGraph::new(&map);
        assert_eq!(KeptGraph::new(&graph, 2, &node_of).edges(0), [edge(1, true)]);
        let mut roots = vec![false; n];
        roots[n - 1] = true;
        assert!(graph.reaching(roots).into_iter().all(|reached| reached));
    }
}
