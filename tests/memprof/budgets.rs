//! Budgets from Rust, and what is given back after programs' own profiles.

use std::sync::Arc;

use profiler::{Profile, Style};
use vm::memprof::MemprofConfig;
use vm::{GcStress, HeapConfig, Outcome, RunError, Trap, Vm, VmConfig};

use crate::recorder::{call, every_word, machine, machine_with_nursery, start};
use crate::support::module_of;

const PROGRAM: &str = r#"
; Allocates `n` blocks of two words, one in each of `n` calls that are open at once.
export fun deep(n: i) -> i {
    jle n, 0, bottom
    m = sub n, 1
    m = call deep(m)
    cell = new 1, [], [n]
    m = add m, 1
    ret m
bottom:
    ret 0
}
; The same, and what is left of a budget of its own.
export fun within(words: i, n: i) -> i {
    call budget_start(words)
    try over(e) {
        n = call deep(n)
    }
    left: i = call budget_end()
    ret left
over:
    code = ld_i e, 0
    code = rsub_imm code, 0
    ret code
}
export fun overflow() -> i {
    call budget_start(1000000000)
    n = call overflow()
    n = add n, 1
    ret n
}
export fun fill() {
    kept = null
    length = 10000
    zero = 0
next:
    array = new_i length, zero
    kept = new 1, [array, kept], []
    jmp next
}
closure fun alloc(n: i, size: i, source: i) -> (i, r) {
    nil = null
    value = str_of_int size
    ret 1, value
}
closure fun promote(value: r) -> (i, r) {
    ret 1, value
}
; Stops and discards while thousands of events wait.
closure fun hasty{state: r}(value: r) -> (i, r) {
    state = cap state
    profile = ld_i state, 0
    call memprof_stop()
    call memprof_discard(profile)
    ret 1, value
}
export fun profiled(n: i, is_hasty: i) {
    zero = 0
    nil = null
    state = new 0, [], [zero]
    a = closure alloc, [], []
    p = closure promote, [], []
    jeq is_hasty, 0, calm
    p = closure hasty, [state], []
calm:
    t = new 0, [a, a, p, nil, nil], []
    rate = 1.0
    all = 100000
    profile: i = call memprof_start(rate, all, zero, t)
    st_i state, 0, profile
    call keep(n)
    jne is_hasty, 0, done
    call memprof_stop()
    call memprof_discard(profile)
done:
    ret
}
fun keep(n: i) {
    kept = null
next:
    kept = new 1, [kept], [n]
    n = sub n, 1
    jgt n, 0, next
    call digs(300)
    call gc()
    n = ld_i kept, 0
    ret
}
fun digs(n: i) {
    jle n, 0, bottom
    n = sub n, 1
    call digs(n)
    cell = new 1, [], [n]
bottom:
    ret
}
fun main() { ret }
"#;

fn is_exceeded(vm: &mut Vm, name: &str, ints: &[i64]) -> bool {
    let function = vm.module().function_named(name).expect("it is there");
    match vm.call(function, ints) {
        Err(RunError::Uncaught { exception, .. }) => {
            assert_eq!(exception, "allocation budget exceeded");
            true
        }
        Ok(Outcome::Returned(_)) => false,
        other => panic!("{other:?}"),
    }
}

fn machine_of(heap: HeapConfig) -> Vm {
    let config = VmConfig {
        heap,
        stack_bytes: 1 << 20,
        ..VmConfig::default()
    };
    machine(PROGRAM, config)
}

#[test]
fn a_budget_of_the_embedder_ends_at_its_word() {
    for stress in [GcStress::Off, GcStress::On] {
        let mut vm = machine_of(HeapConfig {
            stress,
            ..HeapConfig::default()
        });
        for n in [1, 2, 10, 100] {
            let words = 2 * n as u64;
            assert!(!vm.with_budget(words, |vm| is_exceeded(vm, "deep", &[n])));
            assert!(vm.with_budget(words - 1, |vm| is_exceeded(vm, "deep", &[n])));
            assert!(!is_exceeded(&mut vm, "deep", &[n]), "it is over");
        }
        // A budget that was exceeded is over: what comes after it in the same extent is free.
        let both = vm.with_budget(5, |vm| {
            [
                is_exceeded(vm, "deep", &[10]),
                is_exceeded(vm, "deep", &[10]),
            ]
        });
        assert_eq!(both, [true, false]);
        // What is not used up by one run is there for the next.
        let runs = vm.with_budget(7, |vm| [1, 1, 1, 1].map(|n| is_exceeded(vm, "deep", &[n])));
        assert_eq!(runs, [false, false, false, true]);
    }
}

#[test]
fn budgets_of_the_embedder_and_of_programs_nest() {
    let mut vm = machine_of(HeapConfig::default());
    let left = vm.with_budget(1000, |vm| call(vm, "within", &[100, 10]));
    assert_eq!(left, [80]);
    let fault = vm.with_budget(1000, |vm| call(vm, "within", &[100, 60]));
    assert_eq!(fault, [-7], "the program's own ends first");
    let fault = vm.with_budget(100, |vm| call(vm, "within", &[1000, 60]));
    assert_eq!(
        fault,
        [-7],
        "the embedder's ends first, and the program handles that"
    );
    let inner = vm.with_budget(100, |vm| {
        let inner = vm.with_budget(10, |vm| is_exceeded(vm, "deep", &[20]));
        // 10 words and the fault's two are gone.
        assert!(!is_exceeded(vm, "deep", &[44]));
        assert!(is_exceeded(vm, "deep", &[1]));
        inner
    });
    assert!(inner);
}

#[test]
fn a_budget_ends_with_the_run_that_ends_badly() {
    let mut vm = machine_of(HeapConfig {
        max_bytes: 4 << 20,
        ..HeapConfig::default()
    });
    let overflow = vm.module().function_named("overflow").expect("it is there");
    assert!(matches!(
        vm.call(overflow, &[]),
        Err(RunError::Trap {
            trap: Trap::StackOverflow { .. },
            ..
        })
    ));
    assert_eq!(call(&mut vm, "within", &[100, 10]), [80]);
    // The embedder's budget outlives the heap that fails within it.
    let words = vm.with_budget(1 << 30, |vm| {
        let fill = vm.module().function_named("fill").expect("it is there");
        assert!(matches!(vm.call(fill, &[]), Err(RunError::Trap { .. })));
        call(vm, "within", &[100, 10])
    });
    assert_eq!(words, [80]);
    assert!(vm.with_budget(9, |vm| is_exceeded(vm, "deep", &[5])));
}

#[test]
fn budgets_are_the_same_in_all_modes_and_with_profiles() {
    let n_sources = module_of(PROGRAM).sources.sources.len();
    for (kinds, style) in [
        ("alloc", Style::Current),
        ("time,alloc,count", Style::Current),
        ("alloc,count", Style::Stack),
    ] {
        for (fuses, fuel) in [(true, None), (false, Some(1 << 40))] {
            let kinds = kinds.parse().expect("kinds");
            let config = VmConfig {
                profile: Some(Arc::new(Profile::new(kinds, n_sources).with_style(style))),
                fuses,
                fuel,
                ..VmConfig::default()
            };
            let mut vm = machine(PROGRAM, config);
            let (_, record) = start(&mut vm, every_word());
            for _ in 0..2 {
                assert_eq!(call(&mut vm, "within", &[20, 10]), [0]);
                assert_eq!(call(&mut vm, "within", &[19, 10]), [-7]);
                assert!(vm.with_budget(19, |vm| is_exceeded(vm, "deep", &[10])));
            }
            let n_blocks = record.borrow().blocks.len();
            assert_eq!(n_blocks, 2 * (10 + 10 + 10), "9 blocks and a fault each");
        }
    }
}

/// Upstream leaks here: events that a stop drops keep their call stacks.
#[test]
fn programs_profiles_give_their_memory_back() {
    let mut vm = machine_with_nursery(PROGRAM, 1 << 20);
    let fresh = vm.memprof_bytes();
    for round in 0..20 {
        for is_hasty in [0, 1] {
            call(&mut vm, "profiled", &[3000, is_hasty]);
            assert_eq!(vm.memprof_bytes(), fresh, "round {round}, {is_hasty}");
        }
    }
}

/// Rates next to 1 and to nothing.
#[test]
fn rates_near_the_ends() {
    let sampled = |rate: f64| {
        let mut vm = machine_with_nursery(PROGRAM, 64 << 10);
        let config = MemprofConfig {
            rate,
            ..MemprofConfig::default()
        };
        let (_, record) = start(&mut vm, config);
        for _ in 0..10 {
            call(&mut vm, "deep", &[1000]);
        }
        let record = record.borrow();
        record
            .blocks
            .iter()
            .map(|block| block.n_samples)
            .sum::<u64>()
    };
    assert_eq!(sampled(1.0), 20_000);
    assert_eq!(sampled(1.0 - f64::EPSILON / 2.0), 20_000);
    assert_eq!(sampled(1.0 - 1e-12), 20_000);
    let missed = 20_000 - sampled(0.999);
    assert!((1..=70).contains(&missed), "{missed} of 20 expected");
    assert_eq!(sampled(1e-15), 0);
    assert_eq!(sampled(f64::MIN_POSITIVE), 0);
}
