//! The machine against a second opinion: random programs run on the reference interpreter, which
//! was written from the manuals, and on the machine in all its ways; everything that can be seen
//! from outside must be the same.
//!
//! `TALLY_CAMPAIGN=long` tries many more programs, `TALLY_SEED` says with which to begin.

mod reference;
mod support;

use crate::support::lock::Lock;
use std::io::Write;
use std::sync::Arc;

use assembler::{AssembleOptions, OptLevel, TailCalls, assemble, print};
use profiler::{Kind, Profile, SourceId, Style};
use reference::smith::Program;
use reference::{End, Report, Tally};
use support::{Random, campaign};
use vm::host::{HostIo, Hosts};
use vm::isa::OPS;
use vm::memprof::MemprofConfig;
use vm::module::{Module, read, write};
use vm::verify::{VerifiedModule, verify};
use vm::{GcStress, HeapConfig, HeapStats, Outcome, RunError, Trap, Vm, VmConfig};

/// How many programs are tried, in short and in long.
const PROGRAMS: [u64; 2] = [24, 240];
/// So many programs must have done everything that is asked of them together.
const ENOUGH_PROGRAMS: u64 = 80;
/// Programs that run longer are passed over.
const MAX_OPS: u64 = 150_000;
/// Programs that allocate more objects do not run under GC stress, which would take minutes.
const MAX_STRESS_OBJECTS: u64 = 200;
/// Bytes of registers: far more than programs need that end.
const STACK_BYTES: usize = 24 << 20;

/// A way to run a program; what can be seen of the run must not depend on it.
#[derive(Clone, Copy, Debug)]
struct Way {
    fuses: bool,
    stress: bool,
    fuel: bool,
    profile: &'static str,
    style: Style,
}

/// The way that sees most of what is charged.
const PROFILED: Way = Way {
    fuses: true,
    stress: false,
    fuel: false,
    profile: "alloc,count",
    style: Style::Current,
};

/// The kinds of profiles, with none at all.
const PROFILES: [&str; 5] = ["", "alloc", "count", "time", "time,alloc,count"];

impl Way {
    /// All ways, by number.
    fn new(number: u64) -> Self {
        let bit = |bit: u64| (number >> bit) & 1 == 1;
        Self {
            fuses: !bit(0),
            stress: bit(1),
            fuel: bit(2),
            profile: PROFILES[(number >> 4) as usize % PROFILES.len()],
            style: if bit(3) { Style::Stack } else { Style::Current },
        }
    }

    /// How many there are.
    const COUNT: u64 = 16 * PROFILES.len() as u64;
}

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

/// The arguments that all programs get.
fn arguments() -> Vec<Vec<u8>> {
    vec![b"first".to_vec(), b"the second one".to_vec()]
}

/// How often things happened that make a program worth while.
#[derive(Debug, Default)]
struct Seen {
    programs: u64,
    passed_over: u64,
    ops: u64,
    raising: u64,
    handling: u64,
    uncaught: u64,
    exiting: u64,
    overflowing: u64,
    collecting: u64,
    large: u64,
    tail_calling: u64,
    runs: u64,
    stressed: u64,
    reinstrumented: u64,
    inlined: u64,
    opcodes: Vec<bool>,
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            programs,
            runs,
            ops,
            ..
        } = self;
        writeln!(f, "{programs} programs of {ops} ops in {runs} runs")?;
        let rest = [
            ("passed over", self.passed_over),
            ("raise", self.raising),
            ("handle", self.handling),
            ("end uncaught", self.uncaught),
            ("exit", self.exiting),
            ("overflow the stack", self.overflowing),
            ("collect", self.collecting),
            ("run under stress", self.stressed),
            ("have other sources", self.reinstrumented),
            ("inlined", self.inlined),
            ("make large objects", self.large),
            ("tail call", self.tail_calling),
        ];
        rest.iter()
            .try_for_each(|(what, count)| writeln!(f, "{what}: {count}"))?;
        let is_missing = |code: u8| !self.opcodes[usize::from(code)];
        let missing = OPS.iter().filter(|info| is_missing(info.opcode as u8));
        let missing: Vec<_> = missing.map(|info| info.mnemonic).collect();
        writeln!(f, "never run: {missing:?}")
    }
}

impl Seen {
    fn count(&mut self, report: &Report) {
        let tally = &report.tally;
        self.ops += tally.ops;
        self.raising += u64::from(tally.raises > 0);
        self.handling += u64::from(tally.handled > 0);
        self.uncaught += u64::from(matches!(report.end, End::Uncaught(_)));
        self.exiting += u64::from(matches!(report.end, End::ExitCode(_)));
        self.overflowing += u64::from(report.end == End::StackOverflow);
        self.large += u64::from(tally.largest > 4096);
        self.tail_calling += u64::from(tally.tail_calls > 0);
        self.opcodes.resize(256, false);
        for (seen, &run) in self.opcodes.iter_mut().zip(&tally.opcodes) {
            *seen |= run;
        }
    }

    /// A generator whose programs do nothing hard would find nothing.
    fn assert_not_vacuous(&self) {
        let share = |count: u64, percent: u64| count * 100 >= self.programs * percent;
        let is_varied = share(self.programs - self.passed_over, 80)
            && share(self.raising, 50)
            && share(self.handling, 50)
            && share(self.uncaught, 1)
            && share(self.collecting, 20)
            && share(self.large, 15)
            && share(self.tail_calling, 40)
            && share(self.stressed, 15)
            && share(self.reinstrumented, 200)
            && share(self.inlined, 200)
            && self.ops > 300 * self.programs;
        assert!(is_varied, "the generator has become vacuous: {self}");
        let has_run = |code: u8| self.opcodes[usize::from(code)];
        let all = OPS.iter().all(|info| has_run(info.opcode as u8));
        assert!(all, "some ops have never been run: {self}");
    }
}

#[test]
fn the_machine_agrees_with_the_reference() {
    let programs = campaign::size(PROGRAMS[0], PROGRAMS[1]);
    let first = campaign::first_seed(1);
    let mut seen = Seen::default();
    let mut failures = Vec::new();
    for seed in first..first + programs {
        let program = Program::new(seed);
        if let Err(problem) = check(&program, seed, &mut seen) {
            failures.push(explain(program, seed, &problem));
            assert!(failures.len() < 3, "{}", failures.join("\n"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{seen}");
    if programs >= ENOUGH_PROGRAMS {
        seen.assert_not_vacuous();
    }
}

/// A problem with the smallest program that still has one of its sort.
fn explain(program: Program, seed: u64, problem: &str) -> String {
    let sort = |problem: &str| problem.split(':').next().map(str::to_owned);
    let fails = |smaller: &Program| {
        let result = check(smaller, seed, &mut Seen::default());
        result.is_err_and(|other| sort(&other) == sort(problem))
    };
    let shrunk = program.shrunk(1_500, fails);
    let again = check(&shrunk, seed, &mut Seen::default()).expect_err("it still fails");
    format!("seed {seed}: {problem}\nshrunk: {again}\n{}", shrunk.text())
}

/// Runs a program in some of the ways, which the seed chooses; or says what differs. What stands
/// before the first colon tells problems apart.
fn check(program: &Program, seed: u64, seen: &mut Seen) -> Result<(), String> {
    let text = program.text();
    let mut first: Option<Report> = None;
    seen.programs += 1;
    for (index, tail_calls) in (0..).zip([TailCalls::Always, TailCalls::SelfOnly, TailCalls::Never])
    {
        let options = AssembleOptions {
            tail_calls,
            profile_branch: seed.is_multiple_of(2),
            inline_ops: None,
            opt_level: OptLevel::ALL[(seed % 3) as usize],
            file_name: "smith.asm".into(),
        };
        let inlining = AssembleOptions {
            inline_ops: Some(1 + (seed * 7 % 60) as u32),
            ..options.clone()
        };
        let module = assembled(&text, &options)?;
        let report = reference::run(&module, &arguments(), MAX_OPS);
        if report.end == End::OutOfOps {
            seen.passed_over += u64::from(first.is_none());
            return Ok(());
        }
        let mut collects = false;
        for turn in 0..4 {
            let way = Way::new((seed * 12 + index * 4 + turn) * 7 % Way::COUNT);
            collects |= compare(&module, &report, way, seen)
                .map_err(|problem| format!("{problem} ({way:?}, tail calls {tail_calls:?})"))?;
        }
        check_round_trip(&module, &report, seen)?;
        let way = Way::new((seed * 5 + index) * 7 % Way::COUNT);
        check_inlining(&module, &report, &assembled(&text, &inlining)?, way, seen)
            .map_err(|problem| format!("inlined, {problem} ({way:?}, {inlining:?})"))?;
        match &first {
            None => {
                seen.count(&report);
                seen.collecting += u64::from(collects);
                first = Some(report);
            }
            Some(first) => same_but_for_tail_calls(first, &report)?,
        }
    }
    Ok(())
}

fn assembled(text: &str, options: &AssembleOptions) -> Result<VerifiedModule, String> {
    let module = assemble(text, options).map_err(|errors| {
        let shown = errors.iter().map(|error| error.render("smith.asm", text));
        let first = errors.first().map_or("", |error| &error.message);
        format!(
            "does not assemble, {first}: {}",
            shown.collect::<Vec<_>>().join("\n")
        )
    })?;
    verify(module).map_err(|errors| format!("does not verify: {errors:?}"))
}

/// Inlining changes nothing that a program does. (What its functions are charged, `properties.rs`
/// compares.)
fn check_inlining(
    plain: &VerifiedModule,
    expected: &Report,
    inlined: &VerifiedModule,
    way: Way,
    seen: &mut Seen,
) -> Result<(), String> {
    seen.inlined += u64::from(inlined.sources.sources.len() > plain.sources.sources.len());
    let report = reference::run(inlined, &arguments(), MAX_OPS * 2);
    for way in [PROFILED, way] {
        compare(inlined, &report, way, seen)?;
    }
    // Several sources of one name must survive, too.
    if seen.programs.is_multiple_of(4) {
        check_round_trip(inlined, &report, seen)?;
    }
    // Copies need no frame, so they come further before a stack overflows.
    if expected.end == End::StackOverflow {
        return Ok(());
    }
    let seen_outside = |report: &Report| (report.end.clone(), report.output.clone());
    if seen_outside(expected) != seen_outside(&report) {
        return Err("it ends or prints something else: in the reference".to_owned());
    }
    if expected.allocated != report.allocated {
        return Err("it allocates something else: in the reference".to_owned());
    }
    Ok(())
}

/// Tail calls change what stands on the stack, and nothing that a program can see.
fn same_but_for_tail_calls(one: &Report, other: &Report) -> Result<(), String> {
    let is_deep = one.end == End::StackOverflow || other.end == End::StackOverflow;
    if !is_deep && (&one.end, &one.output) != (&other.end, &other.output) {
        return Err("tail calls change results: in the reference".to_owned());
    }
    let calls = |report: &Report| {
        report
            .counts
            .iter()
            .map(|one| one.calls)
            .collect::<Vec<_>>()
    };
    if !is_deep && (one.allocated, calls(one)) != (other.allocated, calls(other)) {
        return Err("tail calls change what is charged: in the reference".to_owned());
    }
    Ok(())
}

/// Written, read, printed and assembled again, a module is the same one.
fn check_round_trip(module: &Module, report: &Report, seen: &mut Seen) -> Result<(), String> {
    let bytes = write(module);
    let again = read(&bytes).map_err(|error| format!("does not read back: {error}"))?;
    if write(&again) != bytes {
        return Err("does not read back as it was: other bytes".to_owned());
    }
    let printed = print(&again);
    let options = AssembleOptions::default();
    let again =
        assembled(&printed, &options).map_err(|problem| format!("printed text {problem}"))?;
    if write(&again) != bytes {
        return Err(format!("printed text makes another module: {printed}"));
    }
    compare(&again, report, PROFILED, seen)?;
    check_other_sources(&printed, seen)
}

/// The assembler opens sources where functions start, and knows no other place. So in a module's
/// own text some are taken away, doubled, or opened later; then the reference runs again.
fn check_other_sources(printed: &str, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random(printed.len() as u64);
    let text = with_other_sources(printed, &mut random);
    // Without its enter and leave a handler's range can be empty, which is no program.
    let Ok(module) = assembled(&text, &AssembleOptions::default()) else {
        return Ok(());
    };
    let report = reference::run(&module, &arguments(), MAX_OPS * 2);
    seen.reinstrumented += 1;
    for style in [Style::Current, Style::Stack] {
        let way = Way { style, ..PROFILED };
        compare(&module, &report, way, seen).map_err(|problem| format!("{problem} in\n{text}"))?;
    }
    Ok(())
}

/// Changes where sources are open, each source in its own way throughout, so that they still nest.
fn with_other_sources(printed: &str, random: &mut Random) -> String {
    let lines: Vec<&str> = printed.lines().collect();
    let names = lines.iter().filter_map(|line| line.strip_prefix("source "));
    let names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    let change = |_| (random.below(4), random.below(names.len()));
    let changes: Vec<_> = names.iter().map(change).collect();
    let mut text = String::new();
    let mut postponed: Option<&str> = None;
    for line in lines {
        let mut words = line.split_whitespace();
        let (op, name) = (words.next(), words.next());
        let place = names.iter().position(|&known| name == Some(known));
        // A simple op on numbers cannot raise or jump, so a source may as well be opened after it.
        let is_simple = op.is_some_and(|op| op.starts_with('i')) && !line.contains("_ovf");
        let is_simple = is_simple
            && [" int ", " mov ", " add"]
                .iter()
                .any(|op| line.contains(op));
        if let Some(enter) = postponed.filter(|_| !is_simple && op != Some(".line")) {
            text += &format!("{enter}\n");
            postponed = None;
        }
        match (op, place.map(|place| changes[place])) {
            (Some("enter" | "leave"), Some((0, _))) => continue,
            (Some("enter"), Some((1, other))) => {
                text += &format!("{line}\nenter {}\n", names[other]);
                continue;
            }
            (Some("leave"), Some((1, other))) => text += &format!("leave {}\n", names[other]),
            (Some("enter"), Some((2, _))) if postponed.is_none() => {
                postponed = Some(line);
                continue;
            }
            _ => {}
        }
        text += &format!("{line}\n");
    }
    text
}

/// Runs a module in one way and compares; says whether anything was collected.
fn compare(
    module: &VerifiedModule,
    expected: &Report,
    way: Way,
    seen: &mut Seen,
) -> Result<bool, String> {
    let stress = way.stress && expected.tally.objects <= MAX_STRESS_OBJECTS;
    seen.stressed += u64::from(stress);
    seen.runs += 1;
    let profile = (!way.profile.is_empty()).then(|| {
        let kinds = way.profile.parse().expect("kinds");
        let profile = Profile::new(kinds, module.sources.sources.len()).with_style(way.style);
        // The word that counts frames stands between ops that are fused otherwise.
        Arc::new(match way.fuel {
            true => profile.with_elided(),
            false => profile,
        })
    });
    let config = VmConfig {
        heap: HeapConfig {
            nursery_bytes: 16 << 10,
            stress: if stress { GcStress::On } else { GcStress::Off },
            ..HeapConfig::default()
        },
        stack_bytes: STACK_BYTES,
        fuel: way.fuel.then_some(1 << 40),
        profile: profile.clone(),
        fuses: way.fuses,
        census: stress
            && profile
                .as_ref()
                .is_none_or(|one| one.kinds().contains(Kind::Alloc)),
        // Samples must change nothing either.
        sampling: (!way.fuses)
            .then(MemprofConfig::default)
            .map(|config| MemprofConfig {
                rate: 0.01,
                ..config
            }),
        memory_team: None,
    };
    let (output, errors) = (Shared::default(), Shared::default());
    let io = HostIo::new(
        std::io::empty(),
        output.clone(),
        errors.clone(),
        arguments(),
    );
    let mut vm = Vm::new(module.clone(), Hosts::standard(io), config).expect("a machine");
    let end = end_of(vm.run());
    if end != expected.end {
        return Err(format!(
            "ends differ: the machine {end:?}, the reference {:?}",
            expected.end
        ));
    }
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for (one, other) in [(&output, &expected.output), (&errors, &expected.errors)] {
        let (one, other) = (shown(&one.0.borrow()), shown(other));
        if one != other {
            return Err(format!(
                "outputs differ: the machine\n{one}\nthe reference\n{other}"
            ));
        }
    }
    let stats = vm.heap_stats();
    if expected.end != End::StackOverflow {
        compare_bytes(vm.allocated_bytes(), expected)?;
        if let Some(profile) = profile {
            compare_profile(module, &profile, &stats, expected)?;
            let elided = profile.elided().map(|data| data.counts(Kind::Count).totals);
            // A tail call of what is no closure counts before it faults.
            let Tally {
                tail_calls, faults, ..
            } = expected.tally;
            let range = tail_calls..=tail_calls + faults;
            if elided.is_some_and(|totals| !range.contains(&totals.total)) {
                return Err(format!("elided frames differ: {elided:?}, not {range:?}"));
            }
        }
    }
    Ok(stats.minor_collections + stats.major_collections > 0)
}

fn end_of(result: Result<Outcome, RunError>) -> End {
    match result {
        Ok(Outcome::Returned(results)) => End::Returned(results),
        Ok(Outcome::ExitCode(code)) => End::ExitCode(code),
        Err(RunError::Uncaught { exception, .. }) => End::Uncaught(exception),
        Err(RunError::Trap {
            trap: Trap::StackOverflow { .. },
            ..
        }) => End::StackOverflow,
        // Anything else is never right.
        Err(other) => End::Uncaught(format!("{other:?}")),
    }
}

fn compare_bytes(allocated: u64, expected: &Report) -> Result<(), String> {
    match allocated == expected.allocated {
        true => Ok(()),
        false => Err(format!(
            "bytes differ: the machine {allocated}, the reference {}",
            expected.allocated
        )),
    }
}

/// The columns of a profile: what each source was charged while it was current and, in stack
/// style, while it was anywhere on the stack. The collector is charged what it moves.
fn compare_profile(
    module: &Module,
    profile: &Profile,
    stats: &HeapStats,
    expected: &Report,
) -> Result<(), String> {
    let moved = stats.promoted_bytes + stats.copied_bytes;
    for kind in [Kind::Alloc, Kind::Count] {
        if !profile.kinds().contains(kind) {
            continue;
        }
        let rows = profile.data().counts(kind).rows;
        for (index, (row, counts)) in rows.iter().zip(&expected.counts).enumerate() {
            let name = &module.sources.names[module.sources.sources[index].name.index()];
            let (current, stack) = match kind {
                Kind::Alloc if index == SourceId::GC.index() => (moved, row.stack),
                Kind::Alloc => (counts.bytes, counts.stack_bytes),
                _ => (counts.calls, counts.stack_calls),
            };
            if row.current != current {
                return Err(format!(
                    "current {kind} differs: {name} has {} and should have {current}",
                    row.current
                ));
            }
            // No manual says whether `<unknown>` stays on the stack of a function that begins
            // without a source and opens one later.
            let has_stack = profile.style() == Style::Stack && index != SourceId::UNKNOWN.index();
            if has_stack && row.stack != stack {
                return Err(format!(
                    "stack {kind} differs: {name} has {} and should have {stack}",
                    row.stack
                ));
            }
        }
    }
    Ok(())
}
