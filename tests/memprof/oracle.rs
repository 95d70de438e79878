//! The word-clock oracle: which words are sampled is a function of seed and rate alone, so it is
//! known without running anything how many samples each block must have.

use std::collections::{BTreeSet, HashMap};

use profiler::sampling::WordSampler;
use vm::memprof::MemprofConfig;
use vm::{GcStress, HeapConfig, Outcome, Vm, VmConfig};

use crate::recorder::{Block, Record, machine_with_nursery, start};
use crate::support::machine;

/// A program that allocates in all ways: records of all sizes, closures, arrays small and large,
/// strings, faults, and results of host functions; that recurses, and keeps some of it.
pub(crate) const MIXED: &str = r#"
closure fun add_k{k: i}(n: i) -> i {
    k = cap k
    n = add n, k
    ret n
}
fun cons(n: i, rest: r) -> r {
    cell = new 1, [rest], [n]
    ret cell
}
fun many(n: i, kept: r) -> r {
    jgt n, 0, more
    ret kept
more:
    none = null
    zero = 0
    one = new 1, [none, kept, none, none], [n, n, n]
    f = closure add_k, [], [n]
    m: i = call_closure f(n)
    small = new_i n, m
    bytes = new_b m, n
    length = 700
    large = new_i length, n
    wide = new_r length, one
    text = str_of_int m
    text = cat text, text
    ok: i, line: r = call read_line()
    try failed(e) {
        m = div m, zero
    }
failed:
    kept = call cons(n, kept)
    n = sub n, 1
    kept = call many(n, kept)
    again = new 2, [kept], []
    ret kept
}
export fun work() {
    none = null
    loops = 40
next:
    n = 20
    kept: r = call many(n, none)
    loops = sub loops, 1
    jgt loops, 0, next
    ret
}
fun main() { ret }
"#;

fn work(vm: &mut Vm) {
    let work = vm
        .module()
        .function_named("work")
        .expect("the program has it");
    assert_eq!(vm.call(work, &[]), Ok(Outcome::Returned(vec![])));
}

fn recorded(mut vm: Vm, config: MemprofConfig) -> (Record, u64) {
    let (_, record) = start(&mut vm, config);
    work(&mut vm);
    let record = record.borrow().clone();
    (record, vm.word_clock())
}

/// The sampled words below `end`.
fn sampled_words(config: MemprofConfig, end: u64) -> BTreeSet<u64> {
    let mut sampler = WordSampler::new(config.rate, config.seed, 0).expect("a rate");
    let mut words = BTreeSet::new();
    while sampler.next() < end {
        let word = sampler.next();
        words.insert(word);
        assert_eq!(sampler.take(word, word + 1), 1);
    }
    words
}

fn check(blocks: &[Block], config: MemprofConfig, end: u64) {
    let words = sampled_words(config, end);
    for block in blocks {
        let expected = words.range(block.clock..block.clock + block.words).count() as u64;
        assert_eq!(block.n_samples, expected, "{block:?} at {config:?}");
    }
    let total: u64 = blocks.iter().map(|block| block.n_samples).sum();
    assert_eq!(
        total,
        words.len() as u64,
        "every sampled word is in a block that was told"
    );
}

#[test]
fn samples_are_where_seed_and_rate_say_at_every_nursery_size_and_under_stress() {
    for (rate, seed) in [(0.001, 1), (0.01, 2), (0.1, 3), (0.9, 4), (1.0, 5)] {
        let config = MemprofConfig {
            rate,
            seed,
            ..MemprofConfig::default()
        };
        let mut all = Vec::new();
        for nursery_bytes in [16 << 10, 64 << 10, 1 << 20] {
            let (record, end) = recorded(machine_with_nursery(MIXED, nursery_bytes), config);
            check(&record.blocks, config, end);
            all.push(record.blocks);
        }
        let heap = HeapConfig {
            stress: GcStress::On,
            ..HeapConfig::default()
        };
        let stressed = VmConfig {
            heap,
            ..VmConfig::default()
        };
        let (record, end) = recorded(machine(MIXED, stressed), config);
        check(&record.blocks, config, end);
        all.push(record.blocks);
        assert!(
            all.windows(2).all(|pair| pair[0] == pair[1]),
            "at rate {rate}"
        );
    }
}

#[test]
fn at_rate_1_the_samples_are_the_heaps_own_counters() {
    let config = MemprofConfig {
        rate: 1.0,
        ..MemprofConfig::default()
    };
    let mut vm = machine_with_nursery(MIXED, 64 << 10);
    let before_words = vm.allocated_bytes() / 8;
    let (_, record) = start(&mut vm, config);
    work(&mut vm);
    let record = record.borrow();
    let n_samples: u64 = record.blocks.iter().map(|block| block.n_samples).sum();
    assert_eq!(n_samples, vm.allocated_bytes() / 8 - before_words);
    assert!(
        record
            .blocks
            .iter()
            .all(|block| block.n_samples == block.words),
        "S2"
    );
}

#[test]
fn at_rate_0_nothing_is_sampled_and_the_profile_runs() {
    for rate in [0.0, -0.0, 1e-300] {
        let config = MemprofConfig {
            rate,
            ..MemprofConfig::default()
        };
        let mut vm = machine_with_nursery(MIXED, 64 << 10);
        let (profile, record) = start(&mut vm, config);
        work(&mut vm);
        assert!(record.borrow().blocks.is_empty(), "S2");
        assert_eq!(vm.memprof_stop(profile), Ok(()));
    }
}

#[test]
fn two_profiles_sample_the_same_words_as_each_alone() {
    let config = |seed| MemprofConfig {
        rate: 0.05,
        seed,
        ..MemprofConfig::default()
    };
    let alone = [8, 9].map(|seed| recorded(machine_with_nursery(MIXED, 1 << 20), config(seed)).0);
    let mut vm = machine_with_nursery(MIXED, 1 << 20);
    let (_, first) = start(&mut vm, config(8));
    let (_, second) = start(&mut vm, config(9));
    work(&mut vm);
    assert_eq!(first.borrow().blocks, alone[0].blocks);
    assert_eq!(second.borrow().blocks, alone[1].blocks);
}

#[test]
fn call_stacks_do_not_depend_on_which_other_blocks_are_sampled() {
    // At another rate the stack is walked at other moments, and its barrier stands elsewhere.
    let at_rate = |rate| {
        let config = MemprofConfig {
            rate,
            ..MemprofConfig::default()
        };
        recorded(machine_with_nursery(MIXED, 1 << 20), config)
            .0
            .blocks
    };
    let every_block = at_rate(1.0);
    let depths: HashMap<u64, usize> = every_block
        .iter()
        .map(|block| (block.clock, block.depth))
        .collect();
    assert!(depths.values().max() > Some(&20), "the recursion is deep");
    for rate in [0.001, 0.01, 0.1] {
        for block in at_rate(rate) {
            assert_eq!(
                depths.get(&block.clock),
                Some(&block.depth),
                "at rate {rate}: {block:?}"
            );
        }
    }
}

#[test]
fn a_life_is_allocation_promotion_death() {
    let config = MemprofConfig {
        rate: 0.2,
        ..MemprofConfig::default()
    };
    for nursery_bytes in [16 << 10, 64 << 10] {
        let mut vm = machine_with_nursery(MIXED, nursery_bytes);
        let (_, record) = start(&mut vm, config);
        work(&mut vm);
        work(&mut vm);
        let record = record.borrow();
        let possible = ["a", "ap", "ad", "apD", "A", "AD"];
        for life in &record.lives {
            assert!(possible.contains(&life.as_str()), "S13: {life}");
        }
        assert!(
            record.n_died_young > 0 && record.n_promoted > 0,
            "both happen"
        );
        assert!(record.n_collections > 0);
    }
}
