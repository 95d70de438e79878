//! Weak references: objects of programs that refer to others without keeping them alive.
//!
//! What a weak reference refers to is older than it, and never changes but to null. So a minor
//! collection looks at young weak references only.

use super::Heap;
use super::layout::*;

/// All weak references that may be alive.
#[derive(Debug, Default)]
pub(super) struct WeakReferences {
    young: Vec<*mut u64>,
    old: Vec<*mut u64>,
}

impl Heap {
    /// A new weak reference; `None` when a collection is due first.
    pub(crate) fn try_weak(&mut self, to: Value, source: HeaderSource) -> Option<*mut u64> {
        let object = self.try_small(WEAK_BYTES)?;
        // SAFETY: the object's memory is ours alone and holds two words.
        unsafe {
            object.write(array_header(ObjectKind::Weak) | source.bits());
            object.add(1).write(to.0);
        }
        self.weak.young.push(object);
        Some(object)
    }

    /// Updates young weak references at the end of a minor collection.
    ///
    /// # Safety
    /// The nursery stands as the collection left it.
    pub(super) unsafe fn update_young_weak(&mut self) {
        for object in std::mem::take(&mut self.weak.young) {
            // SAFETY: the object was whole when it was listed, and still is one or has been
            // replaced by a forwarding address.
            if let Some(copy) = unsafe { forwarded(object) } {
                // SAFETY: the copy is whole; the word behind its header is the reference.
                let slot = unsafe { &mut *copy.add(1) };
                let to = Value(*slot)
                    .object()
                    .filter(|&to| self.nursery.contains(to));
                if let Some(to) = to {
                    // SAFETY: as above, for what is referred to.
                    let to = unsafe { forwarded(to) };
                    *slot = to.map_or(Value::null(), Value::pointer).0;
                }
                self.weak.old.push(copy);
            }
        }
    }

    /// Updates all weak references at the end of a major collection.
    ///
    /// # Safety
    /// The nursery, from-space and large objects stand as the scan left them.
    pub(super) unsafe fn update_weak(&mut self) {
        let young = std::mem::take(&mut self.weak.young);
        let old = std::mem::take(&mut self.weak.old);
        for object in old.into_iter().chain(young) {
            // SAFETY: as for a minor collection.
            if let Some(copy) = unsafe { forwarded(object) } {
                // SAFETY: the copy is whole; the word behind its header is the reference.
                let slot = unsafe { &mut *copy.add(1) };
                if let Some(to) = Value(*slot).object() {
                    // SAFETY: as above, for what is referred to.
                    *slot = unsafe { survivor(to) }
                        .map_or(Value::null(), Value::pointer)
                        .0;
                }
                self.weak.old.push(copy);
            }
        }
    }
}

/// Where an object of from-space has been copied to, if it is alive.
unsafe fn forwarded(object: *mut u64) -> Option<*mut u64> {
    // SAFETY: the caller passes a header or a forwarding address.
    let header = unsafe { *object };
    (header & 1 == 0).then_some(header as *mut u64)
}

/// Where an object is after a major collection, if it is alive.
unsafe fn survivor(object: *mut u64) -> Option<*mut u64> {
    // SAFETY: the caller passes a header or a forwarding address.
    let header = unsafe { *object };
    let stays =
        header & 1 == 1 && (header & STATIC != 0 || header & (LARGE | MARK) == LARGE | MARK);
    match stays {
        true => Some(object),
        // SAFETY: as above.
        false => unsafe { forwarded(object) },
    }
}
