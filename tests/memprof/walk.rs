//! A random walk over the stack: calls, closure calls, tail calls, returns, and exceptions through
//! hundreds of frames, with allocations at all depths. Call stacks must be right wherever the
//! barrier stands, and a tracker of closures must change nothing of what the program does.

use crate::support::lock::Lock;
use std::collections::HashMap;
use std::sync::Arc;

use profiler::{Kind, Profile, Style};
use vm::memprof::{AllocInfo, GcEvent, MemprofConfig, StackFrame, Tracker};
use vm::{GcStress, HeapConfig, Vm, VmConfig};

use crate::recorder::{call, callers_by_function, machine};
use crate::support::{module_of, profile};

/// The state's raw fields: random number, steps left, checksum, depth, deepest; what the tracker
/// has counted: samples, wrong depths, promotions, deaths, whether it switches units.
const WALK: &str = include_str!("walk/walk.asm");

/// Steps of the walks that are compared with each other.
const STEPS: i64 = 4_000;

/// Words of a walk with a call stack each.
type Stacks = HashMap<u64, Vec<StackFrame>>;

struct Keeper(Arc<Lock<Stacks>>);

impl Tracker for Keeper {
    fn alloc_minor(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        let stack = info.stack.frames().collect();
        self.0.borrow_mut().insert(info.clock, stack);
        None
    }

    fn alloc_major(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.alloc_minor(info)
    }

    fn promote(&mut self, _: u64, _: &GcEvent) -> Option<u64> {
        None
    }

    fn dealloc_minor(&mut self, _: u64, _: &GcEvent) {}

    fn dealloc_major(&mut self, _: u64, _: &GcEvent) {}
}

/// Starts a profile that keeps the stacks of all its samples.
fn keep(vm: &mut Vm, rate: f64, call_lines: bool) -> Arc<Lock<Stacks>> {
    let stacks = Arc::new(Lock::new(Stacks::new()));
    let config = MemprofConfig {
        rate,
        seed: 5,
        call_lines,
        ..MemprofConfig::default()
    };
    vm.memprof_start(config, Box::new(Keeper(stacks.clone())))
        .expect("the profile starts");
    stacks
}

fn stacks(seed: i64, steps: i64, rate: f64, call_lines: bool) -> (Vec<i64>, Stacks) {
    let mut vm = machine(WALK, VmConfig::default());
    let stacks = keep(&mut vm, rate, call_lines);
    let results = call(&mut vm, "walk_alone", &[seed, steps]);
    let stacks = stacks.borrow().clone();
    (results, stacks)
}

#[test]
fn call_stacks_are_right_after_exceptions_through_hundreds_of_frames() {
    let mut deepest = 0;
    for seed in 1..=4 {
        let (results, all) = stacks(seed, STEPS, 1.0, true);
        deepest = deepest.max(results[1]);
        for rate in [0.3, 0.02, 0.002] {
            let (same, some) = stacks(seed, STEPS, rate, true);
            assert_eq!(same, results);
            assert!(!some.is_empty());
            for (clock, stack) in some {
                assert_eq!(all.get(&clock), Some(&stack), "seed {seed}, rate {rate}");
            }
            let (same, some) = stacks(seed, STEPS, rate, false);
            assert_eq!(same, results);
            for (clock, stack) in some {
                let expected = callers_by_function(&all[&clock]);
                assert_eq!(stack, expected, "seed {seed}, rate {rate}");
            }
        }
    }
    assert!(deepest > 400, "the walks go down to {deepest}");
}

/// The stacks of a walk that has a tracker of its own, which asks for the lines of callers.
fn stacks_beside_closures(rate: f64, call_lines: bool) -> Stacks {
    let mut vm = machine(WALK, VmConfig::default());
    let stacks = keep(&mut vm, rate, call_lines);
    let tracked_bits = 0.1_f64.to_bits() as i64;
    for seed in [7, 8] {
        call(&mut vm, "walk_tracked", &[seed, 600, tracked_bits, 0]);
    }
    stacks.take()
}

#[test]
fn stacks_are_right_while_others_want_lines_and_when_they_do_no_more() {
    let all = stacks_beside_closures(1.0, true);
    let functions =
        |stack: &[StackFrame]| -> Vec<u32> { stack.iter().map(|frame| frame.function()).collect() };
    for rate in [1.0, 0.05] {
        let some = stacks_beside_closures(rate, false);
        let has_lines = |stack: &Vec<StackFrame>| matches!(stack[1..], [StackFrame::Op(_), ..]);
        let n_lines = some.values().filter(|stack| has_lines(stack)).count();
        assert!((1..some.len()).contains(&n_lines), "{n_lines} have lines");
        for (clock, stack) in some {
            let exact = &all[&clock];
            assert_eq!(stack[0], exact[0], "word {clock} at {rate}");
            assert_eq!(
                functions(&stack),
                functions(exact),
                "word {clock} at {rate}"
            );
        }
    }
}

/// A way to run a walk.
#[derive(Clone, Copy, Debug)]
struct Way {
    kinds: &'static str,
    style: Style,
    fuses: bool,
    stress: bool,
    fuel: bool,
    switches: bool,
}

fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for (kinds, style) in [
        ("", Style::Current),
        ("alloc", Style::Current),
        ("count", Style::Current),
        ("time,alloc,count", Style::Current),
        ("alloc,count", Style::Stack),
        ("time,alloc,count", Style::Stack),
    ] {
        for bits in 0..8 {
            ways.push(Way {
                kinds,
                style,
                fuses: bits & 1 == 0,
                stress: bits == 3,
                fuel: bits & 2 == 2,
                switches: bits & 4 == 4,
            });
        }
    }
    ways
}

/// Results of a walk, and what each of the program's own sources was charged.
type Walked = (Vec<i64>, Vec<(String, u64)>);

fn walk(way: Way, steps: i64, rate: Option<f64>) -> (Walked, Vec<i64>) {
    let module = module_of(WALK);
    let taken: Option<Arc<Profile>> =
        (!way.kinds.is_empty()).then(|| match Arc::try_unwrap(profile(way.kinds, &module)) {
            Ok(one) => Arc::new(one.with_style(way.style)),
            Err(_) => unreachable!("nobody else has it"),
        });
    let heap = HeapConfig {
        nursery_bytes: 64 << 10,
        stress: if way.stress {
            GcStress::On
        } else {
            GcStress::Off
        },
        ..HeapConfig::default()
    };
    let config = VmConfig {
        heap,
        fuel: way.fuel.then_some(1 << 40),
        profile: taken.clone(),
        fuses: way.fuses,
        ..VmConfig::default()
    };
    let mut vm: Vm = machine(WALK, config);
    let results = match rate {
        None => call(&mut vm, "walk_alone", &[7, steps]),
        Some(rate) => {
            let bits = rate.to_bits() as i64;
            call(
                &mut vm,
                "walk_tracked",
                &[7, steps, bits, i64::from(way.switches)],
            )
        }
    };
    let mut charged = Vec::new();
    if let Some(taken) = taken {
        for kind in [Kind::Alloc, Kind::Count] {
            if !taken.kinds().contains(kind) {
                continue;
            }
            let rows = taken.data().counts(kind).rows;
            for (row, source) in rows.iter().zip(&module.sources.sources) {
                let name = module.sources.names[source.name.index()].to_string();
                if name.starts_with("Walk.") {
                    charged.push((name, row.current));
                }
            }
        }
        assert!(!charged.is_empty());
    }
    let (own, tracked) = results.split_at(3);
    ((own.to_vec(), charged), tracked.to_vec())
}

#[test]
fn a_tracker_of_closures_changes_nothing_in_any_mode() {
    for way in ways() {
        let steps = if way.stress { 200 } else { 600 };
        let (plain, _) = walk(way, steps, None);
        for rate in [0.1, 1.0] {
            let (walked, tracked) = walk(way, steps, Some(rate));
            assert_eq!(plain, walked, "{way:?} at {rate}");
            let [samples, wrong, promoted, died] = tracked[..] else {
                panic!("four counts")
            };
            assert_eq!(wrong, 0, "S22: depths, {way:?} at {rate}");
            assert!(samples > 0, "{way:?} at {rate}");
            if rate == 1.0 {
                assert!(promoted + died > 0, "{way:?}");
                assert_eq!(samples, walked.0[2], "S19: words, {way:?}");
            }
        }
    }
}
