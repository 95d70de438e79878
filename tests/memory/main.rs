//! Memory profiles as users see them: exact figures against the heap's own counters, samples of
//! every word against exact figures, and the commands that take and show them.

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod errors;
mod exact;
mod looking;
mod sampled;

use std::io;
use std::path::{Path, PathBuf};

use profiler::SourceId;
use profiler::memory::{HeapProfile, HeapRow, MemoryFile};
use support::{files, root, verified};
use vm::host::{HostIo, Hosts};
use vm::{Vm, VmConfig};

/// Examples that run for seconds.
const LONG: [&str; 2] = ["tak", "fib-tak"];

/// Examples that make so many objects that a collection at each takes too long.
const HEAVY: [&str; 4] = ["list-rev", "binary-trees", "leak", "closures"];

fn is_one_of(path: &Path, names: &[&str]) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.is_some_and(|stem| names.contains(&stem))
}

fn short_examples() -> Vec<PathBuf> {
    let found = files(&root().join("examples"), "asm");
    let short: Vec<_> = found
        .into_iter()
        .filter(|path| !is_one_of(path, &LONG))
        .collect();
    assert!(short.len() >= 10, "the examples are there");
    short
}

/// A machine for text, with these arguments and this input. The environment changes nothing: the
/// figures are those of a heap that collects when it must.
fn machine_with(text: &str, arguments: Vec<Vec<u8>>, input: Vec<u8>, config: VmConfig) -> Vm {
    let io = HostIo::new(io::Cursor::new(input), io::sink(), io::sink(), arguments);
    Vm::new(verified(text), Hosts::standard(io), config).expect("a machine can be made")
}

fn machine_of(text: &str, config: VmConfig) -> Vm {
    machine_with(text, Vec::new(), Vec::new(), config)
}

/// Runs an example to its end, and gives its machine.
fn run_example(path: &Path, config: VmConfig) -> Vm {
    let text = std::fs::read_to_string(path).expect("an example");
    let arguments = std::fs::read_to_string(path.with_extension("args")).unwrap_or_default();
    let arguments = arguments.lines().map(|line| line.as_bytes().to_vec());
    let input = std::fs::read(path.with_extension("in")).unwrap_or_default();
    let mut vm = machine_with(&text, arguments.collect(), input, config);
    run(&mut vm);
    vm
}

fn run(vm: &mut Vm) {
    if let Err(error) = vm.run() {
        panic!("{}", vm.describe_error(&error));
    }
}

fn file_of(vm: &Vm) -> MemoryFile {
    vm.memory_file("test").expect("a memory profile is taken")
}

fn heap_of(vm: &Vm) -> HeapProfile {
    file_of(vm).heap.expect("the heap is counted")
}

/// With exact counts.
fn counted() -> VmConfig {
    VmConfig {
        census: true,
        ..VmConfig::default()
    }
}

fn source_named(file: &MemoryFile, name: &str) -> SourceId {
    let found = file.sources.iter().position(|one| one.function == name);
    SourceId(found.unwrap_or_else(|| panic!("no source is named {name}")) as u32)
}

/// The exact figures of a function.
fn row_of(file: &MemoryFile, name: &str) -> HeapRow {
    let heap = file.heap.as_ref().expect("the heap is counted");
    heap.row(source_named(file, name))
}
