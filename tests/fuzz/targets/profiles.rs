//! Target `profiles`: any bytes as profiles, source maps and what a report is asked for. The input
//! is a row of pieces with a zero byte between each two. Each is read as everything that it could
//! be; what was read is written and read again, added up and reported.

use std::ffi::OsString;
use std::path::PathBuf;

use profiler::memory::report::{self as memory_report, MemoryReportOptions};
use profiler::memory::{Measure, MemoryFile};
use profiler::mlmon::Mlmon;
use profiler::report::{self, Options, parse_args};
use profiler::{Kind, Profile, SourceFilter, SourceMap, Style, parse_show_sources};
use vm::module::Module;
use vm::verify::verify;
use vm::{Vm, VmConfig};

use super::examples::modules;
use super::input::Input;

/// The most pieces of an input.
const MAX_PIECES: usize = 16;
/// The longest piece that is also taken for a regular expression.
const MAX_EXPRESSION_BYTES: usize = 200;

/// Reads, writes, adds up and reports; whether there was a profile.
pub fn run(bytes: &[u8]) -> bool {
    let mut input = Input::new(bytes);
    let choices = [input.byte(), input.byte()];
    let mut maps = Vec::new();
    let mut profiles = Vec::new();
    let mut memory: Vec<MemoryFile> = Vec::new();
    let mut options = Options::default();
    for _ in 0..MAX_PIECES {
        if input.is_empty() {
            break;
        }
        let text = String::from_utf8_lossy(input.piece());
        maps.extend(read_map(&text));
        profiles.extend(read_profile(&text));
        memory.extend(read_memory(&text));
        let arguments: Vec<OsString> = text.lines().take(16).map(OsString::from).collect();
        if let Ok(invocation) = parse_args(&arguments) {
            options = invocation.options;
        }
        // To compile a whole file as an expression would take all the time there is.
        if text.len() < MAX_EXPRESSION_BYTES {
            let _ = SourceFilter::parse(&[&text], &[&text]);
        }
    }
    let is_deep = !profiles.is_empty() || !memory.is_empty();
    for map in &maps {
        report_counts(map, &mut profiles, options.clone(), choices[0]);
    }
    report_memory(&memory, choices[1]);
    is_deep
}

fn read_map(text: &str) -> Option<SourceMap> {
    let map = parse_show_sources(text).ok()?;
    let mut written = Vec::new();
    map.write_show_sources(&mut written)
        .expect("memory takes it");
    let again = parse_show_sources(&String::from_utf8_lossy(&written));
    assert_eq!(again.as_ref(), Ok(&map));
    Some(map)
}

fn read_profile(text: &str) -> Option<Mlmon> {
    let file = Mlmon::parse(text).ok()?;
    let mut written = Vec::new();
    file.write(&mut written).expect("memory takes it");
    let again = Mlmon::parse(&String::from_utf8_lossy(&written));
    assert_eq!(again.as_ref(), Ok(&file));
    Some(file)
}

fn read_memory(text: &str) -> Option<MemoryFile> {
    let file = MemoryFile::parse(text).ok()?;
    let mut written = Vec::new();
    file.write(&mut written).expect("memory takes it");
    let again = MemoryFile::parse(&String::from_utf8_lossy(&written));
    assert_eq!(again.as_ref(), Ok(&file));
    Some(file)
}

/// Reports on each profile with the map, and on all of them together.
fn report_counts(map: &SourceMap, profiles: &mut [Mlmon], options: Options, choice: u8) {
    let bit = |bit: u32| choice >> bit & 1 != 0;
    let options = Options {
        raw: bit(0),
        show_line: bit(1),
        gray: bit(2),
        long_name: bit(3),
        call_graph: bit(4).then(|| PathBuf::from("/dev/null")),
        ..options
    };
    let mut table = Vec::new();
    for profile in profiles.iter_mut() {
        // A profile of another program is refused, which is soon seen.
        if bit(5) {
            profile.magic = map.magic;
        }
        let _ = report::run(
            "program",
            map,
            std::slice::from_ref(profile),
            &options,
            &mut table,
        );
    }
    let _ = report::run("program", map, profiles, &options, &mut table);
}

/// Reports on each profile, and on what each is with the first.
fn report_memory(files: &[MemoryFile], choice: u8) {
    let bit = |bit: u32| choice >> bit & 1 != 0;
    let options = MemoryReportOptions {
        by: Measure::ALL[usize::from(choice >> 4) % Measure::ALL.len()],
        top: usize::from(choice >> 2 & 3) * 5,
        stacks: bit(0),
        objects: bit(1),
    };
    let mut table = Vec::new();
    for file in files {
        memory_report::run(file, &options, &mut table).expect("memory takes it");
        for by_name in [false, true] {
            let mut sum = files[0].clone();
            let added = match by_name {
                true => sum.absorb_by_name(file),
                false => sum.absorb(file),
            };
            if added.is_ok() {
                memory_report::run(&sum, &options, &mut table).expect("memory takes it");
                read_written(&sum);
            }
        }
    }
}

/// A sum is written as a file that can be read.
fn read_written(file: &MemoryFile) {
    let mut written = Vec::new();
    file.write(&mut written).expect("memory takes it");
    let read = MemoryFile::parse(&String::from_utf8_lossy(&written));
    assert!(read.is_ok(), "{read:?}");
}

/// Profiles of the examples, with their maps and options.
pub fn seeds() -> Vec<Vec<u8>> {
    let all = (0_u8..).zip(modules()).take(super::EXAMPLES.len());
    all.flat_map(|(number, module)| seeds_of(number, module))
        .collect()
}

fn seeds_of(number: u8, module: &Module) -> [Vec<u8>; 2] {
    let map = module.source_map();
    let style = Style::ALL[usize::from(number) % 2];
    let kinds = Kind::ALL.into_iter().collect();
    let profile = Profile::new(kinds, map.sources.len()).with_style(style);
    let profile = std::sync::Arc::new(profile.with_tick_source(super::ways::no_ticks()));
    let config = VmConfig {
        fuel: Some(20_000),
        profile: Some(profile.clone()),
        census: number.is_multiple_of(3),
        sampling: Some(super::ways::sampling(0.05)),
        ..VmConfig::default()
    };
    let verified = verify(module.clone()).expect("examples verify");
    let hosts = super::machine::hosts(&super::trouble::Output::default());
    let mut vm = Vm::new(verified, hosts, config).expect("a machine can be made");
    // Most end because there is no more fuel.
    let _ = vm.run();
    let mut counts = vec![number, number];
    map.write_show_sources(&mut counts)
        .expect("memory takes it");
    for kind in Kind::ALL {
        counts.push(0);
        let file = profile
            .data()
            .mlmon(kind, &map)
            .expect("the program's own sources");
        file.write(&mut counts).expect("memory takes it");
    }
    counts.extend(b"\0-raw\ntrue\n--keep=(and (thresh 1.0) (not \"a\"))\nprogram\n");
    let mut memory = vec![number, number];
    let file = vm.memory_file("program").expect("one was asked for");
    file.write(&mut memory).expect("memory takes it");
    [counts, memory]
}

/// What the files are made of.
pub fn words() -> Vec<String> {
    let words = [
        "MLton prof\n",
        "TALLY MEM 1\n",
        "time\n",
        "alloc\n",
        "count\n",
        "current\n",
        "stack\n",
        "0x00000000\n",
        "18446744073709551615",
        "4294967295",
        "0 0 0\n",
        "1e308",
        "NaN",
        "inf",
        "-1",
        "\0",
        "(and ",
        "(or ",
        "(not ",
        "(from ",
        "(to ",
        "(pred ",
        "(succ ",
        "(thresh ",
        "(thresh-stack ",
        "(thresh-gc ",
        "--keep=",
        "--split=",
        "-raw\ntrue\n",
        "\t",
    ];
    words.map(str::to_owned).to_vec()
}
