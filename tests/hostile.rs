//! No file makes the machine panic, crash or hang: random bytes, mutated files, and files whose
//! code is mutated behind a checksum that matches.

mod support;

use repl::assembler::vm::host::{HostIo, Hosts};
use repl::assembler::vm::module::{self, Module};
use repl::assembler::vm::verify::verify;
use repl::assembler::vm::{GcStress, HeapConfig, Vm, VmConfig};
use support::{Random, campaign, files, module_of, root};

/// Inputs in all, spread over the tests.
fn n_inputs() -> usize {
    campaign::size(10_000, 100_000) as usize
}

fn examples() -> Vec<Module> {
    let texts = files(&root().join("examples"), "asm").into_iter();
    texts
        .map(|path| module_of(&std::fs::read_to_string(path).expect("an example")))
        .collect()
}

/// Runs a module that verifies, for a little while, with little memory.
fn run(module: Module, stress: GcStress) -> bool {
    let Ok(module) = verify(module) else {
        return false;
    };
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let heap = HeapConfig {
        nursery_bytes: 16 << 10,
        max_bytes: 4 << 20,
        stress,
        ..HeapConfig::default()
    };
    let config = VmConfig {
        heap,
        stack_bytes: 64 << 10,
        fuel: Some(2_000),
        ..VmConfig::default()
    };
    if let Ok(mut vm) = Vm::new(module, Hosts::standard(io), config) {
        // Any way to end is fine; that it ends, without a signal, is what is tested.
        let _ = vm.run();
    }
    true
}

#[test]
fn random_bytes_are_refused() {
    let mut random = Random(1);
    for _ in 0..n_inputs() / 5 {
        let length = random.below(200);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        if random.below(2) == 0 {
            // Past the magic and the version there is more to get wrong.
            let mut start = module::MAGIC.to_vec();
            start.extend(module::VERSION.to_le_bytes());
            start.extend(8_u16.to_le_bytes());
            start.append(&mut bytes);
            bytes = start;
        }
        assert!(module::read(&bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn mutated_files_are_refused() {
    let mut random = Random(2);
    let originals: Vec<Vec<u8>> = examples().iter().map(module::write).collect();
    for _ in 0..n_inputs() / 5 {
        let original = &originals[random.below(originals.len())];
        let mut bytes = original.clone();
        match random.below(3) {
            0 => bytes.truncate(random.below(bytes.len())),
            1 => bytes.insert(random.below(bytes.len()), random.next() as u8),
            _ => {
                for _ in 0..=random.below(8) {
                    let at = random.below(bytes.len());
                    bytes[at] ^= 1 << random.below(8);
                }
            }
        }
        // A mutation within the first line, or one that undoes itself, may leave a good file.
        if let Ok(module) = module::read(&bytes) {
            assert_eq!(module, module::read(original).expect("the original reads"));
        }
    }
}

#[test]
fn mutated_code_is_refused_or_runs_to_an_end() {
    let mut random = Random(3);
    let originals = examples();
    let mut n_ran = 0;
    for input in 0..n_inputs() * 3 / 5 {
        let mut module = originals[random.below(originals.len())].clone();
        for _ in 0..=random.below(4) {
            mutate(&mut module, &mut random);
        }
        // The file carries it all, and its checksums are right.
        let bytes = module::write(&module);
        let Ok(module) = module::read(&bytes) else {
            continue;
        };
        let stress = if input % 16 == 0 {
            GcStress::On
        } else {
            GcStress::Off
        };
        n_ran += run(module, stress) as usize;
    }
    // A test in which nothing runs would show nothing.
    assert!(n_ran > n_inputs() / 50, "only {n_ran} mutants verified");
}

fn mutate(module: &mut Module, random: &mut Random) {
    let index = random.below(module.functions.len());
    let function = &mut module.functions[index];
    match random.below(12) {
        0 => function.signature.int_params = random.below(4) as u8,
        1 => function.signature.ref_results = random.below(4) as u8,
        2 => {
            let range = |random: &mut Random| random.below(function.code.len() + 1) as u32;
            let (start, end, target) = (range(random), range(random), range(random));
            let register = random.next() as u8;
            function.handlers.push(module::HandlerRange {
                start,
                end,
                target,
                register,
            });
        }
        _ => {
            let at = random.below(function.code.len());
            function.code[at] = match random.below(3) {
                0 => random.next() as u8,
                1 => random.below(6) as u8,
                _ => function.code[at] ^ 1 << random.below(8),
            };
        }
    }
}
