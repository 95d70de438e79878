//! Where ticks and CPU time come from: the system, or a test that makes both by hand.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::{CurrentCell, TickerError, os};

/// What makes a time profile's ticks and tells its CPU time.
#[derive(Clone, Debug, Default)]
pub enum TickSource {
    /// A timer of the system on the thread's CPU time.
    #[default]
    System,
    /// Whoever holds the same [`ManualTicks`]. Nothing depends on the machine's speed then, so a
    /// test can say what a time profile must be.
    Manual(ManualTicks),
}

/// Ticks and CPU time that are made by hand, for one [`Ticker`](super::Ticker) at a time.
#[derive(Clone, Debug, Default)]
pub struct ManualTicks(Arc<Manual>);

#[derive(Debug, Default)]
struct Manual {
    cpu_ns: AtomicU64,
    /// The cell that is charged, and the thread that publishes in it.
    charged: Mutex<Option<(ThreadId, Arc<CurrentCell>)>>,
}

impl ManualTicks {
    /// Lets CPU time pass.
    pub fn advance(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.cpu_ns.fetch_add(ns, Relaxed);
    }

    /// Charges `n` ticks to what is current in the machine that runs on this thread, for instance
    /// from a host function that it has called. While nothing takes a time profile from this
    /// source, nothing happens.
    ///
    /// # Panics
    /// On another thread than the machine's: its nodes may go away there.
    pub fn tick(&self, n: u64) {
        if let Some((thread, cell)) = &*self.charged() {
            assert_eq!(*thread, thread::current().id(), "the machine's thread");
            cell.charge(n);
        }
    }

    fn charged(&self) -> MutexGuard<'_, Option<(ThreadId, Arc<CurrentCell>)>> {
        // What it holds is whole whenever the lock is free.
        let charged = self.0.charged.lock();
        charged.unwrap_or_else(|error| error.into_inner())
    }

    pub(super) fn attach(&self, cell: &Arc<CurrentCell>) -> Result<(), TickerError> {
        let mut charged = self.charged();
        if charged.is_some() {
            return Err(TickerError::AlreadyRunning);
        }
        *charged = Some((thread::current().id(), Arc::clone(cell)));
        Ok(())
    }

    pub(super) fn detach(&self) {
        *self.charged() = None;
    }
}

/// A clock of CPU time.
#[derive(Clone, Debug)]
pub(super) enum Clock {
    /// That of the thread that asks.
    Thread,
    Manual(ManualTicks),
}

impl Clock {
    pub(super) fn of(source: &TickSource) -> Clock {
        match source {
            TickSource::System => Clock::Thread,
            TickSource::Manual(manual) => Clock::Manual(manual.clone()),
        }
    }

    /// Nanoseconds of CPU time since some moment.
    pub(super) fn now_ns(&self) -> u64 {
        match self {
            Clock::Thread => os::thread_cpu_ns(),
            Clock::Manual(manual) => manual.0.cpu_ns.load(Relaxed),
        }
    }
}

/// The CPU time of a running ticker that has been given to no unit of profile data yet.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) clock: Clock,
    pub(super) taken_ns: u64,
}

impl Meter {
    pub(super) fn take_ns(&mut self) -> u64 {
        let now = self.clock.now_ns();
        let since = std::mem::replace(&mut self.taken_ns, now);
        now.saturating_sub(since)
    }
}
