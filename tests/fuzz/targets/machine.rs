//! Target `machine`: any program that verifies, run in several ways. What can be seen of a run from
//! outside does not depend on the way; what the machine says of itself adds up; and whatever
//! disturbs a run, the next one is undisturbed.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use assembler::assemble;
use profiler::memory::MemoryFile;
use profiler::memory::report::{self, MemoryReportOptions};
use profiler::mlmon::Mlmon;
use profiler::{Kind, Profile};
use vm::host::{HostError, HostIo, Hosts, standard_signature};
use vm::memprof::Tracker;
use vm::module::{Module, read, write};
use vm::verify::{VerifiedModule, verify};
use vm::{RunError, Trap, Vm};

use super::edits::edited;
use super::examples::{modules, options, texts};
use super::input::Input;
use super::module::with_right_checksums;
use super::trouble::{Carried, Output, Trouble};
use super::ways::{WAY_BYTES, Way};

/// In how many ways an input is run, besides the plain one.
const N_WAYS: usize = 2;

/// Runs what the input describes: an edited example, a file, or a text. Whether it verified.
pub fn run(bytes: &[u8]) -> bool {
    let mut input = Input::new(bytes);
    let kind = input.below(3);
    let ways = [(); N_WAYS].map(|()| Way::new(&mut input));
    let module = match kind {
        0 => edited(&mut input),
        1 => match read(&with_right_checksums(input.rest())) {
            Ok(module) => module,
            Err(_) => return false,
        },
        _ => {
            let number = u32::from(input.byte());
            let text = String::from_utf8_lossy(input.rest());
            match assemble(&text, &options(number)) {
                Ok(module) => module,
                Err(_) => return false,
            }
        }
    };
    run_in(module, &ways)
}

/// Runs a file in many ways; whether it verified.
#[cfg(test)]
pub fn run_everywhere(file: &[u8]) -> bool {
    let Ok(module) = read(file) else {
        return false;
    };
    let mut state = 1_u64;
    let mut bytes = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..64).fold(false, |_, _| {
        let bytes: Vec<u8> = (0..WAY_BYTES).map(|_| bytes()).collect();
        run_in(module.clone(), &[Way::new(&mut Input::new(&bytes))])
    })
}

/// The examples as edits, files and texts, each in some ways.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    let texts = texts().into_iter().map(Some).chain(std::iter::repeat(None));
    for (number, (module, text)) in (0_u8..).zip(modules().iter().zip(texts)) {
        let ways = (0..N_WAYS * WAY_BYTES).map(|at| number.wrapping_mul(37) ^ (at as u8) << 4);
        let ways: Vec<u8> = ways.collect();
        seeds.push([&[0], ways.as_slice(), &[number]].concat());
        seeds.push([&[1], ways.as_slice(), &write(module)].concat());
        if let Some(text) = text {
            seeds.push([&[2], ways.as_slice(), &[number], text.as_bytes()].concat());
        }
    }
    seeds
}

fn run_in(module: Module, ways: &[Way]) -> bool {
    let Ok(module) = verify(module) else {
        return false;
    };
    let program = Program::new(module);
    let plain = program.run(&Way::PLAIN);
    let Some(first) = &plain.first else {
        return true;
    };
    program.compare_all(first, &plain, &Way::PLAIN);
    for way in ways {
        program.compare_all(first, &program.run(way), way);
    }
    true
}

/// A program, and what its imports let it notice.
struct Program {
    module: VerifiedModule,
    /// Whether it may see that a profile is taken.
    sees_profile: bool,
    /// Whether it may see when collections happen.
    sees_collections: bool,
    /// Whether a run may leave something behind for the next one.
    has_state: bool,
}

/// What can be seen of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    end: String,
    output: String,
    allocated_bytes: u64,
    is_out_of_memory: bool,
}

/// What was seen of two runs on one machine.
#[derive(Default)]
struct Runs {
    /// Of the first, unless it was disturbed, or no machine could be made.
    first: Option<Seen>,
    /// Of the second, unless the first has left something behind for it.
    second: Option<Seen>,
}

impl Program {
    fn new(module: VerifiedModule) -> Self {
        let imports = |start: &str| module.hosts.iter().any(|host| host.name.starts_with(start));
        let sees_profile = imports("profile_");
        let sees_collections = imports("memprof_");
        let counts = ["external_", "budget_", "word_clock"];
        Self {
            sees_profile,
            sees_collections,
            has_state: sees_profile || sees_collections || counts.into_iter().any(imports),
            module,
        }
    }

    /// Runs twice on one machine, with the way's trouble in the first run.
    fn run(&self, way: &Way) -> Runs {
        let map = self.module.source_map();
        let (config, profile) = way.config(&map);
        let output = Output::default();
        let Ok(mut vm) = Vm::new(self.module.clone(), hosts(&output), config) else {
            return Runs::default();
        };
        let mut choices = Input::new(&way.trouble);
        let trouble = Trouble::new(&mut choices, vm.interrupt());
        if let Some(config) = way.tracker {
            output.disturb(trouble.clone());
            let tracker: Box<dyn Tracker> = Box::new(trouble.clone());
            let started = vm.memprof_start(config, tracker);
            started.expect("rates are right, and the profile need not be the only one");
            vm.on_snapshot(|snapshot| {
                snapshot.data();
                snapshot.memory_file("program");
            });
        }
        let first = catch_unwind(AssertUnwindSafe(|| self.see(&mut vm, &output)));
        let first = match first {
            Ok(seen) => Some(seen),
            Err(payload) if payload.is::<Carried>() => None,
            Err(payload) => resume_unwind(payload),
        };
        // A snapshot finds out what is alive, and so is a collection.
        let is_seen = self.sees_collections && trouble.has_happened();
        let is_disturbed = is_seen || !trouble.is_harmless();
        trouble.end();
        output.take();
        let second = self.see(&mut vm, &output);
        self.check_profiles(&vm, way, profile.as_deref());
        Runs {
            first: first.filter(|_| !is_disturbed),
            second: (!self.has_state).then_some(second),
        }
    }

    /// One run.
    fn see(&self, vm: &mut Vm, output: &Output) -> Seen {
        let before = vm.allocated_bytes();
        let result = vm.run();
        let is_out_of_memory = matches!(
            result,
            Err(RunError::Trap {
                trap: Trap::OutOfMemory(_),
                ..
            })
        );
        let end = match &result {
            Ok(outcome) => format!("{outcome:?}"),
            Err(error) => vm.describe_error(error),
        };
        Seen {
            end,
            output: String::from_utf8_lossy(&output.take()).into_owned(),
            allocated_bytes: vm.allocated_bytes() - before,
            is_out_of_memory,
        }
    }

    /// All that was seen in a way is what was seen in the plain one.
    fn compare_all(&self, plain: &Seen, runs: &Runs, way: &Way) {
        let seen = runs.first.iter().chain(&runs.second);
        seen.for_each(|seen| self.compare(plain, seen, way));
    }

    /// What was seen in two ways is the same, as far as it must be.
    fn compare(&self, plain: &Seen, seen: &Seen, way: &Way) {
        let may_differ = self.sees_profile && way.is_profiled()
            || self.sees_collections && !way.collects_like(&Way::PLAIN);
        if may_differ {
            return;
        }
        // How much memory is free depends on when collections happen. What was done before is the
        // same.
        if plain.is_out_of_memory || seen.is_out_of_memory {
            let (one, other) = (&plain.output, &seen.output);
            assert!(
                one.starts_with(other.as_str()) || other.starts_with(one.as_str()),
                "{plain:?}\n{seen:?}\n{way:?}"
            );
            return;
        }
        let both = [plain, seen].map(|one| (&one.end, &one.output, one.allocated_bytes));
        assert_eq!(both[0], both[1], "{way:?}");
    }

    /// Profiles add up, and are read as they are written.
    fn check_profiles(&self, vm: &Vm, way: &Way, profile: Option<&Profile>) {
        let map = self.module.source_map();
        for kind in profile.iter().flat_map(|one| one.kinds().iter()) {
            let data = profile.expect("there is one").data();
            if kind == Kind::Alloc && !self.sees_profile {
                let total = data.counts(kind).totals.total;
                assert_eq!(total, vm.allocated_bytes(), "{way:?}");
            }
            let file = data.mlmon(kind, &map).expect("the program's own sources");
            let mut text = Vec::new();
            file.write(&mut text).expect("memory takes it");
            let again = Mlmon::parse(&String::from_utf8_lossy(&text));
            assert_eq!(again, Ok(file), "{way:?}");
        }
        if let Some(file) = vm.memory_file("program") {
            let mut text = Vec::new();
            file.write(&mut text).expect("memory takes it");
            let again = MemoryFile::parse(&String::from_utf8_lossy(&text));
            assert_eq!(again.as_ref(), Ok(&file), "{way:?}");
            let options = MemoryReportOptions {
                stacks: true,
                objects: true,
                ..MemoryReportOptions::default()
            };
            report::run(&file, &options, &mut text).expect("memory takes it");
        }
    }
}

/// The standard functions without what differs from run to run, and without files.
pub fn hosts(output: &Output) -> Hosts {
    let arguments = vec![b"first".to_vec(), b"second one".to_vec()];
    let io = HostIo::new(SameLine(0), output.clone(), io::sink(), arguments);
    let mut hosts = Hosts::standard(io);
    let mut replace = |name: &str, result: fn() -> Result<Option<i64>, HostError>| {
        let signature = standard_signature(name).expect("a standard function");
        hosts.offer(name, signature, move |call| {
            if let Some(number) = result()? {
                call.set_int(0, number);
            }
            Ok(())
        });
    };
    replace("clock", || Ok(Some(1)));
    replace("time", || Ok(Some(2)));
    replace("profile_write", || Err(HostError::Failed));
    hosts
}

/// Input that is one line again and again, wherever one begins to read.
struct SameLine(usize);

impl Read for SameLine {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const LINE: &[u8] = b"the same line 17\n";
        // Readers ahead of a line keep the rest for themselves, so every line starts at its start.
        let part = buffer.len().min(LINE.len() - self.0);
        buffer[..part].copy_from_slice(&LINE[self.0..self.0 + part]);
        self.0 = (self.0 + part) % LINE.len();
        Ok(part)
    }
}
