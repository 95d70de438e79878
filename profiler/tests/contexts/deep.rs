//! Trees of a million contexts and more, on a thread with next to no stack.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use profiler::{
    ContextConfig, Kind, Node, ProfileData, SourceId, SourceMap, SourceMapBuilder, SourceSeqId,
    Style, Translator,
};

use crate::script::{Op, Player};
use crate::{path, stack_data};

const DEPTH: usize = 2_000_000;
/// Deep enough to notice a pass over the stack for each frame.
const MANY_FRAMES: usize = 200_000;

fn folding() -> ContextConfig {
    ContextConfig {
        fold_recursion: true,
        ..ContextConfig::default()
    }
}

fn two_functions() -> (SourceMap, [SourceId; 2]) {
    let mut builder = SourceMapBuilder::new();
    let sources = ["f", "g"].map(|label| {
        let name = builder.add_name(label);
        builder.add_source(name, SourceSeqId::EMPTY)
    });
    (builder.finish(0).unwrap(), sources)
}

fn with_a_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(64 << 10);
    thread.spawn(test).unwrap().join().unwrap();
}

/// Calls `f` and `g` in turns, `depth` deep, with 1 byte and 1 call in each, and a byte of GC at
/// the bottom. Checks the columns.
fn recur<'a>(
    data: &'a ProfileData,
    map: &SourceMap,
    sources: [SourceId; 2],
    depth: usize,
) -> Player<'a> {
    let mut player = Player::new(data);
    for i in 0..depth {
        player.step(Op::Call(sources[i % 2]));
        player.step(Op::Bytes(1));
    }
    player.step(Op::Gc(1, 0));
    check(data, map, sources, [1, depth as u64]);
    player
}

/// Checks the columns of so many such runs.
fn check(data: &ProfileData, map: &SourceMap, [f, g]: [SourceId; 2], [times, depth]: [u64; 2]) {
    let (all, half) = (times * depth, times * depth / 2);
    let columns = |kind, source: SourceId| {
        let row = data.mlmon(kind, map).unwrap().sources[source.index()];
        (row.current, row.stack, row.stack_gc)
    };
    assert_eq!(columns(Kind::Alloc, f), (half, all, times));
    assert_eq!(columns(Kind::Alloc, g), (half, all - times, times));
    assert_eq!(columns(Kind::Count, f), (half, all, 0));
    assert_eq!(columns(Kind::Count, SourceId::MAIN), (0, all, 0));
}

#[test]
fn exact_recursion_needs_no_native_stack() {
    with_a_small_stack(|| {
        let (map, sources) = two_functions();
        let data = stack_data(&map, false, 2 * DEPTH);
        recur(&data, &map, sources, DEPTH);
        assert_eq!((data.n_nodes(), data.notice()), (DEPTH + 5, None));
        let sum = data.new_like();
        sum.absorb(&data);
        sum.absorb(&data);
        check(&sum, &map, sources, [2, DEPTH as u64]);
    });
}

#[test]
fn folded_recursion_needs_no_nodes() {
    let (map, sources) = two_functions();
    let data = stack_data(&map, true, 1 << 20);
    recur(&data, &map, sources, DEPTH);
    assert!(data.n_nodes() <= 9, "{}", data.n_nodes());
    assert_eq!(data.notice(), None);
}

#[test]
fn recursion_beyond_the_limit_is_folded_and_stays_exact() {
    let (map, sources) = two_functions();
    let limit = 1 << 16;
    let data = stack_data(&map, false, limit);
    recur(&data, &map, sources, DEPTH);
    assert!(data.n_nodes() <= limit);
    let notice = data.notice().unwrap();
    assert!(notice.contains("recursion was folded"), "{notice}");
}

#[test]
fn all_frames_of_a_deep_stack_are_translated_in_one_pass() {
    let (map, sources) = two_functions();
    let data = stack_data(&map, false, 1 << 20);
    let frames = recur(&data, &map, sources, MANY_FRAMES).frames;
    let other = data.new_like();
    let mut translator = Translator::new(&other);
    // The innermost frame is first: its path is walked once, and no other is.
    for node in frames.into_iter().rev() {
        assert_eq!(translator.translate(node).source, node.source);
    }
    assert_eq!(other.n_nodes(), map.sources.len() + MANY_FRAMES - 2);
}

#[test]
fn a_context_may_have_many_children() {
    let n = 50_000;
    let config = ContextConfig {
        node_limit: 2 * n,
        ..ContextConfig::default()
    };
    let data = ProfileData::in_style(n, Style::Stack, config);
    // Not the root, whose children are there from the start.
    let parent = data.node(SourceId(3));
    let sources = || (0..n as u32).map(SourceId);
    let children: Vec<&Node> = sources().map(|s| data.enter(parent, s)).collect();
    for (source, child) in sources().zip(children) {
        assert!(std::ptr::eq(data.enter(parent, source), child));
        assert_eq!(
            (child.source, child.parent()),
            (source, std::ptr::from_ref(parent))
        );
    }
    assert_eq!((data.n_nodes(), data.notice().is_some()), (2 * n, true));
}

#[test]
fn recursion_through_very_many_functions_costs_nodes_but_no_exactness() {
    let n = 3_000;
    let data = ProfileData::in_style(n, Style::Stack, folding());
    let mut player = Player::new(&data);
    let sources: Vec<SourceId> = (3..n as u32).map(SourceId).collect();
    for &source in sources.iter().chain(&sources) {
        player.step(Op::Call(source));
    }
    let counts = data.counts(Kind::Count);
    let rows = counts.rows.iter().enumerate().skip(3);
    let last = 2 * (n as u64 - 3);
    for (index, row) in rows {
        assert_eq!((row.current, row.stack), (2, last + 3 - index as u64));
    }
}

#[test]
fn reports_may_be_made_while_the_program_runs() {
    let (map, sources) = two_functions();
    let data = stack_data(&map, false, 1 << 20);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut last = 0;
            while !is_done.load(Relaxed) {
                let counts = data.counts(Kind::Count);
                assert!(counts.totals.total >= last);
                assert_eq!(
                    counts.rows[SourceId::MAIN.index()].stack,
                    counts.totals.total
                );
                last = counts.totals.total;
            }
        });
        recur(&data, &map, sources, MANY_FRAMES);
        is_done.store(true, Relaxed);
        watcher.join().unwrap();
    });
}

#[test]
fn a_lost_context_goes_to_the_closest_one_around() {
    let [f, g, h] = [3, 4, 5].map(SourceId);
    let config = ContextConfig {
        fold_recursion: true,
        node_limit: 6 + 3,
    };
    let data = ProfileData::in_style(6, Style::Stack, config);
    // The three nodes: `g` under `f`, `h` under that, and a collection in `g`.
    let in_g = data.enter(data.node(f), g);
    let in_h = data.enter(in_g, h);
    data.enter(in_g, SourceId::GC);
    assert_eq!((data.n_nodes(), data.notice()), (9, None));
    assert!(std::ptr::eq(data.enter(in_h, f), data.node(f)));
    assert_eq!(
        path(data.enter(in_h, SourceId::GC)),
        [SourceId::MAIN, f, g, SourceId::GC]
    );
    assert_eq!(
        path(data.enter(in_h, SourceId::UNKNOWN)),
        [SourceId::MAIN, SourceId::UNKNOWN]
    );
    let text = "the profile has more than 9 calling contexts: some were charged to others of the \
                same function, so that stack counts are too low; raise the limit of nodes";
    assert_eq!(data.notice().as_deref(), Some(text));
}
