//! What asks a machine for its attention.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::machine::SNAPSHOT;

/// Asks a running machine to stop, from another thread or from a signal handler.
#[derive(Clone, Debug)]
pub struct Interrupt(pub(super) Arc<AtomicU32>);

impl Interrupt {
    /// Ends the run at its next safepoint with [`Trap::Interrupted`]. `signal` is handed through;
    /// it must not be 0. This stores one word, so a signal handler may do it.
    pub fn raise(&self, signal: u8) {
        self.0.fetch_or(signal as u32, Relaxed);
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
