//! Units of profile data: sums, and the same context in another unit.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use profiler::{Kind, ProfileData, SourceId, SourceMap, Style};

use crate::script::{Player, Random, play_model, random_script};
use crate::{PLENTY, finished, for_random_scripts, path, stack_data};

/// The counts of each context that has any, by its path.
fn by_path(data: &ProfileData) -> BTreeMap<Vec<SourceId>, [u64; 3]> {
    let counts = data.contexts().map(|(node, _)| {
        let counts = [&node.ticks, &node.bytes, &node.calls];
        (path(node), counts.map(|counter| counter.load(Relaxed)))
    });
    counts.filter(|(_, counts)| *counts != [0; 3]).collect()
}

/// Three units, of scripts of the same program.
fn three(random: &mut Random, map: &SourceMap, fold: bool, limit: usize) -> [ProfileData; 3] {
    [(); 3].map(|()| {
        let data = stack_data(map, fold, limit);
        Player::new(&data).play(&random_script(random, map));
        data
    })
}

/// A new unit that has absorbed `parts` in their order.
fn sum(parts: &[&ProfileData]) -> ProfileData {
    let sum = parts[0].new_like();
    parts.iter().for_each(|part| sum.absorb(part));
    sum
}

#[test]
fn sums_are_the_same_in_any_order_and_grouping() {
    for_random_scripts(|random, map, _| {
        let fold = random.below(2) == 0;
        let [a, b, c] = &three(random, map, fold, PLENTY);
        let all = sum(&[a, b, c]);
        assert_eq!(by_path(&all), by_path(&sum(&[c, a, b])));
        assert_eq!(by_path(&all), by_path(&sum(&[&sum(&[a, b]), c])));
        assert_eq!(by_path(&all), by_path(&sum(&[a, &sum(&[b, c])])));
        assert_eq!(all.n_nodes(), sum(&[b, c, a]).n_nodes());
    });
}

#[test]
fn the_columns_of_a_sum_are_the_sums_of_the_columns() {
    for_random_scripts(|random, map, script| {
        let second = random_script(random, map);
        let parts = [script, &second[..]].map(|script| {
            let data = stack_data(map, random.below(2) == 0, PLENTY);
            Player::new(&data).play(script);
            data
        });
        let all = sum(&[&parts[0], &parts[1]]);
        for kind in Kind::ALL {
            let mut expected = play_model(map, script, kind);
            let more = play_model(map, &second, kind);
            expected.totals.total += more.totals.total;
            expected.totals.total_gc += more.totals.total_gc;
            let rows = expected.sources.iter_mut().chain(&mut expected.names);
            for (row, more) in rows.zip(more.sources.iter().chain(&more.names)) {
                row.current += more.current;
                row.stack += more.stack;
                row.stack_gc += more.stack_gc;
            }
            assert_eq!(finished(all.mlmon(kind, map).unwrap()), expected);
        }
    });
}

#[test]
fn a_sum_at_the_limit_keeps_current_counts() {
    for_random_scripts(|random, map, _| {
        let [a, b, c] = &three(random, map, false, 40);
        let (all, other) = (sum(&[a, b, c]), sum(&[c, b, a]));
        for kind in Kind::ALL {
            assert_eq!(all.counts(kind).sources, other.counts(kind).sources);
            assert_eq!(all.counts(kind).totals, other.counts(kind).totals);
        }
        // What the parts could not tell apart, a sum with more room cannot either.
        let wide = stack_data(map, false, PLENTY);
        wide.absorb(a);
        let is_too_low = |data: &ProfileData| {
            let notice = data.notice();
            notice.map(|text| text.contains("too low"))
        };
        assert_eq!(is_too_low(&wide), is_too_low(a));
    });
}

#[test]
fn sums_across_styles_keep_what_the_sum_can_hold() {
    for_random_scripts(|_, map, script| {
        let stack = stack_data(map, false, PLENTY);
        Player::new(&stack).play(script);
        let current = ProfileData::new(map.sources.len());
        Player::new(&current).play(script);
        let (narrow, wide) = (current.new_like(), stack.new_like());
        narrow.absorb(&stack);
        wide.absorb(&current);
        for kind in Kind::ALL {
            assert_eq!(narrow.counts(kind), current.counts(kind));
            assert_eq!(wide.counts(kind).sources, stack.counts(kind).sources);
        }
    });
}

#[test]
fn a_translated_context_has_the_same_path() {
    for_random_scripts(|random, map, script| {
        let fold = random.below(2) == 0;
        let (data, other) = (stack_data(map, fold, PLENTY), stack_data(map, fold, PLENTY));
        let mut player = Player::new(&data);
        player.play(script);
        for node in player.frames.into_iter().chain([player.current]) {
            let translated = data.translate(&other, node);
            assert_eq!(path(translated), path(node));
            assert!(std::ptr::eq(other.translate(&data, translated), node));
        }
    });
}

#[test]
fn in_current_style_a_context_is_its_source() {
    let data = ProfileData::new(5);
    let other = data.new_like();
    assert_eq!(other.style(), Style::Current);
    let node = data.enter(data.root(), SourceId(4));
    assert!(std::ptr::eq(node, data.node(SourceId(4))));
    assert!(node.parent().is_null() && data.root().cached_child(SourceId(4)).is_null());
    let translated = data.translate(&other, node);
    assert!(std::ptr::eq(translated, other.node(SourceId(4))));
}

#[test]
fn a_node_of_another_unit_counts_as_the_root() {
    let map = SourceMap::new();
    let (data, other) = (
        stack_data(&map, false, PLENTY),
        stack_data(&map, false, PLENTY),
    );
    let foreign = other.enter(other.node(SourceId::GC), SourceId::MAIN);
    let node = data.enter(foreign, SourceId::UNKNOWN);
    assert!(std::ptr::eq(node, data.node(SourceId::UNKNOWN)));
    assert!(foreign.cached_child(SourceId::UNKNOWN).is_null());
}

#[test]
fn a_source_out_of_range_is_unknown_in_any_context() {
    let map = SourceMap::new();
    let data = stack_data(&map, false, PLENTY);
    let node = data.enter(data.node(SourceId::UNKNOWN), SourceId(9));
    assert_eq!(
        path(node),
        [SourceId::MAIN, SourceId::UNKNOWN, SourceId::UNKNOWN]
    );
}
