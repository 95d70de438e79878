//! What sampling allocations costs, paired: each round runs every way once, and the ratios of the
//! rounds' times to that without a profile are compared. It prints medians of 28 rounds.
//!
//! Criterion measures one thing at a time; on a noisy machine two of its results do not compare to
//! the hundredth part that is asked here.

use std::time::Instant;

use assembler::{AssembleOptions, assemble};
use vm::host::{HostIo, Hosts};
use vm::memprof::{AllocInfo, GcEvent, MemprofConfig, Tracker};
use vm::verify::{VerifiedModule, verify};
use vm::{Vm, VmConfig};

/// Name and text of each program.
const PROGRAMS: [(&str, &str); 2] = [
    ("binary-trees", include_str!("peers/binary-trees.asm")),
    ("hof", include_str!("peers/hof.asm")),
];

/// A program that allocates ten million cells under so many calls.
fn at_depth(depth: usize) -> String {
    format!(
        "fun allocate(depth: i, n: i) {{
            jeq depth, 0, bottom
            depth = sub depth, 1
            call allocate(depth, n)
            depth = add depth, 1
            ret
        bottom:
            cell = new 1, [], [n]
            n = sub n, 1
            jgt n, 0, bottom
            ret
        }}
        fun main() {{
            call allocate({depth}, 10000000)
            ret
        }}"
    )
}

/// A program that allocates five million cells as it leaves recursions of so many calls, which it
/// enters again and again: what a `map` that is no tail call does.
fn coming_and_going(depth: usize) -> String {
    let times = 5_000_000 / depth;
    format!(
        "fun build(n: i) -> r {{
            jgt n, 0, deeper
            list = null
            ret list
        deeper:
            m = sub n, 1
            list = call build(m)
            list = new 1, [list], [n]
            ret list
        }}
        fun main() {{
            times = {times}
        again:
            n = {depth}
            list = call build(n)
            times = sub times, 1
            jgt times, 0, again
            ret
        }}"
    )
}

/// Tracks every sampled block to its death, and looks at its call stack's number.
struct Follower(u64);

impl Tracker for Follower {
    fn alloc_minor(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.0 += info.n_samples;
        Some(info.stack.call().0.into())
    }

    fn alloc_major(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.alloc_minor(info)
    }

    fn promote(&mut self, cookie: u64, _: &GcEvent) -> Option<u64> {
        Some(cookie)
    }

    fn dealloc_minor(&mut self, _: u64, event: &GcEvent) {
        self.0 -= event.n_samples;
    }

    fn dealloc_major(&mut self, _: u64, event: &GcEvent) {
        self.0 -= event.n_samples;
    }
}

/// The ways that are compared, the first one without a profile.
const RATES: [f64; 4] = [0.0, 1e-4, 1e-3, 1e-2];

fn verified(text: &str) -> VerifiedModule {
    let module = assemble(text, &AssembleOptions::default()).expect("a bench program assembles");
    verify(module).expect("what the assembler makes verifies")
}

fn machine(module: VerifiedModule, rate: f64, call_lines: bool) -> Vm {
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    let config = VmConfig {
        stack_bytes: 256 << 20,
        ..VmConfig::default()
    };
    let mut vm = Vm::new(module, Hosts::standard(io), config).expect("a machine");
    if rate > 0.0 {
        let config = MemprofConfig {
            rate,
            call_lines,
            ..MemprofConfig::default()
        };
        vm.memprof_start(config, Box::new(Follower(0)))
            .expect("a profile");
    }
    vm
}

/// Nanoseconds of a run.
fn run(vm: &mut Vm) -> f64 {
    let start = Instant::now();
    vm.run().expect("a bench program runs");
    start.elapsed().as_nanos() as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs a program in rounds, each of them once at each rate. Where a machine lies in memory changes
/// its speed by more than is asked here, so each rate has the place of each machine in turn.
fn compare(name: &str, text: &str, call_lines: bool, n_rounds: usize) {
    let module = verified(text);
    let mut times = RATES.map(|_| Vec::new());
    let mut words = 0.0;
    for first in 0..RATES.len() {
        let order: [usize; RATES.len()] =
            std::array::from_fn(|place| (first + place) % RATES.len());
        let mut machines = order.map(|rate| machine(module.clone(), RATES[rate], call_lines));
        for round in 0..n_rounds + 1 {
            for (vm, rate) in machines.iter_mut().zip(order) {
                let time = run(vm);
                // The first round touches memory for the first time.
                if round > 0 {
                    times[rate].push(time);
                }
            }
        }
        words = machines[0].word_clock() as f64 / (n_rounds + 1) as f64;
    }
    let base = times[0].clone();
    print!("{name:19} {:9.1} ms", median(&mut times[0]) / 1e6);
    for (rate, times) in RATES.iter().zip(&times).skip(1) {
        let mut ratios: Vec<f64> = times.iter().zip(&base).map(|(a, b)| a / b).collect();
        let mut extra: Vec<f64> = times.iter().zip(&base).map(|(a, b)| a - b).collect();
        let nanoseconds = median(&mut extra) / (words * rate);
        print!(
            "   {rate:e}: {:.3} ({nanoseconds:.0} ns)",
            median(&mut ratios)
        );
    }
    println!();
}

fn main() {
    // `cargo bench -- --test` only looks whether the benchmarks work.
    let n_rounds = match std::env::args().any(|argument| argument == "--test") {
        true => 1,
        false => 7,
    };
    println!("program              unsampled   at each rate: ratio of times (cost of a sample)");
    for (name, text) in PROGRAMS {
        compare(name, text, false, n_rounds);
        compare(&format!("{name}, lines"), text, true, n_rounds);
    }
    for depth in [5, 200, 10_000] {
        let text = at_depth(depth);
        compare(&format!("depth {depth}"), &text, false, n_rounds);
    }
    for depth in [1_000, 100_000, 1_000_000] {
        let text = coming_and_going(depth);
        compare(&format!("to {depth} and back"), &text, false, n_rounds);
    }
}
