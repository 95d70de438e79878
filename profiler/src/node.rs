//! One node of the ledger: the counters that "current" points to.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::SourceId;

/// The counters of one source: what was charged while it was current.
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
}

impl Node {
    /// A node of `source` with all counters at zero.
    pub fn new(source: SourceId) -> Node {
        Node {
            ticks: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            source,
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
        ];
        assert_eq!(offsets, [0, 8, 16]);
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
