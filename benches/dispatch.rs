//! The dispatch loop: small programs that each stress one part of it, without a profile and with
//! each kind. `benches/peers/run` compares the same programs with other interpreters.

use std::hint::black_box;
use std::sync::Arc;

use assembler::{AssembleOptions, assemble};
use criterion::{Criterion, criterion_group, criterion_main};
use profiler::{KindSet, Profile};
use vm::host::{HostIo, Hosts};
use vm::verify::{VerifiedModule, verify};
use vm::{Vm, VmConfig};

/// Name and text of each program.
const PROGRAMS: [(&str, &str); 6] = [
    ("fib", include_str!("programs/fib.asm")),
    ("tak", include_str!("programs/tak.asm")),
    ("loop", include_str!("programs/loop.asm")),
    ("even-odd", include_str!("programs/even-odd.asm")),
    ("trees", include_str!("programs/trees.asm")),
    ("closures", include_str!("programs/closures.asm")),
];

fn verified(text: &str) -> VerifiedModule {
    let module = assemble(text, &AssembleOptions::default()).expect("a bench program assembles");
    verify(module).expect("what the assembler makes verifies")
}

fn machine(module: VerifiedModule, kinds: &str) -> Vm {
    let profile = (!kinds.is_empty()).then(|| {
        let kinds: KindSet = kinds.parse().expect("kinds");
        Arc::new(Profile::new(kinds, module.sources.sources.len()))
    });
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let config = VmConfig {
        profile,
        ..VmConfig::default()
    };
    Vm::new(module, Hosts::standard(io), config).expect("a machine")
}

fn dispatch(criterion: &mut Criterion) {
    for (name, text) in PROGRAMS {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(20);
        for (label, kinds) in [
            ("off", ""),
            ("time", "time"),
            ("alloc", "alloc"),
            ("count", "count"),
        ] {
            let mut vm = machine(verified(text), kinds);
            group.bench_function(label, |bencher| {
                bencher.iter(|| black_box(vm.run().expect("a bench program runs")));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
