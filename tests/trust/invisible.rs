//! A profile that somebody else takes is invisible to the program.

use crate::support::lock::Lock;
use std::io;
use std::sync::Arc;

use assembler::{AssembleOptions, assemble};
use profiler::{KindSet, ManualTicks, Profile, Style, TickSource};
use vm::host::{HostIo, Hosts};
use vm::memprof::MemprofConfig;
use vm::verify::verify;
use vm::{Outcome, Vm, VmConfig};

use crate::machine_with;

#[derive(Clone, Default)]
struct Output(Arc<Lock<Vec<u8>>>);

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn output(text: &str, sampling: Option<MemprofConfig>) -> String {
    let output = Output::default();
    let io = HostIo::new(io::empty(), output.clone(), io::sink(), Vec::new());
    let config = VmConfig {
        sampling,
        ..VmConfig::default()
    };
    let mut vm = machine_with(text, Hosts::standard(io), config);
    assert_eq!(vm.run(), Ok(Outcome::Returned(vec![])));
    let bytes = output.0.borrow().clone();
    String::from_utf8(bytes).expect("text")
}

fn assert_invisible(text: &str) {
    let config = MemprofConfig {
        rate: 1.0,
        ..MemprofConfig::default()
    };
    let without = output(text, None);
    assert!(!without.is_empty());
    assert_eq!(output(text, Some(config)), without);
}

#[test]
fn the_numbers_of_a_programs_profiles_do_not_count_others() {
    assert_invisible(
        r#"fun main() {
            z = 0
            nothing = null
            tracker = new 0, [nothing, nothing, nothing, nothing, nothing], []
            rate = 0.5
            depth = 10
            n = 3
        l:  p: i = call memprof_start(rate, depth, z, tracker)
            call print_int(p)
            call print("\n")
            call memprof_stop()
            call memprof_discard(p)
            n = sub n, 1
            jgt n, 0, l
            ret
        }"#,
    );
}

#[test]
fn the_numbers_of_memory_outside_the_heap_do_not_tell_whether_it_is_sampled() {
    assert_invisible(
        r#"fun main() {
            n = 100
            t: i = call external_alloc(n)
            call print_int(t)
            call print(" ")
            u: i = call external_alloc(n)
            call print_int(u)
            call external_free(t)
            call external_free(u)
            ret
        }"#,
    );
}

#[test]
fn as_many_profiles_can_be_started_beside_others() {
    assert_invisible(
        r#"fun main() {
            z = 0
            nothing = null
            tracker = new 0, [nothing, nothing, nothing, nothing, nothing], []
            rate = 0.0
            n = 0
            try full(e) {
            l:  p: i = call memprof_start(rate, z, z, tracker)
                call memprof_stop()
                n = add n, 1
                jmp l
            }
        full:
            call print_int(n)
            ret
        }"#,
    );
}

#[test]
fn fuel_ends_at_the_same_op_whatever_is_profiled() {
    let options = AssembleOptions {
        profile_branch: true,
        inline_ops: Some(20),
        ..AssembleOptions::default()
    };
    let text = include_str!("../../examples/leak.asm");
    let module = verify(assemble(text, &options).expect("the example")).expect("it verifies");
    let end = |fuel: u64, kinds: KindSet, style: Style| {
        let profile = Profile::new(kinds, module.sources.sources.len()).with_style(style);
        let profile = profile.with_tick_source(TickSource::Manual(ManualTicks::default()));
        let config = VmConfig {
            fuel: Some(fuel),
            profile: (!kinds.is_empty()).then(|| Arc::new(profile)),
            ..VmConfig::default()
        };
        let io = HostIo::new(io::empty(), io::sink(), io::sink(), Vec::new());
        let mut vm = Vm::new(module.clone(), Hosts::standard(io), config).expect("a machine");
        let error = vm.run().expect_err("there is not so much fuel");
        (vm.describe_error(&error), vm.allocated_bytes())
    };
    for fuel in (100..3000).step_by(29) {
        let plain = end(fuel, KindSet::EMPTY, Style::Current);
        for style in Style::ALL {
            for kinds in ["time", "alloc", "count"] {
                let kinds = kinds.parse().expect("kinds");
                assert_eq!(end(fuel, kinds, style), plain, "{fuel}, {kinds:?}, {style}");
            }
        }
    }
}
