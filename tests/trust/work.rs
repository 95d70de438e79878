//! Ops that handle many bytes: they look whether the run is to end, and cost fuel by their size.

use vm::memprof::MemprofConfig;
use vm::{Interrupt, Outcome, RunError, Trap, VmConfig};

use crate::support::{Deaf, signal};
use crate::{PLAIN, machine_with, marking_hosts};

/// A megabyte of work, by the op or host function that does it. Before it stand arrays and strings
/// `a` and `b` of 2^20 bytes, `p` and `q` of 2^17 references, `s` and `t`.
const WORK: [(&str, &str); 11] = [
    ("new_b", "x = new_b n, z"),
    ("new_i", "x = new_i k, z"),
    ("new_f", "x = new_f k, f"),
    ("new_r", "x = new_r k, s"),
    ("copy of bytes", "copy a, z, b, z, n"),
    ("copy of references", "copy p, z, q, z, k"),
    ("cat", "x = cat s, t"),
    ("sub_str", "x = sub_str s, z, n"),
    ("str_of_bytes", "x = str_of_bytes a"),
    ("cmp", "i = cmp s, t"),
    ("print", "call print(s)"),
];

fn program(work: &str) -> String {
    format!(
        "host doom()
        host mark()
        fun main() {{
            n = 1048576
            k = 131072
            z = 0
            i = 0
            f = 0.0
            a = new_b n, z
            b = new_b n, z
            s = str_of_bytes a
            t = str_of_bytes b
            p = new_r k, s
            q = new_r k, s
            x = null
            call doom()
            {work}
            call mark()
            ret
        }}"
    )
}

#[test]
fn long_ops_look_whether_the_run_is_to_end() {
    for (name, work) in WORK {
        let interrupt = Interrupt::new();
        let (mut hosts, is_marked) = marking_hosts();
        let doom = interrupt.clone();
        hosts.offer("doom", PLAIN, move |_| {
            doom.raise(signal(2));
            Ok(())
        });
        let mut vm = machine_with(&program(work), hosts, VmConfig::default());
        vm.share_interrupt(&interrupt);
        let result = vm.run();
        let is_ended = matches!(
            result,
            Err(RunError::Trap {
                trap: Trap::Interrupted(2),
                ..
            })
        );
        assert!(is_ended && !is_marked.get(), "{name}: {result:?}");
        // What was done by halves is not in the heap's way.
        assert!(vm.run().is_err(), "{name}: the program dooms itself again");
    }
}

#[test]
fn long_ops_cost_a_unit_of_fuel_for_each_kib() {
    let ops = |work: &str| {
        let (mut hosts, _) = marking_hosts();
        hosts.offer("doom", PLAIN, |_| Ok(()));
        let config = VmConfig {
            fuel: Some(1_000_000),
            ..VmConfig::default()
        };
        let mut vm = machine_with(&program(work), hosts, config);
        assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])));
        1_000_000 - vm.fuel_left().expect("there is a budget")
    };
    let without = ops("i = 0");
    for (name, work) in WORK {
        let cost = ops(work) - without;
        // Both strings of `cat` are read. The argument of `print` may have to be moved.
        let expected = if name == "cat" { 2048 } else { 1024 };
        assert!((expected..=expected + 1).contains(&cost), "{name}: {cost}");
    }
}

/// A sample of each word would take seconds, and cost no fuel at all.
#[test]
fn accounting_for_memory_outside_the_heap_costs_fuel_by_its_size() {
    let text = "fun main() {
            n = 4294967296
            t: i = call external_alloc(n)
            call external_free(t)
            ret
        }";
    let run = |fuel| {
        let (hosts, _) = marking_hosts();
        let config = VmConfig {
            fuel: Some(fuel),
            ..VmConfig::default()
        };
        machine_with(text, hosts, config).run()
    };
    let words = 4_294_967_296 / 8;
    assert_eq!(run(words / 128 + 100), Ok(Outcome::Returned(vec![])));
    assert!(matches!(
        run(words / 128 - 100),
        Err(RunError::Trap {
            trap: Trap::OutOfFuel,
            ..
        })
    ));
}

#[test]
fn sampling_a_long_block_looks_whether_the_run_is_to_end() {
    let text = "host doom()
        host mark()
        fun main() {
            n = 4294967296
            call doom()
            t: i = call external_alloc(n)
            call mark()
            ret
        }";
    let interrupt = Interrupt::new();
    let (mut hosts, is_marked) = marking_hosts();
    let doom = interrupt.clone();
    hosts.offer("doom", PLAIN, move |_| {
        doom.raise(signal(2));
        Ok(())
    });
    let mut vm = machine_with(text, hosts, VmConfig::default());
    vm.share_interrupt(&interrupt);
    let config = MemprofConfig {
        rate: 0.999,
        ..MemprofConfig::default()
    };
    vm.memprof_start(config, Box::new(Deaf))
        .expect("a profile starts");
    assert!(vm.run().is_err());
    assert!(!is_marked.get());
    assert_eq!(vm.word_clock(), 0, "a block that was not made has no words");
}

/// The calls of a stack are walked one by one, and a program can ask for that at each allocation.
#[test]
fn telling_the_depth_of_a_stack_costs_fuel_by_the_depth() {
    let text = "closure fun allocated(samples: i, words: i, source: i) -> (i, r) {
            d: i = call memprof_depth()
            x = null
            ret 0, x
        }
        fun deep(n: i) {
            jgt n, 0, go
            x = new 1, [], [n]
            ret
        go: m = sub n, 1
            call deep(m)
            m = add m, 1
            ret
        }
        export fun dive(n: i) {
            z = 0
            nothing = null
            al = closure allocated, [], []
            tracker = new 0, [al, nothing, nothing, nothing, nothing], []
            rate = 1.0
            depth = 1000000000
            p: i = call memprof_start(rate, depth, z, tracker)
            call deep(n)
            call memprof_stop()
            call memprof_discard(p)
            ret
        }
        fun main() {
            ret
        }";
    let (hosts, _) = marking_hosts();
    let config = VmConfig {
        fuel: Some(1_000_000),
        ..VmConfig::default()
    };
    let mut vm = machine_with(text, hosts, config);
    let dive = vm.module().function_named("dive").expect("the function");
    let mut cost = |depth: i64| {
        assert_eq!(vm.call(dive, &[depth]), Ok(Outcome::Returned(vec![])));
        1_000_000 - vm.fuel_left().expect("there is a budget")
    };
    // Each level takes as many ops, and a sixteenth of a unit more.
    let (one, two) = (cost(16_000), cost(32_000));
    let per_level = (two - one) as f64 / 16_000.0;
    assert!((per_level.fract() - 1.0 / 16.0).abs() < 0.01, "{per_level}");
}
