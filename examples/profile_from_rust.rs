//! Profiles from Rust: exact counts of machines on several threads, added up, and the memory that a
//! program keeps. `cargo run --example profile_from_rust`

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;

use assembler::{AssembleOptions, assemble};
use profiler::{Kind, Profile, ProfileData, SourceMap, Style};
use vm::host::{HostIo, Hosts};
use vm::memprof::MemprofConfig;
use vm::{Access, Program, Vm, VmConfig};

const TEXT: &str = "
fun leaf(n: i) -> r {
    p = new 1, [], [n]
    ret p
}
fun tree(depth: i) -> r {
    jeq depth, 0, bottom
    less = sub depth, 1
    left = call tree(less)
    right = call tree(less)
    node = new 2, [left, right], []
    ret node
bottom:
    node = call leaf(depth)
    ret node
}
export fun work(depth: i) -> r {
    t = call tree(depth)
    ret t
}
fun main() {
    ret
}";

fn hosts() -> Hosts {
    Hosts::standard(HostIo::process(Vec::new()))
}

/// One line for each source that has counted something.
fn show(out: &mut impl Write, data: &ProfileData, sources: &SourceMap) -> io::Result<()> {
    let (calls, bytes) = (data.counts(Kind::Count), data.counts(Kind::Alloc));
    for (index, source) in sources.sources.iter().enumerate() {
        let name = &sources.names[source.name.index()];
        let name = name.split('\t').next().unwrap_or_default();
        let (calls, bytes) = (calls.sources[index], bytes.sources[index]);
        if calls + bytes > 0 {
            writeln!(out, "{name:8} {calls:5} calls {bytes:6} bytes")?;
        }
    }
    Ok(())
}

/// Runs the example.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let module = assemble(TEXT, &AssembleOptions::default())
        .map_err(|errors| errors[0].render("tree.asm", TEXT))?;
    let program = Program::from_module(module)?;
    let sources = program.module().source_map();

    // Each machine joins the profile; whoever reads the total gets the sum.
    let kinds = "alloc,count".parse()?;
    let profile = Profile::new(kinds, sources.sources.len()).with_style(Style::Stack);
    let profile = Arc::new(profile);
    let threads: Vec<_> = (1..=4_i64)
        .map(|depth| {
            let (program, member) = (program.clone(), profile.join());
            thread::spawn(move || -> Result<(), Box<dyn Error + Send + Sync>> {
                let config = VmConfig {
                    profile: Some(member),
                    ..VmConfig::default()
                };
                let mut vm = Vm::new(&program, hosts(), config)?;
                let work = vm.typed::<(i64,), vm::Root>("work")?;
                work.call(&mut vm, (depth,))?;
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        let ended = thread.join().expect("no panic");
        ended.map_err(|error| error.to_string())?;
    }
    writeln!(out, "four machines:")?;
    show(out, &profile.total(), &sources)?;

    // What is alive at the end of a call, by source, exactly; and by call stack, from samples.
    let config = VmConfig {
        census: true,
        sampling: Some(MemprofConfig {
            rate: 1.0,
            ..MemprofConfig::default()
        }),
        ..VmConfig::default()
    };
    let mut vm = Vm::new(&program, hosts(), config)?;
    let work = vm.typed::<(i64,), vm::Root>("work")?;
    let kept = work.call(&mut vm, (3,))?;
    let file = vm.memory_file("tree").expect("memory profiles are taken");
    let heap = file.heap.as_ref().expect("exact figures were asked for");
    let live: u64 = heap.sources.iter().map(|row| row.live_bytes).sum();
    writeln!(out, "{live} bytes alive while the tree is held")?;
    drop(kept);
    Ok(())
}

#[allow(dead_code, reason = "a test runs the example without it")]
fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout().lock())
}
