//! Frames that tail calls give up, counted by function.
//!
//! A word before a tail call counts for the function whose frame ends there. It is the word that
//! an Enter becomes that publishes nothing, so there is no handler for this, and without such a
//! count there is no word.

use profiler::{ProfileData, SourceId};

use super::lower::Lowering;
use crate::code::{NodeWord, Word};
use crate::interp::handlers::call;
use crate::interp::handlers::mode;
use crate::isa::{Effects, Op};

/// Whether a frame ends with the op, and another one takes its place.
pub(super) fn is_tail_call(op: &Op) -> bool {
    let info = op.opcode().info();
    info.effects.has(Effects::CALLS) && !info.falls_through
}

impl Lowering<'_> {
    /// What counts frames that are given up, if they are counted.
    pub(super) fn elided(&self) -> Option<&ProfileData> {
        self.config.profile?.elided()
    }

    /// Counts the frame that ends with the tail call that comes next.
    pub(super) fn count_elided(&mut self) {
        let source = self.own_source();
        let Some(data) = self.elided().filter(|_| source != SourceId::CALLER) else {
            return;
        };
        let node: *const _ = data.node(source);
        self.emit(call::enter_node::<{ mode::OFF }, true>, [0; 4], 0);
        // No unit of the profile has this node, so switches must not see the word.
        self.push_data(Word {
            nodes: NodeWord {
                callee: node,
                caller: node,
            },
        });
    }
}
