//! When memory for tracking is short, samples are lost and nothing else (S23): an allocator refuses
//! what tables of tracked blocks and of frames grow by. When memory for objects is short, the run
//! ends with a trap, whichever region of the heap it is that the system has none for.

mod support;

use crate::support::lock::Lock;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use vm::host::{HostIo, Hosts};
use vm::memprof::{AllocInfo, GcEvent, MemprofConfig, Tracker};
use vm::{HeapConfig, Outcome, RunError, Trap, Vm, VmConfig, VmError};

/// An allocator that can refuse. Regions of the heap are larger than what it refuses, and the
/// machine's small tables are smaller.
struct Refusing;

const REFUSED_BYTES: std::ops::Range<usize> = 16 << 10..200 << 10;

thread_local! {
    static REFUSES: Cell<bool> = const { Cell::new(false) };
    static N_REFUSED: Cell<u64> = const { Cell::new(0) };
    /// How many regions are still granted, when one is to be refused.
    static N_GRANTED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// What regions of the heap ask for.
const REGION_BYTES: std::ops::RangeFrom<usize> = 200 << 10..;

impl Refusing {
    fn refuses(bytes: usize) -> bool {
        let is_region = REGION_BYTES.contains(&bytes);
        let refuses = match N_GRANTED.get() {
            Some(n_left) if is_region => {
                N_GRANTED.set(n_left.checked_sub(1));
                n_left == 0
            }
            _ => REFUSES.get() && REFUSED_BYTES.contains(&bytes),
        };
        N_REFUSED.set(N_REFUSED.get() + u64::from(refuses));
        refuses
    }
}

// SAFETY: what is not refused is left to the system's allocator; null says that there is no memory.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match Self::refuses(layout.size()) {
            true => std::ptr::null_mut(),
            // SAFETY: the caller's promise.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block is the system's.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        match Self::refuses(bytes) {
            true => std::ptr::null_mut(),
            // SAFETY: the caller's promise; the block is the system's.
            false => unsafe { System.realloc(block, layout, bytes) },
        }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Runs with an allocator that refuses; how often it did.
fn refusing(action: impl FnOnce()) -> u64 {
    let before = N_REFUSED.get();
    REFUSES.set(true);
    action();
    REFUSES.set(false);
    N_REFUSED.get() - before
}

/// How many blocks were told of, and how many of them died.
#[derive(Default)]
struct Counts {
    n_born: u64,
    n_died: u64,
}

struct Counter(Arc<Lock<Counts>>);

impl Tracker for Counter {
    fn alloc_minor(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
        self.0.borrow_mut().n_born += 1;
        Some(0)
    }

    fn alloc_major(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.alloc_minor(info)
    }

    fn promote(&mut self, cookie: u64, _: &GcEvent) -> Option<u64> {
        Some(cookie)
    }

    fn dealloc_minor(&mut self, _: u64, _: &GcEvent) {
        self.0.borrow_mut().n_died += 1;
    }

    fn dealloc_major(&mut self, cookie: u64, event: &GcEvent) {
        self.dealloc_minor(cookie, event);
    }
}

/// A machine that collects when its nursery is full, whatever the environment asks for: a
/// collection at every allocation would keep the tables small.
fn machine(text: &str) -> Vm {
    let heap = HeapConfig {
        nursery_bytes: 1 << 20,
        ..HeapConfig::default()
    };
    let config = VmConfig {
        heap,
        ..VmConfig::default()
    };
    let (none, sink) = (std::io::empty(), std::io::sink());
    let io = HostIo::new(none, sink, std::io::sink(), Vec::new());
    Vm::new(support::verified(text), Hosts::standard(io), config).expect("a machine can be made")
}

/// A machine with a profile of every word, and what that has counted.
fn profiled(text: &str) -> (Vm, Arc<Lock<Counts>>) {
    let mut vm = machine(text);
    let counts = Arc::new(Lock::new(Counts::default()));
    let config = MemprofConfig {
        rate: 1.0,
        ..MemprofConfig::default()
    };
    vm.memprof_start(config, Box::new(Counter(counts.clone())))
        .expect("the profile starts");
    (vm, counts)
}

fn result(vm: &mut Vm) -> Vec<i64> {
    match vm.run() {
        Ok(Outcome::Returned(results)) => results,
        other => panic!("the program returns, not {other:?}"),
    }
}

/// 30,000 cells fit into the nursery: their entries do not fit into what there is for them.
const CELLS: &str = "
    fun main() -> i {
        n = 30000
    next:
        cell = new 1, [], [n]
        n = sub n, 1
        jgt n, 0, next
        cell = null
        call gc()
        ret 7
    }";

#[test]
fn blocks_that_cannot_be_tracked_are_not_told_of() {
    let (mut vm, counts) = profiled(CELLS);
    let n_refused = refusing(|| assert_eq!(result(&mut vm), [7]));
    assert!(n_refused > 1000, "{n_refused} refused");
    let (n_born, n_died) = (counts.borrow().n_born, counts.borrow().n_died);
    assert!((10..10_000).contains(&n_born), "{n_born} are tracked");
    assert_eq!(
        n_died, n_born,
        "those that were told of are told to be dead"
    );
    // As soon as there is memory again, all are tracked.
    assert_eq!(result(&mut vm), [7]);
    assert_eq!(counts.borrow().n_born, n_born + 30_000);
}

#[test]
fn stacks_that_cannot_be_walked_lose_their_samples() {
    let (mut vm, counts) = profiled(
        "
        fun down(n: i) -> i {
            cell = new 1, [], [n]
            n = ld_i cell, 0
            cell = null
            jeq n, 0, done
            m = sub n, 1
            m = call down(m)
            m = add m, 1
            ret m
        done:
            ret 0
        }
        fun main() -> i {
            n: i = call down(9000)
            ret n
        }",
    );
    let n_refused = refusing(|| assert_eq!(result(&mut vm), [9000]));
    assert!(n_refused > 1000, "{n_refused} refused");
    let n_born = counts.borrow().n_born;
    assert!((10..9_001).contains(&n_born), "{n_born} are tracked");
}

/// Of a program of so many words the table of callers cannot be made.
#[test]
fn a_profile_of_a_great_program_samples_nothing() {
    let ops = "            n = add n, 1\n            m = mul n, n\n".repeat(3000);
    let text = format!(
        "fun main() -> i {{
            n = 0
{ops}            cell = new 1, [], [n]
            n = ld_i cell, 0
            ret n
        }}"
    );
    let (mut vm, counts) = profiled(&text);
    let n_refused = refusing(|| assert_eq!(result(&mut vm), [3000]));
    assert!(n_refused > 0 && counts.borrow().n_born == 0);
    assert_eq!(result(&mut vm), [3000]);
    assert_eq!(counts.borrow().n_born, 1);
}

#[test]
fn a_programs_own_tracker_misses_blocks_and_gets_no_fault() {
    let mut vm = machine(
        "
        closure fun allocated{counts: r}(samples: i, words: i, source: i) -> (i, r) {
            counts = cap counts
            n = ld_i counts, 0
            n = add n, 1
            st_i counts, 0, n
            ret 1, counts
        }
        fun main() -> i {
            zero = 0
            nothing = null
            counts = new 1, [], [zero]
            allocated = closure allocated, [counts], []
            tracker = new 0, [allocated, allocated, nothing, nothing, nothing], []
            rate = 1.0
            depth = 1
            profile: i = call memprof_start(rate, depth, zero, tracker)
            n = 30000
        next:
            cell = new 1, [], [n]
            n = sub n, 1
            jgt n, 0, next
            cell = null
            call gc()
            call memprof_stop()
            call memprof_discard(profile)
            n = ld_i counts, 0
            ret n
        }",
    );
    let mut n_told = 0;
    let n_refused = refusing(|| n_told = result(&mut vm)[0]);
    assert!(n_refused > 1000, "{n_refused} refused");
    assert!((10..30_000).contains(&n_told), "{n_told} are told of");
    assert_eq!(result(&mut vm), [30_000]);
}

/// A program whose heap takes and gives back regions of all sorts.
const REGIONS: &str = "
    fun list(n: i) -> r {
        x = null
    l:  x = new 1, [x], [n]
        n = sub n, 1
        jgt n, 0, l
        ret x
    }
    fun main() {
        n = 20000
        k = 100000
        x: r = call list(n)
        a = new_i k, n
        call gc()
        b = new_r k, x
        y: r = call list(n)
        call gc()
        a = null
        z: r = call list(n)
        call gc()
        c = new_b k, n
        ret
    }";

#[test]
fn whichever_region_there_is_no_memory_for_the_run_ends_with_a_trap() {
    let mut n_traps = 0;
    for n_granted in 0.. {
        let mut vm = machine(REGIONS);
        N_GRANTED.set(Some(n_granted));
        let result = vm.run();
        let is_refused = N_GRANTED.replace(None).is_none();
        match result {
            Ok(_) if !is_refused => break,
            // A region that would only be for later can be done without.
            Ok(_) => {}
            Err(RunError::Trap {
                trap: Trap::OutOfMemory(_),
                ..
            }) => n_traps += 1,
            Err(other) => panic!("region {n_granted}: {other:?}"),
        }
        let again = vm.run();
        assert_eq!(again, Ok(Outcome::Returned(vec![])), "region {n_granted}");
    }
    assert!(n_traps > 5, "{n_traps}");
}

#[test]
fn a_machine_that_there_is_no_memory_for_is_an_error() {
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let module = support::verified(REGIONS);
    N_GRANTED.set(Some(0));
    let result = Vm::new(module, Hosts::standard(io), VmConfig::default());
    N_GRANTED.set(None);
    assert!(matches!(result, Err(VmError::OutOfMemory(_))));
}
