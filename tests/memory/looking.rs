//! Looking what is alive is no work of the program.

use crate::support::lock::Lock;
use std::sync::Arc;

use profiler::memory::MemoryFile;
use profiler::{Kind, Profile};
use vm::memprof::MemprofConfig;
use vm::{HeapConfig, HeapStats, VmConfig};

use super::support::module_of;
use super::{counted, file_of, machine_of, row_of, run, run_example, short_examples};

/// What does not depend on the time of day.
fn counters(stats: &HeapStats) -> [u64; 6] {
    [
        stats.allocated_bytes,
        stats.minor_collections,
        stats.major_collections,
        stats.promoted_bytes,
        stats.copied_bytes,
        stats.max_live_bytes,
    ]
}

#[test]
fn the_look_at_the_end_changes_no_counter_and_no_other_profile() {
    for example in short_examples() {
        let text = std::fs::read_to_string(&example).expect("an example");
        let n_sources = module_of(&text).source_map().sources.len();
        let measure = |census, rate: Option<f64>| {
            let profile = Arc::new(Profile::new(Kind::Alloc.into(), n_sources));
            let vm = run_example(
                &example,
                VmConfig {
                    heap: HeapConfig {
                        nursery_bytes: 64 << 10,
                        ..HeapConfig::default()
                    },
                    profile: Some(profile.clone()),
                    census,
                    sampling: rate.map(|rate| MemprofConfig {
                        rate,
                        ..MemprofConfig::default()
                    }),
                    ..VmConfig::default()
                },
            );
            let totals = profile.data().counts(Kind::Alloc).totals;
            let pauses: u64 = vm.heap_stats().pauses.iter().sum();
            (counters(&vm.heap_stats()), pauses, totals)
        };
        let plain = measure(false, None);
        let shown = example.display();
        assert_eq!(measure(true, None), plain, "{shown} heap");
        assert_eq!(measure(false, Some(0.01)), plain, "{shown} mem");
        assert_eq!(measure(true, Some(0.01)), plain, "{shown} both");
    }
}

/// Lists that are dropped, with collections only where the program asks for them.
const ROUNDS: &str = "
fun cell(xs: r, n: i) -> r {
    xs = new 1, [xs], [n]
    ret xs
}
fun main() {
    kept = null
    rounds = 20
again:
    xs = null
    n = 50
next:
    xs = call cell(xs, n)
    n = sub n, 1
    jgt n, 0, next
    kept = call cell(kept, n)
    call gc()
    rounds = sub rounds, 1
    jgt rounds, 0, again
    ret
}";

/// The profile at the end of a run, and those of snapshots as often as can be.
fn with_snapshots(n_snapshots: usize) -> (MemoryFile, Vec<MemoryFile>) {
    let mut vm = machine_of(ROUNDS, counted());
    let files = Arc::new(Lock::new(Vec::new()));
    let (kept, interrupt) = (files.clone(), vm.interrupt());
    vm.on_snapshot(move |snapshot| {
        let mut files = kept.borrow_mut();
        files.push(snapshot.memory_file("test").expect("a memory profile"));
        if files.len() < n_snapshots {
            interrupt.snapshot();
        }
    });
    if n_snapshots > 0 {
        vm.interrupt().snapshot();
    }
    run(&mut vm);
    let files = files.take();
    assert_eq!(files.len(), n_snapshots, "the program runs for long enough");
    (file_of(&vm), files)
}

#[test]
fn snapshots_change_no_figure_of_the_work_that_comes_later() {
    let (plain, _) = with_snapshots(0);
    let (watched, files) = with_snapshots(400);
    let (before, after) = (row_of(&plain, "cell"), row_of(&watched, "cell"));
    assert_eq!(before.survived, after.survived, "ages");
    assert_eq!(before.live_bytes, after.live_bytes);
    assert_eq!(before.allocated_bytes, after.allocated_bytes);
    let work = |file: &MemoryFile| file.heap.as_ref().map(|heap| heap.gc_work_bytes);
    assert_eq!(work(&plain), work(&watched), "GC work");
    assert_eq!(
        [plain.header.n_minor, plain.header.n_major],
        [watched.header.n_minor, watched.header.n_major]
    );
    for file in files {
        let heap = file.heap.as_ref().expect("the heap is counted");
        assert!(heap.is_balanced(), "in the midst of a run");
        let row = row_of(&file, "cell");
        assert_eq!(row.survived.iter().sum::<u64>(), row.allocated_bytes);
        assert_eq!(row.live_bytes, 24 * row.live_objects);
    }
}

/// Two looks with nothing between them say the same.
#[test]
fn a_second_look_sees_what_the_first_has_seen() {
    let (_, files) = with_snapshots(400);
    let same = files.windows(2).filter(|two| {
        two[0].header.allocated_bytes == two[1].header.allocated_bytes
            && two[0].header.n_major == two[1].header.n_major
    });
    for two in same {
        let [first, second] = [&two[0], &two[1]].map(|file| row_of(file, "cell"));
        assert!(second.live_bytes <= first.live_bytes, "nothing was made");
        assert_eq!(first.gc_copy_bytes, second.gc_copy_bytes);
        assert_eq!(first.survived, second.survived);
        assert_eq!(first.promoted_bytes, second.promoted_bytes);
    }
}
