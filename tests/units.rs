//! Units of profile data, from inside a program and from Rust: MLton.Profile.

mod support;

use std::sync::Arc;

use profiler::mlmon::Mlmon;
use profiler::{Kind, KindSet, Profile, SourceMap, Style};
use support::{machine, module_of, root, stderr, vm};
use vm::{Outcome, Unit, UnitError, Vm, VmConfig};

/// A program with functions that allocate 8 and 16 bytes, and one that switches units half way.
const PROGRAM: &str = "
    fun one() {
        x = new 1, [], []
        ret
    }
    fun two() {
        n = 2
        x = new 2, [], [n]
        ret
    }
    fun both(unit: i) -> i {
        call one()
        before = call profile_switch(unit)
        call two()
        call one()
        before = call profile_switch(before)
        call two()
        ret before
    }
    export fun make() -> i {
        unit = call profile_new()
        ret unit
    }
    export fun work(unit: i) -> i {
        unit = call both(unit)
        ret unit
    }
    export fun free(unit: i) {
        call profile_free(unit)
        ret
    }
    export fun is_on() -> i {
        on = call profile_is_on()
        ret on
    }
    fun main() {
        ret
    }";

fn profiled(style: Style) -> (SourceMap, Vm) {
    let module = module_of(PROGRAM);
    let sources = module.source_map();
    let kinds: KindSet = "alloc,count".parse().expect("kinds");
    let profile = Arc::new(Profile::new(kinds, sources.sources.len()).with_style(style));
    (
        sources,
        machine(
            PROGRAM,
            VmConfig {
                profile: Some(profile),
                ..VmConfig::default()
            },
        ),
    )
}

fn call(vm: &mut Vm, name: &str, ints: &[i64]) -> i64 {
    let function = vm.module().function_named(name).expect("the function");
    match vm.call(function, ints) {
        Ok(Outcome::Returned(values)) => values.first().copied().unwrap_or_default(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Current and stack column of a source in a unit.
fn row(vm: &Vm, sources: &SourceMap, unit: Unit, kind: Kind, name: &str) -> (u64, u64) {
    let data = vm
        .unit_data(unit)
        .expect("the unit is there")
        .expect("a profile is taken");
    let file = data.mlmon(kind, sources).expect("the profile fits");
    let found = sources
        .names
        .iter()
        .position(|text| text.split('\t').next() == Some(name));
    let row = file.names[found.expect("the source")];
    (row.current, row.stack)
}

#[test]
fn a_switch_sends_everything_after_it_to_the_new_unit() {
    for style in Style::ALL {
        let (sources, mut vm) = profiled(style);
        let number = call(&mut vm, "make", &[]);
        assert_eq!(call(&mut vm, "work", &[number]), number, "{style:?}");
        let second = vm.unit(number as u32).expect("the program has made it");
        let bytes = |unit, name| row(&vm, &sources, unit, Kind::Alloc, name).0;
        let calls = |unit, name| row(&vm, &sources, unit, Kind::Count, name).0;
        assert_eq!(
            (bytes(Unit::FIRST, "one"), bytes(Unit::FIRST, "two")),
            (8, 16),
            "{style:?}"
        );
        assert_eq!(
            (bytes(second, "one"), bytes(second, "two")),
            (8, 16),
            "{style:?}"
        );
        assert_eq!(
            (calls(Unit::FIRST, "both"), calls(second, "both")),
            (1, 0),
            "{style:?}"
        );
        if style == Style::Stack {
            // `both` was entered before the switch, and is on the stack of the new unit too.
            assert_eq!(row(&vm, &sources, second, Kind::Alloc, "both"), (0, 24));
            assert_eq!(
                row(&vm, &sources, Unit::FIRST, Kind::Alloc, "both"),
                (0, 24)
            );
        }
    }
}

#[test]
fn freeing_twice_or_the_current_unit_is_an_error() {
    let (_, mut vm) = profiled(Style::Current);
    let unit = vm.new_unit();
    assert_eq!(vm.free_unit(vm.current_unit()), Err(UnitError::Current));
    assert_eq!(vm.free_unit(unit), Ok(()));
    assert_eq!(vm.free_unit(unit), Err(UnitError::Freed));
    assert_eq!(vm.switch_unit(unit), Err(UnitError::Freed));
    assert!(vm.unit_data(unit).is_err());
    // A program gets a fault that it can handle.
    let free = vm.module().function_named("free").expect("the function");
    assert!(vm.call(free, &[1]).is_err());
    assert!(vm.call(free, &[-1]).is_err());
    assert!(vm.call(free, &[0]).is_err());
}

#[test]
fn with_unit_switches_back() {
    let (sources, mut vm) = profiled(Style::Current);
    let outer = vm.new_unit();
    let inner = vm.new_unit();
    let work = |vm: &mut Vm| call(vm, "is_on", &[]);
    let nested = vm.with_unit(outer, |vm| {
        work(vm);
        vm.with_unit(inner, work).expect("the unit is there");
        work(vm);
        vm.current_unit()
    });
    assert_eq!(nested, Ok(outer));
    assert_eq!(vm.current_unit(), Unit::FIRST);
    let calls = |unit| row(&vm, &sources, unit, Kind::Count, "is_on").0;
    // An embedder's call is not counted, as a run's entry is not; what it calls is.
    assert_eq!((calls(Unit::FIRST), calls(outer), calls(inner)), (0, 0, 0));
}

#[test]
fn without_a_profile_units_do_nothing() {
    let mut vm = machine(PROGRAM, VmConfig::default());
    assert_eq!(call(&mut vm, "is_on", &[]), 0);
    let number = call(&mut vm, "make", &[]);
    assert_eq!(call(&mut vm, "work", &[number]), 0);
    call(&mut vm, "free", &[number]);
    assert_eq!(
        vm.unit_data(Unit::FIRST).map(|data| data.is_none()),
        Ok(true)
    );
}

/// MLton's example: two functions, each profiled into a unit of its own, the rest into the first.
#[test]
fn fib_tak_writes_its_units_and_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = ["--profile", "count"];
    let program = root().join("examples/fib-tak.asm");
    let arguments = std::fs::read_to_string(program.with_extension("args")).unwrap_or_default();
    let mut command = vm(folder.path());
    let output = command
        .args(options)
        .arg(&program)
        .args(arguments.lines())
        .output();
    let output = output.expect("vm runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let read = |name: &str| Mlmon::read_file(&folder.path().join(name)).expect("a profile");
    let (fib, tak, rest) = (
        read("mlmon.fib.out"),
        read("mlmon.tak.out"),
        read("mlmon.out"),
    );
    assert!(fib.totals.total > 0 && tak.totals.total > 0);
    let n_charged = |file: &Mlmon| file.names.iter().filter(|row| row.current > 0).count();
    // Each unit knows its own functions and nothing of the other's.
    let overlap = fib
        .names
        .iter()
        .zip(&tak.names)
        .filter(|(a, b)| a.current > 0 && b.current > 0);
    assert!(n_charged(&fib) > 0 && overlap.count() < n_charged(&fib));
    assert!(rest.totals.total < fib.totals.total);
}
