//! The call graph of a program, and the part of it that a report keeps.

use std::collections::{HashMap, HashSet};

use crate::SourceMap;

/// The most edges that a graph may have, and the most steps that finding them may take. A real
/// program needs a small part of it; a source map made to be hostile could ask for hours.
const MAX_EDGES: usize = 4_000_000;
const MAX_STEPS: usize = 1 << 30;

/// The call graph: a node for each split source, an edge to each of its successors. The map's
/// indices must be in range.
///
/// Many sources may share one sequence of successors. The searches look at each sequence once, so
/// they take time in proportion to the map, not to the number of edges.
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

    /// The source sequence that holds a node's successors.
    fn sequence(&self, node: usize) -> usize {
        self.map.sources[node].successors.index()
    }

    /// The nodes of a sequence, the last one first. Upstream pushes edges on a list, and the order
    /// decides which of two edges to a node is drawn.
    fn targets(&self, sequence: usize) -> impl ExactSizeIterator<Item = usize> + use<'a> {
        self.map.sequences[sequence]
            .iter()
            .rev()
            .map(|to| to.index())
    }

    /// `nodes` and their direct successors.
    pub(super) fn with_successors(&self, nodes: &[bool]) -> Vec<bool> {
        let mut is_needed = vec![false; self.map.sequences.len()];
        for node in (0..self.len()).filter(|&node| nodes[node]) {
            is_needed[self.sequence(node)] = true;
        }
        let mut all = nodes.to_vec();
        for sequence in (0..is_needed.len()).filter(|&sequence| is_needed[sequence]) {
            self.targets(sequence).for_each(|to| all[to] = true);
        }
        all
    }

    /// `nodes` and their direct predecessors.
    pub(super) fn with_predecessors(&self, nodes: &[bool]) -> Vec<bool> {
        let n_sequences = self.map.sequences.len();
        let hits: Vec<bool> = (0..n_sequences)
            .map(|sequence| self.targets(sequence).any(|to| nodes[to]))
            .collect();
        (0..self.len())
            .map(|node| nodes[node] || hits[self.sequence(node)])
            .collect()
    }

    /// The nodes that can be reached from `roots`, which are among them.
    pub(super) fn reachable(&self, roots: Vec<bool>) -> Vec<bool> {
        let mut seen = roots;
        let mut is_done = vec![false; self.map.sequences.len()];
        let mut stack: Vec<usize> = (0..self.len()).filter(|&node| seen[node]).collect();
        while let Some(node) = stack.pop() {
            let sequence = self.sequence(node);
            if !std::mem::replace(&mut is_done[sequence], true) {
                stack.extend(
                    self.targets(sequence)
                        .filter(|&to| !std::mem::replace(&mut seen[to], true)),
                );
            }
        }
        seen
    }

    /// The nodes from which one of `roots` can be reached; `roots` are among them.
    pub(super) fn reaching(&self, roots: Vec<bool>) -> Vec<bool> {
        let mut holders = vec![Vec::new(); self.len()];
        for sequence in 0..self.map.sequences.len() {
            self.targets(sequence)
                .for_each(|to| holders[to].push(sequence));
        }
        let mut users = vec![Vec::new(); self.map.sequences.len()];
        (0..self.len()).for_each(|node| users[self.sequence(node)].push(node));
        let mut seen = roots;
        let mut stack: Vec<usize> = (0..self.len()).filter(|&node| seen[node]).collect();
        while let Some(node) = stack.pop() {
            for sequence in std::mem::take(&mut holders[node]) {
                let from = std::mem::take(&mut users[sequence]).into_iter();
                stack.extend(from.filter(|&from| !std::mem::replace(&mut seen[from], true)));
            }
        }
        seen
    }
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
    n_edges: usize,
    n_steps: usize,
}

/// The graph has too many edges, or too many paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooBig;

impl KeptGraph {
    /// The graph of `n_nodes` nodes. `node_of` gives the node of each split source, if it is kept.
    pub(super) fn new(
        graph: &CallGraph<'_>,
        n_nodes: usize,
        node_of: &[Option<usize>],
    ) -> Result<KeptGraph, TooBig> {
        let edges = vec![HashMap::new(); n_nodes];
        let mut kept = KeptGraph {
            edges,
            n_edges: 0,
            n_steps: 0,
        };
        for source in (0..graph.len()).rev() {
            let Some(from) = node_of[source] else {
                continue;
            };
            for to in graph.targets(graph.sequence(source)) {
                kept.step()?;
                if let Some(to) = node_of[to] {
                    kept.add(from, to, false)?;
                }
            }
        }
        for source in 0..graph.len() {
            if let Some(from) = node_of[source] {
                kept.add_dashed(graph, source, from, node_of)?;
            }
        }
        Ok(kept)
    }

    /// Adds a dashed edge to each node that can be reached from the split source `root` through at
    /// least one source that is not kept and no source that is, in depth-first order.
    fn add_dashed(
        &mut self,
        graph: &CallGraph<'_>,
        root: usize,
        from: usize,
        node_of: &[Option<usize>],
    ) -> Result<(), TooBig> {
        // How far each sequence has been searched. A sequence that comes up again, even from
        // within itself, is continued: what came before has been seen. The search goes on in
        // `stack` and not by recursion, because chains may be long.
        let mut rest = HashMap::new();
        let mut seen = HashSet::new();
        let mut is_found = HashSet::new();
        for first in graph.targets(graph.sequence(root)) {
            self.step()?;
            if node_of[first].is_some() {
                continue;
            }
            let mut stack = vec![graph.sequence(first)];
            while let Some(&sequence) = stack.last() {
                self.step()?;
                let targets = rest
                    .entry(sequence)
                    .or_insert_with(|| graph.targets(sequence));
                let Some(to) = targets.next() else {
                    stack.pop();
                    continue;
                };
                if seen.insert(to) {
                    match node_of[to] {
                        None => stack.push(graph.sequence(to)),
                        Some(node) if is_found.insert(node) => self.add(from, node, true)?,
                        Some(_) => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), TooBig> {
        self.n_steps += 1;
        if self.n_steps > MAX_STEPS {
            Err(TooBig)
        } else {
            Ok(())
        }
    }

    fn add(&mut self, from: usize, to: usize, dashed: bool) -> Result<(), TooBig> {
        self.step()?;
        let replaced = self.edges[from].insert(to, (self.n_steps, dashed));
        self.n_edges += usize::from(replaced.is_none());
        if self.n_edges > MAX_EDGES {
            Err(TooBig)
        } else {
            Ok(())
        }
    }

    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// The edges of a node, in the order in which they were added.
    pub(super) fn edges(&self, node: usize) -> Vec<KeptEdge> {
        let mut edges: Vec<_> = self.edges[node].iter().collect();
        edges.sort_unstable_by_key(|(_, (added, _))| *added);
        edges
            .into_iter()
            .map(|(&to, &(_, dashed))| KeptEdge { to, dashed })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NameId, Source, SourceId, SourceSeqId};

    fn map(successors: &[&[u32]]) -> SourceMap {
        let source = |i| Source {
            name: NameId(0),
            successors: SourceSeqId(i),
        };
        SourceMap {
            names: vec![],
            sources: (0..successors.len() as u32).map(source).collect(),
            sequences: successors
                .iter()
                .map(|ids| ids.iter().map(|&id| SourceId(id)).collect())
                .collect(),
            magic: 0,
        }
    }

    fn kept(map: &SourceMap, n_nodes: usize, node_of: &[Option<usize>]) -> KeptGraph {
        KeptGraph::new(&CallGraph::new(map), n_nodes, node_of).unwrap()
    }

    fn edge(to: usize, dashed: bool) -> KeptEdge {
        KeptEdge { to, dashed }
    }

    #[test]
    fn a_path_through_others_is_one_dashed_edge() {
        let map = map(&[&[1], &[2], &[3], &[]]);
        let kept = kept(&map, 2, &[Some(0), None, None, Some(1)]);
        assert_eq!(kept.edges(0), [edge(1, true)]);
        assert_eq!(kept.edges(1), []);
    }

    #[test]
    fn a_dashed_edge_replaces_a_solid_one() {
        let map = map(&[&[1, 2], &[2], &[]]);
        let kept = kept(&map, 2, &[Some(0), None, Some(1)]);
        assert_eq!(kept.edges(0), [edge(1, true)]);
    }

    #[test]
    fn edges_come_in_reverse_sequence_order() {
        let map = map(&[&[0, 1, 2], &[], &[]]);
        let kept = kept(&map, 3, &[Some(0), Some(1), Some(2)]);
        assert_eq!(
            kept.edges(0),
            [edge(2, false), edge(1, false), edge(0, false)]
        );
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
        assert_eq!(kept(&map, 2, &node_of).edges(0), [edge(1, true)]);
        let mut roots = vec![false; n];
        roots[n - 1] = true;
        assert!(graph.reaching(roots).into_iter().all(|reached| reached));
    }

    #[test]
    fn a_sequence_is_searched_on_from_within_itself() {
        // 1 calls 2, 3, 4, in this order; 2 calls 5, then 4; 5 shares the successors of 1. So the
        // search meets 3 by way of 5, before 2 gets to 4.
        let mut map = map(&[&[1], &[4, 3, 2], &[4, 5], &[], &[], &[]]);
        map.sources[5].successors = SourceSeqId(1);
        let kept = kept(&map, 3, &[Some(0), None, None, Some(1), Some(2), None]);
        assert_eq!(kept.edges(0), [edge(1, true), edge(2, true)]);
    }

    #[test]
    fn shared_successors_are_no_trap() {
        // 30,000 sources that all may call all of them: 900 million edges.
        let n = 30_000_u32;
        let mut map = map(&vec![&[][..]; n as usize]);
        map.sequences[0] = (0..n).map(SourceId).collect();
        for source in &mut map.sources {
            source.successors = SourceSeqId(0);
        }
        let graph = CallGraph::new(&map);
        let mut roots = vec![false; n as usize];
        roots[7] = true;
        for nodes in [
            graph.reachable(roots.clone()),
            graph.reaching(roots.clone()),
            graph.with_predecessors(&roots),
            graph.with_successors(&roots),
        ] {
            assert!(nodes.into_iter().all(|is_in| is_in));
        }
        let node_of: Vec<Option<usize>> = (0..n as usize).map(Some).collect();
        assert_eq!(
            KeptGraph::new(&graph, n as usize, &node_of).map(|_| ()),
            Err(TooBig)
        );
    }
}
