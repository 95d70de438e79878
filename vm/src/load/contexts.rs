//! The ways to the contexts of a function's local control stacks, when code is loaded.

use std::ptr;

use profiler::SourceId;

use super::LoadConfig;
use crate::code::{FrameContexts, Mode};
use crate::verify::{ControlStackId, FunctionFacts};

/// The ways to the contexts of a function, if contexts are found when its code runs. `base` is
/// charged where nothing is open, and `opened` is what callers open for the function.
///
/// What is open is entered, below it nobody in particular if the function did not open a
/// source of its own. The entry function's own top level is the root of all contexts.
pub(super) fn frame_contexts(
    facts: &FunctionFacts,
    config: LoadConfig<'_>,
    base: SourceId,
    opened: Option<SourceId>,
) -> FrameContexts {
    let stacks = &facts.control_stacks;
    let has_stacks = stacks.count() > 1 || !facts.handler_stacks.is_empty();
    if config.mode() != Mode::Stack || !has_stacks {
        return FrameContexts::default();
    }
    let mut contexts = FrameContexts::with_capacity(stacks.count());
    let top_level = match base {
        SourceId::MAIN => ptr::null(),
        _ => contexts.push(ptr::null(), base),
    };
    let bottom = if opened.is_none() {
        top_level
    } else {
        ptr::null()
    };
    contexts.add(top_level);
    for (source, below) in stacks.iter() {
        let below = match below {
            ControlStackId::EMPTY => bottom,
            _ => contexts.way(below),
        };
        let way = match config.charged(source) {
            SourceId::CALLER => below,
            charged => contexts.push(below, charged),
        };
        contexts.add(way);
    }
    contexts
}
