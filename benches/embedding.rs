//! What it costs to cross the border between Rust and programs, and to make a machine.

use std::hint::black_box;

use assembler::{AssembleOptions, assemble};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use vm::host::{HostCall, HostError, HostIo, Hosts};
use vm::verify::verify;
use vm::{Access, Program, Root, Vm, VmConfig};

/// Calls of host functions that one run makes.
const CALLS: u64 = 1000;

const TEXT: &str = "
    host same(i) -> (i)
    host wrapped(i) -> (i)
    host length(r) -> (i)
    host give() -> (r)
    host back(r, i) -> (i)
    export fun one(n: i) -> i {
        ret n
    }
    export fun text(s: r) -> r {
        ret s
    }
    export fun untyped(n: i) {
    again:
        x = call same(n)
        n = sub n, 1
        jgt n, 0, again
        ret
    }
    export fun typed(n: i) {
    again:
        x = call wrapped(n)
        n = sub n, 1
        jgt n, 0, again
        ret
    }
    export fun reading(n: i) {
        s = \"a string of some length\"
    again:
        x = call length(s)
        n = sub n, 1
        jgt n, 0, again
        ret
    }
    export fun giving(n: i) {
    again:
        s = call give()
        n = sub n, 1
        jgt n, 0, again
        ret
    }
    export fun returning(n: i) {
        f = closure inner, [], []
    again:
        x = call back(f, n)
        n = sub n, 1
        jgt n, 0, again
        ret
    }
    closure fun inner{}(n: i) -> i {
        ret n
    }
    fun main() {
        ret
    }";

fn hosts() -> Hosts {
    let mut hosts = Hosts::standard(HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    ));
    let signature = vm::isa::Signature {
        int_params: 1,
        int_results: 1,
        ..Default::default()
    };
    hosts.offer("same", signature, |call| {
        let int = call.int(0);
        call.set_int(0, black_box(int));
        Ok(())
    });
    hosts.wrap("wrapped", |int: i64| black_box(int));
    hosts.wrap("length", |text: &str| text.len() as i64);
    hosts.wrap("give", || "a string of some length");
    hosts.wrap(
        "back",
        |call: &mut HostCall, f: Root, int: i64| -> Result<i64, HostError> {
            Ok(call.call_closure(&f, (int,))?)
        },
    );
    hosts
}

fn program() -> Program {
    let module = assemble(TEXT, &AssembleOptions::default()).expect("a bench program assembles");
    Program::new(verify(module).expect("it verifies"))
}

/// From programs to Rust.
fn host_calls(criterion: &mut Criterion) {
    let mut vm = Vm::new(program(), hosts(), VmConfig::default()).expect("a machine");
    let mut group = criterion.benchmark_group("host call");
    group.throughput(Throughput::Elements(CALLS));
    for name in ["untyped", "typed", "reading", "giving", "returning"] {
        let function = vm.function(name).expect("the function");
        group.bench_function(name, |bencher| {
            bencher.iter(|| vm.call(function, &[CALLS as i64]).expect("it runs"));
        });
    }
    group.finish();
}

/// From Rust to programs.
fn calls(criterion: &mut Criterion) {
    let mut vm = Vm::new(program(), hosts(), VmConfig::default()).expect("a machine");
    let mut group = criterion.benchmark_group("call");
    let one = vm.function("one").expect("the function");
    group.bench_function("Vm::call", |bencher| {
        bencher.iter(|| vm.call(black_box(one), &[7]).expect("it runs"));
    });
    let typed = vm.typed::<(i64,), i64>("one").expect("it fits");
    group.bench_function("typed", |bencher| {
        bencher.iter(|| typed.call(&mut vm, (black_box(7),)).expect("it runs"));
    });
    let text = vm.typed::<(&str,), Root>("text").expect("it fits");
    group.bench_function("typed, with a string", |bencher| {
        bencher.iter(|| {
            text.call(&mut vm, (black_box("some text"),))
                .expect("it runs")
        });
    });
    group.finish();
}

/// Machines for one program.
fn machines(criterion: &mut Criterion) {
    let program = program();
    let mut group = criterion.benchmark_group("machine");
    let make = || Vm::new(&program, hosts(), VmConfig::default()).expect("a machine");
    group.bench_function("hosts alone", |bencher| bencher.iter(hosts));
    group.bench_function("new", |bencher| bencher.iter(make));
    let one = make().typed::<(i64,), i64>("one").expect("it fits");
    group.bench_function("new and a call", |bencher| {
        bencher.iter(|| one.call(&mut make(), (7,)).expect("it runs"));
    });
    group.finish();
}

criterion_group!(benches, host_calls, calls, machines);
criterion_main!(benches);
