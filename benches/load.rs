//! From the bytes of a `.bc` file to code that can run.

use std::fmt::Write;
use std::hint::black_box;

use assembler::{AssembleOptions, assemble};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use vm::host::{HostIo, Hosts};
use vm::module;
use vm::verify::verify;
use vm::{Vm, VmConfig};

#[path = "../tests/support/shapes.rs"]
mod shapes;

/// A module of many middle-sized functions with branches, calls and allocation.
fn large_module() -> Vec<u8> {
    let mut text = String::from("fun main() {\n ret\n}\n");
    for index in 0..2_000 {
        let callee = index / 2;
        let _ = write!(
            text,
            "fun f{index}(n: i, xs: r) -> r {{
                x = 0
            again:
                x = add x, n
                y = mul x, 3
                y = sub y, n
                jlt y, 100, small
                xs = new 1, [xs], [y]
                xs = call f{callee}(x, xs)
            small:
                n = sub n, 1
                jgt n, 0, again
                z = ld_r xs, 0
                jnull z, done
                w = ld_i z, 0
                xs = new 2, [z, xs], [w]
            done:
                ret xs
            }}\n"
        );
    }
    let module = assemble(&text, &AssembleOptions::default()).expect("a bench program assembles");
    module::write(&module)
}

fn load(criterion: &mut Criterion) {
    let bytes = large_module();
    let mut group = criterion.benchmark_group("load");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("read", |bencher| {
        bencher.iter(|| black_box(module::read(&bytes).expect("a module")));
    });
    group.bench_function("read and verify", |bencher| {
        bencher.iter(|| {
            let module = module::read(&bytes).expect("a module");
            black_box(verify(module).expect("it verifies"))
        });
    });
    group.bench_function("read, verify and lower", |bencher| {
        bencher.iter(|| {
            let module = verify(module::read(&bytes).expect("a module")).expect("it verifies");
            let io = HostIo::new(
                std::io::empty(),
                std::io::sink(),
                std::io::sink(),
                Vec::new(),
            );
            black_box(Vm::new(module, Hosts::standard(io), VmConfig::default()).expect("a machine"))
        });
    });
    group.finish();
}

/// Nanoseconds a byte of the shapes that are made to be slow: the bound is 150.
fn verify_shapes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("verify shapes");
    group.sample_size(10);
    for (name, make) in shapes::SHAPES.iter().chain(shapes::TOO_INTERTWINED) {
        let module = make(300_000);
        group.throughput(Throughput::Bytes(shapes::bytes(&module) as u64));
        group.bench_function(*name, |bencher| {
            bencher.iter_batched(
                || module.clone(),
                |module| black_box(verify(module)).is_ok(),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, load, verify_shapes);
criterion_main!(benches);
