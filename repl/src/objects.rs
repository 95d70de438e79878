//! Counting objects: a memory profile that samples every word, and so every object.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use vm::Vm;
use vm::memprof::{AllocInfo, GcEvent, MemprofConfig, Tracker};

/// How many objects a machine has allocated since it was asked to count.
#[derive(Debug)]
pub(crate) struct ObjectCount(Arc<AtomicU64>);

impl ObjectCount {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Lets a machine count the objects that it allocates.
pub(crate) fn count_objects(vm: &mut Vm) -> Result<ObjectCount, String> {
    let count = Arc::new(AtomicU64::new(0));
    let config = MemprofConfig {
        rate: 1.0,
        callstack_size: Some(0),
        ..MemprofConfig::default()
    };
    let counter = Counter(count.clone());
    vm.memprof_start(config, Box::new(counter))
        .map_err(|error| error.to_string())?;
    Ok(ObjectCount(count))
}

struct Counter(Arc<AtomicU64>);

impl Counter {
    fn count(&self) -> Option<u64> {
        self.0.fetch_add(1, Relaxed);
        // Nothing more is to be heard of the object.
        None
    }
}

impl Tracker for Counter {
    fn alloc_minor(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
        self.count()
    }

    fn alloc_major(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
        self.count()
    }

    fn promote(&mut self, _: u64, _: &GcEvent) -> Option<u64> {
        None
    }

    fn dealloc_minor(&mut self, _: u64, _: &GcEvent) {}

    fn dealloc_major(&mut self, _: u64, _: &GcEvent) {}
}
