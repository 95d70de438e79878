//! Programs that do everything that can be done with memory profiles, at random, within callbacks
//! too. The program checks what it is told: values, the order of a life, that callbacks do not
//! interrupt each other. Every way to run it must come to the same end, whatever else is measured.
//!
//! `TALLY_CAMPAIGN=long` tries many more seeds.

use std::sync::Arc;

use profiler::{Profile, Style};
use vm::memprof::MemprofConfig;
use vm::{GcStress, HeapConfig, VmConfig};

use crate::recorder::{call, machine, start};
use crate::support::{campaign, module_of};

const CHAOS: &str = include_str!("walk/chaos.asm");

/// How many seeds are tried.
const SEEDS: [u64; 2] = [12, 150];

#[derive(Clone, Copy, Debug)]
struct Way {
    kinds: &'static str,
    style: Style,
    fuses: bool,
    is_watched: bool,
}

const WAYS: [Way; 6] = [
    way("", Style::Current, false, false),
    way("", Style::Current, true, true),
    way("count", Style::Current, true, false),
    way("time,alloc,count", Style::Current, true, true),
    way("alloc,count", Style::Stack, false, true),
    way("time,alloc,count", Style::Stack, true, false),
];

const fn way(kinds: &'static str, style: Style, fuses: bool, is_watched: bool) -> Way {
    Way {
        kinds,
        style,
        fuses,
        is_watched,
    }
}

/// Runs three times on the same machine, which a run must not spoil for the next one.
fn run(way: Way, stress: bool, seed: i64, steps: i64) -> Vec<Vec<i64>> {
    let n_sources = module_of(CHAOS).sources.sources.len();
    let profile = (!way.kinds.is_empty()).then(|| {
        let kinds = way.kinds.parse().expect("kinds");
        Arc::new(Profile::new(kinds, n_sources).with_style(way.style))
    });
    let heap = HeapConfig {
        nursery_bytes: 16 << 10,
        stress: if stress { GcStress::On } else { GcStress::Off },
        ..HeapConfig::default()
    };
    let config = VmConfig {
        heap,
        fuses: way.fuses,
        profile,
        ..VmConfig::default()
    };
    let mut vm = machine(CHAOS, config);
    let watched = way.is_watched.then(|| {
        let config = MemprofConfig {
            rate: 0.1,
            ..MemprofConfig::default()
        };
        start(&mut vm, config)
    });
    let results = (0..3).map(|turn| call(&mut vm, "chaos", &[seed + turn, steps]));
    let results = results.collect();
    if let Some((_, record)) = watched {
        assert!(!record.borrow().blocks.is_empty());
        let possible = ["a", "ap", "ad", "apD", "A", "AD"];
        for life in &record.borrow().lives {
            assert!(possible.contains(&life.as_str()), "S13: {life}");
        }
    }
    results
}

#[test]
fn whatever_programs_do_with_profiles_is_told_rightly() {
    let seeds = campaign::size(SEEDS[0], SEEDS[1]) as i64;
    let mut sums = [0; 8];
    for seed in 0..seeds {
        let first = run(way("", Style::Current, true, false), false, seed * 100, 150);
        for results in &first {
            assert_eq!(results[1], 0, "seed {seed}: something was wrong");
            for (sum, result) in sums.iter_mut().zip(results) {
                *sum += i64::from(*result > 0);
            }
        }
        let way = WAYS[seed as usize % WAYS.len()];
        assert_eq!(
            run(way, false, seed * 100, 150),
            first,
            "seed {seed}, {way:?}"
        );
        let stressed = run(way, true, seed * 100, 20);
        assert!(
            stressed.iter().all(|results| results[1] == 0),
            "stress: {seed}"
        );
    }
    assert!(
        sums[2..].iter().all(|&sum| sum > 0),
        "all happens: {sums:?}"
    );
}
