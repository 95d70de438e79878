//! Values that embedders hand to a machine and read back, and interrupts that machines share.

mod support;

use support::{Random, is_stressed, verified};
use vm::host::{HostIo, Hosts};
use vm::isa::Signature;
use vm::{
    Datum, GcStress, HeapConfig, HoldError, Interrupt, ObjectData, Outcome, RunError, Trap, Vm,
    VmConfig,
};

/// A host function that gives a held object by its index.
const HELD: Signature = Signature {
    int_params: 1,
    ref_params: 0,
    int_results: 0,
    ref_results: 1,
};

fn machine(text: &str, interrupt: &Interrupt) -> Vm {
    let stress = if is_stressed() {
        GcStress::On
    } else {
        GcStress::Off
    };
    let io = HostIo::new(std::io::empty(), std::io::sink(), std::io::sink(), vec![]);
    let mut hosts = Hosts::standard(io);
    hosts.offer("held", HELD, |call| call.set_held(0, call.int(0) as u32));
    let raised = interrupt.clone();
    hosts.offer("stop", Signature::default(), move |_| {
        raised.raise(support::signal(2));
        Ok(())
    });
    let config = VmConfig {
        heap: HeapConfig {
            nursery_bytes: 64 << 10,
            stress,
            ..HeapConfig::default()
        },
        ..VmConfig::default()
    };
    let mut vm = Vm::new(verified(text), hosts, config).expect("a machine can be made");
    vm.share_interrupt(interrupt);
    vm
}

/// A program that returns the first held object, after a collection or two.
const RETURN: &str = "host held(i) -> r\n\
    closure fun c{i, r}() { ret }\n\
    fun main() -> r {\n x = call held(0)\n call gc()\n ret x\n}";

/// Random objects that lead to each other in any way.
fn objects(random: &mut Random, count: usize) -> Vec<ObjectData> {
    let mut datum = {
        let mut random = Random(random.next());
        move || match random.below(4) {
            0 => Datum::Null,
            1 => Datum::Immediate(random.next() as i64 >> 1),
            _ => Datum::Object(random.below(count) as u32),
        }
    };
    let object = |kind: usize, size: usize, number: i64| match kind {
        0 => ObjectData::Record {
            tag: number as u16,
            refs: (0..size % 256).map(|_| datum()).collect(),
            ints: (0..(size / 3) as i64 % 256).collect(),
        },
        1 => ObjectData::Closure {
            function: 0,
            refs: vec![datum()],
            ints: vec![number],
        },
        2 => ObjectData::RefArray((0..size).map(|_| datum()).collect()),
        3 => ObjectData::IntArray(vec![number; size]),
        4 => ObjectData::FloatArray(vec![number as f64; size]),
        5 => ObjectData::ByteArray(vec![number as u8; size]),
        _ => ObjectData::Text(vec![number as u8; size]),
    };
    let mut object = object;
    (0..count)
        .map(|_| {
            // Some are large enough for a region of their own.
            let size = [0, 1, 5, 300, 3000][random.below(5)];
            object(random.below(7), size, random.next() as i64)
        })
        .collect()
}

#[test]
fn what_is_held_is_read_back() {
    let mut random = Random(11);
    for round in 0..20 {
        let n_objects = 1 + random.below(60);
        let objects = objects(&mut random, n_objects);
        let mut vm = machine(RETURN, &Interrupt::new());
        vm.hold(&objects).expect("there is memory");
        assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])), "round {round}");
        let read = vm.read_back(1, usize::MAX);
        assert!(read.is_complete);
        assert_eq!(read.roots, [Datum::Object(0)]);
        assert_eq!(read.objects, objects, "round {round}");
    }
}

#[test]
fn stores_and_new_objects_are_seen() {
    let text = "host held(i) -> r\nfun main() -> (r, r) {\n x = call held(0)\n y = call held(1)\n \
                n = 7\n z = new 9, [x, y], [n]\n st_r x, 0, z\n st_i y, 0, n\n e = imm -3\n \
                call gc()\n ret z, e\n}";
    let record = |refs: &[Datum], ints: &[i64], tag| ObjectData::Record {
        tag,
        refs: refs.to_vec(),
        ints: ints.to_vec(),
    };
    let mut vm = machine(text, &Interrupt::new());
    let held = [record(&[Datum::Null], &[], 1), record(&[], &[0], 2)];
    vm.hold(&held).expect("there is memory");
    vm.run().expect("it returns");
    let read = vm.read_back(2, 100);
    assert_eq!(read.roots, [Datum::Object(2), Datum::Immediate(-3)]);
    let expected = [
        record(&[Datum::Object(2)], &[], 1),
        record(&[], &[7], 2),
        record(&[Datum::Object(0), Datum::Object(1)], &[7], 9),
    ];
    assert_eq!(read.objects, expected);
    let cut = vm.read_back(2, 2);
    assert!(!cut.is_complete);
    assert_eq!(cut.roots[0], Datum::Unread);
}

#[test]
fn objects_that_make_no_sense_are_refused() {
    let record = |refs: Vec<Datum>| ObjectData::Record {
        tag: 0,
        refs,
        ints: vec![],
    };
    let closure = |function, n_refs| ObjectData::Closure {
        function,
        refs: vec![Datum::Null; n_refs],
        ints: vec![0],
    };
    let wrong = [
        record(vec![Datum::Object(1)]),
        record(vec![Datum::Unread]),
        record(vec![Datum::Immediate(i64::MAX)]),
        record(vec![Datum::Null; 256]),
        closure(1, 1),
        closure(9, 1),
        closure(0, 2),
    ];
    for object in wrong {
        let mut vm = machine(RETURN, &Interrupt::new());
        let result = vm.hold(std::slice::from_ref(&object));
        assert_eq!(result, Err(HoldError::Malformed(0)), "{object:?}");
    }
    let mut vm = machine(RETURN, &Interrupt::new());
    assert_eq!(vm.hold(&[record(vec![])]), Ok(()));
    assert_eq!(vm.hold(&[record(vec![])]), Err(HoldError::TooLate));
    let mut vm = machine(RETURN, &Interrupt::new());
    let error = vm.run().expect_err("nothing is held");
    assert!(matches!(error, RunError::Uncaught { .. }), "{error:?}");
}

#[test]
fn an_interrupt_gives_up_a_collection() {
    let text = "host stop()\nfun main() {\n n = 20000\n xs = null\nmore:\n \
                xs = new 1, [xs], [n]\n n = sub n, 1\n jgt n, 0, more\n call stop()\n call gc()\n \
                n = ld_i xs, 0\nagain:\n jmp again\n}\nexport fun live() -> i { ret 5 }";
    let interrupt = Interrupt::new();
    let mut vm = machine(text, &interrupt);
    let error = vm.run().expect_err("it is interrupted");
    let RunError::Trap { trap, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(trap, Trap::Interrupted(2));
    if !is_stressed() {
        assert_eq!(vm.heap_stats().major_collections, 0, "it was not finished");
    }
    assert!(!interrupt.is_raised(), "the interrupt has been seen");
    assert_eq!(
        vm.read_back(1, 10).objects,
        [],
        "nothing is read of a heap that has failed"
    );
    // The machine can be used again.
    let live = vm.module().function_named("live").expect("the function");
    assert_eq!(vm.call(live, &[]), Ok(Outcome::Returned(vec![5])));
}
