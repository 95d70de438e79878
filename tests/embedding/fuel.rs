//! Fuel for each call, and runs that pause when it is used up.

use std::sync::Arc;
use std::thread;

use profiler::{Kind, Style};
use vm::host::{HostCall, HostError};
use vm::{Access, CallError, Outcome, Progress, Root, RunError, Trap, VmConfig};

use crate::support::{machine, module_of, profile, signal};
use crate::{machine_with, quiet, stressed};

const TEXT: &str = "
    export fun build(n: i) -> i {
        list = null
        sum = 0
    again:
        list = new 1, [list], [n]
        k = ld_i list, 0
        sum = add sum, k
        n = sub n, 1
        jgt n, 0, again
        ret sum
    }
    fun main() {
        ret
    }";

fn counting() -> VmConfig {
    VmConfig {
        fuel: Some(u64::MAX),
        ..VmConfig::default()
    }
}

/// Ops that `build` takes.
fn n_ops(n: u64) -> u64 {
    4 + 5 * n
}

/// The result of `build`, and how often it has paused with `fuel` at a time.
fn build_in_steps(vm: &mut vm::Vm, n: i64, fuel: u64) -> (Outcome, u64) {
    let build = vm.function("build").expect("the function");
    let mut progress = vm.call_with_fuel(build, &[n], fuel).expect("it runs");
    let mut n_pauses = 0;
    loop {
        match progress {
            Progress::Ended(outcome) => return (outcome, n_pauses),
            Progress::Paused => {
                assert!(vm.is_paused());
                n_pauses += 1;
                // Whatever is done between does not matter to the run.
                let text = vm.new_text("between").expect("there is memory");
                assert_eq!(vm.bytes(&text), Ok(&b"between"[..]));
                progress = vm.resume(fuel).expect("it goes on");
            }
        }
    }
}

#[test]
fn a_run_in_steps_does_what_it_does_at_once() {
    for config in [
        counting(),
        VmConfig {
            fuel: Some(1),
            ..stressed()
        },
    ] {
        let mut vm = machine_with(TEXT, quiet(), config);
        for fuel in [1, 7, 100, 1_000_000] {
            let (outcome, n_pauses) = build_in_steps(&mut vm, 200, fuel);
            assert_eq!(outcome, Outcome::Returned(vec![20100]));
            assert_eq!(n_pauses, (n_ops(200) - 1) / fuel, "with {fuel} at a time");
            assert!(!vm.is_paused());
        }
    }
}

#[test]
fn what_is_owed_is_paid_before_the_run_goes_on() {
    let mut vm = machine(TEXT, counting());
    let build = vm.function("build").expect("the function");
    assert_eq!(vm.call_with_fuel(build, &[2], 0), Ok(Progress::Paused));
    assert_eq!(vm.resume(0), Ok(Progress::Paused));
    let ended = Progress::Ended(Outcome::Returned(vec![3]));
    assert_eq!(vm.resume(n_ops(2)), Ok(ended));
    assert_eq!(vm.resume(1), Err(RunError::Call(CallError::NotPaused)));
}

#[test]
fn each_call_has_the_fuel_that_was_set() {
    let mut vm = machine(TEXT, counting());
    let build = vm.typed::<(i64,), i64>("build").expect("it fits");
    vm.set_fuel(100).expect("the machine counts");
    assert_eq!(build.call(&mut vm, (10,)), Ok(55));
    assert_eq!(vm.fuel_left(), Some(100 - n_ops(10)));
    assert_eq!(build.call(&mut vm, (10,)), Ok(55), "again, with as much");
    assert!(matches!(
        build.call(&mut vm, (100,)),
        Err(RunError::Trap {
            trap: Trap::OutOfFuel,
            ..
        })
    ));
    assert!(!vm.is_paused(), "it has ended");
}

#[test]
fn a_machine_that_counts_no_fuel_says_so() {
    let mut vm = machine(TEXT, VmConfig::default());
    assert_eq!(vm.set_fuel(1), Err(CallError::NoFuel));
    let build = vm.function("build").expect("the function");
    assert_eq!(
        vm.call_with_fuel(build, &[1], 1),
        Err(RunError::Call(CallError::NoFuel))
    );
}

#[test]
fn any_other_call_gives_a_paused_run_up() {
    let mut vm = machine(TEXT, counting());
    let build = vm.function("build").expect("the function");
    assert_eq!(vm.call_with_fuel(build, &[100], 50), Ok(Progress::Paused));
    assert_eq!(vm.call(build, &[4]), Ok(Outcome::Returned(vec![10])));
    assert!(!vm.is_paused());
    assert_eq!(vm.call_with_fuel(build, &[100], 50), Ok(Progress::Paused));
    vm.give_up();
    assert_eq!(vm.resume(1), Err(RunError::Call(CallError::NotPaused)));
}

#[test]
fn a_paused_run_goes_on_in_another_thread_and_can_be_interrupted() {
    let mut vm = machine(TEXT, counting());
    let build = vm.function("build").expect("the function");
    assert_eq!(vm.call_with_fuel(build, &[100], 50), Ok(Progress::Paused));
    let mut vm = thread::spawn(move || {
        assert_eq!(vm.resume(50), Ok(Progress::Paused));
        vm
    })
    .join()
    .expect("no panic");
    vm.interrupt().raise(signal(5));
    assert!(matches!(
        vm.resume(1_000_000),
        Err(RunError::Trap {
            trap: Trap::Interrupted(5),
            ..
        })
    ));
    assert!(!vm.is_paused());
}

#[test]
fn profiles_are_the_same_in_steps_and_at_once() {
    for style in [Style::Current, Style::Stack] {
        let counts = |fuel: u64| {
            let profile = profile("time,alloc,count", &module_of(TEXT));
            let profile = Arc::into_inner(profile).expect("nobody else has it");
            let profile = Arc::new(profile.with_style(style));
            let config = VmConfig {
                profile: Some(profile.clone()),
                ..counting()
            };
            let mut vm = machine(TEXT, config);
            let build = vm.function("build").expect("the function");
            let mut progress = vm.call_with_fuel(build, &[300], fuel);
            while progress == Ok(Progress::Paused) {
                progress = vm.resume(fuel);
            }
            let data = profile.data();
            (data.counts(Kind::Alloc), data.counts(Kind::Count))
        };
        assert_eq!(counts(1_000_000), counts(10));
    }
}

#[test]
fn fuel_that_ends_in_a_call_back_ends_the_run() {
    let text = "
        host call_back(r) -> (i)
        closure fun spin{}() -> i {
        again:
            jmp again
        }
        export fun work() -> i {
            f = closure spin, [], []
            n = call call_back(f)
            ret n
        }
        fun main() {
            ret
        }";
    let mut hosts = quiet();
    hosts.wrap(
        "call_back",
        |call: &mut HostCall, f: Root| -> Result<i64, HostError> { Ok(call.call_closure(&f, ())?) },
    );
    let mut vm = machine_with(text, hosts, counting());
    let work = vm.function("work").expect("the function");
    assert!(matches!(
        vm.call_with_fuel(work, &[], 1000),
        Err(RunError::Trap {
            trap: Trap::OutOfFuel,
            ..
        })
    ));
    assert!(!vm.is_paused());
}
