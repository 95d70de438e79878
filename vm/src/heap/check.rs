//! The heap checker: walks everything and asserts the invariants that `mod.rs` states.

use std::collections::HashSet;

use super::Heap;
use super::collect::Roots;
use super::layout::*;

impl Heap {
    /// Asserts the heap's invariants. To be called between collections only.
    ///
    /// # Safety
    /// The roots are readable ranges of references.
    pub(crate) unsafe fn check(&self, roots: Roots<'_>) {
        let remembered: HashSet<*mut u64> = self.remembered.iter().copied().collect();
        for block in &self.old {
            let mut object = block.region.start();
            while (object as usize) < block.top as usize {
                // SAFETY: blocks hold whole objects from their start to their top.
                object = unsafe { object.add(self.check_object(object, &remembered).words) };
            }
            assert_eq!(object, block.top, "a block ends within an object");
        }
        for large in &self.large {
            let object = large.region.start();
            // SAFETY: a large object lives as long as its region.
            let shape = unsafe { self.check_object(object, &remembered) };
            assert!(
                shape.words * 8 <= large.region.bytes(),
                "a large object outgrew its region"
            );
            // SAFETY: as above.
            let header = unsafe { *object };
            assert!(header & (LARGE | MARK) == LARGE, "flags of a large object");
        }
        for &mut (start, length) in roots.iter_mut() {
            for index in 0..length {
                // SAFETY: the caller's range.
                self.check_value(Value(unsafe { *start.add(index) }));
            }
        }
    }

    unsafe fn check_object(&self, object: *mut u64, remembered: &HashSet<*mut u64>) -> Shape {
        // SAFETY: the caller passes the start of an object.
        let header = unsafe { *object };
        assert!(
            header & 1 == 1,
            "a forwarding address is left outside a collection"
        );
        // SAFETY: as above.
        let shape = unsafe { Shape::of(object, header) }.expect("a header's kind exists");
        let is_remembered = remembered.contains(&object);
        assert!(
            header & LOG != 0 || is_remembered,
            "neither logged nor remembered"
        );
        for index in 0..shape.n_refs {
            // SAFETY: the reference lies within the object.
            let slot = unsafe { object.add(shape.first_ref + index) };
            // SAFETY: as above.
            let value = Value(unsafe { *slot });
            self.check_value(value);
            let is_young = value
                .object()
                .is_some_and(|target| self.nursery.contains(target));
            let is_logged = is_remembered || self.remembered_slots.contains(&slot);
            assert!(
                !is_young || is_logged,
                "an unremembered reference into the nursery"
            );
        }
        shape
    }

    /// A reference is an immediate or points at a header in memory that the heap holds.
    fn check_value(&self, value: Value) {
        let Some(object) = value.object() else { return };
        assert!(self.holds(object), "{value:?} points outside the heap");
        // SAFETY: the heap holds the memory, and it holds objects there.
        let header = unsafe { *object };
        assert!(header & 1 == 1, "{value:?} points at a forwarding address");
        // SAFETY: as above.
        let shape = unsafe { Shape::of(object, header) };
        assert!(shape.is_some(), "{value:?} points at no header");
    }

    fn holds(&self, object: *mut u64) -> bool {
        let is_allocated = self.nursery.contains(object) && (object as usize) < self.top as usize;
        let in_block = |block: &super::allocate::Block| {
            block.region.contains(object) && (object as usize) < block.top as usize
        };
        is_allocated
            || Value::pointer(object).is_null()
            || self.old.iter().any(in_block)
            || self
                .large
                .iter()
                .any(|large| large.region.start() == object)
            // SAFETY: whoever asks has seen that the object has a header.
            || unsafe { *object } & STATIC != 0
    }
}
