//! Programs whose profiles MLton has written, played by hand.

use std::fs;
use std::path::{Path, PathBuf};

use profiler::mlmon::{CountRow, Mlmon};
use profiler::{Kind, ProfileData, SourceId, SourceMap, parse_show_sources};

use crate::script::{Op, Player};
use crate::{PLENTY, stack_data};

fn golden(run: &str) -> (PathBuf, SourceMap) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let folder = folder.join(run);
    let text = fs::read_to_string(folder.join("sources.txt")).unwrap();
    (folder, parse_show_sources(&text).unwrap())
}

/// The last split source of a name: the one that the program enters.
fn source(map: &SourceMap, label: &str) -> SourceId {
    let is_it = |&id: &u32| {
        let name = map.name_of(SourceId(id)).unwrap();
        name.split('\t').next() == Some(label)
    };
    let n_sources = map.sources.len() as u32;
    (0..n_sources).rev().find(is_it).map(SourceId).unwrap()
}

/// `list-rev` by hand: `rev` calls itself for the rest of the list, and then `append` as a tail
/// call, which calls itself for each element. A cell has 24 bytes, and is made after the call.
fn list_rev(data: &ProfileData, map: &SourceMap, n: u64) {
    let (rev, append) = (source(map, "rev"), source(map, "append"));
    let mut player = Player::new(data);
    for depth in 0..=n {
        player.step(Op::Call(rev));
        if depth == n / 2 {
            // The stack grows, in `rev` by this much and later in `append` by the rest.
            player.step(Op::Gc(65_600, 0));
        }
    }
    player.step(Op::Return);
    for length in 0..n {
        player.step(Op::Bytes(24));
        player.step(Op::TailCall(append));
        (0..length).for_each(|_| player.step(Op::Call(append)));
        if length == n - 2 {
            player.step(Op::Gc(32_808, 0));
        }
        for _ in 0..length {
            player.step(Op::Return);
            player.step(Op::Bytes(24));
        }
        player.step(Op::Return);
    }
}

/// Compares all rows but those of `<main>`, where we differ on purpose: our root is always on the
/// stack, while MLton's `<main>` is not while the world is made, and never in a count profile.
fn assert_like(actual: &Mlmon, folder: &Path, file: &str) {
    let expected = Mlmon::read_file(&folder.join(file)).unwrap();
    let main = SourceId::MAIN.index();
    for (actual, expected) in [
        (&actual.sources, &expected.sources),
        (&actual.names, &expected.names),
    ] {
        for (index, (actual, expected)) in actual.iter().zip(expected).enumerate() {
            if index != main {
                assert_eq!(actual, expected, "row {index} of {file}");
            }
        }
        assert_eq!(actual[main].current, expected[main].current);
    }
    assert_eq!(actual.totals, expected.totals);
    let row = actual.sources[main];
    let totals = (expected.totals.total, expected.totals.total_gc);
    assert_eq!((row.stack, row.stack_gc), totals);
}

#[test]
fn list_rev_allocates_as_in_mlton() {
    let (folder, map) = golden("list-rev/alloc-stack");
    for fold in [false, true] {
        let data = stack_data(&map, fold, PLENTY);
        // The list itself, and what the collector makes before the program starts.
        data.root().charge_bytes(48_408);
        data.node(SourceId::GC).charge_bytes(200);
        list_rev(&data, &map, 1000);
        assert_like(
            &data.mlmon(Kind::Alloc, &map).unwrap(),
            &folder,
            "mlmon.out",
        );
    }
}

#[test]
fn list_rev_counts_as_in_mlton() {
    let (folder, map) = golden("list-rev/count-stack");
    for fold in [false, true] {
        let data = stack_data(&map, fold, PLENTY);
        let mut player = Player::new(&data);
        for _ in 0..1000 {
            player.step(Op::Call(source(&map, "fn")));
            player.step(Op::Return);
        }
        list_rev(&data, &map, 1000);
        assert_like(
            &data.mlmon(Kind::Count, &map).unwrap(),
            &folder,
            "mlmon.out",
        );
    }
}

#[test]
fn a_unit_that_is_switched_to_has_the_open_frames() {
    let (folder, map) = golden("fib-tak/alloc-stack");
    let first = stack_data(&map, false, PLENTY);
    let mut player = Player::new(&first);
    // `f`, `wrap` and its `fn`, and below `fib`: of each the first copy.
    for id in [7, 8, 9] {
        player.step(Op::Call(SourceId(id)));
    }
    let fib = first.new_like();
    let mut player = Player {
        data: &fib,
        frames: Vec::new(),
        current: first.translate(&fib, player.current),
    };
    player.step(Op::Call(SourceId(3)));
    player.step(Op::Gc(4264, 0));
    let mlmon = fib.mlmon(Kind::Alloc, &map).unwrap();
    assert_like(&mlmon, &folder, "mlmon.fib.out");
    let row = |current, stack, stack_gc| CountRow {
        current,
        stack,
        stack_gc,
    };
    assert_eq!(mlmon.sources[SourceId::GC.index()], row(4264, 0, 4264));
    assert_eq!(mlmon.sources[SourceId::MAIN.index()], row(0, 0, 4264));
}
