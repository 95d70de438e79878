//! How much is sampled: upstream's `alloc_counts`, `arrays_in_major`, `arrays_in_minor`,
//! `lists_in_minor`, `intern`, `comballoc` and `custom`. Seeds are fixed, so each test passes
//! always or never; bounds hold with a probability of all but 1e-9 for any right sampler and any
//! seed.

use vm::host::{HostIo, Hosts};
use vm::memprof::{AllocOrigin, MemprofConfig};
use vm::{HeapConfig, Vm, VmConfig};

use crate::recorder::{Record, call, machine_with_nursery, start};
use crate::support::verified;

const ALLOCATE: &str = r#"
; `n` arrays of `size` words, the header's two included; kept or not, until `drop` is called.
fun arrays(size: i, n: i, keeps: i) {
    length = sub size, 2
    kept = null
next:
    jle n, 0, done
    a = new_i length, n
    jeq keeps, 0, on
    kept = new_r keeps, a
on:
    n = sub n, 1
    jmp next
done:
    ret
}
export fun array_loop(size: i, n: i) {
    call arrays(size, n, 0)
    ret
}
; An array of references that are filled with arrays of `size` words, then a collection.
export fun array_kept(size: i, n: i) {
    length = sub size, 2
    nil = null
    all = new_r n, nil
    i = 0
next:
    jge i, n, done
    a = new_i length, i
    set_r all, i, a
    i = add i, 1
    jmp next
done:
    call gc()
    n = len all
    ret
}
; `n` lists of `length` cells of three words.
export fun lists(length: i, n: i) {
again:
    jle n, 0, done
    xs = null
    k = length
next:
    jle k, 0, on
    xs = new 1, [xs], [k]
    k = sub k, 1
    jmp next
on:
    n = sub n, 1
    jmp again
done:
    ret
}
; Strings that a host function makes.
export fun deserialise(n: i) {
next:
    jle n, 0, done
    which = and n, 1
    s: r = call arg(which)
    n = sub n, 1
    jmp next
done:
    ret
}
; Three nested blocks of 3, 5 and 9 words; the one of 5 is kept in a ring of 64.
export fun nested(n: i) {
    nil = null
    length = 64
    ring = new_r length, nil
next:
    jle n, 0, done
    a = new 1, [nil], [n]
    b = new 2, [a], [n, n, n]
    c = new 3, [a, b], [n, n, n, n, n, n]
    a = null
    st_r b, 0, a
    k = and n, 63
    set_r ring, k, b
    n = sub n, 1
    jmp next
done:
    call gc()
    n = len ring
    ret
}
; Memory outside the heap, of 256 bytes each; one in ten stays.
export fun outside(n: i) {
    ten = 10
next:
    jle n, 0, done
    token: i = call external_alloc(256)
    k = rem n, ten
    jeq k, 0, on
    call external_free(token)
on:
    n = sub n, 1
    jmp next
done:
    ret
}
; Records, closures, arrays small and large, strings, ten of each at a time.
export fun kinds(n: i) {
    nil = null
    length = 700
    x = float 0.5
next:
    jle n, 0, done
    a = new 1, [nil], [n]
    a = closure f, [a], [n]
    a = new_i n, n
    a = new_f n, x
    a = new_b n, n
    a = new_r n, a
    a = new_i length, n
    a = new_r length, nil
    a = str_of_int n
    a = cat a, a
    which = 0
    a = call arg(which)
    n = sub n, 1
    jmp next
done:
    ret
}
closure fun f{r, i}() { ret }
export fun collect() {
    call gc()
    ret
}
fun main() { ret }
"#;

const L: f64 = 21.4;

/// How far the number of samples may be from its expectation.
fn margin(words: u64, rate: f64) -> f64 {
    L / 3.0 + (L * L / 9.0 + 2.0 * words as f64 * rate * (1.0 - rate) * L).sqrt()
}

fn assert_near(n_samples: u64, words: u64, rate: f64, what: &str) {
    let distance = (n_samples as f64 - words as f64 * rate).abs();
    let allowed = margin(words, rate);
    assert!(
        distance <= allowed,
        "{what}: {n_samples} samples of {words} words at {rate}, {distance} off"
    );
}

fn config(rate: f64, seed: u64) -> MemprofConfig {
    MemprofConfig {
        rate,
        seed,
        ..MemprofConfig::default()
    }
}

/// Runs functions with a profile; what was heard, and how many words were allocated.
fn sampled(
    nursery_bytes: usize,
    config: MemprofConfig,
    run: impl FnOnce(&mut Vm),
) -> (Record, u64) {
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        vec![b"a string of 22 bytes..".to_vec(), b"short".to_vec()],
    );
    let heap = HeapConfig {
        nursery_bytes,
        ..HeapConfig::default()
    };
    let vm_config = VmConfig {
        heap,
        ..VmConfig::default()
    };
    let hosts = Hosts::standard(io);
    let mut vm = Vm::new(verified(ALLOCATE), hosts, vm_config).expect("a machine");
    let before = vm.word_clock();
    let (_, record) = start(&mut vm, config);
    run(&mut vm);
    let words = vm.word_clock() - before;
    let record = record.borrow().clone();
    (record, words)
}

fn n_samples(record: &Record) -> u64 {
    record.blocks.iter().map(|block| block.n_samples).sum()
}

/// `alloc_counts`: at rate 1 the samples are the words, in each kind of block, ten times.
#[test]
fn at_rate_1_each_kind_of_block_has_as_many_samples_as_words() {
    for nursery_bytes in [16 << 10, 1 << 20] {
        let (record, words) = sampled(nursery_bytes, config(1.0, 0), |vm| {
            call(vm, "kinds", &[10]);
            call(vm, "outside", &[10]);
        });
        assert_eq!(n_samples(&record), words, "S1, S2");
        assert!(
            record
                .blocks
                .iter()
                .all(|block| block.n_samples == block.words)
        );
        let is = |source| {
            record
                .blocks
                .iter()
                .filter(move |block| block.source == source)
        };
        assert_eq!(is(AllocOrigin::Deserialised).count(), 10, "S7");
        assert_eq!(is(AllocOrigin::External).count(), 10, "S7");
        assert_eq!(
            is(AllocOrigin::External)
                .map(|block| block.words)
                .sum::<u64>(),
            320
        );
        assert_eq!(is(AllocOrigin::Normal).count(), 100, "S7");
        let large = record.blocks.iter().filter(|block| block.words == 702);
        assert_eq!(large.count(), 20);
    }
}

/// `arrays_in_major` and `arrays_in_minor`: the number of samples, and what is told of arrays that
/// die and of arrays that stay.
#[test]
fn arrays_small_and_large() {
    let sets = [
        (300, 4000, 0.0001),
        (3000, 400, 0.001),
        (600, 2000, 0.01),
        (1000, 1000, 0.1),
        (700, 500, 0.9),
        (250, 4000, 0.002),
        (2, 100_000, 0.00003),
        (10, 40_000, 0.01),
        (63, 10_000, 0.5),
        (513, 2000, 0.05),
    ];
    for (seed, (size, n, rate)) in (1..).zip(sets) {
        let (record, words) = sampled(64 << 10, config(rate, seed), |vm| {
            call(vm, "array_loop", &[size, n]);
        });
        assert_eq!(words, (size * n) as u64);
        assert_near(n_samples(&record), words, rate, "arrays");
        assert!(record.blocks.iter().all(|block| block.words == size as u64));
        assert!(record.blocks.iter().all(|block| block.n_samples > 0));
        let is_large = size > 512;
        assert_eq!(record.n_minor == 0, is_large || record.blocks.is_empty());
        // Of all that dies at once, a collection finds only what a register still holds.
        assert!(record.n_promoted <= 2 * record.n_collections);
        assert!(
            record.n_promoted + record.n_died_young <= record.n_minor,
            "S13"
        );
    }
}

#[test]
fn arrays_that_are_kept_are_promoted_and_die_old() {
    for (size, n) in [(300, 500), (2, 5000), (600, 100), (3000, 50)] {
        let (record, _) = sampled(64 << 10, config(1.0, 0), |vm| {
            call(vm, "array_kept", &[size, n]);
        });
        let of_size: Vec<_> = (record.blocks.iter().zip(&record.lives))
            .filter(|(block, _)| block.words == size as u64)
            .collect();
        assert!(of_size.len() >= n as usize);
        let expected = if size > 512 { "A" } else { "ap" };
        assert!(
            of_size.iter().all(|(_, life)| *life == expected),
            "S13: kept"
        );
        assert_eq!((record.n_died_young, record.n_died_old), (0, 0));
        let (record, _) = sampled(64 << 10, config(1.0, 0), |vm| {
            call(vm, "array_kept", &[size, n]);
            call(vm, "collect", &[]);
        });
        let n_major = record.blocks.len() as u64 - record.n_minor;
        assert_eq!(record.n_minor, record.n_promoted + record.n_died_young);
        assert_eq!(
            record.n_promoted + n_major,
            record.n_died_old,
            "all are dead"
        );
        assert_eq!(record.n_died_young, 0);
    }
}

#[test]
fn lists_of_cells() {
    let sets = [
        (10, 20_000, 1e-5),
        (1, 100_000, 1e-4),
        (1000, 200, 1e-3),
        (10_000, 20, 1e-2),
        (50, 2000, 0.1),
        (100, 1000, 0.5),
        (1000, 100, 0.9),
    ];
    for (seed, (length, n, rate)) in (20..).zip(sets) {
        let (record, words) = sampled(16 << 10, config(rate, seed), |vm| {
            call(vm, "lists", &[length, n]);
        });
        assert_eq!(words, 3 * (length * n) as u64);
        assert_near(n_samples(&record), words, rate, "lists");
        assert!(record.blocks.iter().all(|block| block.words == 3));
        assert!(record.blocks.iter().all(|block| block.n_samples <= 3));
    }
}

/// `intern`: blocks that come from outside.
#[test]
fn strings_of_host_functions() {
    for (seed, rate) in [(30, 0.001), (31, 0.05), (32, 0.6)] {
        let (record, words) = sampled(16 << 10, config(rate, seed), |vm| {
            call(vm, "deserialise", &[40_000]);
        });
        assert_eq!(words, 20_000 * (5 + 3));
        assert_near(n_samples(&record), words, rate, "strings");
        let is_right = |source| source == AllocOrigin::Deserialised;
        assert!(
            record.blocks.iter().all(|block| is_right(block.source)),
            "S7"
        );
        for size in [3, 5] {
            let of_size = record.blocks.iter().filter(|block| block.words == size);
            let samples = of_size.map(|block| block.n_samples).sum();
            assert_near(samples, 20_000 * size, rate, "strings of a size");
        }
    }
}

/// `comballoc`: each block of a nested literal has its own rate, and only what is kept is promoted.
#[test]
fn nested_blocks() {
    for (seed, rate) in [(40, 0.42), (41, 0.01), (42, 0.83)] {
        let n = 30_000;
        let (record, _) = sampled(16 << 10, config(rate, seed), |vm| {
            call(vm, "nested", &[n]);
        });
        for size in [3, 5, 9] {
            let of_size = record.blocks.iter().filter(|block| block.words == size);
            let samples = of_size.map(|block| block.n_samples).sum();
            assert_near(samples, n as u64 * size, rate, "nested blocks");
        }
        let all = record.blocks.iter().zip(&record.lives);
        let ended = |life: &str| life.contains(['p', 'd']);
        assert!(
            all.clone()
                .all(|(block, life)| block.words > 9 || ended(life)),
            "S13: deaths and promotions are all allocations"
        );
        let promoted: Vec<u64> = all
            .filter(|(_, life)| life.contains('p'))
            .map(|(block, _)| block.words)
            .collect();
        let is_kept = |words: &&u64| **words == 5;
        let n_kept = promoted.iter().filter(is_kept).count();
        assert!(n_kept >= 20, "{n_kept}");
        // Besides those kept, each collection finds the few that registers hold.
        let n_others = (promoted.len() - n_kept) as u64;
        assert!(n_others <= 3 * record.n_collections + 1, "{n_others}");
    }
}

/// `custom`: the rate outside the heap, and one in ten left alive.
#[test]
fn memory_outside_the_heap() {
    for (seed, rate) in [(50, 0.01), (51, 0.5), (52, 0.17)] {
        let n = 50_000;
        let (record, words) = sampled(16 << 10, config(rate, seed), |vm| {
            call(vm, "outside", &[n]);
            call(vm, "collect", &[]);
        });
        assert_eq!(words, n as u64 * 32);
        assert_near(n_samples(&record), words, rate, "outside");
        let alive = record.lives.iter().filter(|life| *life == "A").count() as u64;
        assert_eq!(record.n_promoted, 0, "S6");
        assert_eq!(alive + record.n_died_old, record.blocks.len() as u64);
        let seen = 1.0 - (1.0 - rate).powi(32);
        assert_near(alive, n as u64 / 10, seen, "those that stay");
    }
}

/// The number of samples in a block of `w` words is binomial, not just right on average.
#[test]
fn samples_in_a_block_are_binomial() {
    for (seed, (size, rate)) in (60..).zip([(3_u64, 0.3), (11, 0.05), (101, 0.02)]) {
        let n = 40_000_u64;
        let (record, _) = sampled(64 << 10, config(rate, seed), |vm| {
            call(vm, "array_loop", &[size as i64, n as i64]);
        });
        let mut probability = (1.0 - rate).powi(size as i32);
        for k in 0..=size {
            let expected = n as f64 * probability;
            let found = match k {
                0 => n - record.blocks.len() as u64,
                _ => record
                    .blocks
                    .iter()
                    .filter(|block| block.n_samples == k)
                    .count() as u64,
            };
            assert_near(
                found,
                n,
                probability,
                &format!("{k} samples in {size} words"),
            );
            if expected < 0.01 {
                break;
            }
            probability *= (size - k) as f64 / (k + 1) as f64 * rate / (1.0 - rate);
        }
    }
}

/// The first word after a start is as likely to be sampled as any other (upstream's #10064).
#[test]
fn the_first_word_is_sampled_too() {
    let n = 20_000;
    let mut vm = machine_with_nursery(ALLOCATE, 64 << 10);
    let mut counts = [0_u64; 3];
    for seed in 0..n {
        let (profile, record) = start(&mut vm, config(0.25, seed));
        let from = vm.word_clock();
        call(&mut vm, "lists", &[1, 1]);
        assert_eq!(vm.memprof_stop(profile), Ok(()));
        assert_eq!(vm.memprof_discard(profile), Ok(()));
        for block in &record.borrow().blocks {
            assert_eq!(block.clock, from);
            counts[block.n_samples as usize - 1] += 1;
        }
    }
    let p: f64 = 0.25;
    let q = 1.0 - p;
    for (count, probability) in counts
        .iter()
        .zip([3.0 * p * q * q, 3.0 * p * p * q, p * p * p])
    {
        assert_near(*count, n, probability, "blocks with so many samples");
    }
}
