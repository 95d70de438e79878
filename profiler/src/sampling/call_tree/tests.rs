//! The tree against a plain map, its memory, and what it does when it is full.

use std::collections::HashMap;

use super::*;
use crate::sampling::SplitMix64;

#[test]
fn the_root_is_the_empty_stack() {
    let tree = CallTree::new();
    assert_eq!(tree.len(), 1);
    assert_eq!(tree.parent(CallTree::ROOT), CallTree::ROOT);
    assert_eq!(tree.site(CallTree::ROOT), u32::MAX);
    assert_eq!(tree.stack(CallTree::ROOT).count(), 0);
}

#[test]
fn random_stacks_are_interned() {
    let mut tree = CallTree::new();
    let mut model = HashMap::new();
    let mut random = SplitMix64(11);
    let mut id = CallTree::ROOT;
    for _ in 0..200_000 {
        if random.next_u64().is_multiple_of(3) {
            id = tree.parent(id);
            continue;
        }
        let site = (random.next_u64() % 7) as u32 * 1000;
        let len = tree.len();
        let child = tree.child(id, site);
        let hash = tree.nodes[id.index()].hash.call(site);
        assert_eq!(tree.find(tree.look_up(hash)), Some(child));
        let other = tree.nodes[id.index()].hash.call(site + 1);
        assert_eq!(tree.find(tree.look_up(other)), None);
        let known = *model.entry((id, site)).or_insert(child);
        assert_eq!(child, known);
        assert_eq!(tree.len(), if model.len() == len { len + 1 } else { len });
        assert_eq!((tree.parent(child), tree.site(child)), (id, site));
        id = if tree.stack(child).count() > 12 {
            CallTree::ROOT
        } else {
            child
        };
    }
    assert_eq!(tree.len(), model.len() + 1);
    assert!(tree.len() > 10_000);
}

#[test]
fn stacks_on_the_way_to_others_are_the_same_as_those_asked_for() {
    let (mut tree, mut plain) = (CallTree::new(), CallTree::new());
    let mut random = SplitMix64(7);
    for _ in 0..20_000 {
        let depth = 1 + random.next_u64() % 12;
        let sites: Vec<u32> = (0..depth).map(|_| (random.next_u64() % 3) as u32).collect();
        let around = tree.descend(CallTree::ROOT, sites.iter().copied());
        let around = around.expect("there is room");
        let inside = tree.child(around, 9);
        let plain_around =
            (sites.iter()).fold(CallTree::ROOT, |call, &site| plain.child(call, site));
        let plain_inside = plain.child(plain_around, 9);
        assert_eq!((around, inside), (plain_around, plain_inside));
        assert_eq!(tree.hash(around), plain.hash(around));
        assert_eq!(tree.find(tree.look_up(tree.hash(inside))), Some(inside));
        if random.next_u64().is_multiple_of(4) {
            assert_eq!(tree.child(tree.parent(around), tree.site(around)), around);
            assert_eq!(tree.find(tree.look_up(tree.hash(around))), Some(around));
        }
    }
    assert_eq!(tree.len(), plain.len());
    assert!(tree.n_placed < plain.n_placed);
}

#[test]
fn the_nearest_stack_that_is_known_is_near() {
    let mut tree = CallTree::new();
    let sites = || (0..20_000_u32).map(|n| n / 100 % 7);
    let mut around = StackHash::EMPTY;
    let hashes: Vec<StackHash> = sites()
        .map(|site| {
            around = around.call(site);
            around
        })
        .collect();
    assert_eq!(tree.nearest(&hashes), None);
    let n_known = 10_000;
    tree.descend(CallTree::ROOT, sites().take(n_known))
        .expect("there is room");
    assert!(tree.n_placed < n_known / 16, "{} are placed", tree.n_placed);
    for len in [5_000, 9_999, 20_000] {
        let (index, id) = tree.nearest(&hashes[..len]).expect("there is one");
        assert!(
            (len.min(n_known) - 300..len).contains(&index),
            "{index} of {len}"
        );
        assert_eq!(tree.stack(id).count(), index + 1);
    }
}

#[test]
fn a_full_tree_is_not_descended_in() {
    let mut tree = CallTree::with_limit(4);
    assert_eq!(tree.descend(CallTree::ROOT, 0..5), None);
    assert_eq!((tree.len(), tree.n_cut()), (4, 0));
    let known = tree.descend(CallTree::ROOT, 0..3);
    assert_eq!(known, Some(CallId(3)));
}

#[test]
fn a_node_takes_at_most_32_bytes() {
    let mut tree = CallTree::new();
    let mut id = CallTree::ROOT;
    for site in 0..100_000 {
        id = tree.child(id, site % 3);
        let allowed = 32 * tree.len() + 256;
        assert!(tree.memory_bytes() <= allowed, "{} nodes", tree.len());
    }
    assert_eq!(tree.stack(id).count(), 100_000);
}

#[test]
fn many_children_are_found_again() {
    let mut tree = CallTree::new();
    let ids: Vec<CallId> = (0..50_000)
        .map(|site| tree.child(CallTree::ROOT, site))
        .collect();
    for (site, &id) in (0..).zip(&ids) {
        assert_eq!(tree.child(CallTree::ROOT, site), id);
    }
    // The greatest site is that of the root, and still a site like others.
    let odd = tree.child(CallTree::ROOT, u32::MAX);
    assert_eq!(odd.index(), 50_001);
    assert_eq!(tree.child(ids[0], u32::MAX).index(), 50_002);
    assert_eq!(tree.child(CallTree::ROOT, u32::MAX), odd);
}

#[test]
fn a_full_tree_cuts_stacks_and_keeps_sites() {
    let mut tree = CallTree::with_limit(4);
    let a = tree.child(CallTree::ROOT, 1);
    let b = tree.child(a, 2);
    let c = tree.child(b, 3);
    assert_eq!((tree.len(), tree.n_cut()), (4, 0));
    let cut = tree.child(c, 3);
    assert_eq!((tree.site(cut), tree.parent(cut)), (3, CallTree::ROOT));
    assert_eq!(tree.child(c, 3), cut);
    assert_eq!(tree.child(b, 1), a);
    assert_eq!((tree.len(), tree.n_cut()), (5, 3));
    // What was there before is still found.
    assert_eq!(tree.child(b, 3), c);
}

#[test]
fn an_id_of_another_tree_is_no_trouble() {
    let mut tree = CallTree::new();
    let stranger = CallId(77);
    assert_eq!(tree.site(stranger), u32::MAX);
    assert_eq!(tree.parent(stranger), CallTree::ROOT);
    assert_eq!(tree.stack(stranger).count(), 0);
    let child = tree.child(stranger, 5);
    assert_eq!(tree.child(CallTree::ROOT, 5), child);
}
