//! Modules that are made to be slow are verified, disassembled, loaded and run in a time that is
//! linear in their size: what they cost is compared with ordinary code, or with a smaller one of
//! the same shape, in CPU time. What is not linear is off by orders of magnitude.

#[path = "support/shapes.rs"]
mod shapes;
mod support;

use profiler::{Kind, KindSet, Profile, Style};
use shapes::{SHAPES, TOO_INTERTWINED, bytes, nested_sources};
use std::sync::Arc;
use std::time::Duration;
use support::{files, root};
use vm::host::{HostIo, Hosts};
use vm::module::Module;
use vm::verify::{VerifyErrorKind, verify};
use vm::{Outcome, Vm, VmConfig};

/// How many times as long as ordinary code a byte of a module may take to verify. The slowest
/// shape takes seven times as long; those that once were quadratic took thousands.
const MOST_TIMES_AS_LONG: f64 = 40.0;

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists, and the place to write to is valid.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The least CPU time of three runs, in nanoseconds.
fn least_time<T>(mut prepare: impl FnMut() -> T, mut run: impl FnMut(T)) -> f64 {
    let times = (0..3).map(|_| {
        let input = prepare();
        let start = cpu_time();
        run(input);
        (cpu_time() - start).as_nanos() as f64
    });
    times.fold(f64::MAX, f64::min)
}

/// Nanoseconds a byte for verifying all examples.
fn ordinary_time() -> f64 {
    let texts = files(&root().join("examples"), "asm").into_iter();
    let modules: Vec<Module> = texts
        .map(|path| support::module_of(&std::fs::read_to_string(path).expect("an example")))
        .collect();
    let size: usize = modules.iter().map(bytes).sum();
    let times = least_time(
        || vec![modules.clone(); 20],
        |copies| {
            for module in copies.into_iter().flatten() {
                verify(module).expect("an example verifies");
            }
        },
    );
    times / (20 * size) as f64
}

#[test]
fn no_shape_takes_much_longer_to_verify_than_ordinary_code() {
    let ordinary = ordinary_time();
    for (name, make) in SHAPES.iter().chain(TOO_INTERTWINED) {
        let module = make(150_000);
        let time = least_time(|| module.clone(), |module| drop(verify(module)));
        let times = time / bytes(&module) as f64 / ordinary;
        assert!(times < MOST_TIMES_AS_LONG, "{name}: {times} times as long");
    }
}

#[test]
fn shapes_verify() {
    for (name, make) in SHAPES {
        if let Err(errors) = verify(make(50_000)) {
            panic!("{name}: {}", errors[0]);
        }
    }
}

#[test]
fn registers_that_cannot_be_followed_in_linear_time_are_an_error() {
    let (name, make) = TOO_INTERTWINED[0];
    let errors = verify(make(100_000)).expect_err(name);
    let [error] = errors.as_slice() else {
        panic!("one error is enough: {errors:?}");
    };
    assert!(
        matches!(error.kind, VerifyErrorKind::TooManySteps { .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .ends_with("split it into smaller functions"),
        "{error}"
    );
}

#[test]
fn disassembling_takes_a_few_times_as_long_as_verifying() {
    for (name, make) in SHAPES {
        let verified = verify(make(50_000)).expect(name);
        let verifying = least_time(|| make(50_000), |module| drop(verify(module)));
        let printing = least_time(|| (), |()| drop(assembler::print_verified(&verified)));
        assert!(
            printing < MOST_TIMES_AS_LONG * verifying,
            "{name}: {printing} ns to print, {verifying} ns to verify"
        );
    }
}

/// A machine with a profile of allocation, in stack style.
fn machine(module: Module, folds: bool) -> (Vm, Arc<Profile>) {
    let kinds: KindSet = "alloc,count".parse().expect("kinds");
    let profile = Profile::new(kinds, module.sources.sources.len())
        .with_style(Style::Stack)
        .with_fold_recursion(folds);
    let profile = Arc::new(profile);
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let config = VmConfig {
        profile: Some(profile.clone()),
        ..VmConfig::default()
    };
    let module = verify(module).expect("the shape verifies");
    let vm = Vm::new(module, Hosts::standard(io), config).expect("there is memory");
    (vm, profile)
}

/// A module of nested sources without the host functions that shapes import.
fn nested(size: usize) -> Module {
    Module {
        hosts: Vec::new(),
        ..nested_sources(size)
    }
}

#[test]
fn nested_enters_load_and_run_in_linear_time_in_stack_style() {
    for folds in [false, true] {
        let time = |size| {
            least_time(
                || nested(size),
                |module| {
                    let (mut vm, _) = machine(module, folds);
                    assert!(matches!(vm.run(), Ok(Outcome::Returned(_))));
                },
            )
        };
        let (small, large) = (time(20_000), time(160_000));
        assert!(
            large < 24.0 * small,
            "{small} ns, of 8 times the size {large} ns"
        );
    }
}

#[test]
fn nested_enters_are_counted_in_contexts_of_their_own() {
    let size = 2_000;
    let depth = size / 20;
    for folds in [false, true] {
        let (mut vm, profile) = machine(nested(size), folds);
        let unused = profile.data().n_nodes();
        vm.run().expect("it runs");
        let sources = vm.module().source_map();
        let file = profile
            .data()
            .mlmon(Kind::Count, &sources)
            .expect("it fits");
        // Each source is entered once and then again and again in the innermost place.
        assert_eq!(file.sources[3].current, 2 * depth as u64);
        let made = profile.data().n_nodes() - unused;
        let expected = if folds { 0 } else { depth - 1 };
        assert_eq!(made, expected, "folded: {folds}");
    }
}
