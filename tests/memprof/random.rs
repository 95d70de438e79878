//! Random programs with a native tracker and without: what can be seen of a run is the same, down
//! to where it ends and what is charged, and each sample is right.
//!
//! `TALLY_CAMPAIGN=long` tries many more programs.

use crate::support::lock::Lock;
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use profiler::{Kind, Profile, Style};
use vm::host::{HostIo, Hosts};
use vm::memprof::{AllocInfo, GcEvent, MemprofConfig, StackFrame, Tracker};
use vm::verify::VerifiedModule;
use vm::{GcStress, HeapConfig, Outcome, RunError, Vm, VmConfig};

use crate::recorder::callers_by_function;
use crate::smith::Program;
use crate::support::{campaign, verified};

/// How many programs are tried, in short and in long.
const PROGRAMS: [u64; 2] = [30, 180];
/// Programs that run longer end here, with what that looks like.
const FUEL: u64 = 60_000;

/// Output that can be read after the machine is gone.
#[derive(Clone, Default)]
struct Shared(Arc<Lock<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Samples by the number of the block's first word: how many, and the whole call stack.
type Samples = HashMap<u64, (u64, Vec<StackFrame>)>;

/// Keeps all samples, and every other block to its end.
struct Keeper(Arc<Lock<Samples>>);

impl Keeper {
    fn keep(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        let stack = info.stack.frames().collect();
        let before = self
            .0
            .borrow_mut()
            .insert(info.clock, (info.n_samples, stack));
        assert!(before.is_none(), "no block is told twice");
        info.clock.is_multiple_of(2).then_some(info.clock)
    }
}

impl Tracker for Keeper {
    fn alloc_minor(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.keep(info)
    }

    fn alloc_major(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.keep(info)
    }

    fn promote(&mut self, cookie: u64, event: &GcEvent) -> Option<u64> {
        assert_eq!(cookie, event.alloc_clock);
        Some(cookie)
    }

    fn dealloc_minor(&mut self, cookie: u64, event: &GcEvent) {
        assert_eq!(cookie, event.alloc_clock);
    }

    fn dealloc_major(&mut self, cookie: u64, event: &GcEvent) {
        assert_eq!(cookie, event.alloc_clock);
    }
}

/// All that can be seen of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    end: Result<Outcome, RunError>,
    output: Vec<u8>,
    allocated_bytes: u64,
    collections: (u64, u64),
    moved_bytes: (u64, u64),
    /// Of each source, what is charged while it is current and while it is on the stack.
    charged: Vec<(u64, u64)>,
}

/// A way to run programs.
#[derive(Clone, Copy, Debug)]
struct Way {
    fuses: bool,
    stress: bool,
    profile: &'static str,
    style: Style,
}

const WAYS: [Way; 6] = [
    way(true, false, "", Style::Current),
    way(false, true, "", Style::Current),
    way(true, false, "alloc", Style::Current),
    way(true, false, "time,alloc,count", Style::Current),
    way(true, false, "alloc,count", Style::Stack),
    way(false, true, "time,alloc,count", Style::Stack),
];

const fn way(fuses: bool, stress: bool, profile: &'static str, style: Style) -> Way {
    Way {
        fuses,
        stress,
        profile,
        style,
    }
}

fn run(module: &VerifiedModule, way: Way, rates: &[f64], call_lines: bool) -> (Seen, Vec<Samples>) {
    let profile = (!way.profile.is_empty()).then(|| {
        let kinds = way.profile.parse().expect("kinds");
        Arc::new(Profile::new(kinds, module.sources.sources.len()).with_style(way.style))
    });
    let config = VmConfig {
        heap: HeapConfig {
            nursery_bytes: 16 << 10,
            stress: if way.stress {
                GcStress::On
            } else {
                GcStress::Off
            },
            ..HeapConfig::default()
        },
        stack_bytes: 4 << 20,
        fuel: Some(if way.stress { FUEL / 20 } else { FUEL }),
        profile: profile.clone(),
        fuses: way.fuses,
        // A census needs a profile that counts allocation, or none.
        census: way.stress && (way.profile.is_empty() || way.profile.contains("alloc")),
        ..VmConfig::default()
    };
    let output = Shared::default();
    let io = HostIo::new(
        std::io::empty(),
        output.clone(),
        output.clone(),
        vec![b"first".to_vec(), b"second".to_vec()],
    );
    let mut vm = Vm::new(module.clone(), Hosts::standard(io), config).expect("a machine");
    let kept: Vec<_> = rates
        .iter()
        .map(|&rate| keep(&mut vm, rate, call_lines))
        .collect();
    let end = vm.run();
    let stats = vm.heap_stats();
    let mut charged = Vec::new();
    for kind in [Kind::Alloc, Kind::Count] {
        let profile = profile.iter().filter(|one| one.kinds().contains(kind));
        let rows = profile.flat_map(|one| one.data().counts(kind).rows);
        charged.extend(rows.map(|row| (row.current, row.stack)));
    }
    let seen = Seen {
        end,
        output: output.0.borrow().clone(),
        allocated_bytes: vm.allocated_bytes(),
        collections: (stats.minor_collections, stats.major_collections),
        moved_bytes: (stats.promoted_bytes, stats.copied_bytes),
        charged,
    };
    let samples = kept
        .iter()
        .map(|samples| samples.borrow().clone())
        .collect();
    (seen, samples)
}

fn keep(vm: &mut Vm, rate: f64, call_lines: bool) -> Arc<Lock<Samples>> {
    let samples = Arc::new(Lock::new(Samples::new()));
    let config = MemprofConfig {
        rate,
        call_lines,
        ..MemprofConfig::default()
    };
    vm.memprof_start(config, Box::new(Keeper(samples.clone())))
        .expect("the profile starts");
    samples
}

/// Whether every sample at a smaller rate is one at rate 1 too, with the same call stack.
fn assert_part(part: &Samples, all: &Samples, what: &str) {
    for (clock, (n_samples, stack)) in part {
        let (n_words, whole) = all.get(clock).expect("rate 1 sees every block");
        assert!(n_samples <= n_words, "{what}: more samples than words");
        assert_eq!(stack, whole, "{what}: the call stack at word {clock}");
    }
}

#[test]
fn random_programs_do_the_same_with_profiles() {
    let (mut n_samples, mut n_deep) = (0, 0);
    for seed in 1..=campaign::size(PROGRAMS[0], PROGRAMS[1]) {
        let module = verified(&Program::new(seed).text());
        for offset in 0..2 {
            let way = WAYS[(seed + offset * 3) as usize % WAYS.len()];
            let what = format!("seed {seed}, {way:?}");
            let (plain, _) = run(&module, way, &[], false);
            let (seen, alone) = run(&module, way, &[1.0], true);
            assert_eq!(plain, seen, "{what}, rate 1");
            let words: u64 = alone[0].values().map(|sample| sample.0).sum();
            assert_eq!(words * 8, plain.allocated_bytes, "{what}: rate 1 sees all");
            let (seen, few) = run(&module, way, &[0.01], true);
            assert_eq!(plain, seen, "{what}, rate 0.01");
            assert_part(&few[0], &alone[0], &what);
            let (seen, both) = run(&module, way, &[0.1, 1.0, 0.01], true);
            assert_eq!(plain, seen, "{what}, three profiles");
            assert_eq!(
                both[1], alone[0],
                "{what}: profiles do not disturb each other"
            );
            assert_eq!(
                both[2], few[0],
                "{what}: profiles do not disturb each other"
            );
            assert_part(&both[0], &both[1], &what);
            let (seen, functions) = run(&module, way, &[0.1], false);
            assert_eq!(plain, seen, "{what}, callers by function");
            let by_function = both[0].iter().map(|(&clock, (n_samples, stack))| {
                (clock, (*n_samples, callers_by_function(stack)))
            });
            assert_eq!(functions[0], by_function.collect(), "{what}");
            n_samples += few[0].len();
            n_deep += alone[0].values().filter(|one| one.1.len() > 9).count();
        }
    }
    assert!(n_samples > 300, "enough is sampled: {n_samples}");
    assert!(n_deep > 100, "some stacks are deep: {n_deep}");
}
