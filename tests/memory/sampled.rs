//! `--profile mem`: at rate 1, the samples are the exact figures.

use std::collections::HashMap;

use profiler::SourceId;
use profiler::memory::{Measure, MemoryFile};
use vm::memprof::MemprofConfig;
use vm::{HeapConfig, VmConfig};

use super::{counted, file_of, run_example, short_examples};

/// Sampled bytes by source.
fn bytes_by_source(file: &MemoryFile, measure: Measure) -> HashMap<SourceId, f64> {
    let mut sums = HashMap::new();
    for (call, figures) in &file.rows {
        let source = file
            .site(*call)
            .map_or(SourceId::UNKNOWN, |site| site.source);
        *sums.entry(source).or_default() += figures.get(measure).bytes;
    }
    sums
}

#[test]
fn samples_of_every_word_are_the_exact_figures() {
    for example in short_examples() {
        for nursery_bytes in [32 << 10, 2 << 20] {
            let config = VmConfig {
                heap: HeapConfig {
                    nursery_bytes,
                    ..HeapConfig::default()
                },
                sampling: Some(MemprofConfig {
                    rate: 1.0,
                    ..MemprofConfig::default()
                }),
                ..counted()
            };
            let vm = run_example(&example, config);
            let what = format!("{} {nursery_bytes}", example.display());
            check(&file_of(&vm), &what);
            assert_eq!(vm.word_clock() * 8, vm.allocated_bytes(), "{what}");
        }
    }
}

fn check(file: &MemoryFile, what: &str) {
    let heap = file.heap.as_ref().expect("the heap is counted");
    let measures = [
        Measure::Allocated,
        Measure::Live,
        Measure::Promoted,
        Measure::Peak,
    ];
    for measure in measures {
        let sums = bytes_by_source(file, measure);
        for (index, row) in heap.sources.iter().enumerate() {
            let exact = match measure {
                Measure::Allocated => row.allocated_bytes,
                Measure::Live => row.live_bytes,
                Measure::Promoted => row.promoted_bytes,
                _ => row.peak_bytes,
            };
            let sampled = sums.get(&SourceId(index as u32)).copied().unwrap_or(0.0);
            let name = &file.sources[index].function;
            assert_eq!(sampled, exact as f64, "{what}: {measure:?} of {name}");
        }
    }
}
