//! Several machines on threads of their own: each takes its profile, and the sum loses nothing.

mod support;

use std::sync::Arc;
use std::thread;

use profiler::memory::MemoryTeam;
use profiler::{Kind, KindSet, Profile, ProfileData, ProfileInUse, Rate, SourceMap, Style};
use support::{is_stressed, machine, module_of, verified};
use vm::host::{HostIo, Hosts};
use vm::memprof::MemprofConfig;
use vm::{Unit, Vm, VmConfig, VmError};

const THREADS: u64 = 3;

/// A program that is busy for a while. Its phase of `pair`s is in a unit of its own, number 1.
const PROGRAM: &str = "
    fun pair(n: i) -> r {
        p = new 1, [], [n, n]
        ret p
    }
    fun spin(n: i) -> i {
        jeq n, 0, done
        m = sub n, 1
        k = call spin(m)
        p = call pair(k)
        ret n
    done:
        ret 0
    }
    fun phase(n: i) {
        unit = call profile_new()
        before = call profile_switch(unit)
    again:
        p = call pair(n)
        n = sub n, 1
        jgt n, 0, again
        before = call profile_switch(before)
        ret
    }
    export fun work(n: i) {
        call phase(1000)
    again:
        k = call spin(500)
        n = sub n, 1
        jgt n, 0, again
        ret
    }
    fun main() {
        ret
    }";

/// What one thread has to tell.
struct Told {
    /// The data of the machine's first unit, and that of the phase.
    units: [ProfileData; 2],
    bytes: u64,
    rate: Rate,
}

/// An empty unit with the counts of another one, which the caller may keep.
fn copy_of(data: &ProfileData) -> ProfileData {
    let copy = data.new_like();
    copy.absorb(data);
    copy
}

/// Runs the program on a thread of its own, for the longer the higher its number.
fn run(thread: u64, style: Style) -> Told {
    let sources = module_of(PROGRAM).source_map();
    let kinds: KindSet = "time,alloc,count".parse().expect("kinds");
    let profile = Profile::new(kinds, sources.sources.len())
        .with_hz(500)
        .with_style(style);
    let config = VmConfig {
        profile: Some(Arc::new(profile)),
        ..VmConfig::default()
    };
    let mut vm = machine(PROGRAM, config);
    let work = vm.module().function_named("work").expect("the function");
    let rounds = rounds(thread) as i64;
    vm.call(work, &[rounds]).expect("the program ends well");
    let made = vm.unit(1).expect("the unit of the phase");
    let units = [Unit::FIRST, made].map(|unit| {
        let data = vm.unit_data(unit).expect("a unit");
        copy_of(data.expect("a profile is taken"))
    });
    Told {
        units,
        bytes: vm.allocated_bytes(),
        rate: vm.tick_rate().expect("a time profile is taken"),
    }
}

fn rounds(thread: u64) -> u64 {
    let rounds = 10 + 5 * thread;
    if is_stressed() { rounds } else { rounds * 200 }
}

/// All counts of a kind, the collector's with them.
fn sum(data: &ProfileData, kind: Kind) -> u64 {
    let totals = data.counts(kind).totals;
    totals.total + totals.total_gc
}

fn calls(data: &ProfileData, sources: &SourceMap, name: &str) -> u64 {
    let counts = data.counts(Kind::Count);
    let is_named = |id: &usize| {
        let name_id = sources.sources[*id].name.index();
        sources.names[name_id].split('\t').next() == Some(name)
    };
    let id = (0..sources.sources.len()).find(is_named);
    counts.sources[id.expect("the source")]
}

#[test]
fn the_sum_over_threads_loses_nothing() {
    let sources = module_of(PROGRAM).source_map();
    for style in [Style::Current, Style::Stack] {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| thread::spawn(move || run(number, style)))
            .collect();
        let told: Vec<Told> = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect();
        let [all, phase] = [0, 1].map(|unit| {
            let all = told[0].units[unit].new_like();
            told.iter().for_each(|one| all.absorb(&one.units[unit]));
            all
        });
        let rounds: u64 = (0..THREADS).map(rounds).sum();
        assert_eq!(calls(&all, &sources, "spin"), rounds * 501);
        assert_eq!(calls(&all, &sources, "pair"), rounds * 500);
        assert_eq!(calls(&phase, &sources, "pair"), THREADS * 1000);
        assert_eq!(calls(&all, &sources, "phase"), THREADS);
        let allocated: u64 = told.iter().map(|one| one.bytes).sum();
        let program = |data: &ProfileData| data.counts(Kind::Alloc).totals.total;
        assert_eq!(program(&phase), THREADS * 1000 * 24);
        assert_eq!(program(&all) + program(&phase), allocated);
        for kind in [Kind::Time, Kind::Alloc, Kind::Count] {
            let parts = told.iter().map(|one| sum(&one.units[0], kind));
            assert_eq!(sum(&all, kind), parts.sum::<u64>(), "{kind} {style:?}");
        }
        for one in &told {
            let charged: u64 = one.units.iter().map(|data| sum(data, Kind::Time)).sum();
            // A tick may come right before the program's first op, or after its last one.
            let difference = charged.abs_diff(one.rate.ticks);
            assert!(
                difference <= 2,
                "{charged} charged, {:?} {style:?}",
                one.rate
            );
        }
        // Tens of milliseconds of CPU time on each thread are enough for a tick somewhere.
        assert!(is_stressed() || sum(&all, Kind::Time) > 0, "no tick at all");
        if style == Style::Stack {
            let main = all.counts(Kind::Alloc).rows[2];
            assert_eq!(main.stack, program(&all), "<main> is below everything");
        }
    }
}

/// Counters are no atomic adds: two machines that counted in one profile lost what the other had
/// counted.
#[test]
fn a_profile_that_a_machine_counts_in_is_refused_to_another() {
    let module = module_of(PROGRAM);
    let profile = Arc::new(Profile::new(
        Kind::Count.into(),
        module.sources.sources.len(),
    ));
    let make = || {
        let config = VmConfig {
            profile: Some(profile.clone()),
            ..VmConfig::default()
        };
        let hosts = Hosts::standard(HostIo::process(Vec::new()));
        Vm::new(verified(PROGRAM), hosts, config)
    };
    let first = make().expect("nobody else counts in the profile");
    assert_eq!(make().err(), Some(VmError::ProfileInUse(ProfileInUse)));
    thread::scope(|scope| {
        let other = scope.spawn(|| make().err());
        let refused = other.join().expect("no panic");
        assert_eq!(refused, Some(VmError::ProfileInUse(ProfileInUse)));
    });
    drop(first);
    assert!(make().is_ok(), "the machine that held the profile is gone");
}

/// A profile that is handed on from thread to thread keeps every count.
#[test]
fn machines_that_take_turns_with_a_profile_add_up_in_it() {
    let module = module_of(PROGRAM);
    let sources = module.source_map();
    let profile = Arc::new(Profile::new(Kind::Count.into(), sources.sources.len()));
    for _ in 0..THREADS {
        let profile = Some(profile.clone());
        let run = || {
            let config = VmConfig {
                profile,
                ..VmConfig::default()
            };
            let mut vm = machine(PROGRAM, config);
            let work = vm.module().function_named("work").expect("the function");
            vm.call(work, &[2]).expect("the program ends well");
        };
        thread::scope(|scope| scope.spawn(run).join().expect("no panic"));
    }
    assert_eq!(calls(profile.data(), &sources, "spin"), THREADS * 2 * 501);
}

/// A profile that machines on several threads have joined has all that they count, while they run
/// and when they are gone.
#[test]
fn machines_that_join_a_profile_are_in_its_total_once() {
    let module = module_of(PROGRAM);
    let sources = module.source_map();
    for style in [Style::Current, Style::Stack] {
        let kinds: KindSet = "time,alloc,count".parse().expect("kinds");
        let profile = Profile::new(kinds, sources.sources.len())
            .with_hz(500)
            .with_style(style);
        let profile = Arc::new(profile);
        let run = |member: Arc<Profile>| {
            let config = VmConfig {
                profile: Some(member),
                ..VmConfig::default()
            };
            let mut vm = machine(PROGRAM, config);
            let work = vm.module().function_named("work").expect("the function");
            vm.call(work, &[20]).expect("the program ends well");
            let phase = vm.unit(1).expect("the unit of the phase");
            let data = vm.unit_data(phase).expect("a unit");
            let phase = data.expect("a profile is taken").counts(Kind::Alloc);
            let rate = vm.tick_rate().expect("a time profile is taken");
            (vm.allocated_bytes() - phase.totals.total, rate.ticks)
        };
        let told: Vec<(u64, u64)> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| {
                    let member = profile.join();
                    scope.spawn(|| run(member))
                })
                .collect();
            // To read meanwhile changes nothing.
            while !threads.iter().all(|thread| thread.is_finished()) {
                let counts = profile.total().counts(Kind::Count);
                assert!(counts.totals.total <= (THREADS + 1) * 30_000);
                thread::yield_now();
            }
            let told = threads.into_iter().map(|thread| thread.join());
            told.map(|told| told.expect("no panic")).collect()
        });
        let own = run(profile.clone());
        let total = profile.total();
        assert_eq!(calls(&total, &sources, "spin"), (THREADS + 1) * 20 * 501);
        let allocated: u64 = told.iter().chain([&own]).map(|one| one.0).sum();
        assert_eq!(
            total.counts(Kind::Alloc).totals.total,
            allocated,
            "{style:?}"
        );
        let ticks: u64 = told.iter().chain([&own]).map(|one| one.1).sum();
        // Those of the phases are in units of their own, and a tick may come at either end.
        assert!(sum(&total, Kind::Time) <= ticks);
        assert_eq!(calls(profile.data(), &sources, "spin"), 20 * 501, "its own");
    }
}

/// A memory profile that machines on several threads have joined has each machine's figures once.
#[test]
fn machines_that_join_a_memory_profile_are_in_its_total_once() {
    for (census, rate) in [(true, None), (false, Some(1.0)), (true, Some(0.01))] {
        let team = MemoryTeam::new("threads");
        let config = || VmConfig {
            census,
            sampling: rate.map(|rate| MemprofConfig {
                rate,
                ..MemprofConfig::default()
            }),
            memory_team: Some(team.clone()),
            ..VmConfig::default()
        };
        let run = |rounds: i64| {
            let mut vm = machine(PROGRAM, config());
            let work = vm.module().function_named("work").expect("the function");
            vm.call(work, &[rounds]).expect("the program ends well");
            // What is handed in twice counts once.
            vm.hand_in_memory();
            vm.call(work, &[rounds]).expect("the program ends well");
            vm.hand_in_memory();
            vm.allocated_bytes()
        };
        assert!(team.total().expect("nobody yet").is_none());
        let allocated: u64 = thread::scope(|scope| {
            let threads = (1..=4).map(|rounds| scope.spawn(move || run(rounds)));
            let threads: Vec<_> = threads.collect();
            let allocated = threads.into_iter().map(|thread| thread.join());
            allocated.map(|bytes| bytes.expect("no panic")).sum()
        });
        let total = team.total().expect("of one program").expect("four members");
        assert_eq!(total.header.allocated_bytes, allocated);
        if census {
            let heap = total.heap.expect("exact figures");
            let charged: u64 = heap.sources.iter().map(|row| row.allocated_bytes).sum();
            assert_eq!(charged, allocated);
        }
    }
}
