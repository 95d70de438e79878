//! Parallel moves: values go to several registers as if at once.

use vm::isa::{IIn, IOut, Op, RIn, ROut};

use super::liveness::RegSet;
use crate::ir::{Class, Reg, Value};

/// How many registers of a class a function can name.
pub(super) const MAX_REGISTERS: usize = 256;

/// No register is left for what has to be moved.
pub(super) struct TooManyRegisters;

/// Ops that do all moves as if at once. No destination may occur twice.
pub(super) fn parallel_move(moves: Vec<(Reg, Value)>) -> Result<Vec<Op>, TooManyRegisters> {
    let mut ops = Vec::new();
    let mut used = RegSet::default();
    let mut pending = Vec::new();
    let mut literals = Vec::new();
    for (dst, value) in moves {
        used.insert(dst);
        match value.reg() {
            Some(src) => {
                used.insert(src);
                if src != dst {
                    pending.push((dst, src));
                }
            }
            None => literals.push((dst, value)),
        }
    }
    while !pending.is_empty() {
        let ready = pending
            .iter()
            .position(|&(dst, _)| pending.iter().all(|&(_, src)| src != dst));
        if let Some(index) = ready {
            let (dst, src) = pending.remove(index);
            ops.extend(move_op(dst, src.into()));
            continue;
        }
        // Only cycles are left. Whatever reads the first destination reads its copy instead.
        let dst = pending[0].0;
        let index = u8::try_from(used.first_free(dst.class)).map_err(|_| TooManyRegisters)?;
        let scratch = Reg {
            class: dst.class,
            index,
        };
        ops.extend(move_op(scratch, dst.into()));
        for (_, src) in pending.iter_mut().filter(|(_, src)| *src == dst) {
            *src = scratch;
        }
    }
    // Literals read nothing, so they can wait until all registers are read.
    ops.extend(
        literals
            .into_iter()
            .filter_map(|(dst, value)| move_op(dst, value)),
    );
    Ok(ops)
}

/// The op that puts a value into a register of its class.
pub(crate) fn move_op(dst: Reg, value: Value) -> Option<Op> {
    let index = dst.index;
    let op = match (dst.class, value) {
        (Class::Int, Value::Reg(src)) => Op::Mov {
            dst: IOut(index),
            src: IIn(src.index),
        },
        (Class::Ref, Value::Reg(src)) => Op::RMov {
            dst: ROut(index),
            src: RIn(src.index),
        },
        (Class::Int, Value::Int(value)) => Op::Int {
            dst: IOut(index),
            value: vm::isa::Int64(value),
        },
        (Class::Int, Value::Float(value)) => Op::Float {
            dst: IOut(index),
            value: vm::isa::Float64(value),
        },
        (Class::Ref, Value::Null) => Op::Null { dst: ROut(index) },
        (Class::Ref, Value::Text(id)) => Op::Text {
            dst: ROut(index),
            constant: vm::isa::ConstId(id),
        },
        (Class::Ref, Value::Object(id)) => Op::Constant {
            dst: ROut(index),
            constant: vm::isa::ConstId(id),
        },
        _ => return None,
    };
    (value.class() == dst.class).then_some(op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn apply(ops: &[Op], file: &mut HashMap<u8, i64>) {
        for op in ops {
            match op {
                Op::Mov { dst, src } => file.insert(dst.0, file[&src.0]),
                Op::Int { dst, value } => file.insert(dst.0, value.0),
                other => panic!("{other:?} is no move of this test"),
            };
        }
    }

    /// All ways to fill three registers from four and a literal.
    #[test]
    fn moves_happen_as_if_at_once() {
        for choice in 0..125_u8 {
            let sources = [choice % 5, choice / 5 % 5, choice / 25];
            let value = |source| match source {
                4 => Value::Int(44),
                index => Value::Reg(Reg::int(index)),
            };
            let moves = (0..3)
                .map(|dst| (Reg::int(dst), value(sources[dst as usize])))
                .collect();
            let Ok(ops) = parallel_move(moves) else {
                panic!("registers are left")
            };
            let mut file: HashMap<u8, i64> = (0..4).map(|index| (index, index as i64)).collect();
            apply(&ops, &mut file);
            for (dst, source) in (0..3).zip(sources) {
                let expected = if source == 4 { 44 } else { source as i64 };
                assert_eq!(file[&dst], expected, "{sources:?}: {ops:?}");
            }
        }
    }
}
