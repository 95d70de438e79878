//! Call stacks, each as one number.

/// How many nodes a tree of calls may have unless another limit is asked for: 128 MiB of them.
pub const DEFAULT_NODE_LIMIT: usize = 1 << 22;

/// How many nodes a tree of calls may have at most.
pub const MAX_NODES: usize = 1 << ID_BITS;

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

/// What tells call stacks apart without looking at them: a number made of all their sites, from the
/// outermost to the innermost. It costs a multiplication for each call and no memory.
///
/// Each step is a bijection, so stacks that differ do not become the same by the same calls.
///
/// ```
/// use profiler::sampling::{CallTree, StackHash};
///
/// let mut tree = CallTree::new();
/// let main = tree.child(CallTree::ROOT, 10);
/// let leaf = tree.child(main, 20);
/// assert_eq!(tree.find(tree.look_up(StackHash::EMPTY.call(10).call(20))), Some(leaf));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct StackHash(u64);

impl StackHash {
    /// That of the empty stack.
    pub const EMPTY: StackHash = StackHash(0x9e37_79b9_7f4a_7c15);

    /// That of the stack with one more call.
    #[inline]
    pub fn call(self, site: u32) -> StackHash {
        const SITE_FACTOR: u64 = 0xbf58_476d_1ce4_e5b9;
        const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
        let site = (u64::from(site) + 1).wrapping_mul(SITE_FACTOR);
        StackHash((self.0.rotate_left(26) ^ site).wrapping_mul(FACTOR))
    }

    /// Whether its node always has a place in the table: one in 32 does.
    #[inline]
    fn is_landmark(self) -> bool {
        self.0 >> 32 & 31 == 0
    }

    /// The place in a table of so many places, which the upper bits decide.
    #[inline]
    fn place(self, table_len: usize) -> usize {
        ((u128::from(self.0) * table_len as u128) >> u64::BITS) as usize
    }
}

/// A place of a [`CallTree`]'s table: a node's index, and above it as many of the lower bits of its
/// stack's hash as there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
struct Slot(u64);

/// The bits of a slot that hold a node's index.
const ID_BITS: u32 = 24;

impl Slot {
    /// An empty place. The root is nobody's child, so its index is free.
    const EMPTY: Slot = Slot(0);

    #[inline]
    fn new(hash: StackHash, id: CallId) -> Slot {
        Slot(hash.0 << ID_BITS | u64::from(id.0))
    }

    #[inline]
    fn id(self) -> CallId {
        CallId((self.0 & ((1 << ID_BITS) - 1)) as u32)
    }

    #[inline]
    fn has_tag_of(self, hash: StackHash) -> bool {
        self.0 >> ID_BITS == hash.0 << ID_BITS >> ID_BITS
    }
}

/// The first look for a stack in a [`CallTree`].
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    hash: StackHash,
    place: usize,
    slot: Slot,
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
    /// An open hash table of nodes by their stacks' hashes. It is at most five sixths full. A node
    /// that stands right behind its parent is found there, so it may be missing here.
    table: Vec<Slot>,
    /// How many places of the table are taken.
    n_placed: usize,
    limit: usize,
    n_cut: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    hash: StackHash,
    parent: CallId,
    site: u32,
}

/// The smallest table.
const MIN_TABLE_LEN: usize = 12;

// With an eighth of slack, and the 1.65 places in the table that each has at most, a node takes no
// more than 32 bytes.
const _: () = assert!(size_of::<Node>() <= 16);

impl CallTree {
    /// The empty stack.
    pub const ROOT: CallId = CallId(0);

    /// A tree that has the empty stack alone, of at most [`DEFAULT_NODE_LIMIT`] nodes.
    pub fn new() -> CallTree {
        CallTree::with_limit(DEFAULT_NODE_LIMIT)
    }

    /// A tree of at most `limit` nodes besides one for each site, see [`CallTree::child`], and of
    /// at most [`MAX_NODES`] in all.
    pub fn with_limit(limit: usize) -> CallTree {
        let root = Node {
            hash: StackHash::EMPTY,
            parent: CallTree::ROOT,
            site: u32::MAX,
        };
        CallTree {
            nodes: vec![root],
            table: vec![Slot::EMPTY; MIN_TABLE_LEN],
            n_placed: 0,
            limit: limit.min(MAX_NODES),
            n_cut: 0,
        }
    }

    /// The stack with `site` called from the stack `parent`. Constant time. An id of another tree
    /// counts as the root.
    ///
    /// When the tree has reached its limit, or memory is short, an unknown stack is cut: what comes
    /// back is `site` called from nowhere, so that what is charged to it has the right site still,
    /// and [`CallTree::n_cut`] counts it.
    pub fn child(&mut self, parent: CallId, site: u32) -> CallId {
        let is_known = parent.index() < self.nodes.len();
        let parent = if is_known { parent } else { CallTree::ROOT };
        if let Some(child) = self.find_placed(parent, site) {
            return child;
        }
        if let Some(child) = self.find_behind(parent, site) {
            // Without memory for that it is still found behind its parent.
            let _ = self.place(child);
            return child;
        }
        let has_room = !self.is_full() || parent == CallTree::ROOT;
        if has_room && let Some(child) = self.make(parent, site) {
            return child;
        }
        self.cut(site)
    }

    /// The stack with these sites called from the stack `from`, the first of them by its innermost
    /// one; `None` when the tree has reached its limit before the last of them, or memory is short.
    ///
    /// Stacks that only lie on the way to others are cheap to make: they stand one behind the
    /// other, and few of them need a place in the table. So [`CallTree::find`] may not know them
    /// until [`CallTree::child`] is asked for them; [`CallTree::nearest`] knows those that have a
    /// place.
    ///
    /// ```
    /// use profiler::sampling::CallTree;
    ///
    /// let mut tree = CallTree::new();
    /// let deep = tree.descend(CallTree::ROOT, [10, 20, 30].into_iter()).expect("there is room");
    /// assert_eq!(tree.stack(deep).map(|id| tree.site(id)).collect::<Vec<_>>(), [30, 20, 10]);
    /// ```
    pub fn descend(&mut self, from: CallId, sites: impl Iterator<Item = u32>) -> Option<CallId> {
        let mut n_left = sites.size_hint().1.unwrap_or(1);
        let is_known = from.index() < self.nodes.len();
        let mut at = if is_known { from } else { CallTree::ROOT };
        for site in sites {
            at = match self.find_child(at, site) {
                Some(child) => child,
                None if self.is_full() => return None,
                None => {
                    self.reserve_nodes(n_left.clamp(1, self.limit - self.nodes.len()))?;
                    self.append(at, site)?
                }
            };
            n_left = n_left.saturating_sub(1);
        }
        Some(at)
    }

    /// `site` called from nowhere, which stands for a stack that is cut; the empty stack if there
    /// is no memory for that.
    pub fn cut(&mut self, site: u32) -> CallId {
        self.n_cut += 1;
        let known = self.find_child(CallTree::ROOT, site);
        known
            .or_else(|| self.make(CallTree::ROOT, site))
            .unwrap_or(CallTree::ROOT)
    }

    /// Whether the tree has reached its limit, so that stacks that it does not know are cut.
    pub fn is_full(&self) -> bool {
        self.nodes.len() >= self.limit
    }

    /// Begins to look for the stack of this hash. What is read here is seldom in a cache when there
    /// are many stacks, so there should be other work to do before the answer is wanted.
    #[inline]
    pub fn look_up(&self, hash: StackHash) -> Lookup {
        let place = hash.place(self.table.len());
        Lookup {
            hash,
            place,
            slot: self.table[place],
        }
    }

    /// The stack that was looked for, if the tree has it and [`CallTree::child`] gave it. Constant
    /// time.
    ///
    /// It is told by its hash alone: that any two of `n` stacks are taken for the same has a
    /// probability of a few times `n / 2^40`, some 10 in a million when the tree is full.
    #[inline]
    pub fn find(&self, lookup: Lookup) -> Option<CallId> {
        let Lookup { hash, place, slot } = lookup;
        self.find_from(place, slot, |slot| slot.has_tag_of(hash))
    }

    /// Of the stacks of these hashes, each of them around the next, the index of one that the tree
    /// has, and the stack. There is none, or only a few dozen others that the tree has are inside
    /// it; `None` if there is none at all. Those that the tree does not have are each looked at.
    pub fn nearest(&self, around: &[StackHash]) -> Option<(usize, CallId)> {
        let landmarks = around.iter().enumerate().rev();
        let landmarks = landmarks.filter(|(_, hash)| hash.is_landmark());
        landmarks.into_iter().find_map(|(index, &hash)| {
            let id = self.find(self.look_up(hash))?;
            // Its hash was compared in part.
            (self.hash(id) == hash).then_some((index, id))
        })
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

    /// What tells a stack from others. That of an unknown id is the root's.
    pub fn hash(&self, id: CallId) -> StackHash {
        self.nodes
            .get(id.index())
            .map_or(StackHash::EMPTY, |node| node.hash)
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
        size_of::<Node>() * self.nodes.capacity() + size_of::<Slot>() * self.table.capacity()
    }

    fn find_child(&self, parent: CallId, site: u32) -> Option<CallId> {
        match self.find_behind(parent, site) {
            // What is behind all others is nobody's parent.
            None if parent.index() + 1 >= self.nodes.len() => None,
            None => self.find_placed(parent, site),
            child => child,
        }
    }

    /// The node that stands right behind its parent, if it is the right one.
    #[inline]
    fn find_behind(&self, parent: CallId, site: u32) -> Option<CallId> {
        let id = CallId(parent.0 + 1);
        let node = self.nodes.get(id.index())?;
        (node.parent == parent && node.site == site).then_some(id)
    }

    /// The node, if it has a place in the table.
    fn find_placed(&self, parent: CallId, site: u32) -> Option<CallId> {
        let hash = self.nodes[parent.index()].hash.call(site);
        let Lookup { place, slot, .. } = self.look_up(hash);
        self.find_from(place, slot, |slot| {
            let node = &self.nodes[slot.id().index()];
            slot.has_tag_of(hash) && node.parent == parent && node.site == site
        })
    }

    /// The node of the first slot that is the right one, from this place on where `slot` stands.
    #[inline]
    fn find_from(
        &self,
        mut place: usize,
        mut slot: Slot,
        is_it: impl Fn(Slot) -> bool,
    ) -> Option<CallId> {
        // The table is never full, so there is an empty place.
        while slot != Slot::EMPTY {
            if is_it(slot) {
                return Some(slot.id());
            }
            place = next_place(&self.table, place);
            slot = self.table[place];
        }
        None
    }

    /// A new node with a place in the table, unless there is no memory or no number for it.
    fn make(&mut self, parent: CallId, site: u32) -> Option<CallId> {
        self.reserve_nodes(1)?;
        self.reserve_place()?;
        let id = self.push(parent, site)?;
        self.place(id)?;
        Some(id)
    }

    /// A new node, with a place in the table unless it stands right behind its parent and is no
    /// landmark.
    fn append(&mut self, parent: CallId, site: u32) -> Option<CallId> {
        let is_behind = parent.index() + 1 == self.nodes.len();
        match is_behind && !self.nodes[parent.index()].hash.call(site).is_landmark() {
            true => self.push(parent, site),
            false => self.make(parent, site),
        }
    }

    /// A new node, for which there is memory.
    fn push(&mut self, parent: CallId, site: u32) -> Option<CallId> {
        if self.nodes.len() >= MAX_NODES {
            return None;
        }
        let id = CallId(self.nodes.len() as u32);
        let hash = self.nodes[parent.index()].hash.call(site);
        self.nodes.push(Node { hash, parent, site });
        Some(id)
    }

    /// Makes room for nodes.
    fn reserve_nodes(&mut self, n_nodes: usize) -> Option<()> {
        if self.nodes.capacity() - self.nodes.len() < n_nodes {
            // Doubling would take more memory for nodes to come than for those that are there.
            let n_more = (self.nodes.len() / 8).max(4).max(n_nodes);
            self.nodes.try_reserve_exact(n_more).ok()?;
        }
        Some(())
    }

    /// Makes room for a node in the table.
    fn reserve_place(&mut self) -> Option<()> {
        match (self.n_placed + 1) * 6 > self.table.len() * 5 {
            true => self.grow(),
            false => Some(()),
        }
    }

    /// Gives a node a place in the table; `None` if there is no memory for that.
    fn place(&mut self, id: CallId) -> Option<()> {
        self.reserve_place()?;
        put(&mut self.table, &self.nodes, id);
        self.n_placed += 1;
        Some(())
    }

    /// Makes the table longer by three eighths; `None` if there is no memory for it.
    fn grow(&mut self) -> Option<()> {
        let len = self.table.len() + self.table.len() * 3 / 8;
        let mut table = Vec::new();
        table.try_reserve_exact(len).ok()?;
        table.resize(len, Slot::EMPTY);
        // In this order new places come one after the other too.
        for slot in self.table.iter().filter(|&&slot| slot != Slot::EMPTY) {
            put(&mut table, &self.nodes, slot.id());
        }
        self.table = table;
        Some(())
    }
}

#[inline]
fn next_place(table: &[Slot], place: usize) -> usize {
    if place + 1 == table.len() {
        0
    } else {
        place + 1
    }
}

/// Writes a node to the table, from its own place on. Nodes that are nearer to their own places
/// make room for it, so that none is far from its own, however late it came (Robin Hood hashing).
fn put(table: &mut [Slot], nodes: &[Node], id: CallId) {
    let hash = nodes[id.index()].hash;
    let mut slot = Slot::new(hash, id);
    let mut place = hash.place(table.len());
    let mut distance = 0;
    while table[place] != Slot::EMPTY {
        let own_place = nodes[table[place].id().index()].hash.place(table.len());
        let other = (place + table.len() - own_place) % table.len();
        if other < distance {
            std::mem::swap(&mut table[place], &mut slot);
            distance = other;
        }
        place = next_place(table, place);
        distance += 1;
    }
    table[place] = slot;
}

impl Default for CallTree {
    fn default() -> CallTree {
        CallTree::new()
    }
}

#[cfg(test)]
mod tests;
