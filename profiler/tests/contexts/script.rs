//! Random programs, reduced to what a profiler sees of them, and the two that play them: MLton's
//! accounting and a tree of contexts.

use std::sync::atomic::Ordering::Relaxed;

use profiler::{
    Kind, Node, ProfileData, SourceId, SourceMap, SourceMapBuilder, SourceSeqId, Style,
};

use crate::model::{Finished, Model};

/// A seeded generator of random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Call(SourceId),
    TailCall(SourceId),
    Return,
    /// An exception that leaves this many sources.
    Unwind(usize),
    Bytes(u64),
    Ticks(u64),
    /// A collection: bytes and ticks.
    Gc(u64, u64),
}

/// A map of `n` sources besides the fixed ones, with fewer names: some are copies.
pub(crate) fn random_map(random: &mut Random, n: u64) -> SourceMap {
    let mut builder = SourceMapBuilder::new();
    for _ in 0..n {
        let name = builder.add_name(&format!("f{}", random.below(n)));
        builder.add_source(name, SourceSeqId::EMPTY);
    }
    // A copy of `<main>` too, which is on the stack whenever a source of it is entered.
    if random.below(4) == 0 {
        let name = builder.add_name("<main>");
        builder.add_source(name, SourceSeqId::EMPTY);
    }
    builder.finish(7).unwrap()
}

pub(crate) fn random_script(random: &mut Random, map: &SourceMap) -> Vec<Op> {
    let n_sources = map.sources.len() as u64;
    // Some scripts go deep, some stay shallow; some recur in few sources, some roam.
    let calls = 15 + random.below(25);
    let first = 3 + random.below(n_sources - 3);
    let (length, n_near) = (random.below(400), 1 + random.below(n_sources - first));
    let source = |random: &mut Random| match random.below(20) {
        0 => SourceId::MAIN,
        1 => SourceId::UNKNOWN,
        2..5 => SourceId(3 + random.below(n_sources - 3) as u32),
        _ => SourceId((first + random.below(n_near)) as u32),
    };
    let op = |_| match random.below(80) {
        choice if choice < calls => Op::Call(source(random)),
        40..45 => Op::TailCall(source(random)),
        45..60 => Op::Return,
        60..62 => Op::Unwind(random.below(12) as usize),
        62..66 => Op::Gc(random.below(50), random.below(5)),
        66..72 => Op::Ticks(random.below(9)),
        _ => Op::Bytes(random.below(100)),
    };
    (0..length).map(op).collect()
}

/// What MLton would write for one kind.
pub(crate) fn play_model(map: &SourceMap, script: &[Op], kind: Kind) -> Finished {
    let mut model = Model::new(map);
    let mut depth = 0;
    for &op in script {
        match op {
            Op::Call(source) | Op::TailCall(source) => {
                if matches!(op, Op::TailCall(_)) && depth > 0 {
                    model.leave();
                    depth -= 1;
                }
                model.enter(source);
                depth += 1;
                if kind == Kind::Count {
                    model.charge(1);
                }
            }
            Op::Return | Op::Unwind(_) => {
                let n = if let Op::Unwind(n) = op { n } else { 1 };
                (0..n.min(depth)).for_each(|_| model.leave());
                depth -= n.min(depth);
            }
            Op::Bytes(n) if kind == Kind::Alloc => model.charge(n),
            Op::Ticks(n) if kind == Kind::Time => model.charge(n),
            Op::Gc(bytes, ticks) if kind != Kind::Count => {
                model.enter(SourceId::GC);
                model.charge(if kind == Kind::Alloc { bytes } else { ticks });
                model.leave();
            }
            Op::Bytes(_) | Op::Ticks(_) | Op::Gc(..) => {}
        }
    }
    model.finish()
}

/// A VM's thread: the nodes that its frames saved, and the one that is current.
pub(crate) struct Player<'a> {
    pub(crate) data: &'a ProfileData,
    pub(crate) frames: Vec<&'a Node>,
    pub(crate) current: &'a Node,
}

impl<'a> Player<'a> {
    pub(crate) fn new(data: &'a ProfileData) -> Player<'a> {
        Player {
            data,
            frames: Vec::new(),
            current: data.root(),
        }
    }

    pub(crate) fn play(&mut self, script: &[Op]) {
        script.iter().for_each(|&op| self.step(op));
    }

    pub(crate) fn step(&mut self, op: Op) {
        match op {
            Op::Call(source) => {
                self.frames.push(self.current);
                self.current = self.enter(source);
                self.current.count_call();
            }
            Op::TailCall(source) => {
                self.step(Op::Return);
                self.step(Op::Call(source));
            }
            Op::Return => self.current = self.frames.pop().unwrap_or(self.data.root()),
            Op::Unwind(n) => (0..n).for_each(|_| self.step(Op::Return)),
            Op::Bytes(n) => self.current.charge_bytes(n),
            Op::Ticks(n) => drop(self.current.ticks.fetch_add(n, Relaxed)),
            Op::Gc(bytes, ticks) => {
                let gc = self.enter(SourceId::GC);
                gc.charge_bytes(bytes);
                gc.ticks.fetch_add(ticks, Relaxed);
            }
        }
    }

    /// Enters as the VM does: by the cache, or else by the slow path, which must agree.
    fn enter(&self, source: SourceId) -> &'a Node {
        let cached = self.current.cached_child(source);
        let entered = self.data.enter(self.current, source);
        assert!(cached.is_null() || std::ptr::eq(cached, entered));
        assert_eq!(entered.source, source);
        let now_cached = match self.data.style() {
            Style::Stack => entered,
            Style::Current => std::ptr::null(),
        };
        assert_eq!(self.current.cached_child(source), now_cached);
        entered
    }
}
