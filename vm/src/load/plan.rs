//! Which ops of a function become code, and where blocks start.
//!
//! Without a profile Enter and Leave vanish. With one, the Enter that a function starts with is
//! done by its callers, and a Leave before an exit by the return; only those in between stay, and
//! of those not the ones whose source the profile leaves out.

use crate::isa::{Effects, Op, Operand, SourceRef};
use crate::module::Function;
use crate::verify::{ControlStackId, FunctionFacts};
use profiler::SourceId;

/// Which Leaves a profile needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    /// None.
    Dropped,
    /// Those that publish a node.
    KeptForNodes,
    /// Those that publish a context, which is also what faults are charged to.
    KeptForContexts,
}

impl Leaves {
    fn keeps(self) -> bool {
        self != Self::Dropped
    }
}

/// The ops that are kept, by index, and what is known of them.
pub(super) struct Plan {
    /// Indices of the ops to lower, in order.
    pub(super) kept: Vec<usize>,
    /// For each op whether control may come to it other than from the op before.
    pub(super) is_leader: Vec<bool>,
    /// For each op whether a jump or a handler goes to it; unlike `is_leader`, not to a dropped op
    /// before it.
    is_target: Vec<bool>,
    /// For each op whether its effect belongs to another handler range than the op before.
    is_boundary: Vec<bool>,
    /// The source that the function opens first, for its callers to enter; [`SourceId::CALLER`] if
    /// the profile leaves it out.
    pub(super) entry_source: Option<SourceId>,
}

impl Plan {
    /// Plans a function. `keeps_enters` and `leaves` say what a profile needs, and `charged` whom
    /// it charges for a source.
    pub(super) fn new(
        function: &Function,
        facts: &FunctionFacts,
        keeps_enters: bool,
        leaves: Leaves,
        charged: impl Fn(SourceId) -> SourceId,
    ) -> Self {
        let count = facts.ops.len();
        let mut is_leader = vec![false; count];
        let mut is_boundary = vec![false; count + 1];
        let index_of = |offset: u32| {
            facts
                .op_at(offset)
                .expect("the verifier has checked targets")
        };
        for op in &facts.ops {
            for operand in op.operands() {
                match operand {
                    Operand::Target(target) => is_leader[index_of(target)] = true,
                    Operand::Targets(targets) => {
                        targets
                            .iter()
                            .for_each(|&target| is_leader[index_of(target)] = true);
                    }
                    _ => {}
                }
            }
        }
        for range in &function.handlers {
            is_boundary[index_of(range.start)] = true;
            is_boundary[facts.offsets.partition_point(|&offset| offset < range.end)] = true;
            is_leader[index_of(range.target)] = true;
        }
        let entry_source = match facts.ops.first() {
            // An Enter that a loop goes back to is done where it stands, not by callers.
            Some(Op::Enter {
                source: SourceRef(id),
            }) if !is_leader[0] => Some(charged(SourceId(*id))),
            _ => None,
        };
        let is_target = is_leader.clone();
        let mut plan = Self {
            kept: Vec::new(),
            is_leader,
            is_target,
            is_boundary,
            entry_source,
        };
        let mut run = Run::default();
        for (index, op) in facts.ops.iter().enumerate() {
            let is_left_out = |source: &SourceRef| charged(SourceId(source.0)) == SourceId::CALLER;
            let keeps = match op {
                Op::Enter { source } | Op::Leave { source } if is_left_out(source) => false,
                Op::Enter { .. } => {
                    let is_callers = index == 0 && !plan.is_leader[0];
                    keeps_enters && !is_callers
                }
                Op::Leave { .. } => {
                    if run.end <= index {
                        run = plan.run_at(facts, index);
                    }
                    leaves.keeps() && !plan.is_before_exit(facts, index, &run, leaves)
                }
                _ => true,
            };
            let is_reached = facts.stacks[index].is_some();
            if keeps && is_reached {
                plan.kept.push(index);
            } else if index + 1 < count {
                // Whoever comes to a dropped op comes to the next one.
                plan.is_leader[index + 1] |= plan.is_leader[index];
                plan.is_boundary[index + 1] |= plan.is_boundary[index];
            }
        }
        plan
    }

    /// The first of the dropped Leaves that stand before an exit, if every way to the exit passes
    /// it.
    pub(super) fn leaves_before(&self, facts: &FunctionFacts, exit: usize) -> Option<usize> {
        let mut first_leave = None;
        let mut position = exit;
        while position > 0
            && !self.is_target[position]
            && is_leave_or_move(&facts.ops[position - 1])
        {
            position -= 1;
            if matches!(facts.ops[position], Op::Leave { .. }) {
                first_leave = Some(position);
            }
        }
        first_leave
    }

    /// The run of Leaves and moves from an op on.
    fn run_at(&self, facts: &FunctionFacts, first: usize) -> Run {
        let rest = facts.ops[first..].iter();
        let end = first + rest.take_while(|op| is_leave_or_move(op)).count();
        let behind = facts.ops.len().min(end + 1);
        let last_target = (first..behind).rfind(|&op| self.is_target[op]);
        Run { end, last_target }
    }

    /// Whether only other Leaves, and moves of results or arguments, stand between a Leave in a
    /// run and a return or tail call, and nothing jumps in between: whoever did would find nothing
    /// closed. What little time the moves take is the function's own.
    fn is_before_exit(
        &self,
        facts: &FunctionFacts,
        leave: usize,
        run: &Run,
        leaves: Leaves,
    ) -> bool {
        let is_entered = run.last_target.is_some_and(|target| target > leave);
        let is_empty = facts.stacks.get(run.end).copied().flatten() == Some(ControlStackId::EMPTY);
        let is_exit = match facts.ops.get(run.end) {
            Some(Op::Ret {} | Op::TailCall { .. }) => true,
            // It may fault, which is charged to whoever is current then.
            Some(Op::TailCallClosure { .. }) => leaves != Leaves::KeptForContexts,
            _ => false,
        };
        is_empty && is_exit && !is_entered
    }

    /// Whether the op may be fused with the kept op before it.
    pub(super) fn may_follow(&self, op: usize) -> bool {
        !self.is_leader[op] && !self.is_boundary[op]
    }
}

/// A run of Leaves and moves, which is looked through once for all Leaves in it.
#[derive(Default)]
struct Run {
    /// The index of the first op behind it.
    end: usize,
    /// The last op of the run, or the op behind it, that a jump or a handler goes to.
    last_target: Option<usize>,
}

fn is_leave_or_move(op: &Op) -> bool {
    matches!(op, Op::Leave { .. }) || op.opcode().info().effects.has(Effects::MOVES)
}
