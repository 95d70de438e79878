//! Several units of profile data: more like one, the same context in another, and their sum.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use crate::{Node, ProfileData};

impl ProfileData {
    /// An empty unit of the same style, sizes and limits.
    pub fn new_like(&self) -> ProfileData {
        ProfileData::with_contexts(
            self.nodes().len(),
            self.style(),
            self.context_config(),
            self.has_contexts(),
        )
    }

    /// The node of `other` for the context that `node` has in this unit, made if needed. If one of
    /// the units is in current style, the node of the same source.
    ///
    /// To translate the nodes of all frames of a stack, use one [`Translator`] for them all.
    pub fn translate<'a>(&self, other: &'a ProfileData, node: &Node) -> &'a Node {
        Translator::new(other).translate(node)
    }

    /// Adds the counts of another unit, by context: the sum over several threads, or over several
    /// phases of one. Not while a VM counts in this unit, for its next count may undo the sum.
    pub fn absorb(&self, other: &ProfileData) {
        let mut sums: Vec<&Node> = Vec::new();
        for (node, parent) in other.contexts() {
            let sum = match parent.and_then(|parent| sums.get(parent)) {
                Some(parent) => self.enter(parent, node.source),
                None => self.node(node.source),
            };
            sum.ticks.fetch_add(node.ticks.load(Relaxed), Relaxed);
            sum.bytes.fetch_add(node.bytes.load(Relaxed), Relaxed);
            sum.calls.fetch_add(node.calls.load(Relaxed), Relaxed);
            sums.push(sum);
        }
        self.add_cpu_ns(other.cpu_ns());
        let (folded, lost) = {
            let tree = other.tree();
            (tree.folded, tree.lost)
        };
        let mut tree = self.tree();
        tree.folded |= folded;
        tree.lost |= lost;
    }
}

/// Finds the nodes of one unit for the contexts of another. The paths of the contexts that it has
/// seen are not walked again, so all frames of a deep stack take time in proportion to its depth.
#[derive(Debug)]
pub struct Translator<'a, 'b> {
    to: &'a ProfileData,
    seen: HashMap<*const Node, &'a Node>,
    from: std::marker::PhantomData<&'b Node>,
}

impl<'a, 'b> Translator<'a, 'b> {
    /// A translator to contexts of the unit `to`.
    pub fn new(to: &'a ProfileData) -> Translator<'a, 'b> {
        Translator {
            to,
            seen: HashMap::new(),
            from: std::marker::PhantomData,
        }
    }

    /// The node for the context that `node` has in its unit, made if needed. If one of the units
    /// is in current style, the node of the same source.
    pub fn translate(&mut self, node: &'b Node) -> &'a Node {
        if !self.to.has_contexts() {
            return self.to.node(node.source);
        }
        let mut unseen = Vec::new();
        let mut around = Some(node);
        let mut found = None;
        while let Some(context) = around {
            found = self.seen.get(&std::ptr::from_ref(context)).copied();
            if found.is_some() {
                break;
            }
            unseen.push(context);
            around = context.parent.get();
        }
        for context in unseen.into_iter().rev() {
            let next = match found {
                Some(parent) => self.to.enter(parent, context.source),
                None => self.to.node(context.source),
            };
            self.seen.insert(context, next);
            found = Some(next);
        }
        found.unwrap_or_else(|| self.to.root())
    }
}
