//! From a compiler's calls of the builder to a module: large functions, many functions, many hosts.

use std::hint::black_box;

use assembler::AssembleOptions;
use assembler::builder::{BuildError, Kind, ModuleBuilder};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use vm::isa::Signature;

const UNARY: Signature = Signature {
    int_params: 1,
    ref_params: 0,
    int_results: 1,
    ref_results: 0,
};

/// A library with `functions` functions of `ops` ops each, over as many variables, with a branch
/// at every tenth.
fn library(functions: usize, ops: usize) -> Result<ModuleBuilder, BuildError> {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    module.set_library();
    for index in 0..functions {
        let id = module.declare(&format!("f{index}"), UNARY);
        let mut b = module.body(id);
        let n = b.param(Kind::Int, 0)?;
        let mut last = n;
        for op in 0..ops {
            if op % 10 == 9 {
                let next = b.label();
                b.jlt(last, n, next)?;
                b.bind(next);
            } else {
                last = b.add(last, n)?;
            }
        }
        b.ret([last])?;
        module.define_body(b);
    }
    Ok(module)
}

fn hosts(count: usize) -> usize {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    let names = (0..count).map(|index| format!("host{index}"));
    names.map(|name| module.host(&name, UNARY) as usize).sum()
}

fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build");
    group.sample_size(10);
    let cases = [("100,000 ops", 1, 100_000), ("10,000 functions", 10_000, 6)];
    for (name, functions, ops) in cases {
        group.bench_function(format!("{name}: define"), |bencher| {
            bencher.iter(|| black_box(library(functions, ops).expect("it is right")));
        });
        let module = library(functions, ops).expect("it is right");
        group.bench_function(format!("{name}: finish"), |bencher| {
            let finish = |module: ModuleBuilder| module.finish().expect("it is right");
            bencher.iter_batched(|| module.clone(), finish, BatchSize::LargeInput);
        });
    }
    group.bench_function("10,000 hosts", |bencher| {
        bencher.iter(|| black_box(hosts(10_000)));
    });
    group.finish();
}

criterion_group!(benches, build);
criterion_main!(benches);
