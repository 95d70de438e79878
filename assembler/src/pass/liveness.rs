//! Which registers are still wanted: the classic backward dataflow, over blocks.

use std::collections::VecDeque;

use smallvec::SmallVec;
use vm::isa::Access;

use crate::ir::{Action, Block, Call, Callee, Class, Function, Reg, visit_registers};

/// A set of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegSet {
    words: [[u64; 4]; 2],
}

impl RegSet {
    /// Every register.
    const ALL: Self = Self {
        words: [[!0; 4]; 2],
    };

    pub(crate) fn insert(&mut self, reg: Reg) {
        let (word, bit) = place(reg);
        self.words[reg.class as usize][word] |= bit;
    }

    pub(crate) fn remove(&mut self, reg: Reg) {
        let (word, bit) = place(reg);
        self.words[reg.class as usize][word] &= !bit;
    }

    pub(crate) fn contains(&self, reg: Reg) -> bool {
        let (word, bit) = place(reg);
        self.words[reg.class as usize][word] & bit != 0
    }

    pub(crate) fn union(&mut self, other: &Self) {
        for (words, others) in self.words.iter_mut().zip(&other.words) {
            words
                .iter_mut()
                .zip(others)
                .for_each(|(word, other)| *word |= other);
        }
    }

    fn intersect(&mut self, other: &Self) {
        for (words, others) in self.words.iter_mut().zip(&other.words) {
            words
                .iter_mut()
                .zip(others)
                .for_each(|(word, other)| *word &= other);
        }
    }

    /// The first number such that no register from there on is in the set.
    pub(crate) fn first_free(&self, class: Class) -> usize {
        let words = &self.words[class as usize];
        let last = words.iter().rposition(|&word| word != 0);
        last.map_or(0, |index| {
            index * 64 + 64 - words[index].leading_zeros() as usize
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Reg> {
        let all = (0..=u8::MAX).flat_map(|index| [Reg::int(index), Reg::reference(index)]);
        all.filter(|&reg| self.contains(reg))
    }

    fn remove_from(&mut self, class: Class, first: u8) {
        (first..=u8::MAX).for_each(|index| self.remove(Reg { class, index }));
    }
}

fn place(reg: Reg) -> (usize, u64) {
    (reg.index as usize / 64, 1 << (reg.index % 64))
}

/// What a block's instructions do to the set of live registers, taken backwards.
struct Summary {
    /// Live before, whatever is live afterwards.
    read: RegSet,
    /// Live before if live afterwards.
    kept: RegSet,
}

impl Summary {
    fn of(block: &Block) -> Self {
        let mut summary = Self {
            read: RegSet::default(),
            kept: RegSet::ALL,
        };
        for instr in block.instrs.iter().rev() {
            match &instr.action {
                // Of ops there are most, and one look at each is enough: what an op reads is live
                // before it anyway.
                Action::Op(op) => visit_registers(op, |reg, access| match access {
                    Access::Read => summary.read.insert(reg),
                    Access::Write => {
                        summary.read.remove(reg);
                        summary.kept.remove(reg);
                    }
                    Access::None => {}
                }),
                action => {
                    step(action, &mut summary.read);
                    step(action, &mut summary.kept);
                }
            }
        }
        summary
    }
}

/// The live registers at the start of each block.
pub(crate) struct Liveness {
    live_in: Vec<RegSet>,
    covering: Vec<Option<usize>>,
}

impl Liveness {
    /// Solves the equations for a function. What a block's instructions do is summed up once, so
    /// that a block whose successors have news costs no more than a look at two sets.
    pub(crate) fn of(function: &Function) -> Self {
        let mut liveness = Self {
            live_in: vec![RegSet::default(); function.blocks.len()],
            covering: function.covering_handlers(),
        };
        let summaries: Vec<Summary> = function.blocks.iter().map(Summary::of).collect();
        let positions = function.positions();
        let predecessors = liveness.predecessors(function);
        let mut is_listed = vec![true; function.blocks.len()];
        let mut to_visit: VecDeque<u32> = function.layout.iter().rev().copied().collect();
        while let Some(block) = to_visit.pop_front() {
            is_listed[block as usize] = false;
            let Some(position) = positions[block as usize] else {
                continue;
            };
            let summary = &summaries[block as usize];
            let mut live = liveness.live_out(function, position);
            live.intersect(&summary.kept);
            live.union(&summary.read);
            if !function.blocks[block as usize].instrs.is_empty() {
                live.union(&liveness.at_handler(function, block));
            }
            if liveness.live_in[block as usize] == live {
                continue;
            }
            liveness.live_in[block as usize] = live;
            for &before in &predecessors[block as usize] {
                if !std::mem::replace(&mut is_listed[before as usize], true) {
                    to_visit.push_back(before);
                }
            }
        }
        liveness
    }

    /// For each block those that it may be come to from, handlers included.
    fn predecessors(&self, function: &Function) -> Vec<SmallVec<[u32; 2]>> {
        let mut predecessors = vec![SmallVec::new(); function.blocks.len()];
        for (position, &block) in function.layout.iter().enumerate() {
            let handler = self.covering[block as usize].map(|index| function.handlers[index]);
            let successors = function.successors(position).into_iter();
            for successor in successors.chain(handler.map(|handler| handler.target)) {
                if let Some(list) = predecessors.get_mut(successor as usize) {
                    list.push(block);
                }
            }
        }
        predecessors
    }

    /// The live registers at the start of a block.
    pub(crate) fn live_in(&self, block: u32) -> RegSet {
        self.live_in[block as usize]
    }

    /// The live registers at the end of the block at a position of the layout.
    pub(crate) fn live_out(&self, function: &Function, position: usize) -> RegSet {
        let mut live = RegSet::default();
        for successor in function.successors(position) {
            if let Some(set) = self.live_in.get(successor as usize) {
                live.union(set);
            }
        }
        live
    }

    /// What the handler that covers a block wants, besides the exception.
    pub(crate) fn at_handler(&self, function: &Function, block: u32) -> RegSet {
        let Some(index) = self.covering[block as usize] else {
            return RegSet::default();
        };
        let handler = function.handlers[index];
        let mut live = self
            .live_in
            .get(handler.target as usize)
            .copied()
            .unwrap_or_default();
        live.remove(Reg::reference(handler.register));
        live
    }
}

/// Takes the live registers from after an action to before it.
pub(crate) fn step(action: &Action, live: &mut RegSet) {
    match action {
        // An op names what it writes before what it reads.
        Action::Op(op) => visit_registers(op, |reg, access| match access {
            Access::Read => live.insert(reg),
            Access::Write => live.remove(reg),
            Access::None => {}
        }),
        Action::Call(call) => {
            step_results(call, live);
            step_callee(call.callee, live);
            call.args
                .iter()
                .filter_map(|value| value.reg())
                .for_each(|reg| live.insert(reg));
        }
        Action::TailCall(callee, args) => {
            step_callee(*callee, live);
            args.iter()
                .filter_map(|value| value.reg())
                .for_each(|reg| live.insert(reg));
        }
        Action::Ret(values) => {
            values
                .iter()
                .filter_map(|value| value.reg())
                .for_each(|reg| live.insert(reg));
        }
        Action::BeginBranch(_) | Action::EndBranch | Action::Line(_) => {}
    }
}

/// A call writes its results; with windows that the text chose, it leaves nothing of what stood
/// above them.
fn step_results(call: &Call, live: &mut RegSet) {
    call.results.iter().for_each(|&reg| live.remove(reg));
    if let Some((ints, refs)) = call.windows {
        live.remove_from(Class::Int, ints);
        live.remove_from(Class::Ref, refs);
    }
}

fn step_callee(callee: Callee, live: &mut RegSet) {
    if let Callee::Closure { register, .. } = callee {
        live.insert(Reg::reference(register));
    }
}
