//! What asks a machine for its attention.

use std::num::NonZeroU8;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[cfg(doc)]
use super::Vm;
use crate::machine::{SIGNAL_BITS, SNAPSHOT};

/// Asks a running machine to stop, from another thread or from a signal handler.
#[derive(Clone, Debug)]
pub struct Interrupt(pub(super) Arc<AtomicU32>);

impl Interrupt {
    /// Ends the run at its next safepoint with [`Trap::Interrupted`], which hands `signal` through;
    /// of several the first counts. Between runs it ends the next one. This stores one word, so a
    /// signal handler may do it.
    ///
    /// What was raised is cleared when the run has ended by it, and by [`Interrupt::clear`]. A run
    /// that ends before it has met a safepoint clears it too, unless the interrupt serves a series
    /// of machines ([`Vm::share_interrupt`]).
    ///
    /// [`Trap::Interrupted`]: crate::Trap::Interrupted
    pub fn raise(&self, signal: NonZeroU8) {
        let raised = |word: u32| (word & SIGNAL_BITS == 0).then(|| word | u32::from(signal.get()));
        // It fails if something was raised before.
        let _ = self.0.fetch_update(Relaxed, Relaxed, raised);
    }

    /// Lets the machine call what [`Vm::on_snapshot`] has set, at its next safepoint. A signal
    /// handler may do this too.
    pub fn snapshot(&self) {
        self.0.fetch_or(SNAPSHOT, Relaxed);
    }
}

impl Interrupt {
    /// An interrupt of no machine yet, for [`Vm::share_interrupt`].
    pub fn new() -> Self {
        Self(Arc::new(AtomicU32::new(0)))
    }

    /// Takes back what was raised and not yet seen.
    pub fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    /// Whether something was raised and not yet seen.
    pub fn is_raised(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}

impl Default for Interrupt {
    fn default() -> Self {
        Self::new()
    }
}
