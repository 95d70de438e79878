//! Programs through the builder's variables against their texts, in which the authors chose the
//! names that share registers: the two of each pair should take the same time.

#[path = "../tests/support/built/mod.rs"]
mod built;

use std::hint::black_box;

use assembler::{AssembleOptions, assemble};
use built::PROGRAMS;
use criterion::{Criterion, criterion_group, criterion_main};
use vm::host::{HostIo, Hosts};
use vm::module::Module;
use vm::verify::verify;
use vm::{Vm, VmConfig};

fn machine(module: Module) -> Vm {
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let program = verify(module).expect("what the assembler makes verifies");
    Vm::new(program, Hosts::standard(io), VmConfig::default()).expect("a machine")
}

fn registers(criterion: &mut Criterion) {
    for program in PROGRAMS {
        let mut group = criterion.benchmark_group(program.name);
        group.sample_size(20);
        group.bench_function("by-hand", |bencher| {
            let text = program.by_hand(program.bench_size);
            let module = assemble(&text, &AssembleOptions::default()).expect("it assembles");
            let mut vm = machine(module);
            bencher.iter(|| black_box(vm.run().expect("it runs")));
        });
        group.bench_function("built", |bencher| {
            let mut vm = machine(program.built(program.bench_size).expect("it is right"));
            bencher.iter(|| black_box(vm.run().expect("it runs")));
        });
        group.finish();
    }
}

criterion_group!(benches, registers);
criterion_main!(benches);
