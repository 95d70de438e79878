//! A tracker that writes down what it hears.

use crate::support::lock::Lock;
use std::sync::Arc;

use vm::host::{HostIo, Hosts};
use vm::memprof::{AllocInfo, AllocOrigin, GcEvent, MemprofConfig, ProfileId, StackFrame, Tracker};
use vm::{HeapConfig, Outcome, Vm, VmConfig};

use crate::support::verified;

/// A sampled block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) clock: u64,
    pub(crate) words: u64,
    pub(crate) n_samples: u64,
    pub(crate) source: AllocOrigin,
    pub(crate) depth: usize,
}

/// What was heard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    pub(crate) blocks: Vec<Block>,
    pub(crate) n_minor: u64,
    pub(crate) n_promoted: u64,
    pub(crate) n_died_young: u64,
    pub(crate) n_died_old: u64,
    pub(crate) n_collections: u64,
    /// What was heard of each block, by its number in `blocks`: one letter for each event.
    pub(crate) lives: Vec<String>,
}

/// The tracker, which shares its record with the test. A block's cookie is its number.
pub(crate) struct Recorder(pub(crate) Arc<Lock<Record>>);

impl Recorder {
    fn alloc(&mut self, info: &AllocInfo<'_>, letter: &str) -> Option<u64> {
        let mut record = self.0.borrow_mut();
        let header_words = u64::from(info.origin != AllocOrigin::External);
        assert_eq!(
            info.clock_words,
            info.size_words + header_words,
            "S7: size is without header"
        );
        record.blocks.push(Block {
            clock: info.clock,
            words: info.clock_words,
            n_samples: info.n_samples,
            source: info.origin,
            depth: info.stack.frames().count(),
        });
        record.lives.push(letter.to_owned());
        Some(record.blocks.len() as u64 - 1)
    }

    fn note(&mut self, cookie: u64, event: &GcEvent, letter: &str) {
        let mut record = self.0.borrow_mut();
        let block = record.blocks[cookie as usize];
        assert_eq!(
            (event.alloc_clock, event.clock_words, event.n_samples),
            (block.clock, block.words, block.n_samples),
            "an event tells of the block that the cookie is of"
        );
        record.lives[cookie as usize].push_str(letter);
    }
}

impl Tracker for Recorder {
    fn alloc_minor(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.0.borrow_mut().n_minor += 1;
        self.alloc(info, "a")
    }

    fn alloc_major(&mut self, info: &AllocInfo<'_>) -> Option<u64> {
        self.alloc(info, "A")
    }

    fn promote(&mut self, cookie: u64, event: &GcEvent) -> Option<u64> {
        self.note(cookie, event, "p");
        self.0.borrow_mut().n_promoted += 1;
        Some(cookie)
    }

    fn dealloc_minor(&mut self, cookie: u64, event: &GcEvent) {
        self.note(cookie, event, "d");
        self.0.borrow_mut().n_died_young += 1;
    }

    fn dealloc_major(&mut self, cookie: u64, event: &GcEvent) {
        self.note(cookie, event, "D");
        self.0.borrow_mut().n_died_old += 1;
    }

    fn collected(&mut self, _: bool) {
        self.0.borrow_mut().n_collections += 1;
    }
}

/// Starts a profile that records.
pub(crate) fn start(vm: &mut Vm, config: MemprofConfig) -> (ProfileId, Arc<Lock<Record>>) {
    let record = Arc::new(Lock::new(Record::default()));
    let tracker = Box::new(Recorder(record.clone()));
    let profile = vm
        .memprof_start(config, tracker)
        .expect("the profile starts");
    (profile, record)
}

/// A machine for text, without input, whose output goes nowhere. It collects when its
/// configuration says: these tests count what collections do, and ask for stress themselves.
pub(crate) fn machine(text: &str, config: VmConfig) -> Vm {
    let (none, sink) = (std::io::empty(), std::io::sink());
    let io = HostIo::new(none, sink, std::io::sink(), Vec::new());
    Vm::new(verified(text), Hosts::standard(io), config).expect("a machine can be made")
}

/// A machine with a nursery of this size.
pub(crate) fn machine_with_nursery(text: &str, nursery_bytes: usize) -> Vm {
    let heap = HeapConfig {
        nursery_bytes,
        ..HeapConfig::default()
    };
    machine(
        text,
        VmConfig {
            heap,
            ..VmConfig::default()
        },
    )
}

/// A profile of all words.
pub(crate) fn every_word() -> MemprofConfig {
    MemprofConfig {
        rate: 1.0,
        ..MemprofConfig::default()
    }
}

/// Calls an exported function that returns.
pub(crate) fn call(vm: &mut Vm, name: &str, ints: &[i64]) -> Vec<i64> {
    let function = vm.module().function_named(name);
    let function = function.expect("the program has the function");
    match vm.call(function, ints) {
        Ok(Outcome::Returned(results)) => results,
        Ok(other) => panic!("{name} ends with {other:?}"),
        Err(error) => panic!("{}", vm.describe_error(&error)),
    }
}

/// A call stack as a profile tells it that does not ask for the lines of callers.
pub(crate) fn callers_by_function(stack: &[StackFrame]) -> Vec<StackFrame> {
    let callers = stack.iter().skip(1);
    let functions = callers.map(|frame| StackFrame::Function(frame.function()));
    stack
        .first()
        .copied()
        .into_iter()
        .chain(functions)
        .collect()
}
