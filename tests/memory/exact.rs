//! `--profile heap`: every figure against what the heap itself counts, or what is known.

use std::sync::Arc;

use profiler::{Kind, Profile, Style};
use vm::{GcStress, HeapConfig, Vm, VmConfig};

use super::{HEAVY, counted, file_of, heap_of, is_one_of, machine_of, row_of, run, run_example};
use super::{short_examples, support::module_of};

fn check_sums(vm: &Vm, what: &str) {
    let heap = heap_of(vm);
    let stats = vm.heap_stats();
    let totals = heap.totals();
    let work = stats.promoted_bytes + stats.copied_bytes;
    assert_eq!(heap.gc_work_bytes, work, "{what}: GC work");
    assert_eq!(totals.gc_trigger_bytes, work, "{what}: triggered");
    assert_eq!(totals.gc_copy_bytes, work, "{what}: copied");
    assert_eq!(
        totals.allocated_bytes,
        vm.allocated_bytes(),
        "{what}: allocated"
    );
    for row in &heap.sources {
        let survived: u64 = row.survived.iter().sum();
        assert_eq!(
            survived, row.allocated_bytes,
            "{what}: each byte has an age"
        );
        assert!(row.live_bytes <= row.allocated_bytes, "{what}");
        assert!(row.promoted_bytes <= row.allocated_bytes, "{what}");
    }
    assert!(
        totals.promoted_bytes >= stats.promoted_bytes,
        "{what}: promoted"
    );
    assert!(totals.peak_bytes >= totals.live_bytes, "{what}: peak");
}

#[test]
fn sums_are_the_heaps_own_counters_with_any_nursery() {
    let mut work = 0;
    for example in short_examples() {
        for nursery_bytes in [16 << 10, 100_000, 2 << 20] {
            let heap = HeapConfig {
                nursery_bytes,
                ..HeapConfig::default()
            };
            let vm = run_example(&example, VmConfig { heap, ..counted() });
            check_sums(&vm, &format!("{} {nursery_bytes}", example.display()));
            work += heap_of(&vm).gc_work_bytes;
        }
    }
    assert!(work > 0, "some of them collect");
}

#[test]
fn sums_are_the_heaps_own_counters_under_stress() {
    for example in short_examples() {
        if is_one_of(&example, &HEAVY) {
            continue;
        }
        let heap = HeapConfig {
            nursery_bytes: 16 << 10,
            stress: GcStress::On,
            ..HeapConfig::default()
        };
        let vm = run_example(&example, VmConfig { heap, ..counted() });
        check_sums(&vm, &example.display().to_string());
    }
}

const UNITS: &str = "
fun make(n: i) {
    x = null
next:
    jle n, 0, done
    x = new 1, [x], [n]
    n = sub n, 1
    jmp next
done:
    ret
}
fun main() {
    call make(100)
    ret
}";

/// Units come and go; what the heap is asked is what the program did, in all of them.
#[test]
fn allocation_is_counted_over_all_units_in_both_styles() {
    for style in [Style::Current, Style::Stack] {
        let n_sources = module_of(UNITS).source_map().sources.len();
        let profile = Profile::new(Kind::Alloc.into(), n_sources).with_style(style);
        let mut vm = machine_of(
            UNITS,
            VmConfig {
                profile: Some(Arc::new(profile)),
                ..counted()
            },
        );
        run(&mut vm);
        let [kept, freed] = [vm.new_unit(), vm.new_unit()];
        for unit in [kept, freed] {
            vm.with_unit(unit, run).expect("the unit is there");
        }
        check_sums(&vm, "with units");
        vm.free_unit(freed).expect("it is not current");
        check_sums(&vm, "with a freed unit");
        assert_eq!(row_of(&file_of(&vm), "make").allocated_bytes, 3 * 100 * 24);
        vm.switch_unit(kept).expect("the unit is there");
        vm.free_unit(vm::Unit::FIRST).expect("it is not current");
        run(&mut vm);
        check_sums(&vm, "without the first unit");
    }
}

#[test]
fn an_excluded_function_is_a_source_of_its_caller_in_all_columns() {
    use profiler::SourceFilter;
    let sources = module_of(UNITS).source_map();
    let filter = SourceFilter::parse(&[] as &[String], &["make".to_owned()]).expect("a filter");
    let profile = Profile::new(Kind::Alloc.into(), sources.sources.len());
    let mut vm = machine_of(
        UNITS,
        VmConfig {
            profile: Some(Arc::new(profile.with_filter(&filter, &sources))),
            ..counted()
        },
    );
    run(&mut vm);
    check_sums(&vm, "with a filter");
}

/// 100 cells of 3 words, 10 of which stay, and an array of 1,000 bytes behind 2 words.
const KNOWN: &str = "
fun cell(xs: r, n: i) -> r {
    xs = new 1, [xs], [n]
    ret xs
}
fun big() -> r {
    n = 1000
    zero = 0
    a = new_b n, zero
    ret a
}
fun main() {
    xs = null
    n = 100
next:
    xs = call cell(xs, n)
    n = sub n, 1
    jgt n, 0, next
    a: r = call big()
    call gc()
    a = null
    n = 90
drop:
    xs = ld_r xs, 0
    n = sub n, 1
    jgt n, 0, drop
    call gc()
    ret
}";

#[test]
fn live_and_peak_are_known_to_the_byte() {
    let mut vm = machine_of(KNOWN, counted());
    run(&mut vm);
    check_sums(&vm, "known");
    let file = file_of(&vm);
    let cell = row_of(&file, "cell");
    assert_eq!((cell.allocated_bytes, cell.peak_bytes), (2400, 2400));
    assert_eq!((cell.live_bytes, cell.live_objects), (240, 10));
    assert_eq!(
        (cell.promoted_bytes, cell.gc_copy_bytes),
        (2400, 2400 + 240)
    );
    assert_eq!(cell.survived[..3], [0, 2160, 240]);
    let big = row_of(&file, "big");
    assert_eq!((big.allocated_bytes, big.peak_bytes), (1016, 1016));
    assert_eq!((big.live_bytes, big.live_objects), (0, 0));
    let main = row_of(&file, "<main>");
    assert_eq!(
        main.gc_trigger_bytes,
        heap_of(&vm).gc_work_bytes,
        "it asked"
    );
}

#[test]
fn ages_are_the_major_collections_lived_through() {
    let mut text = String::new();
    for age in 0..10 {
        text += &format!("fun age{age}() -> r {{\n x = new 1, [], []\n ret x\n}}\n");
    }
    text += "fun main() {\n";
    for age in 0..10 {
        text += &format!(" x{age}: r = call age{age}()\n");
    }
    for age in 0..10 {
        text += &format!(" jnull x{age}, done\n x{age} = null\n call gc()\n");
    }
    text += "done:\n ret\n}\n";
    let mut vm = machine_of(&text, counted());
    run(&mut vm);
    let file = file_of(&vm);
    for age in 0..10 {
        let mut expected = [0; 8];
        expected[age.min(7)] = 8;
        let row = row_of(&file, &format!("age{age}"));
        assert_eq!(row.survived, expected, "age {age}");
        assert_eq!(row.live_bytes, 0);
    }
}

/// Lists that grow to 2,400,000 bytes and are dropped, where no collection is due by itself.
const MOUNTAINS: &str = "
fun cell(xs: r, n: i) -> r {
    xs = new 1, [xs], [n]
    ret xs
}
fun main() {
    rounds = 3
again:
    xs = null
    n = 100000
next:
    xs = call cell(xs, n)
    n = sub n, 1
    jgt n, 0, next
    rounds = sub rounds, 1
    jgt rounds, 0, again
    xs = null
    ret
}";

#[test]
fn the_peak_is_closer_with_collections_for_it() {
    const PEAK: u64 = 2_400_000;
    const NURSERY: u64 = 64 << 10;
    let peak = |peak_percent| {
        let heap = HeapConfig {
            nursery_bytes: NURSERY as usize,
            peak_percent,
            ..HeapConfig::default()
        };
        let mut vm = machine_of(MOUNTAINS, VmConfig { heap, ..counted() });
        run(&mut vm);
        check_sums(&vm, "mountains");
        heap_of(&vm).totals().peak_bytes
    };
    let (without, loose, close) = (peak(None), peak(Some(50)), peak(Some(5)));
    assert!(without < PEAK / 2, "nothing looked: {without}");
    assert!(loose <= PEAK && close <= PEAK, "{loose} {close}");
    assert!((loose + NURSERY) * 150 / 100 >= PEAK, "{loose}");
    assert!((close + NURSERY) * 105 / 100 >= PEAK, "{close}");
}
