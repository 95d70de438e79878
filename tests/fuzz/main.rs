//! No input makes anything panic: seeded mutations of the examples for every target, and inputs
//! that once did something wrong. The package `fuzz` looks for more with the same targets, guided
//! by coverage; `docs/fuzzing.md` says how.
//!
//! `TALLY_CAMPAIGN=long` tries many more inputs, `TALLY_SEED` says with which to begin.

#[path = "../support/mod.rs"]
mod support;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use support::{Random, campaign, files, root};
use targets::{EXAMPLES, Target};

/// The longest input.
const MAX_BYTES: usize = 1 << 16;

/// Inputs of a target that are made of its seeds; what the random numbers of one number say is one
/// input.
struct Mutations {
    seeds: Vec<Vec<u8>>,
    words: Vec<String>,
}

impl Mutations {
    fn of(target: &Target) -> Self {
        Self {
            seeds: (target.seeds)(),
            words: (target.words)(),
        }
    }

    fn input(&self, number: u64) -> Vec<u8> {
        let mut random = Random(number);
        let mut bytes = self.seeds[random.below(self.seeds.len())].clone();
        let n_mutations = 1 + random.below(6);
        for _ in 0..random.below(n_mutations) + 1 {
            self.mutate(&mut bytes, &mut random);
        }
        bytes.truncate(MAX_BYTES);
        bytes
    }

    fn mutate(&self, bytes: &mut Vec<u8>, random: &mut Random) {
        let at = random.below(bytes.len() + 1);
        let end = at + random.below((bytes.len() - at).min(32) + 1);
        match random.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 => bytes.insert(at, random.next() as u8),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            5 if random.below(4) == 0 => bytes.truncate(at),
            6 => {
                let other = &self.seeds[random.below(self.seeds.len())];
                let from = random.below(other.len());
                let part = &other[from..(from + random.below(64)).min(other.len())];
                bytes.splice(at..end, part.iter().copied());
            }
            7 if !self.words.is_empty() => {
                let word = &self.words[random.below(self.words.len())];
                bytes.splice(at..at, word.bytes());
            }
            _ => (0..random.below(8)).for_each(|_| bytes.push(random.next() as u8)),
        }
    }
}

/// Calls a target with as many inputs, of which at least `share` percent must make sense: otherwise
/// little would be shown.
fn try_target(name: &str, [short, long]: [u64; 2], share: u64) {
    let target = Target::named(name).expect("a target");
    let mutations = Mutations::of(target);
    let first = campaign::first_seed(1);
    let n_inputs = campaign::size(short, long);
    let mut n_accepted = 0;
    for number in first..first + n_inputs {
        let input = mutations.input(number);
        n_accepted += u64::from(try_input(target, &input, &format!("input {number}")));
    }
    assert!(
        n_accepted * 100 >= n_inputs * share,
        "only {n_accepted} of {n_inputs} inputs made sense"
    );
}

/// Calls a target; says which input it was when it panics.
fn try_input(target: &Target, input: &[u8], what: &str) -> bool {
    match catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
        Ok(is_accepted) => is_accepted,
        Err(payload) => {
            let path = std::env::temp_dir().join(format!("tally-{}-input", target.name));
            let kept = std::fs::write(&path, input).map(|()| path.display().to_string());
            eprintln!("{}: {what} panics; it is in {kept:?}", target.name);
            resume_unwind(payload)
        }
    }
}

#[test]
fn files_are_refused_or_come_back_as_they_were() {
    try_target("module", [2_000, 50_000], 2);
}

#[test]
fn programs_do_the_same_in_all_ways() {
    try_target("machine", [6_000, 100_000], 10);
}

#[test]
fn texts_are_refused_or_come_back_as_they_were() {
    try_target("assembly", [2_000, 25_000], 2);
}

#[test]
fn profiles_are_refused_or_reported() {
    try_target("profiles", [2_000, 25_000], 10);
}

#[test]
fn entries_are_answered() {
    try_target("session", [300, 5_000], 80);
}

#[test]
fn random_bytes_are_refused_or_answered() {
    let mut random = Random(campaign::first_seed(1));
    for number in 0..campaign::size(2_000, 25_000) {
        let length = random.below(200);
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        for target in &targets::TARGETS {
            // A session takes a millisecond to begin.
            if target.name != "session" || number % 20 == 0 {
                try_input(target, &bytes, &format!("row {number}"));
            }
        }
    }
}

#[test]
fn seeds_make_sense() {
    for target in &targets::TARGETS {
        let seeds = (target.seeds)();
        let accepted = (0..)
            .zip(&seeds)
            .filter(|(number, seed)| try_input(target, seed, &format!("seed {number}")));
        let n_accepted = accepted.count();
        assert!(
            n_accepted * 4 >= seeds.len() * 3,
            "{}: {n_accepted}",
            target.name
        );
    }
}

#[test]
fn what_was_found_is_mended() {
    for target in &targets::TARGETS {
        let folder = root().join("tests/fuzz/found").join(target.name);
        // A folder comes with the first input that something was wrong with.
        if !folder.exists() {
            continue;
        }
        for path in files(&folder, "input") {
            let input = std::fs::read(&path).expect("a file");
            try_input(target, &input, &path.display().to_string());
        }
    }
}

#[test]
fn programs_that_were_found_do_the_same_in_all_ways() {
    for path in files(&root().join("tests/fuzz/found/machine"), "bc") {
        let file = std::fs::read(&path).expect("a file");
        assert!(
            targets::run_everywhere(&file),
            "{} verifies",
            path.display()
        );
    }
}

#[test]
fn every_example_is_a_seed() {
    let names = files(&root().join("examples"), "asm").into_iter();
    let names: Vec<_> = names
        .filter_map(|path| path.file_stem().map(|stem| stem.to_owned()))
        .collect();
    let seeds: Vec<_> = EXAMPLES.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, seeds);
}
