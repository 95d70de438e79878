//! The tree of calling contexts against MLton's own accounting, with random programs.

mod deep;
mod golden;
mod model;
mod script;
mod units;

use std::cell::Cell;
use std::collections::HashMap;

use profiler::mlmon::{CountRow, Mlmon};
use profiler::{ContextConfig, Kind, Node, ProfileData, SourceId, SourceMap, Style};

use model::Finished;
use script::{Op, Player, Random, play_model, random_map, random_script};

const N_SCRIPTS: u64 = 3000;

/// More nodes than any script can make.
const PLENTY: usize = 1 << 20;

fn stack_data(map: &SourceMap, fold_recursion: bool, node_limit: usize) -> ProfileData {
    let config = ContextConfig {
        fold_recursion,
        node_limit,
    };
    ProfileData::in_style(map.sources.len(), Style::Stack, config)
}

/// The sources on the way to `node`, the root's first.
fn path(node: &Node) -> Vec<SourceId> {
    let mut path = Vec::new();
    let mut around: *const Node = node;
    // SAFETY: a parent lives as long as its child, and `node` is borrowed.
    while let Some(node) = unsafe { around.as_ref() } {
        path.push(node.source);
        around = node.parent();
    }
    path.reverse();
    path
}

/// Each source once, where it first occurs.
fn first_occurrences(path: &[SourceId]) -> Vec<SourceId> {
    let mut firsts = Vec::new();
    for &source in path {
        if !firsts.contains(&source) {
            firsts.push(source);
        }
    }
    firsts
}

fn finished(mlmon: Mlmon) -> Finished {
    let Mlmon {
        totals,
        sources,
        names,
        ..
    } = mlmon;
    Finished {
        totals,
        sources,
        names,
    }
}

/// Runs `check` with thousands of random programs.
fn for_random_scripts(check: impl Fn(&mut Random, &SourceMap, &[Op])) {
    for seed in 0..N_SCRIPTS {
        let random = &mut Random(seed);
        let n = 1 + random.below(12);
        let map = random_map(random, n);
        let script = random_script(random, &map);
        check(random, &map, &script);
    }
}

#[test]
fn the_columns_are_mltons() {
    for_random_scripts(|_, map, script| {
        for fold in [false, true] {
            let data = stack_data(map, fold, PLENTY);
            Player::new(&data).play(script);
            assert_eq!(data.notice(), None);
            for kind in Kind::ALL {
                let actual = finished(data.mlmon(kind, map).unwrap());
                assert_eq!(actual, play_model(map, script, kind), "{kind} {fold}");
                assert_eq!(data.counts(kind).rows, actual.sources);
            }
        }
    });
}

#[test]
fn the_sums_are_the_totals() {
    for_random_scripts(|random, map, script| {
        let data = stack_data(map, false, random.below(200) as usize);
        Player::new(&data).play(script);
        for kind in Kind::ALL {
            let mlmon = data.mlmon(kind, map).unwrap();
            let totals = mlmon.totals;
            for rows in [&mlmon.sources, &mlmon.names] {
                let sum = |column: fn(&CountRow) -> u64| rows.iter().map(column).sum::<u64>();
                assert_eq!(sum(|row| row.current), totals.total + totals.total_gc);
                assert!(rows.iter().all(|row| row.stack <= totals.total));
                assert!(rows.iter().all(|row| row.stack_gc <= totals.total_gc));
                let main = rows[SourceId::MAIN.index()];
                assert_eq!((main.stack, main.stack_gc), (totals.total, totals.total_gc));
                let gc = rows[SourceId::GC.index()];
                assert_eq!(
                    (gc.current, gc.stack, gc.stack_gc),
                    (totals.total_gc, 0, gc.current)
                );
            }
        }
    });
}

#[test]
fn the_node_limit_bounds_memory_and_keeps_current_counts() {
    let n_lost = Cell::new(0);
    for_random_scripts(|random, map, script| {
        let limit = random.below(60) as usize;
        let fold = random.below(2) == 0;
        let data = stack_data(map, fold, limit);
        Player::new(&data).play(script);
        assert!(data.n_nodes() <= limit.max(map.sources.len()));
        assert_eq!(data.n_nodes(), data.contexts().count());
        let lost = data.notice().is_some_and(|text| text.contains("too low"));
        n_lost.set(n_lost.get() + u32::from(lost));
        for kind in Kind::ALL {
            let expected = play_model(map, script, kind);
            let actual = finished(data.mlmon(kind, map).unwrap());
            if !lost {
                assert_eq!(actual, expected, "what is only folded is exact");
            }
            assert_eq!(actual.totals, expected.totals);
            for (actual, expected) in actual.sources.iter().zip(&expected.sources) {
                assert_eq!(actual.current, expected.current);
                assert!(actual.stack <= expected.stack);
                assert!(actual.stack_gc <= expected.stack_gc);
            }
        }
    });
    // The limit is small enough to matter, and not too small.
    assert!((500..2500).contains(&n_lost.get()), "{n_lost:?}");
}

#[test]
fn an_exact_node_is_the_stack_and_a_folded_one_its_first_occurrences() {
    for_random_scripts(|_, map, script| {
        let (exact, folded) = (
            stack_data(map, false, PLENTY),
            stack_data(map, true, PLENTY),
        );
        let (mut exact, mut folded) = (Player::new(&exact), Player::new(&folded));
        let mut node_of = HashMap::new();
        for &op in script {
            exact.step(op);
            folded.step(op);
            let stack = path(exact.current);
            assert_eq!(stack.len(), exact.frames.len() + 1);
            let current = folded.current;
            assert_eq!(first_occurrences(&stack), first_occurrences(&path(current)));
            assert_eq!(stack.last(), Some(&current.source));
            // Two contexts that are to share a node do so.
            let identity = (first_occurrences(&stack), current.source);
            let node = node_of.entry(identity).or_insert(current);
            assert!(std::ptr::eq(*node, current));
        }
    });
}

#[test]
fn every_context_comes_after_its_parent() {
    for_random_scripts(|random, map, script| {
        let data = stack_data(map, random.below(2) == 0, random.below(300) as usize);
        Player::new(&data).play(script);
        let contexts: Vec<_> = data.contexts().collect();
        for (index, (node, parent)) in contexts.iter().enumerate() {
            assert_eq!(parent.is_none(), index == 0);
            assert!(parent.is_none_or(|parent| parent < index));
            let expected = parent.map_or(std::ptr::null(), |p| std::ptr::from_ref(contexts[p].0));
            assert_eq!(node.parent(), expected);
        }
        assert!(std::ptr::eq(contexts[0].0, data.root()));
    });
}
