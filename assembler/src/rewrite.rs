//! Encoded functions with other ops in place of theirs: jumps, handlers and lines follow.

use vm::isa::Op;
use vm::module::Function;

use crate::ir::map_targets;

/// A function whose ops were replaced.
pub(crate) struct Rewritten {
    pub(crate) function: Function,
    /// The old offset of each op that was put in: of the op that it stands for.
    pub(crate) origins: Vec<(u32, u32)>,
}

/// Replaces each op by those that `replace` pushes for it, perhaps none. Their targets are still
/// offsets of the function as it was; what led to an op leads to the first of those in its place.
pub(crate) fn rewrite(
    function: &Function,
    mut replace: impl FnMut(u32, Op, &mut Vec<Op>),
) -> Rewritten {
    let mut ops: Vec<(u32, Op)> = Vec::new();
    // Old offsets and the number of ops that stand before them now.
    let mut places: Vec<(u32, usize)> = Vec::new();
    let mut replaced = Vec::new();
    for (offset, op) in function.ops().map_while(Result::ok) {
        places.push((offset, ops.len()));
        replace(offset, op, &mut replaced);
        ops.extend(replaced.drain(..).map(|op| (offset, op)));
    }
    // Targets are encoded in a fixed width, so offsets are known before targets are.
    let mut offsets = Vec::with_capacity(ops.len() + 1);
    let mut code = Vec::new();
    for (_, op) in &ops {
        offsets.push(code.len() as u32);
        op.encode(&mut code);
    }
    offsets.push(code.len() as u32);
    let moved = |old: u32| match places.binary_search_by_key(&old, |place| place.0) {
        Ok(index) => offsets[places[index].1],
        Err(_) => code.len() as u32,
    };
    let mut encoded = Vec::with_capacity(code.len());
    for (_, op) in &ops {
        map_targets(op, moved).encode(&mut encoded);
    }
    let handlers = function.handlers.iter().map(|range| {
        let [start, end, target] = [range.start, range.end, range.target].map(moved);
        vm::module::HandlerRange {
            start,
            end,
            target,
            ..*range
        }
    });
    let lines = function.lines.iter().map(|entry| vm::module::LineEntry {
        offset: moved(entry.offset),
        ..*entry
    });
    let origins = offsets
        .iter()
        .zip(&ops)
        .map(|(&new, &(old, _))| (new, old))
        .collect();
    Rewritten {
        function: Function {
            code: encoded,
            handlers: handlers.collect(),
            lines: lines.collect(),
            ..function.clone()
        },
        origins,
    }
}
