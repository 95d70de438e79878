//! Roots besides the registers: the exception, and the references that Rust holds.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::heap::Value;

/// References that the collector keeps up to date besides those on the stack.
#[derive(Default)]
pub(crate) struct Roots {
    /// The exception to raise, or the one that nobody handled.
    pub(crate) exception: Value,
    /// What a session holds, by index.
    pub(crate) held: Vec<u64>,
    /// References on their way into registers.
    pub(crate) passing: Vec<u64>,
    /// What handles stand for.
    pub(crate) table: RootTable,
}

/// A handle of a reference of one machine: the object that it leads to lives as long as the handle
/// or a clone of it. It may be null or an immediate, too.
///
/// A handle borrows nothing: it may outlive its machine, be dropped on another thread, and be
/// handed to the wrong machine, which refuses it ([`RootError`]).
#[derive(Clone)]
pub struct Root(Arc<RootSlot>);

/// What the clones of a handle share.
struct RootSlot {
    index: u32,
    /// Which heap of the machine the object is in.
    epoch: u32,
    dropped: Arc<Dropped>,
}

/// The slots whose handles are gone, until the machine takes them back.
#[derive(Default)]
struct Dropped {
    count: AtomicUsize,
    slots: Mutex<Vec<(u32, u32)>>,
}

impl Drop for RootSlot {
    fn drop(&mut self) {
        let slots = self.dropped.slots.lock();
        let mut slots = slots.unwrap_or_else(PoisonError::into_inner);
        slots.push((self.index, self.epoch));
        self.dropped.count.store(slots.len(), Relaxed);
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Root").field(&self.0.index).finish()
    }
}

/// Two handles are equal when one is a clone of the other.
impl PartialEq for Root {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Root {}

/// Why a handle cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootError {
    /// It is a handle of another machine.
    Foreign,
    /// The machine's heap has failed since the handle was made, and all objects are gone.
    Lost,
}

impl fmt::Display for RootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "the handle is one of another machine",
            Self::Lost => "the object was lost when the heap failed",
        })
    }
}

impl std::error::Error for RootError {}

/// What the handles of a machine stand for.
#[derive(Default)]
pub(crate) struct RootTable {
    /// By index; 0 where there is no handle.
    words: Vec<u64>,
    free: Vec<u32>,
    epoch: u32,
    dropped: Arc<Dropped>,
}

impl RootTable {
    /// A handle of a reference.
    pub(crate) fn root(&mut self, value: Value) -> Root {
        if self.free.is_empty() {
            self.take_back();
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.words.push(0);
            self.words.len() as u32 - 1
        });
        self.words[index as usize] = value.0;
        Root(Arc::new(RootSlot {
            index,
            epoch: self.epoch,
            dropped: self.dropped.clone(),
        }))
    }

    /// The reference that a handle stands for.
    ///
    /// # Errors
    /// When it is no handle of this machine's heap.
    #[inline]
    pub(crate) fn value(&self, root: &Root) -> Result<Value, RootError> {
        if !Arc::ptr_eq(&self.dropped, &root.0.dropped) {
            return Err(RootError::Foreign);
        }
        if self.epoch != root.0.epoch {
            return Err(RootError::Lost);
        }
        Ok(Value(self.words[root.0.index as usize]))
    }

    /// Takes back the slots whose handles are gone.
    fn take_back(&mut self) {
        if self.dropped.count.load(Relaxed) == 0 {
            return;
        }
        let slots = self.dropped.slots.lock();
        let mut slots = slots.unwrap_or_else(PoisonError::into_inner);
        for (index, epoch) in slots.drain(..) {
            if epoch == self.epoch {
                self.words[index as usize] = 0;
                self.free.push(index);
            }
        }
        self.dropped.count.store(0, Relaxed);
    }

    /// The references for a collection, without those whose handles are gone.
    pub(crate) fn live(&mut self) -> (*mut u64, usize) {
        self.take_back();
        (self.words.as_mut_ptr(), self.words.len())
    }

    /// The heap has been replaced by an empty one: no handle leads anywhere.
    pub(crate) fn forget(&mut self) {
        self.words.clear();
        self.free.clear();
        self.epoch += 1;
    }

    /// How many references handles hold just now.
    pub(crate) fn len(&mut self) -> usize {
        self.take_back();
        self.words.len() - self.free.len()
    }
}
