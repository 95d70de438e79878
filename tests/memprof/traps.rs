//! Runs that end inside callbacks: the machine and its profiles are fine afterwards. A callback
//! that ends its thread is the nearest thing upstream (`thread_exit_in_callback`).

use crate::support::lock::Lock;
use std::sync::Arc;

use vm::host::{HostIo, Hosts};
use vm::isa::Signature;
use vm::memprof::MemprofConfig;
use vm::{HeapConfig, Interrupt, Outcome, RunError, Trap, Vm, VmConfig};

use crate::recorder::{call, every_word, machine, start};
use crate::support::{interrupt_when_busy, verified, watched_machine};

/// `alloc` does what the program's `trouble` says, once; all blocks are kept to their deaths.
const TROUBLE: &str = r#"
closure fun alloc{state: r}(n: i, size: i, source: i) -> (i, r) {
    state = cap state
    trouble = ld_i state, 0
    calm = 0
    st_i state, 0, calm
    allocs = ld_i state, 1
    allocs = add allocs, 1
    st_i state, 1, allocs
    jeq trouble, 1, overflows
    jeq trouble, 2, fills
    jeq trouble, 3, loops
    jeq trouble, 4, exits
    jeq trouble, 5, fails
    value = new 3, [state], [size]
    ret 1, value
overflows:
    call dig(size)
    ret 1, state
fills:
    call fill()
    ret 1, state
loops:
    jmp loops
exits:
    call exit(7)
    ret 1, state
fails:
    raise state
}
closure fun promote(value: r) -> (i, r) {
    size = ld_i value, 0
    value = new 4, [value], [size]
    ret 1, value
}
closure fun dealloc_minor{state: r}(value: r) {
    state = cap state
    n = ld_i state, 2
    n = add n, 1
    st_i state, 2, n
    inner = ld_r value, 0
    same = same inner, state
    m = ld_i state, 4
    m = add m, same
    st_i state, 4, m
    ret
}
closure fun dealloc_major{state: r}(value: r) {
    state = cap state
    n = ld_i state, 3
    n = add n, 1
    st_i state, 3, n
    value = ld_r value, 0
    inner = ld_r value, 0
    same = same inner, state
    m = ld_i state, 4
    m = add m, same
    st_i state, 4, m
    ret
}
fun dig(n: i) {
    m = add n, 1
    call dig(m)
    cell = new 0, [], [n]
    ret
}
fun fill() {
    kept = null
    zero = 0
next:
    length = 10000
    array = new_i length, zero
    kept = new 1, [array, kept], []
    jmp next
}
fun cons(n: i, rest: r) -> r {
    rest = new 1, [rest], [n]
    ret rest
}
fun build(n: i) {
    kept = null
    i = 0
next:
    jge i, n, done
    kept = call cons(i, kept)
    i = add i, 1
    jmp next
done:
    call gc()
    ret
}
; What `build` has left in registers of its caller must not keep its blocks.
fun scrub() {
    r0 = null
    r1 = null
    r2 = null
    r3 = null
    ret
}
; Allocates `n` blocks with trouble at the first, and gives what the tracker has counted.
export fun work(trouble: i, n: i) -> (i, i, i, i, i) {
    zero = 0
    nil = null
    state = new 0, [nil], [trouble, zero, zero, zero, zero]
    alloc = closure alloc, [state], []
    promote = closure promote, [], []
    young = closure dealloc_minor, [state], []
    old = closure dealloc_major, [state], []
    tracker = new 0, [alloc, alloc, promote, young, old], []
    rate = 1.0
    all = 1000
    profile: i = call memprof_start(rate, all, zero, tracker)
    call build(n)
    call scrub()
    call gc()
    call memprof_stop()
    call memprof_discard(profile)
    a = ld_i state, 1
    b = ld_i state, 2
    c = ld_i state, 3
    d = ld_i state, 4
    on: i = call memprof_is_sampling()
    ret a, b, c, d, on
}
; The profile of the last run goes on: blocks that are allocated now are told to it.
export fun go_on(n: i) -> i {
    call build(n)
    call scrub()
    call gc()
    on: i = call memprof_is_sampling()
    jeq on, 0, off
    call memprof_stop()
off:
    ret on
}
fun main() { ret }
"#;

fn troubled(fuel: Option<u64>) -> Vm {
    machine(TROUBLE, trouble_config(fuel))
}

fn trouble_config(fuel: Option<u64>) -> VmConfig {
    let heap = HeapConfig {
        nursery_bytes: 64 << 10,
        max_bytes: 8 << 20,
        ..HeapConfig::default()
    };
    VmConfig {
        heap,
        stack_bytes: 1 << 20,
        fuel,
        ..VmConfig::default()
    }
}

fn work(vm: &mut Vm, trouble: i64) -> Result<Outcome, RunError> {
    let function = vm.module().function_named("work").expect("it is there");
    vm.call(function, &[trouble, 100])
}

/// A run without trouble: 100 blocks are allocated and die, and each value is the one that was
/// given.
fn assert_calm(vm: &mut Vm) {
    let counted = call(vm, "work", &[0, 100]);
    let [allocs, young, old, same, on] = counted[..] else {
        panic!("five results")
    };
    assert_eq!((allocs, young + old, same, on), (100, 100, 100, 0));
}

/// What comes after a run that has ended in a callback.
fn assert_fine(vm: &mut Vm, profile_goes_on: bool) {
    let clock = vm.word_clock();
    let on = call(vm, "go_on", &[50]);
    assert_eq!(on, [i64::from(profile_goes_on)]);
    assert_eq!(vm.word_clock(), clock + 150, "the clock runs again");
    for _ in 0..3 {
        assert_calm(vm);
    }
    let (profile, record) = start(vm, every_word());
    let samples_before = vm.word_clock();
    assert_calm(vm);
    let n_samples: u64 = record.borrow().blocks.iter().map(|one| one.n_samples).sum();
    assert_eq!(n_samples, vm.word_clock() - samples_before);
    assert_eq!(vm.memprof_stop(profile), Ok(()));
    assert_eq!(vm.memprof_discard(profile), Ok(()));
}

fn trap_of(result: Result<Outcome, RunError>) -> Trap {
    match result {
        Err(RunError::Trap { trap, .. }) => trap,
        other => panic!("no trap: {other:?}"),
    }
}

#[test]
fn a_stack_overflow_in_a_callback() {
    let mut vm = troubled(None);
    let trap = trap_of(work(&mut vm, 1));
    assert!(matches!(trap, Trap::StackOverflow { .. }));
    assert_fine(&mut vm, true);
}

#[test]
fn no_memory_in_a_callback_ends_the_profile_with_the_heap() {
    let mut vm = troubled(None);
    let fresh = vm.memprof_bytes();
    for _ in 0..3 {
        let trap = trap_of(work(&mut vm, 2));
        assert!(matches!(trap, Trap::OutOfMemory(_)));
        assert_fine(&mut vm, false);
    }
    assert_eq!(vm.memprof_bytes(), fresh);
}

#[test]
fn no_memory_while_values_of_a_tracker_are_kept() {
    // The closures and the values are in the heap that is thrown away.
    let mut vm = troubled(None);
    let fill = vm.module().function_named("go_on").expect("it is there");
    assert!(work(&mut vm, 4).is_ok(), "the profile goes on");
    let result = vm.call(fill, &[10_000_000]);
    assert!(matches!(trap_of(result), Trap::OutOfMemory(_)));
    assert_fine(&mut vm, false);
}

#[test]
fn no_fuel_in_a_callback() {
    let mut vm = troubled(Some(100_000));
    let trap = trap_of(work(&mut vm, 3));
    assert_eq!(trap, Trap::OutOfFuel);
    assert_fine(&mut vm, true);
}

#[test]
fn an_interrupt_in_a_callback() {
    let (mut vm, profile) = watched_machine(TROUBLE, trouble_config(None));
    let thread = interrupt_when_busy(&vm, profile, 3);
    let trap = trap_of(work(&mut vm, 3));
    thread.join().expect("no panic");
    assert_eq!(trap, Trap::Interrupted(3));
    assert_fine(&mut vm, true);
}

#[test]
fn an_exit_in_a_callback() {
    let mut vm = troubled(None);
    assert_eq!(work(&mut vm, 4), Ok(Outcome::ExitCode(7)));
    assert_fine(&mut vm, true);
}

#[test]
fn an_exception_that_nobody_handles_in_a_callback() {
    let mut vm = troubled(None);
    let error = work(&mut vm, 5).expect_err("it raises");
    assert!(matches!(error, RunError::Uncaught { .. }));
    let text = vm.describe_error(&error);
    let calls = ["in alloc", "in cons", "in work"];
    let places = calls.map(|call| {
        text.find(call)
            .unwrap_or_else(|| panic!("{call} in {text}"))
    });
    assert!(places.is_sorted(), "{text}");
    assert_fine(&mut vm, true);
}

/// Promotion raises; a snapshot in the loop promotes.
const SNAPSHOT: &str = r#"
host snapshot() -> ()
closure fun alloc(n: i, size: i, source: i) -> (i, r) {
    value = null
    ret 1, value
}
closure fun promote(value: r) -> (i, r) {
    raise value
}
export fun work() -> i {
    nil = null
    a = closure alloc, [], []
    p = closure promote, [], []
    t = new 0, [a, a, p, nil, nil], []
    rate = 1.0
    zero = 0
    profile: i = call memprof_start(rate, zero, zero, t)
    kept = new 1, [], [zero]
    n = 1
    try caught(e) {
        call snapshot()
    again:
        n = add n, 1
        jgt n, 0, again
    }
    n = tag kept
    ret n
caught:
    n = tag kept
    n = add n, 41
    ret n
}
fun main() { ret }
"#;

#[test]
fn what_a_snapshot_collects_is_told_before_the_op_that_saw_to_it() {
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let mut hosts = Hosts::standard(io);
    let interrupt: Arc<Lock<Option<Interrupt>>> = Arc::default();
    let asked = interrupt.clone();
    hosts.offer("snapshot", Signature::default(), move |_| {
        if let Some(interrupt) = &*asked.borrow() {
            interrupt.snapshot();
        }
        Ok(())
    });
    let config = VmConfig {
        fuel: Some(100_000),
        sampling: Some(MemprofConfig::default()),
        ..VmConfig::default()
    };
    let mut vm = Vm::new(verified(SNAPSHOT), hosts, config).expect("a machine");
    *interrupt.borrow_mut() = Some(vm.interrupt());
    let n_snapshots = Arc::new(Lock::new(0));
    let count = n_snapshots.clone();
    vm.on_snapshot(move |_| *count.borrow_mut() += 1);
    assert_eq!(call(&mut vm, "work", &[]), [42]);
    assert_eq!(*n_snapshots.borrow(), 1);
}
