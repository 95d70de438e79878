//! Objects made, held and read from Rust.

use std::thread;

use profiler::{Kind as ProfileKind, Style};
use vm::{
    Access, CallError, Datum, GcStress, HeapConfig, Interrupt, Kind, ObjectData, ObjectError,
    Outcome, RootError, RunError, Trap, Value, VmConfig,
};

use crate::stressed;
use crate::support::{machine, module_of, profile, signal};

const TEXT: &str = "
    export fun churn(n: i) {
    again:
        p = new 1, [], [n, n, n]
        n = sub n, 1
        jgt n, 0, again
        ret
    }
    export fun fill(n: i) {
        list = null
    again:
        list = new 1, [list], []
        jmp again
    }
    export fun spin(n: i) {
    again:
        n = sub n, 1
        jgt n, 0, again
        ret
    }
    export fun collect() {
        call gc()
        ret
    }
    fun main() {
        ret
    }";

#[test]
fn every_kind_of_object_reads_as_it_was_made() {
    for config in [VmConfig::default(), stressed()] {
        let mut vm = machine(TEXT, config);
        let null = vm.null().expect("null");
        let seven = vm.immediate(-7).expect("it fits");
        let text = vm.new_text("tëxt").expect("there is memory");
        let record = vm.new_record(5, &[&null, &seven, &text], &[i64::MIN, 1]);
        let record = record.expect("there is memory");
        let ints = vm.new_int_array(&[1, -2]).expect("there is memory");
        let floats = vm.new_float_array(&[0.5, f64::MAX]).expect("memory");
        let bytes = vm.new_byte_array(&[0, 255, 7]).expect("memory");
        let refs = vm
            .new_ref_array(&[&record, &ints, &record])
            .expect("memory");
        let kinds = [
            (&null, Kind::Null),
            (&seven, Kind::Immediate(-7)),
            (&text, Kind::Text),
            (&record, Kind::Record(5)),
            (&ints, Kind::IntArray),
            (&floats, Kind::FloatArray),
            (&bytes, Kind::ByteArray),
            (&refs, Kind::RefArray),
        ];
        for (root, kind) in kinds {
            assert_eq!(vm.kind(root), Ok(kind));
        }
        assert_eq!(vm.bytes(&text), Ok("tëxt".as_bytes()));
        assert_eq!(vm.bytes(&bytes), Ok(&[0, 255, 7][..]));
        assert_eq!(vm.ints(&ints), Ok(&[1, -2][..]));
        assert_eq!(vm.ints(&record), Ok(&[i64::MIN, 1][..]));
        assert_eq!(vm.floats(&floats), Ok(&[0.5, f64::MAX][..]));
        let elements = vm.refs(&refs).expect("an array");
        assert_eq!(vm.is_same(&elements[0], &elements[2]), Ok(true));
        let fields = vm.refs(&record).expect("a record");
        assert_eq!(vm.kind(&fields[1]), Ok(Kind::Immediate(-7)));
        assert_eq!(vm.bytes(&fields[2]), Ok("tëxt".as_bytes()));
    }
}

#[test]
fn what_makes_no_sense_is_an_error() {
    let mut vm = machine(TEXT, VmConfig::default());
    let text = vm.new_text("text").expect("there is memory");
    let record = vm.new_record(1, &[&text], &[5]).expect("there is memory");
    let wrong = |wanted, found| ObjectError::WrongKind { wanted, found };
    assert_eq!(vm.bytes(&record), Err(wrong("a string", "a record")));
    assert_eq!(
        vm.ints(&text),
        Err(wrong("an object with integers", "a string"))
    );
    assert_eq!(
        vm.floats(&record),
        Err(wrong("an array of doubles", "a record"))
    );
    assert_eq!(vm.get_ref(&record, 1), Err(ObjectError::NoField(1)));
    assert_eq!(vm.set_int(&record, 1, 0), Err(ObjectError::NoField(1)));
    assert!(
        vm.set_ref(&text, 0, &record).is_err(),
        "strings are constant"
    );
    assert_eq!(
        vm.immediate(i64::MAX),
        Err(ObjectError::NoImmediate(i64::MAX))
    );
    let many = vec![&text; 256];
    assert_eq!(vm.new_record(1, &many, &[]), Err(ObjectError::WrongFields));
    assert_eq!(
        vm.new_record(1, &[], &[0; 256]),
        Err(ObjectError::WrongFields)
    );
    assert!(
        vm.new_record(1, &many[1..], &[0; 255]).is_ok(),
        "the largest"
    );
    assert!(vm.new_ref_array(&many).is_ok(), "arrays have no limit");
    assert_eq!(vm.new_closure(0, &[], &[]), Err(ObjectError::WrongFields));
    assert_eq!(vm.new_closure(99, &[], &[]), Err(ObjectError::WrongFields));
}

#[test]
fn what_is_held_moves_and_lives_and_what_is_dropped_dies() {
    let mut vm = machine(TEXT, VmConfig::default());
    let (churn, collect) = (
        vm.function("churn").expect("the function"),
        vm.function("collect").expect("the function"),
    );
    let live = |vm: &mut vm::Vm| {
        vm.call(collect, &[]).expect("it collects");
        vm.heap_stats().max_live_bytes
    };
    let empty = live(&mut vm);
    let kept = vm.new_int_array(&[42; 1000]).expect("there is memory");
    let clone = kept.clone();
    vm.call(churn, &[200_000]).expect("it runs");
    assert_eq!(vm.ints(&kept), Ok(&[42; 1000][..]));
    drop(kept);
    vm.call(collect, &[]).expect("it collects");
    assert_eq!(
        vm.ints(&clone).map(<[i64]>::len),
        Ok(1000),
        "a clone holds it"
    );
    assert_eq!(vm.n_roots(), 1);
    thread::spawn(move || drop(clone)).join().expect("no panic");
    assert_eq!(vm.n_roots(), 0);
    for _ in 0..50 {
        let big = vm
            .new_int_array(&[1; 100_000])
            .expect("what is dropped is freed");
        vm.call(collect, &[]).expect("it collects");
        drop(big);
    }
    assert!(live(&mut vm) < empty + 2_000_000, "one of them at a time");
}

#[test]
fn stores_from_rust_are_seen_by_the_collector() {
    for config in [VmConfig::default(), stressed()] {
        let mut vm = machine(TEXT, config);
        let collect = vm.function("collect").expect("the function");
        let null = vm.null().expect("null");
        let cell = vm.new_record(1, &[&null], &[0]).expect("there is memory");
        let array = vm.new_ref_array(&vec![&null; 3000]).expect("memory");
        vm.call(collect, &[]).expect("both are old now");
        for number in 0..100 {
            let young = vm.new_record(2, &[&null], &[number]).expect("memory");
            vm.set_ref(&cell, 0, &young).expect("a field");
            vm.set_ref(&array, number as usize * 29, &young)
                .expect("an element");
        }
        vm.set_int(&cell, 0, 5).expect("a field");
        vm.set_ref(&cell, 0, &cell.clone()).expect("a cycle");
        vm.call(collect, &[]).expect("it collects");
        for number in 0..100 {
            let element = vm
                .get_ref(&array, number as usize * 29)
                .expect("it is there");
            assert_eq!(vm.ints(&element), Ok(&[number][..]));
        }
        let read = vm.read(&[&cell], 10).expect("the heap is alive");
        let expected = ObjectData::Record {
            tag: 1,
            refs: vec![Datum::Object(0)],
            ints: vec![5],
        };
        assert_eq!((read.objects, read.is_complete), (vec![expected], true));
    }
}

#[test]
fn what_a_failed_heap_has_lost_is_an_error_and_nothing_else() {
    let mut vm = machine(
        TEXT,
        VmConfig {
            heap: HeapConfig {
                max_bytes: 8 << 20,
                stress: GcStress::Off,
                ..HeapConfig::default()
            },
            ..VmConfig::default()
        },
    );
    let fill = vm.function("fill").expect("the function");
    let old = vm.new_text("lost").expect("there is memory");
    let result = vm.call(fill, &[1]);
    assert!(matches!(
        result,
        Err(RunError::Trap {
            trap: Trap::OutOfMemory(_),
            ..
        })
    ));
    assert!(matches!(vm.bytes(&old), Err(ObjectError::OutOfMemory(_))));
    let new = vm.new_text("new").expect("the heap is renewed");
    assert_eq!(vm.bytes(&new), Ok(&b"new"[..]));
    assert_eq!(vm.bytes(&old), Err(ObjectError::Root(RootError::Lost)));
    let fields = vm.new_record(1, &[&old], &[]);
    assert_eq!(fields, Err(ObjectError::Root(RootError::Lost)));
    drop(old);
    assert_eq!(vm.bytes(&new), Ok(&b"new"[..]), "it was another's slot");
    let huge = vm.new_int_array(&vec![0; 2 << 20]);
    assert!(matches!(huge, Err(ObjectError::OutOfMemory(_))));
}

#[test]
fn an_interrupt_between_runs_spares_objects_and_ends_the_next_run() {
    let mut vm = machine(TEXT, VmConfig::default());
    let spin = vm.function("spin").expect("the function");
    vm.interrupt().raise(signal(7));
    let text = vm.new_text("spared").expect("no run is going on");
    let result = vm.call(spin, &[10]);
    assert!(matches!(
        result,
        Err(RunError::Trap {
            trap: Trap::Interrupted(7),
            ..
        })
    ));
    assert_eq!(vm.bytes(&text), Ok(&b"spared"[..]));
    assert_eq!(vm.call(spin, &[10]), Ok(Outcome::Returned(vec![])));
    let _: Interrupt = vm.interrupt();
}

#[test]
fn bytes_that_rust_allocates_are_charged_to_nobody_in_particular() {
    for style in [Style::Current, Style::Stack] {
        let module = module_of(TEXT);
        let profile = profile("alloc", &module);
        let profile = std::sync::Arc::into_inner(profile).expect("nobody else has it");
        let profile = std::sync::Arc::new(profile.with_style(style));
        let config = VmConfig {
            profile: Some(profile.clone()),
            ..VmConfig::default()
        };
        let mut vm = machine(TEXT, config);
        let before = vm.word_clock();
        let text = vm.new_text("sixteen + 8").expect("there is memory");
        let record = vm.new_record(1, &[&text], &[2]).expect("there is memory");
        assert_eq!(vm.word_clock(), before, "no profile samples it");
        let counts = profile.data().counts(ProfileKind::Alloc);
        assert_eq!(counts.totals.total, 32 + 24);
        assert_eq!(counts.totals.total, vm.allocated_bytes());
        let churn = vm.function("churn").expect("the function");
        vm.invoke(churn, &[Value::Int(10)]).expect("it runs");
        let counts = profile.data().counts(ProfileKind::Alloc);
        assert_eq!(counts.totals.total, vm.allocated_bytes());
        assert_eq!(vm.ints(&record), Ok(&[2][..]));
    }
}

#[test]
fn a_missing_function_is_named() {
    let vm = machine(TEXT, VmConfig::default());
    let error = Access::function(&vm, "absent").expect_err("there is none");
    assert_eq!(error, CallError::NoFunctionNamed("absent".into()));
}
