//! Time profiles: the seconds are the CPU clock's and the shares are those of ticks, whatever rate
//! was asked for and came true.

mod support;

use crate::support::lock::Lock;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use profiler::mlmon::Mlmon;
use profiler::{Kind, ManualTicks, Profile, SourceMap, Style, TickSource};
use support::{module_of, root, stderr, stdout, verified, vm};
use vm::host::{HostIo, Hosts, Policy};
use vm::isa::Signature;
use vm::{Interrupt, Unit, Vm, VmConfig};

/// `tick(n, us)` charges `n` ticks and lets `us` microseconds of CPU time pass for each. `look`
/// asks for a snapshot at the next safepoint.
const PROGRAM: &str = "
    host tick(i, i)
    host look()
    fun f() {
        n = 30
        us = 4000
        call tick(n, us)
        ret
    }
    fun g() {
        n = 70
        us = 4000
        call tick(n, us)
        ret
    }
    fun slow() {
        n = 5
        us = 100000
        call tick(n, us)
        ret
    }
    export fun both() {
        call f()
        call g()
        ret
    }
    export fun looked() {
        call f()
        call look()
        call g()
        ret
    }
    export fun written() {
        call f()
        unit = call profile_current()
        call profile_write(unit, \"FILE\")
        call g()
        ret
    }
    export fun phases() {
        call f()
        unit = call profile_new()
        before = call profile_switch(unit)
        call slow()
        before = call profile_switch(before)
        call g()
        ret
    }
    fun main() {
        ret
    }";

/// A machine for the program that takes a time profile of ticks made by hand, and writes to `file`.
fn machine(style: Style, file: &Path) -> Vm {
    let text = PROGRAM.replace("FILE", &file.display().to_string());
    let n_sources = module_of(&text).source_map().sources.len();
    let manual = ManualTicks::default();
    let profile = Profile::new(Kind::Time.into(), n_sources)
        .with_hz(1000)
        .with_style(style)
        .with_tick_source(TickSource::Manual(manual.clone()));
    let config = VmConfig {
        profile: Some(Arc::new(profile)),
        ..VmConfig::default()
    };
    let io = HostIo::process(Vec::new());
    let mut hosts = Hosts::standard(io).with_policy(Policy::everything());
    let two_ints = Signature {
        int_params: 2,
        ..Signature::default()
    };
    hosts.offer("tick", two_ints, move |call| {
        let [n, us] = [0, 1].map(|index| call.int(index) as u64);
        manual.tick(n);
        manual.advance(Duration::from_micros(n * us));
        Ok(())
    });
    let asked: Arc<OnceLock<Interrupt>> = Arc::default();
    let asks = asked.clone();
    hosts.offer("look", Signature::default(), move |_| {
        asks.get().expect("a machine").snapshot();
        Ok(())
    });
    let vm = Vm::new(verified(&text), hosts, config).expect("a machine");
    asked.set(vm.interrupt()).expect("it is set once");
    vm
}

fn call(vm: &mut Vm, name: &str) {
    let function = vm.module().function_named(name).expect("the function");
    vm.call(function, &[]).expect("the program ends well");
}

fn file_of(vm: &Vm, unit: Unit) -> Mlmon {
    let data = vm.unit_data(unit).expect("a unit").expect("a profile");
    data.mlmon(Kind::Time, &vm.module().source_map())
        .expect("it fits")
}

/// Hundredths of a second of a function.
fn hundredths(file: &Mlmon, sources: &SourceMap, name: &str) -> u64 {
    let is_named = |text: &String| text.split('\t').next() == Some(name);
    let position = sources.names.iter().position(is_named);
    file.names[position.expect("the source")].current
}

#[test]
fn a_run_at_250_ticks_a_second_has_the_seconds_of_the_clock() {
    for style in [Style::Current, Style::Stack] {
        let mut vm = machine(style, Path::new(""));
        call(&mut vm, "both");
        let file = file_of(&vm, Unit::FIRST);
        let sources = vm.module().source_map();
        assert_eq!(file.totals.total, 40, "100 ticks of 4 ms, {style:?}");
        let shares = ["f", "g"].map(|name| hundredths(&file, &sources, name));
        assert_eq!(shares, [12, 28], "{style:?}");
        let rate = vm.tick_rate().expect("a time profile");
        assert_eq!((rate.ticks, rate.measured_hz()), (100, Some(250.0)));
    }
}

#[test]
fn calls_of_one_machine_add_up() {
    let mut vm = machine(Style::Current, Path::new(""));
    call(&mut vm, "both");
    call(&mut vm, "both");
    assert_eq!(file_of(&vm, Unit::FIRST).totals.total, 80);
}

#[test]
fn each_unit_has_the_time_in_which_it_was_current() {
    for style in [Style::Current, Style::Stack] {
        let mut vm = machine(style, Path::new(""));
        call(&mut vm, "phases");
        let made = vm.unit(1).expect("the unit of the phase");
        let totals = [Unit::FIRST, made].map(|unit| file_of(&vm, unit).totals.total);
        assert_eq!(
            totals,
            [40, 50],
            "the phase has 5 ticks of 0.1 s, {style:?}"
        );
    }
}

#[test]
fn a_snapshot_has_the_time_up_to_it() {
    let mut vm = machine(Style::Current, Path::new(""));
    let sources = vm.module().source_map();
    let seen = Arc::new(Lock::new(0));
    let sees = seen.clone();
    vm.on_snapshot(move |snapshot| {
        let data = snapshot.data().expect("a profile");
        let file = data.mlmon(Kind::Time, &sources).expect("it fits");
        sees.set(file.totals.total);
    });
    call(&mut vm, "looked");
    assert_eq!(seen.get(), 12);
    assert_eq!(file_of(&vm, Unit::FIRST).totals.total, 40);
}

#[test]
fn a_file_that_the_program_writes_has_the_time_up_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mlmon.out");
    let mut vm = machine(Style::Current, &path);
    call(&mut vm, "written");
    let file = Mlmon::read_file(&path).expect("a profile");
    assert_eq!(file.totals.total, 12);
    assert_eq!(file_of(&vm, Unit::FIRST).totals.total, 40);
}

/// The line of a table that has the seconds.
fn seconds(text: &str) -> &str {
    let mut lines = text.lines();
    let found = lines.find(|line| line.contains("seconds of CPU time"));
    found.unwrap_or_else(|| panic!("no seconds in {text}"))
}

#[test]
fn the_table_of_a_run_and_the_one_of_its_file_are_equal_at_any_rate() {
    let program = root().join("examples/n-queens.asm");
    for hz in ["20", "100", "1000"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = vm(folder.path());
        let command = command.args(["--profile=time", "--hz", hz]).arg(&program);
        let ran = command.output().expect("vm runs");
        assert!(ran.status.success(), "{}", stderr(&ran));
        let mut command = vm(folder.path());
        let command = command.arg("prof").arg(&program).arg("mlmon.out");
        let table = stdout(&command.output().expect("vm runs"));
        assert_eq!(seconds(&stderr(&ran)), seconds(&table), "{hz}");
        assert!(stderr(&ran).contains(&table), "{hz}: {table}");
    }
}
