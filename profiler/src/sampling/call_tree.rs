//! Call stacks, each as one number.

/// How many nodes a tree of calls may have unless another limit is asked for: 128 MiB of them.
pub const DEFAULT_NODE_LIMIT: usize = 1 << 22;

/// A call stack: a node of a [`CallTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct CallId(pub u32);

impl CallId {
    /// The id as an index into a slice.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All call stacks that a profile has met, as a tree: the same site called from the same stack is
/// the same node, so a stack of any depth is one [`CallId`], which costs nothing to keep.
///
/// What a *site* is, is up to the user: an index of a function or of a line.
///
/// ```
/// use profiler::sampling::CallTree;
///
/// let mut tree = CallTree::new();
/// let main = tree.child(CallTree::ROOT, 10);
/// let leaf = tree.child(main, 20);
/// assert_eq!(tree.child(main, 20), leaf);
/// assert_eq!((tree.site(leaf), tree.parent(leaf)), (20, main));
/// assert_eq!(tree.stack(leaf).map(|id| tree.site(id)).collect::<Vec<_>>(), [20, 10]);
/// ```
#[derive(Clone, Debug)]
pub struct CallTree {
    nodes: Vec<Node>,
    /// An open hash table of node indices by parent and site. It is at most three quarters full.
    table: Vec<u32>,
    limit: usize,
    n_cut: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: CallId,
    site: u32,
    /// The two children that were found last, or the root for none: most calls ask for them again.
    recent: [CallId; 2],
}

/// An empty place of the table. The root is nobody's child, so its index is free.
const EMPTY: u32 = CallTree::ROOT.0;

/// The smallest table; a power of two, as all are.
const MIN_TABLE_LEN: usize = 16;

// With a quarter of slack, and the 8/3 places in the table that each has at most, a node takes no
// more than 32 bytes. The second recent child takes a third of the time of a sample away in
// programs whose functions call in two places.
const _: () = assert!(size_of::<Node>() <= 16);

impl CallTree {
    /// The empty stack.
    pub const ROOT: CallId = CallId(0);

    /// A tree that has the empty stack alone, of at most [`DEFAULT_NODE_LIMIT`] nodes.
    pub fn new() -> CallTree {
        CallTree::with_limit(DEFAULT_NODE_LIMIT)
    }

    /// A tree of at most `limit` nodes, besides one for each site: see [`CallTree::child`].
    pub fn with_limit(limit: usize) -> CallTree {
        let root = Node {
            parent: CallTree::ROOT,
            site: u32::MAX,
            recent: [CallTree::ROOT; 2],
        };
        CallTree {
            nodes: vec![root],
            table: vec![EMPTY; MIN_TABLE_LEN],
            limit,
            n_cut: 0,
        }
    }

    /// The stack with `site` called from the stack `parent`. Constant time, and a few instructions
    /// if the parent was asked for the same child before. An id of another tree counts as the root.
    ///
    /// When the tree has reached its limit, or memory is short, an unknown stack is cut: what comes
    /// back is `site` called from nowhere, so that what is charged to it has the right site still,
    /// and [`CallTree::n_cut`] counts it.
    #[inline]
    pub fn child(&mut self, parent: CallId, site: u32) -> CallId {
        if let Some(node) = self.nodes.get(parent.index()) {
            for recent in node.recent {
                let is_it = self
                    .nodes
                    .get(recent.index())
                    .is_some_and(|one| one.site == site);
                if is_it && recent != CallTree::ROOT {
                    return recent;
                }
            }
        }
        self.find_or_make(parent, site)
    }

    /// The stack from which the site of `id` was called. That of the root, or of an unknown id, is
    /// the root.
    pub fn parent(&self, id: CallId) -> CallId {
        self.nodes
            .get(id.index())
            .map_or(CallTree::ROOT, |node| node.parent)
    }

    /// The innermost site of a stack; `u32::MAX` for the root, or an unknown id.
    pub fn site(&self, id: CallId) -> u32 {
        self.nodes
            .get(id.index())
            .map_or(u32::MAX, |node| node.site)
    }

    /// The stack and those around it, innermost first, without the root.
    pub fn stack(&self, id: CallId) -> impl Iterator<Item = CallId> {
        let inside = |&id: &CallId| id != CallTree::ROOT && id.index() < self.nodes.len();
        std::iter::successors(Some(id).filter(inside), move |&id| {
            Some(self.parent(id)).filter(inside)
        })
    }

    /// How many nodes there are, the root included. Ids are below it, and those of parents below
    /// those of their children.
    #[expect(clippy::len_without_is_empty, reason = "a tree always has its root")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// How often a stack was cut because the tree was full.
    pub fn n_cut(&self) -> u64 {
        self.n_cut
    }

    /// How much memory the tree takes, in bytes, room for growth included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Node>() * self.nodes.capacity() + size_of::<u32>() * self.table.capacity()
    }

    /// [`CallTree::child`] where the parent does not remember the child.
    #[cold]
    fn find_or_make(&mut self, parent: CallId, site: u32) -> CallId {
        let is_known = parent.index() < self.nodes.len();
        let parent = if is_known { parent } else { CallTree::ROOT };
        let child = match self.find(parent, site) {
            Ok(child) => child,
            Err(_) if self.nodes.len() >= self.limit && parent != CallTree::ROOT => {
                self.n_cut += 1;
                return self.cut(site);
            }
            Err(place) => match self.make(parent, site, place) {
                Some(child) => child,
                None => {
                    self.n_cut += 1;
                    return self.cut(site);
                }
            },
        };
        let recent = &mut self.nodes[parent.index()].recent;
        *recent = [child, recent[0]];
        child
    }

    /// The site called from nowhere; if there is no memory for it, the root.
    fn cut(&mut self, site: u32) -> CallId {
        match self.find(CallTree::ROOT, site) {
            Ok(child) => child,
            Err(place) => self
                .make(CallTree::ROOT, site, place)
                .unwrap_or(CallTree::ROOT),
        }
    }

    /// The child, or the place in the table where it belongs.
    fn find(&self, parent: CallId, site: u32) -> Result<CallId, usize> {
        let mask = self.table.len() - 1;
        let mut place = hash(parent, site) & mask;
        // The table is never full, so there is an empty place.
        while self.table[place] != EMPTY {
            let id = CallId(self.table[place]);
            let node = self.nodes[id.index()];
            if node.parent == parent && node.site == site {
                return Ok(id);
            }
            place = (place + 1) & mask;
        }
        Err(place)
    }

    /// A new node, unless there is no memory or no number for it.
    fn make(&mut self, parent: CallId, site: u32, place: usize) -> Option<CallId> {
        let id = u32::try_from(self.nodes.len()).ok().map(CallId)?;
        if self.nodes.len() == self.nodes.capacity() {
            // Doubling would take more memory for nodes to come than for those that are there.
            let n_more = (self.nodes.len() / 4).max(MIN_TABLE_LEN / 4);
            self.nodes.try_reserve_exact(n_more).ok()?;
        }
        let is_full = self.nodes.len() * 4 > self.table.len() * 3;
        let place = if is_full {
            self.grow()?;
            self.find(parent, site).err()?
        } else {
            place
        };
        self.nodes.push(Node {
            parent,
            site,
            recent: [CallTree::ROOT; 2],
        });
        self.table[place] = id.0;
        Some(id)
    }

    /// Doubles the table; `None` if there is no memory for it.
    fn grow(&mut self) -> Option<()> {
        let len = self.table.len() * 2;
        let mut table = Vec::new();
        table.try_reserve_exact(len).ok()?;
        table.resize(len, EMPTY);
        self.table = table;
        for (id, node) in (0..).zip(&self.nodes).skip(1) {
            let mut place = hash(node.parent, node.site) & (len - 1);
            while self.table[place] != EMPTY {
                place = (place + 1) & (len - 1);
            }
            self.table[place] = id;
        }
        Some(())
    }
}

impl Default for CallTree {
    fn default() -> CallTree {
        CallTree::new()
    }
}

/// Mixes both numbers well: children of one parent, and parents of one site, are often neighbours.
fn hash(parent: CallId, site: u32) -> usize {
    let mut z = (u64::from(parent.0) << 32) | u64::from(site);
    z = (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    z = (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (z ^ (z >> 32)) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::sampling::SplitMix64;

    #[test]
    fn the_root_is_the_empty_stack() {
        let tree = CallTree::new();
        assert_eq!(tree.len(), 1);
        assert_eq!(tree.parent(CallTree::ROOT), CallTree::ROOT);
        assert_eq!(tree.site(CallTree::ROOT), u32::MAX);
        assert_eq!(tree.stack(CallTree::ROOT).count(), 0);
    }

    #[test]
    fn random_stacks_are_interned() {
        let mut tree = CallTree::new();
        let mut model = HashMap::new();
        let mut random = SplitMix64(11);
        let mut id = CallTree::ROOT;
        for _ in 0..200_000 {
            if random.next_u64().is_multiple_of(3) {
                id = tree.parent(id);
                continue;
            }
            let site = (random.next_u64() % 7) as u32 * 1000;
            let len = tree.len();
            let child = tree.child(id, site);
            let known = *model.entry((id, site)).or_insert(child);
            assert_eq!(child, known);
            assert_eq!(tree.len(), if model.len() == len { len + 1 } else { len });
            assert_eq!((tree.parent(child), tree.site(child)), (id, site));
            id = if tree.stack(child).count() > 12 {
                CallTree::ROOT
            } else {
                child
            };
        }
        assert_eq!(tree.len(), model.len() + 1);
        assert!(tree.len() > 10_000);
    }

    #[test]
    fn a_node_takes_at_most_32_bytes() {
        let mut tree = CallTree::new();
        let mut id = CallTree::ROOT;
        for site in 0..100_000 {
            id = tree.child(id, site % 3);
            let allowed = 32 * tree.len() + 256;
            assert!(tree.memory_bytes() <= allowed, "{} nodes", tree.len());
        }
        assert_eq!(tree.stack(id).count(), 100_000);
    }

    #[test]
    fn many_children_are_found_again() {
        let mut tree = CallTree::new();
        let ids: Vec<CallId> = (0..50_000)
            .map(|site| tree.child(CallTree::ROOT, site))
            .collect();
        for (site, &id) in (0..).zip(&ids) {
            assert_eq!(tree.child(CallTree::ROOT, site), id);
        }
        // The greatest site is that of the root, and still a site like others.
        let odd = tree.child(CallTree::ROOT, u32::MAX);
        assert_eq!(odd.index(), 50_001);
        assert_eq!(tree.child(ids[0], u32::MAX).index(), 50_002);
        assert_eq!(tree.child(CallTree::ROOT, u32::MAX), odd);
    }

    #[test]
    fn a_full_tree_cuts_stacks_and_keeps_sites() {
        let mut tree = CallTree::with_limit(4);
        let a = tree.child(CallTree::ROOT, 1);
        let b = tree.child(a, 2);
        let c = tree.child(b, 3);
        assert_eq!((tree.len(), tree.n_cut()), (4, 0));
        let cut = tree.child(c, 3);
        assert_eq!((tree.site(cut), tree.parent(cut)), (3, CallTree::ROOT));
        assert_eq!(tree.child(c, 3), cut);
        assert_eq!(tree.child(b, 1), a);
        assert_eq!((tree.len(), tree.n_cut()), (5, 3));
        // What was there before is still found.
        assert_eq!(tree.child(b, 3), c);
    }

    #[test]
    fn an_id_of_another_tree_is_no_trouble() {
        let mut tree = CallTree::new();
        let stranger = CallId(77);
        assert_eq!(tree.site(stranger), u32::MAX);
        assert_eq!(tree.parent(stranger), CallTree::ROOT);
        assert_eq!(tree.stack(stranger).count(), 0);
        let child = tree.child(stranger, 5);
        assert_eq!(tree.child(CallTree::ROOT, 5), child);
    }
}
