//! Programs through the builder's variables do the work of their texts, whose authors chose which
//! names share registers, and hardly more.

#[path = "support/built/mod.rs"]
mod built;
mod support;

use std::io::Write;
use std::sync::{Arc, Mutex};

use built::PROGRAMS;
use support::module_of;
use vm::host::{HostIo, Hosts};
use vm::module::Module;
use vm::verify::verify;
use vm::{Vm, VmConfig};

/// Output that is read when the machine is done.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panicked").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a program prints, and how many ops it runs.
fn run(module: Module) -> (String, u64) {
    const FUEL: u64 = 1 << 40;
    let config = VmConfig {
        fuel: Some(FUEL),
        ..VmConfig::default()
    };
    let written = Written::default();
    let io = HostIo::new(
        std::io::empty(),
        written.clone(),
        std::io::sink(),
        Vec::new(),
    );
    let program = verify(module).expect("what the assembler makes verifies");
    let mut vm = Vm::new(program, Hosts::standard(io), config).expect("a machine");
    vm.run().expect("the program runs");
    let left = vm.fuel_left().expect("fuel is counted");
    drop(vm);
    let bytes = written.0.lock().expect("nobody panicked").clone();
    (
        String::from_utf8(bytes).expect("numbers are text"),
        FUEL - left,
    )
}

#[test]
fn built_programs_run_at_most_three_percent_more_ops_than_their_texts() {
    for program in PROGRAMS {
        let (expected, by_hand) = run(module_of(&program.by_hand(program.test_size)));
        let module = program.built(program.test_size).expect("it is right");
        let (printed, built) = run(module);
        assert!(!expected.is_empty(), "{}", program.name);
        assert_eq!(printed, expected, "{}", program.name);
        assert!(
            built * 100 <= by_hand * 103,
            "{}: {built} ops, by hand {by_hand}",
            program.name
        );
    }
}
