//! The tree of calling contexts, which units of profile data in stack style keep.
//!
//! The root is the context of `<main>`. The nodes of the other sources that every unit has are its
//! first children, one for each source; all others are made when they are entered. A path from the
//! root is the stack of sources, outermost first.
//!
//! **Folding.** MLton's columns ask which sources are on the stack, not how often. So two contexts
//! may share a node if the same sources are on their paths, in the order in which they first
//! occur, and the same source is current. The *spine* of a context is the node whose path is just
//! these sources, each once. Folded, entering `s` under spine `p` leads
//!
//! - to `p` itself if `s` is its source: direct recursion;
//! - else to the child `s` of `p`. If `s` is on the path of `p`, the child is a *return* to `s`:
//!   its path has the same sources, so its spine is `p` too, and it has no children.
//!
//! Folding needs nothing but the spine, so it can begin at any time, in the midst of a tree that
//! was exact until then.
//!
//! **The limit.** An exact tree begins to fold when three quarters of the nodes are in use. When
//! none is left, contexts are lost: what they count goes to the node of the same source under the
//! closest context around that has one. Its path has no source that is not on the stack, so
//! current counts stay exact, and the other columns are never too high.

use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

use crate::data::ProfileData;
use crate::{Node, SourceId, Style};

/// How a unit of profile data in stack style keeps its calling contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextConfig {
    /// Whether recursion is folded from the start. The columns of `mlmon.out` are the same; the
    /// tree is bounded by the functions of the program instead of the depth of its stack.
    pub fold_recursion: bool,
    /// The most nodes that a unit makes. One for each source is always there, even if that is
    /// more.
    pub node_limit: usize,
}

impl Default for ContextConfig {
    /// Exact contexts, and at most 2^20 nodes.
    fn default() -> ContextConfig {
        ContextConfig {
            fold_recursion: false,
            node_limit: 1 << 20,
        }
    }
}

/// The nodes of a tree that were made on demand.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    // A chunk never grows beyond its first capacity, so its nodes stay where they are.
    chunks: Vec<Vec<Node>>,
    /// The children that are not in the list of their parent: by the indices of the parent and of
    /// the source, their place among the nodes of this tree.
    unlisted: HashMap<(u32, SourceId), usize>,
    pub(crate) folded: bool,
    pub(crate) lost: bool,
}

/// Nodes in a chunk.
const CHUNK: usize = 512;
/// The children of a node that are in its list; more are found by hashing.
const MAX_LISTED: usize = 8;
/// How far up a path is searched for a source. Recursion through more sources than that is not
/// folded, which costs nodes but no exactness.
const MAX_SEARCH: usize = 1024;
/// How many contexts around a lost one are tried before it is charged to one under the root.
const MAX_CLIMB: usize = 32;

impl Tree {
    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        let last = self.chunks.last().map_or(0, Vec::len);
        self.chunks.len().saturating_sub(1) * CHUNK + last
    }

    /// The nodes, in the order in which they were made. They live as long as the tree.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = *const Node> {
        self.chunks
            .iter()
            .flat_map(|chunk| (0..chunk.len()).map(|place| chunk.as_ptr().wrapping_add(place)))
    }

    fn get(&self, place: usize) -> Option<*const Node> {
        let chunk = self.chunks.get(place / CHUNK)?;
        (place % CHUNK < chunk.len()).then(|| chunk.as_ptr().wrapping_add(place % CHUNK))
    }

    /// Adds a node and returns its address, or `None` if there is no memory for it.
    fn push(&mut self, node: Node) -> Option<*const Node> {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            let mut chunk = Vec::new();
            chunk.try_reserve_exact(CHUNK).ok()?;
            self.chunks.try_reserve(1).ok()?;
            self.chunks.push(chunk);
        }
        let chunk = self.chunks.last_mut()?;
        chunk.push(node);
        Some(chunk.as_ptr().wrapping_add(chunk.len() - 1))
    }
}

impl ProfileData {
    /// The context of `<main>`, under which all others are. In current style, the node of
    /// `<main>`.
    #[inline]
    pub fn root(&self) -> &Node {
        self.node(SourceId::MAIN)
    }

    /// The context that entering `source` in the context `node` leads to, made if it is new. Its
    /// source is always `source`, or `<unknown>` if `source` is out of range. In current style it
    /// is the node of the source. A `node` of another unit counts as the root. Entering
    /// [`SourceId::CALLER`] leads back to `node`.
    ///
    /// Only the thread of the VM may call it, or counts may be charged to the wrong context. It is
    /// the slow path of [`Node::cached_child`], and takes constant time but for the first call
    /// with a new context.
    ///
    /// To leave, go back to the node that was current before. That is [`Node::parent`] only if
    /// recursion is not folded and the limit is not in sight: when contexts are folded, several
    /// lead to the same node.
    pub fn enter(&self, node: &Node, source: SourceId) -> &Node {
        if !self.has_contexts() {
            return self.node(source);
        }
        let node = self.own(node).unwrap_or_else(|| self.root());
        let child = match source {
            SourceId::CALLER => node,
            _ => self.child(node, self.node(source).source),
        };
        // SAFETY: both nodes are in this unit.
        unsafe { node.cache(source, child) };
        child
    }

    /// How many nodes the unit has: one for each source, and in stack style those that were made
    /// for other contexts.
    pub fn n_nodes(&self) -> usize {
        self.nodes().len() + self.tree().len()
    }

    /// What the tree of contexts could not tell apart because of the limit, in one sentence. None
    /// in current style, whose counts are exact all the same.
    pub fn notice(&self) -> Option<String> {
        if self.style() == Style::Current {
            return None;
        }
        let limit = self.context_config().node_limit;
        let tree = self.tree();
        if tree.lost {
            let n_nodes = self.nodes().len() + tree.len();
            Some(format!(
                "the profile has more than {n_nodes} calling contexts: some were charged to others \
                 of the same function, so that stack counts are too low; raise the limit of nodes"
            ))
        } else if tree.folded {
            Some(format!(
                "the profile comes close to {limit} calling contexts: recursion was folded in \
                 later ones, which changes no count of a function; raise the limit of nodes to see \
                 each call, or fold recursion from the start"
            ))
        } else {
            None
        }
    }

    /// All nodes, each with the place in this order of the context that it was made under. Parents
    /// come before their children; the root is first, and alone has none. In current style the
    /// order is the same, and no node has a parent.
    ///
    /// Every source has a node under the root, also if it was never called from there: nodes with
    /// no counts in them or below them are best left out of what people see.
    pub fn contexts(&self) -> impl Iterator<Item = (&Node, Option<usize>)> {
        self.all_nodes().into_iter().map(|node| {
            let parent = node.parent.get().map(|parent| parent.index as usize);
            (node, parent)
        })
    }

    /// All nodes in the order of their indices.
    pub(crate) fn all_nodes(&self) -> Vec<&Node> {
        let fixed = self.nodes();
        let main = SourceId::MAIN.index();
        let (before, after) = fixed.split_at(main);
        let first = after.iter().take(1).chain(before);
        let tree = self.tree();
        // SAFETY: nodes of the tree live and stay in place as long as the unit, which is borrowed.
        let made = tree.nodes().filter_map(|node| unsafe { node.as_ref() });
        first.chain(after.iter().skip(1)).chain(made).collect()
    }

    /// Makes the nodes of the sources the first contexts: that of `<main>` the root, the others
    /// its children.
    pub(crate) fn link_roots(&self) {
        let root = self.root();
        for node in self.nodes() {
            // SAFETY: all these nodes are in this unit.
            unsafe {
                node.root.set(root);
                node.spine.set(node);
                if node.source != root.source {
                    node.parent.set(root);
                }
            }
        }
    }

    pub(crate) fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same node, if it is in the tree of this unit.
    pub(crate) fn own(&self, node: &Node) -> Option<&Node> {
        // SAFETY: both addresses are of nodes that are borrowed, so if the root is this unit's,
        // the node is too, and lives as long as the unit.
        (node.root.is(self.root())).then(|| unsafe { &*std::ptr::from_ref(node) })
    }

    fn child<'a>(&'a self, node: &'a Node, source: SourceId) -> &'a Node {
        // Current counts need no more than a folded tree.
        let folds = self.context_config().fold_recursion || self.style() == Style::Current;
        if !folds {
            let exact = self.find(node, source);
            if let Some(child) = exact.or_else(|| self.make(node, source, self.exact_limit())) {
                return child;
            }
            self.tree().folded = true;
        }
        let spine = self.spine(node);
        if spine.source == source {
            return spine;
        }
        self.folded_child(spine, source).unwrap_or_else(|| {
            self.tree().lost = true;
            self.nearest(spine, source)
        })
    }

    /// From how many nodes on contexts are folded.
    fn exact_limit(&self) -> usize {
        let limit = self.context_config().node_limit;
        limit - limit / 4
    }

    /// The child `source` of `node`, if there is one.
    fn find<'a>(&'a self, node: &'a Node, source: SourceId) -> Option<&'a Node> {
        let is_root = node.parent.get().is_none();
        if is_root && source != node.source {
            return Some(self.node(source));
        }
        let mut n_listed = 0;
        for child in children(node) {
            if child.source == source {
                return Some(child);
            }
            n_listed += 1;
        }
        if n_listed < MAX_LISTED {
            return None;
        }
        let tree = self.tree();
        let place = *tree.unlisted.get(&(node.index, source))?;
        // SAFETY: nodes of the tree live and stay in place as long as the unit, which is borrowed.
        tree.get(place).and_then(|node| unsafe { node.as_ref() })
    }

    /// Makes the child `source` of `parent`, unless there are `limit` nodes or memory is short.
    fn make<'a>(&'a self, parent: &Node, source: SourceId, limit: usize) -> Option<&'a Node> {
        let tree = &mut *self.tree();
        let place = tree.len();
        let index = self.nodes().len() + place;
        if index >= limit {
            return None;
        }
        let is_listed = children(parent).count() < MAX_LISTED;
        if !is_listed {
            tree.unlisted.try_reserve(1).ok()?;
        }
        let made = tree.push(Node::with_index(source, u32::try_from(index).ok()?))?;
        // SAFETY: nodes of the tree live and stay in place as long as the unit, which is borrowed.
        let node = unsafe { made.as_ref() }?;
        // SAFETY: all these nodes are in this unit.
        unsafe {
            node.root.set(self.root());
            node.parent.set(parent);
            if is_listed {
                if let Some(sibling) = parent.first_child.get() {
                    node.next_sibling.set(sibling);
                }
                parent.first_child.set(node);
            }
        }
        if !is_listed {
            tree.unlisted.insert((parent.index, source), place);
        }
        Some(node)
    }

    /// The child `source` of a spine, made if it is new, if there is a node left for it.
    fn folded_child<'a>(&'a self, spine: &'a Node, source: SourceId) -> Option<&'a Node> {
        let limit = self.context_config().node_limit;
        let found = self.find(spine, source);
        let child = found.or_else(|| self.make(spine, source, limit))?;
        set_spine(child, spine);
        Some(child)
    }

    /// The context of `source` under the closest context around `spine` that has one.
    fn nearest<'a>(&'a self, spine: &'a Node, source: SourceId) -> &'a Node {
        for context in path(spine).take(MAX_CLIMB) {
            if context.source == source {
                return context;
            }
            if let Some(child) = self.find(context, source) {
                set_spine(child, context);
                return child;
            }
        }
        self.node(source)
    }

    /// The spine of `node`. It is looked for once for each node, so that the way up to a context
    /// that has one is paid for by the nodes that were made on it.
    fn spine<'a>(&'a self, node: &'a Node) -> &'a Node {
        let mut unknown = Vec::new();
        let mut context = node;
        let mut spine = loop {
            match (context.spine.get(), context.parent.get()) {
                (Some(spine), _) => break spine,
                (None, Some(parent)) => {
                    unknown.push(context);
                    context = parent;
                }
                (None, None) => break context,
            }
        };
        while let Some(context) = unknown.pop() {
            if spine.source != context.source {
                let source = context.source;
                let child = self.folded_child(spine, source);
                let child = child.unwrap_or_else(|| self.nearest(spine, source));
                spine = child.spine.get().unwrap_or(child);
            }
            // SAFETY: both nodes are in this unit.
            unsafe { context.spine.set(spine) };
        }
        spine
    }
}

/// The context and those around it, up to the root.
fn path(node: &Node) -> impl Iterator<Item = &Node> {
    std::iter::successors(Some(node), |node| node.parent.get())
}

/// The children that are in the list of `node`.
fn children(node: &Node) -> impl Iterator<Item = &Node> {
    std::iter::successors(node.first_child.get(), |child| child.next_sibling.get())
}

/// Notes the spine of `child`, a child of `spine` with another source.
fn set_spine(child: &Node, spine: &Node) {
    if child.spine.get().is_none() {
        let mut around = path(spine).take(MAX_SEARCH);
        let returns = around.any(|context| context.source == child.source);
        // SAFETY: a node and its child are in the same unit.
        unsafe { child.spine.set(if returns { spine } else { child }) };
    }
}
