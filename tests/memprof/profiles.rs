//! Profiles and their states from Rust (S8 to S12): several at once, errors, what is given back.

use vm::memprof::{AllocInfo, GcEvent, MemprofConfig, MemprofError, ProfileId, Tracker};
use vm::{HeapConfig, Outcome, RunError, Trap, VmConfig};

use crate::recorder::{call, every_word, machine, machine_with_nursery, start};
use crate::support::Deaf;

/// Keeps a large array and many small blocks, drops them, and fails in several ways.
const LIVES: &str = r#"
fun cons(n: i, rest: r) -> r {
    rest = new 1, [rest], [n]
    ret rest
}
export fun large() {
    length = 1000
    zero = 0
    array = new_i length, zero
    call gc()
    n = len array
    array = null
    call gc()
    ret
}
export fun deep(n: i) {
    jle n, 0, bottom
    below = sub n, 1
    call deep(below)
    cell = new 1, [], [n]
    ret
bottom:
    cell = new 2, [], [n]
    ret
}
export fun fill() {
    kept = null
    zero = 0
next:
    length = 10000
    array = new_i length, zero
    kept = new 1, [array, kept], []
    jmp next
}
export fun small(n: i) -> i {
    kept = null
    i = 0
next:
    jge i, n, done
    kept = call cons(i, kept)
    i = add i, 1
    jmp next
done:
    n = ld_i kept, 0
    ret n
}
fun main() { ret }
"#;

fn exclusive(rate: f64) -> MemprofConfig {
    MemprofConfig {
        rate,
        exclusive: true,
        ..MemprofConfig::default()
    }
}

#[test]
fn two_profiles_hear_of_the_same_large_block() {
    let mut vm = machine_with_nursery(LIVES, 64 << 10);
    let (_, first) = start(&mut vm, every_word());
    let (_, second) = start(&mut vm, every_word());
    call(&mut vm, "large", &[]);
    for record in [first, second] {
        assert_eq!(record.borrow().lives, ["AD"], "S13, for each profile");
        assert_eq!(record.borrow().blocks[0].words, 1002);
    }
}

#[test]
fn start_checks_the_rate_before_anything_else() {
    let mut vm = machine_with_nursery(LIVES, 64 << 10);
    let first = start(&mut vm, exclusive(1.0)).0;
    for rate in [-1e-300, 1.0 + f64::EPSILON, f64::INFINITY, -1.0] {
        let error = vm.memprof_start(exclusive(rate), Box::new(Deaf));
        assert_eq!(error, Err(MemprofError::InvalidRate(rate)), "S8");
    }
    let nan = vm.memprof_start(exclusive(f64::NAN), Box::new(Deaf));
    let message = nan.expect_err("not a rate").to_string();
    assert_eq!(
        message,
        "memprof start: the rate NaN is not between 0 and 1"
    );
    let nested = vm.memprof_start(exclusive(0.5), Box::new(Deaf));
    assert_eq!(nested, Err(MemprofError::AlreadyStarted), "S8");
    assert_eq!(vm.memprof_stop(first), Ok(()));
    let next = vm.memprof_start(exclusive(-0.0), Box::new(Deaf));
    assert!(next.is_ok(), "S2, S10: the first is stopped, not discarded");
}

/// The orders of start, stop and discard that upstream's `start_stop` tries, from Rust.
#[test]
fn every_order_of_start_stop_and_discard() {
    use MemprofError::{AlreadyDiscarded, NotRunning, NotStopped};
    let mut vm = machine_with_nursery(LIVES, 64 << 10);
    let one = start(&mut vm, exclusive(1.0)).0;
    assert_eq!(vm.memprof_discard(one), Err(NotStopped), "S11");
    assert_eq!(vm.memprof_stop(one), Ok(()));
    assert_eq!(vm.memprof_stop(one), Err(NotRunning), "S9");
    assert_eq!(vm.memprof_discard(one), Ok(()));
    assert_eq!(vm.memprof_discard(one), Err(AlreadyDiscarded), "S11");
    assert_eq!(vm.memprof_stop(one), Err(NotRunning));
    // Later profiles take the place of the first one, whose name still means nobody else.
    let two = start(&mut vm, exclusive(1.0)).0;
    assert_ne!(one, two);
    assert_eq!(vm.memprof_stop(one), Err(NotRunning));
    assert_eq!(vm.memprof_discard(one), Err(AlreadyDiscarded));
    assert_eq!(vm.memprof_stop(two), Ok(()));
    let three = start(&mut vm, exclusive(1.0)).0;
    assert_eq!(
        vm.memprof_discard(two),
        Ok(()),
        "S11: an old one, while another samples"
    );
    assert_eq!(vm.memprof_discard(three), Err(NotStopped));
    assert_eq!(vm.memprof_stop(three), Ok(()));
    assert_eq!(vm.memprof_discard(three), Ok(()));
}

#[test]
fn there_is_an_end_to_profiles_that_are_not_discarded() {
    let mut vm = machine_with_nursery(LIVES, 64 << 10);
    let config = MemprofConfig::default();
    let mut profiles = Vec::new();
    let error = loop {
        match vm.memprof_start(config, Box::new(Deaf)) {
            Ok(profile) => profiles.push(profile),
            Err(error) => break error,
        }
        assert!(profiles.len() < 1 << 20);
    };
    assert_eq!(error, MemprofError::TooManyProfiles);
    assert_eq!(error.to_string(), "memprof start: too many profiles");
    let all: std::collections::HashSet<ProfileId> = profiles.iter().copied().collect();
    assert_eq!(all.len(), profiles.len());
    let last = profiles.pop().expect("some could be started");
    assert_eq!(vm.memprof_stop(last), Ok(()));
    assert_eq!(vm.memprof_discard(last), Ok(()));
    assert!(vm.memprof_start(config, Box::new(Deaf)).is_ok());
}

/// S10: while a newer profile samples, blocks of the stopped one are told to its own tracker.
#[test]
fn a_stopped_profile_hears_of_its_blocks_until_it_is_discarded() {
    let mut vm = machine_with_nursery(LIVES, 1 << 20);
    let (old, old_record) = start(&mut vm, exclusive(1.0));
    call(&mut vm, "small", &[100]);
    assert_eq!(vm.memprof_stop(old), Ok(()));
    let (_, new_record) = start(&mut vm, exclusive(1.0));
    call(&mut vm, "large", &[]);
    let is_dead = |life: &String| life == "ad";
    assert_eq!(old_record.borrow().lives.len(), 100);
    assert!(old_record.borrow().lives.iter().all(is_dead));
    assert_eq!(new_record.borrow().lives, ["AD"]);

    let (other, other_record) = start(&mut vm, every_word());
    call(&mut vm, "small", &[100]);
    assert_eq!(vm.memprof_stop(other), Ok(()));
    assert_eq!(vm.memprof_discard(other), Ok(()));
    call(&mut vm, "large", &[]);
    let is_open = |life: &String| life == "a";
    assert!(other_record.borrow().lives.iter().all(is_open), "S11");
}

/// Upstream leaks the call stacks of blocks that `stop` drops: 300 MB in 20 such rounds.
#[test]
fn memory_is_given_back_after_discards() {
    let mut vm = machine_with_nursery(LIVES, 16 << 20);
    let fresh = vm.memprof_bytes();
    for round in 0..20 {
        let (profile, record) = start(&mut vm, every_word());
        call(&mut vm, "deep", &[2000]);
        let n_blocks = record.borrow().blocks.len();
        assert_eq!(n_blocks, 2001);
        let deepest = record.borrow().blocks.iter().map(|block| block.depth).max();
        assert_eq!(deepest, Some(2001), "whole stacks");
        let bytes = vm.memprof_bytes();
        assert!(bytes < 600_000, "{bytes} bytes in round {round}");
        assert!(
            bytes >= n_blocks * 32,
            "{bytes} bytes for {n_blocks} blocks"
        );
        assert_eq!(vm.memprof_stop(profile), Ok(()));
        assert_eq!(vm.memprof_discard(profile), Ok(()));
        assert_eq!(vm.memprof_bytes(), fresh, "round {round}");
    }
}

#[test]
fn memory_is_given_back_when_the_blocks_die() {
    let mut vm = machine_with_nursery(LIVES, 64 << 10);
    let (profile, _) = start(&mut vm, every_word());
    call(&mut vm, "small", &[20_000]);
    assert_eq!(vm.memprof_stop(profile), Ok(()));
    let before = vm.memprof_bytes();
    assert!(before > 20_000 * 40, "{before} bytes");
    call(&mut vm, "large", &[]);
    let after = vm.memprof_bytes();
    assert!(after < 10_000, "only call stacks are left: {after} bytes");
}

/// `None` from an allocation or a promotion is the end (S15).
#[test]
fn a_tracker_that_does_not_want_a_block_hears_of_it_no_more() {
    for (wants_young, wants_promoted, events) in
        [(false, true, "a"), (true, false, "ap"), (true, true, "apD")]
    {
        let log = std::sync::Arc::new(crate::support::lock::Lock::new(String::new()));
        let choosy = Choosy {
            log: log.clone(),
            wants_young,
            wants_promoted,
        };
        let mut vm = machine_with_nursery(KEEP_ONE, 64 << 10);
        vm.memprof_start(every_word(), Box::new(choosy))
            .expect("the profile starts");
        call(&mut vm, "keep", &[]);
        assert_eq!(*log.borrow(), events, "S15");
    }
}

/// One block that is promoted and then dies.
const KEEP_ONE: &str = r#"
export fun keep() {
    cell = new 1, [], []
    call gc()
    tag = tag cell
    cell = null
    call gc()
    ret
}
fun main() { ret }
"#;

struct Choosy {
    log: std::sync::Arc<crate::support::lock::Lock<String>>,
    wants_young: bool,
    wants_promoted: bool,
}

impl Tracker for Choosy {
    fn alloc_minor(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
        self.log.borrow_mut().push('a');
        self.wants_young.then_some(42)
    }

    fn alloc_major(&mut self, _: &AllocInfo<'_>) -> Option<u64> {
        self.log.borrow_mut().push('A');
        Some(42)
    }

    fn promote(&mut self, cookie: u64, _: &GcEvent) -> Option<u64> {
        assert_eq!(cookie, 42, "S14");
        self.log.borrow_mut().push('p');
        self.wants_promoted.then_some(17)
    }

    fn dealloc_minor(&mut self, cookie: u64, _: &GcEvent) {
        assert_eq!(cookie, 42, "S14");
        self.log.borrow_mut().push('d');
    }

    fn dealloc_major(&mut self, cookie: u64, _: &GcEvent) {
        assert_eq!(cookie, 17, "S14: what promotion has given");
        self.log.borrow_mut().push('D');
    }
}

#[test]
fn a_profile_goes_on_over_a_heap_that_failed() {
    let heap = HeapConfig {
        nursery_bytes: 64 << 10,
        max_bytes: 4 << 20,
        ..HeapConfig::default()
    };
    let config = VmConfig {
        heap,
        ..VmConfig::default()
    };
    let mut vm = machine(LIVES, config);
    let fresh = vm.memprof_bytes();
    let (profile, record) = start(&mut vm, every_word());
    let fill = vm.module().function_named("fill").expect("it is there");
    let error = vm.call(fill, &[]);
    assert!(matches!(
        error,
        Err(RunError::Trap {
            trap: Trap::OutOfMemory(_),
            ..
        })
    ));
    let clock = vm.word_clock();
    let n_before = record.borrow().blocks.len();
    let n_samples: u64 = record.borrow().blocks.iter().map(|one| one.n_samples).sum();
    assert_eq!(
        vm.call(small(&vm), &[1000]),
        Ok(Outcome::Returned(vec![999]))
    );
    assert_eq!(vm.word_clock(), clock + 3000, "the clock goes on");
    let record = record.borrow();
    assert_eq!(record.blocks.len(), n_before + 1000);
    assert!(
        record.lives[..n_before]
            .iter()
            .all(|life| life.ends_with(['d', 'D'])),
        "all blocks of the heap that failed are dead"
    );
    // The last array was sampled and could not be made: its words count only where they are.
    assert!(n_samples <= clock + 10_002);
    drop(record);
    assert_eq!(vm.memprof_stop(profile), Ok(()));
    assert_eq!(vm.memprof_discard(profile), Ok(()));
    assert_eq!(vm.memprof_bytes(), fresh);
}

fn small(vm: &vm::Vm) -> u32 {
    vm.module().function_named("small").expect("it is there")
}

#[test]
fn machines_on_several_threads_have_profiles_of_their_own() {
    let record_of = |seed: u64| {
        let mut vm = machine_with_nursery(LIVES, 64 << 10);
        let config = MemprofConfig {
            rate: 0.1,
            seed,
            exclusive: true,
            ..MemprofConfig::default()
        };
        let (_, record) = start(&mut vm, config);
        call(&mut vm, "small", &[5000]);
        call(&mut vm, "large", &[]);
        let record = record.borrow();
        (record.blocks.clone(), record.lives.clone())
    };
    let alone: Vec<_> = (0..4).map(record_of).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|seed| scope.spawn(move || record_of(seed)))
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        threads.into_iter().map(join).collect()
    });
    assert_eq!(alone, together, "S21, and determinism");
    assert_ne!(alone[0], alone[1]);
}
