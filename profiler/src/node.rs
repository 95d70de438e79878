//! One node of the ledger: the counters that "current" points to.

use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use crate::SourceId;

/// The counters of one source or, in stack style, of one calling context: what was charged while
/// it was current.
///
/// The layout is fixed (`repr(C)`), because the VM writes the counters from its own handlers: the
/// three counters come first, at offsets 0, 8 and 16. Fields of a calling context come after
/// `source`, so that the offsets of the counters never change.
///
/// Who writes: the SIGPROF handler adds to `ticks`; the thread of the VM alone writes `bytes` and
/// `calls`. Any thread may read.
#[repr(C)]
#[derive(Debug)]
pub struct Node {
    /// Ticks of the CPU-time clock.
    pub ticks: AtomicU64,
    /// Bytes allocated.
    pub bytes: AtomicU64,
    /// Entries of the source.
    pub calls: AtomicU64,
    /// The source that the node counts for.
    pub source: SourceId,
    /// The source that was entered from here last, and the node that this led to.
    cached_source: AtomicU32,
    cached_child: Link,
    /// The context that this one was made under; none for the root, and in current style.
    pub(crate) parent: Link,
    /// What was entered from here before that: a function that calls two others in turn finds both.
    older_child: Link,
    older_source: AtomicU32,
    /// The place in the order of [`crate::ProfileData::contexts`].
    pub(crate) index: u32,
    /// The root of the tree that the node is in, which tells the units apart.
    pub(crate) root: Link,
    /// The context whose path has the same sources, each once, in the order in which they first
    /// occur; none while nobody has asked for it. See [`crate::context`].
    pub(crate) spine: Link,
    /// The first of the children that are in the list, and the next one in the parent's list.
    pub(crate) first_child: Link,
    pub(crate) next_sibling: Link,
}

impl Node {
    /// A node of `source` with all counters at zero. It is in no unit of profile data.
    pub fn new(source: SourceId) -> Node {
        Node::with_index(source, source.0)
    }

    /// A node that has place `index` in its unit, with no links yet.
    pub(crate) fn with_index(source: SourceId, index: u32) -> Node {
        Node {
            ticks: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            source,
            cached_source: AtomicU32::new(source.0),
            cached_child: Link::default(),
            parent: Link::default(),
            older_child: Link::default(),
            older_source: AtomicU32::new(source.0),
            index,
            root: Link::default(),
            spine: Link::default(),
            first_child: Link::default(),
            next_sibling: Link::default(),
        }
    }

    /// Adds `n` bytes. Only the thread of the VM may call it: two writers would lose counts.
    #[inline(always)]
    pub fn charge_bytes(&self, n: u64) {
        add_unshared(&self.bytes, n);
    }

    /// Adds one call. Only the thread of the VM may call it: two writers would lose counts.
    #[inline(always)]
    pub fn count_call(&self) {
        add_unshared(&self.calls, 1);
    }

    /// Where [`ProfileData::enter`](crate::ProfileData::enter) led from here with `source`, if
    /// that was one of the last two sources it was asked for; null if not, and in current style.
    /// Like `enter`, this is for the thread of the VM. The node lives as long as this one.
    #[inline(always)]
    pub fn cached_child(&self, source: SourceId) -> *const Node {
        if self.cached_source.load(Relaxed) == source.0 {
            self.cached_child.0.load(Relaxed)
        } else if self.older_source.load(Relaxed) == source.0 {
            self.older_child.0.load(Relaxed)
        } else {
            ptr::null()
        }
    }

    /// The context that this one was made under; null for the root, and in current style. The
    /// node lives as long as this one.
    ///
    /// It is the context that this one was entered from only while nothing is folded (see
    /// [`ProfileData::enter`](crate::ProfileData::enter)).
    #[inline(always)]
    pub fn parent(&self) -> *const Node {
        self.parent.0.load(Relaxed)
    }

    /// Remembers where `source` led, for [`Node::cached_child`].
    ///
    /// # Safety
    /// `child` must be in the same unit as this node.
    pub(crate) unsafe fn cache(&self, source: SourceId, child: &Node) {
        let before = self.cached_source.load(Relaxed);
        if before != source.0
            && let Some(older) = self.cached_child.get()
        {
            self.older_source.store(before, Relaxed);
            // SAFETY: the child that was remembered is in the same unit too.
            unsafe { self.older_child.set(older) };
        }
        self.cached_source.store(source.0, Relaxed);
        // SAFETY: the caller promises the same.
        unsafe { self.cached_child.set(child) };
    }
}

/// A pointer of a node to a node of the same unit, or to none.
#[derive(Debug, Default)]
pub(crate) struct Link(AtomicPtr<Node>);

impl Link {
    /// The node that is linked to.
    pub(crate) fn get(&self) -> Option<&Node> {
        // SAFETY: a link is in a node and leads to a node of the same unit (see `set`). Units keep
        // all their nodes in place until they are dropped, which they cannot be while the link,
        // and so the node that it is in, is borrowed. The load pairs with the store of `set`.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    /// Links to `node`.
    ///
    /// # Safety
    /// `node` must be in the same unit of profile data as the node that the link is in.
    pub(crate) unsafe fn set(&self, node: &Node) {
        self.0.store(ptr::from_ref(node).cast_mut(), Release);
    }

    /// Whether `node` is linked to.
    pub(crate) fn is(&self, node: &Node) -> bool {
        ptr::eq(self.0.load(Relaxed), node)
    }
}

/// Adds to a counter that has a single writer. A relaxed load and store compile to one plain
/// memory add, where `fetch_add` would lock the bus. The sum wraps at 2^64.
#[inline(always)]
fn add_unshared(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_counters_come_first() {
        let offsets = [
            offset_of!(Node, ticks),
            offset_of!(Node, bytes),
            offset_of!(Node, calls),
            offset_of!(Node, source),
        ];
        assert_eq!(offsets, [0, 8, 16, 24]);
    }

    #[test]
    fn a_node_in_no_unit_leads_nowhere() {
        let node = Node::new(SourceId::MAIN);
        assert!(node.parent().is_null());
        let sources = [SourceId::UNKNOWN, SourceId::MAIN, SourceId(u32::MAX)];
        assert!(
            sources
                .map(|s| node.cached_child(s).is_null())
                .iter()
                .all(|&x| x)
        );
    }

    #[test]
    fn charges_add_up() {
        let node = Node::new(SourceId::MAIN);
        node.charge_bytes(24);
        node.charge_bytes(40);
        node.count_call();
        assert_eq!(
            (node.bytes.load(Relaxed), node.calls.load(Relaxed)),
            (64, 1)
        );
        assert_eq!(node.ticks.load(Relaxed), 0);
    }
}
