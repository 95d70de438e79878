//! What disturbs a run, at a moment that the input chooses: a panic in code of the embedder's, an
//! interrupt, a snapshot.

use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vm::Interrupt;
use vm::memprof::{AllocInfo, GcEvent, Tracker};

use super::input::Input;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Code of the embedder's panics.
    Panic,
    /// The run is asked to end.
    Interrupt,
    /// A snapshot is asked for.
    Snapshot,
}

/// What happens, and how many more events there are before.
#[derive(Clone)]
pub struct Trouble {
    kind: Kind,
    left: Arc<AtomicUsize>,
    interrupt: Interrupt,
}

/// What the embedder's panics carry.
pub struct Carried;

impl Trouble {
    /// Chosen by the input; `interrupt` asks the machine.
    pub fn new(input: &mut Input, interrupt: Interrupt) -> Self {
        let kind = [Kind::Panic, Kind::Interrupt, Kind::Snapshot][input.below(3)];
        let left = Arc::new(AtomicUsize::new(1 + input.below(64)));
        Self {
            kind,
            left,
            interrupt,
        }
    }

    /// Whether it has happened.
    pub fn has_happened(&self) -> bool {
        self.left.load(Relaxed) == 0
    }

    /// Whether the run ends where it would have ended without.
    pub fn is_harmless(&self) -> bool {
        !self.has_happened() || self.kind == Kind::Snapshot
    }

    /// Nothing happens any more.
    pub fn end(&self) {
        self.left.store(0, Relaxed);
    }

    fn event(&self) {
        let left = self.left.load(Relaxed);
        self.left.store(left.saturating_sub(1), Relaxed);
        if left != 1 {
            return;
        }
        match self.kind {
            // Not `panic!`, which a fuzzer takes for a bug.
            Kind::Panic => resume_unwind(Box::new(Carried)),
            Kind::Interrupt => self.interrupt.raise(std::num::NonZeroU8::MIN),
            Kind::Snapshot => self.interrupt.snapshot(),
        }
    }
}

impl Tracker for Trouble {
    fn alloc_minor(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        // Whoever looks at a stack meets what the walk has made of it.
        let _ = info.stack.frames().count();
        self.event();
        Some(info.clock)
    }

    fn alloc_major(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.event();
        Some(info.clock)
    }

    fn promote(&mut self, cookie: u64, event: &GcEvent) -> Option<u64> {
        assert_eq!(cookie, event.alloc_clock, "the block is the same one");
        self.event();
        Some(cookie)
    }

    fn dealloc_minor(&mut self, cookie: u64, event: &GcEvent) {
        assert_eq!(cookie, event.alloc_clock, "the block is the same one");
        self.event();
    }

    fn dealloc_major(&mut self, cookie: u64, event: &GcEvent) {
        assert_eq!(cookie, event.alloc_clock, "the block is the same one");
        self.event();
    }

    fn collected(&mut self, _: bool) {
        self.event();
    }
}

/// Output that is kept, up to a limit, and at whose writes things may happen.
#[derive(Clone, Default)]
pub struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    trouble: Arc<Mutex<Option<Trouble>>>,
}

/// The most bytes of output that are kept.
const MAX_OUTPUT_BYTES: usize = 1 << 16;

/// What is behind a lock, also after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Output {
    /// From now on, writes are events.
    pub fn disturb(&self, trouble: Trouble) {
        *lock(&self.trouble) = Some(trouble);
    }

    /// What has been written since the last time.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *lock(&self.bytes))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = lock(&self.bytes);
        let room = MAX_OUTPUT_BYTES.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        drop(kept);
        let trouble = lock(&self.trouble).clone();
        if let Some(trouble) = trouble {
            trouble.event();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
