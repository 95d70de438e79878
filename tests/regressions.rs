//! What once went wrong: each test is a program that crashed, hung or counted wrongly.

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use repl::assembler::vm::host::{HostIo, Hosts};
use repl::assembler::vm::isa::Signature;
use repl::assembler::vm::module::HandlerRange;
use repl::assembler::vm::profiler::{Kind, KindSet, Profile};
use repl::assembler::vm::verify::verify;
use repl::assembler::vm::{HeapConfig, Outcome, RunError, Trap, Vm, VmConfig};
use support::{machine, module_of, profile, verified};

/// A return from a run's first frame published what stood before the code as a node.
#[test]
fn the_end_of_a_run_under_a_time_profile_publishes_a_node() {
    let text = "
        export fun spin(n: i) {
        again:
            n = sub n, 1
            jgt n, 0, again
            ret
        }
        fun main() {
            ret
        }";
    let kinds: KindSet = "time".parse().expect("a kind");
    let module = module_of(text);
    let profile = Profile::new(kinds, module.sources.sources.len()).with_hz(1000);
    let config = VmConfig {
        profile: Some(Arc::new(profile)),
        ..VmConfig::default()
    };
    let mut vm = machine(text, config);
    let spin = vm.module().function_named("spin").expect("the function");
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(500) {
        assert_eq!(vm.call(spin, &[20_000]), Ok(Outcome::Returned(vec![])));
    }
}

/// Registers of a run that ended for want of memory pointed into the heap that it had.
#[test]
fn a_run_after_a_full_heap_sees_nothing_of_the_one_before() {
    let text = "
        fun main() {
            call gc()
            n = 100000
            a = new_i n, n
            b = str_of_int n
            c = null
        again:
            c = new 1, [c, a, b], [n]
            jmp again
        }";
    let heap = HeapConfig {
        nursery_bytes: 256 << 10,
        max_bytes: 2 << 20,
        ..HeapConfig::default()
    };
    let mut vm = machine(
        text,
        VmConfig {
            heap,
            ..VmConfig::default()
        },
    );
    for _ in 0..3 {
        let result = vm.run();
        let is_full = matches!(
            result,
            Err(RunError::Trap {
                trap: Trap::OutOfMemory(_),
                ..
            })
        );
        assert!(is_full, "{result:?}");
    }
}

/// A host function could write registers beyond its signature, where no collection looks.
#[test]
fn a_host_function_reaches_no_further_than_its_signature() {
    let text = "
        host greedy(i) -> r
        fun main() -> i {
            s = call greedy(7)
            n = len s
            ret n
        }";
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let mut hosts = Hosts::standard(io);
    let signature = Signature {
        int_params: 1,
        ref_results: 1,
        ..Signature::default()
    };
    hosts.offer("greedy", signature, |call| {
        assert_eq!((call.int(0), call.int(1), call.int(255)), (7, 0, 0));
        call.set_int(255, 1);
        assert!(call.set_text(1, b"far").is_err() && call.text(255).is_err());
        call.set_text(0, b"near")
    });
    let mut vm = Vm::new(verified(text), hosts, VmConfig::default()).expect("a machine");
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![4])));
}

/// A loop that goes through an exception handler had no safepoint.
#[test]
fn a_loop_of_exceptions_can_be_interrupted() {
    let text = "
        fun main() {
            e = null
        again:
            try caught(e) {
                raise e
            }
        caught:
            jsame e, e, again
            ret
        }";
    let tight = "
        .instrumented
        fun main() {
            r0 = null
        L0:
            raise r0
        L1:
            match_fail
            .handle L0, L1, L0, r0
        }";
    for text in [text, tight] {
        let mut vm = machine(text, VmConfig::default());
        let interrupt = vm.interrupt();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            interrupt.raise(2);
        });
        let result = vm.run();
        let is_stopped = matches!(
            result,
            Err(RunError::Trap {
                trap: Trap::Interrupted(2),
                ..
            })
        );
        assert!(is_stopped, "{result:?}");
        other.join().expect("the other thread");
    }
}

/// Code that was loaded anew after a full heap charged the first unit, whichever was current.
#[test]
fn the_unit_that_is_current_stays_so_after_a_full_heap() {
    let text = "
        export fun boom() {
            n = 1
            c = null
        again:
            c = new 1, [c], [n]
            jmp again
        }
        fun main() {
            n = 1
            c = new 1, [], [n]
            ret
        }";
    let module = module_of(text);
    let profile = profile("alloc", &module);
    let heap = HeapConfig {
        nursery_bytes: 64 << 10,
        max_bytes: 1 << 20,
        ..HeapConfig::default()
    };
    let config = VmConfig {
        heap,
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    let mut vm = machine(text, config);
    let unit = vm.new_unit();
    vm.switch_unit(unit).expect("a new unit");
    let boom = vm.module().function_named("boom").expect("the function");
    assert!(vm.call(boom, &[]).is_err());
    let total = |vm: &Vm| {
        let data = vm.unit_data(unit).expect("the unit").expect("a profile");
        data.counts(Kind::Alloc).totals.total
    };
    let before = total(&vm);
    vm.run().expect("the program runs");
    assert_eq!(total(&vm) - before, 16);
    assert_eq!(profile.data().counts(Kind::Alloc).totals.total, 0);
}

/// An Enter that a loop goes back to was done by the caller as well.
#[test]
fn a_loop_to_the_first_enter_counts_as_often_as_it_turns() {
    let text = "
        .instrumented
        source s3 = \"turn\" \"x\" 1
        fun f(i) {
        L0:
            enter s3
            leave s3
            i0 = add_imm i0, -1
            jgt_imm i0, 0, L0
            ret
        }
        fun main() {
            i1 = int 5
            call f, i1, r0
            ret
        }";
    let module = module_of(text);
    let profile = profile("count", &module);
    let config = VmConfig {
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    machine(text, config).run().expect("the program runs");
    assert_eq!(profile.data().nodes()[3].calls.load(Relaxed), 5);
}

/// Handlers were numbered with 16 bits.
#[test]
fn the_last_of_many_handlers_handles() {
    let text = "
        .instrumented
        fun main() -> i {
            i0 = int 1
            match_fail
        L0:
            i0 = int 7
            ret
        }";
    let mut module = module_of(text);
    let main = &mut module.functions[0];
    // The `int` before the fault is ten bytes long, the fault one.
    let none = HandlerRange {
        start: 0,
        end: 10,
        target: 11,
        register: 0,
    };
    main.handlers = vec![none; 65_536];
    main.handlers.push(HandlerRange {
        start: 10,
        end: 11,
        target: 11,
        register: 0,
    });
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let module = verify(module).expect("it verifies");
    let mut vm = Vm::new(module, Hosts::standard(io), VmConfig::default()).expect("a machine");
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![7])));
}
