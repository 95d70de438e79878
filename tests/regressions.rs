//! What once went wrong: each test is a program that crashed, hung or counted wrongly.

mod support;

use crate::support::lock::Lock;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use profiler::Kind;
use support::{interrupt_when_busy, machine, module_of, profile, verified, watched_machine};
use vm::host::{HostCall, HostIo, Hosts};
use vm::isa::Signature;
use vm::module::HandlerRange;
use vm::verify::verify;
use vm::{Datum, HeapConfig, Interrupt, Outcome, RunError, Trap, Vm, VmConfig};

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
    let (mut vm, profile) = watched_machine(text, VmConfig::default());
    let spin = vm.module().function_named("spin").expect("the function");
    while profile.data().counts(Kind::Time).totals.total < 5 {
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
        let (mut vm, profile) = watched_machine(text, VmConfig::default());
        let other = interrupt_when_busy(&vm, profile, 2);
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

/// A call stack began with calls of a tree that had been given back with the last profile.
#[test]
fn call_stacks_are_whole_after_all_profiles_were_discarded() {
    let text = "
        closure fun alloc{seen: r}(n: i, size: i, source: i) -> (i, r) {
            seen = cap seen
            depth: i = call memprof_depth()
            st_i seen, 0, depth
            ret 0, seen
        }
        fun start(seen: r) -> i {
            nil = null
            a = closure alloc, [seen], []
            t = new 0, [a, nil, nil, nil, nil], []
            profile: i = call memprof_start(1.0, 1000, 0, t)
            ret profile
        }
        fun stop(profile: i) {
            call memprof_stop()
            call memprof_discard(profile)
            ret
        }
        fun twice(seen: r) {
            profile: i = call start(seen)
            cell = new 1, [], [profile]
            call stop(profile)
            profile: i = call start(seen)
            cell = new 1, [], [profile]
            call stop(profile)
            profile = add profile, 1
            ret
        }
        fun down(n: i, seen: r) {
            jeq n, 0, bottom
            n = sub n, 1
            call down(n, seen)
            n = add n, 1
            ret
        bottom:
            call twice(seen)
            n = add n, 1
            ret
        }
        fun main() -> i {
            n = 0
            seen = new 1, [], [n]
            call down(10, seen)
            n = ld_i seen, 0
            ret n
        }";
    let mut vm = machine(text, VmConfig::default());
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![13])));
}

/// A host function without parameters and results, by its name.
type Offered = (&'static str, Box<dyn Fn(&mut HostCall) + Send>);

/// Hosts of these functions without parameters and results, besides the standard ones.
fn hosts_with(functions: Vec<Offered>) -> Hosts {
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let mut hosts = Hosts::standard(io);
    for (name, function) in functions {
        hosts.offer(name, Signature::default(), move |call| {
            function(call);
            Ok(())
        });
    }
    hosts
}

/// A machine that counts survivors and shares an interrupt.
fn machine_with_census(text: &str, hosts: Hosts, interrupt: &Interrupt) -> Vm {
    let config = VmConfig {
        census: true,
        ..VmConfig::default()
    };
    let mut vm = Vm::new(verified(text), hosts, config).expect("a machine");
    vm.share_interrupt(interrupt);
    vm
}

/// What a collection for a snapshot at a call had found was told after the call, or wherever the
/// op behind it was reached next.
#[test]
fn callbacks_of_a_snapshot_come_before_the_call_that_it_is_taken_at() {
    let text = "
        host poke()
        host promoted()
        host called()
        host behind()
        closure fun alloc(n: i, size: i, source: i) -> (i, r) {
            nil = null
            ret 1, nil
        }
        closure fun promote(value: r) -> (i, r) {
            call promoted()
            ret 1, value
        }
        fun g() {
            call called()
            ret
        }
        fun main() {
            nil = null
            a = closure alloc, [], []
            p = closure promote, [], []
            t = new 0, [a, nil, p, nil, nil], []
            profile: i = call memprof_start(1.0, 10, 0, t)
            cell = new 1, [], [profile]
            call poke()
            call g()
            call behind()
            profile = ld_i cell, 0
            call memprof_stop()
            ret
        }";
    let interrupt = Interrupt::new();
    let told = Arc::new(Lock::new(Vec::new()));
    let tell = |name: &'static str| -> Offered {
        let told = told.clone();
        (name, Box::new(move |_| told.borrow_mut().push(name)))
    };
    let poked = interrupt.clone();
    let hosts = hosts_with(vec![
        ("poke", Box::new(move |_| poked.snapshot())),
        tell("promoted"),
        tell("called"),
        tell("behind"),
    ]);
    let mut vm = machine_with_census(text, hosts, &interrupt);
    vm.on_snapshot(|_| {});
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])));
    assert_eq!(*told.borrow(), ["promoted", "called", "behind"]);
}

/// The collection at the end of a run was given up for an interrupt, and what had moved by then
/// was shown all the same.
#[test]
fn an_interrupt_at_the_end_of_a_run_leaves_nothing_to_read_in_a_failed_heap() {
    let text = |end: &str| {
        format!(
            "
        host doom()
        fun main() -> r {{
            n = 77
            e = new 5, [], [n]
            call gc()
            call doom()
            {end} e
        }}"
        )
    };
    let interrupt = Interrupt::new();
    let machine = |end: &str, is_doomed: bool| {
        let doom = interrupt.clone();
        let doom = move |_: &mut HostCall| {
            if is_doomed {
                doom.raise(support::signal(2));
            }
        };
        let hosts = hosts_with(vec![("doom", Box::new(doom))]);
        machine_with_census(&text(end), hosts, &interrupt)
    };
    let uncaught = |is_doomed: bool| match machine("raise", is_doomed).run() {
        Err(RunError::Uncaught { exception, .. }) => exception,
        other => panic!("{other:?}"),
    };
    let shown = uncaught(false);
    assert_eq!(uncaught(true), shown);
    interrupt.clear();
    let mut vm = machine("ret", true);
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])));
    interrupt.clear();
    let read = vm.read_back(1, 100);
    assert_eq!(read.roots, [Datum::Unread]);
    assert!(read.objects.is_empty() && !read.is_complete);
}

/// A host function that did not mind a failed collection could collect, and read, what was left.
#[test]
fn a_host_function_cannot_use_a_heap_that_has_failed() {
    let text = "
        host twice()
        fun main() {
            n = 77
            s = str_of_int n
            e = new 5, [s], [n]
            call gc()
            call twice()
            s = ld_r e, 0
            n = len s
            call print(s)
            ret
        }";
    let interrupt = Interrupt::new();
    let doom = interrupt.clone();
    let twice = move |call: &mut HostCall| {
        doom.raise(support::signal(2));
        assert!(call.collect_all().is_err());
        doom.clear();
        assert!(call.collect_all().is_err());
        let read = call.caller_refs(2, 100);
        assert_eq!(read.roots, [Datum::Unread, Datum::Unread]);
    };
    let hosts = hosts_with(vec![("twice", Box::new(twice))]);
    let mut vm = machine_with_census(text, hosts, &interrupt);
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
