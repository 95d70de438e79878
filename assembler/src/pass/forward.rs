//! Forwarding: a value that is computed only to be passed on is computed where it is wanted.
//!
//! `a = add a, b` before `ret a` becomes `i0 = add ..`, and the move to `i0` falls away. The op
//! that is changed stands in the same block, and nothing between reads or writes either register.

use vm::isa::{Access, Op, Operand, Role};

use super::liveness::RegSet;
use crate::ir::{Action, Instr, Reg, visit_registers};

/// How far back the op that computes a value is looked for.
const MAX_DISTANCE: usize = 16;

/// Takes moves out of `ops`, which are about to follow `before`, where the value can be computed
/// in place. `uses` are the registers that `ops` read as arguments, one for each time; `live` are
/// those that are wanted afterwards or by a handler.
pub(super) fn forward(before: &mut Vec<Instr>, ops: &mut Vec<Op>, uses: &[Reg], live: &RegSet) {
    let mut index = 0;
    while index < ops.len() {
        let is_done = move_of(&ops[index]).is_some_and(|(dst, src)| {
            let is_only_use = uses.iter().filter(|&&reg| reg == src).count() == 1;
            let is_free = !live.contains(src) && !live.contains(dst) && !uses.contains(&dst);
            let others = ops.iter().enumerate().filter(|&(other, _)| other != index);
            let is_alone = others
                .into_iter()
                .all(|(_, op)| !touches(op, dst) && !touches(op, src));
            is_only_use && is_free && is_alone && retarget(before, src, dst)
        });
        if is_done {
            ops.remove(index);
        } else {
            index += 1;
        }
    }
}

/// The destination and source of a move.
pub(super) fn move_of(op: &Op) -> Option<(Reg, Reg)> {
    match op {
        Op::Mov { dst, src } => Some((Reg::int(dst.0), Reg::int(src.0))),
        Op::RMov { dst, src } => Some((Reg::reference(dst.0), Reg::reference(src.0))),
        _ => None,
    }
}

fn touches(op: &Op, reg: Reg) -> bool {
    let mut found = false;
    visit_registers(op, |other, _| found |= other == reg);
    found
}

fn writes(op: &Op, reg: Reg) -> bool {
    let mut found = false;
    visit_registers(op, |other, access| {
        found |= other == reg && access == Access::Write
    });
    found
}

/// Lets the op that last wrote `src` write `dst` instead.
pub(super) fn retarget(before: &mut Vec<Instr>, src: Reg, dst: Reg) -> bool {
    for at in (0..before.len()).rev().take(MAX_DISTANCE) {
        let instr = &mut before[at];
        let op = match &mut instr.action {
            Action::Op(op) => op,
            Action::Line(_) => continue,
            _ => return false,
        };
        // A call's registers are its windows, which its operands do not name one by one.
        let is_call = op
            .operands()
            .iter()
            .any(|operand| operand.role() == Role::IWindow);
        if is_call {
            return false;
        }
        if writes(op, src) {
            let Some(changed) = with_destination(op, src, dst) else {
                return false;
            };
            *op = changed;
            // The result of a call that moved out to be moved back stays where it is.
            if move_of(op) == Some((dst, dst)) {
                before.remove(at);
            }
            return true;
        }
        if touches(op, src) || touches(op, dst) {
            return false;
        }
    }
    false
}

/// The op with another destination; `None` when it writes that one, too.
fn with_destination(op: &Op, src: Reg, dst: Reg) -> Option<Op> {
    if writes(op, dst) {
        return None;
    }
    let operands: Vec<Operand> = op
        .operands()
        .into_iter()
        .map(|operand| match operand {
            Operand::IOut(index) if Reg::int(index) == src => Operand::IOut(dst.index),
            Operand::ROut(index) if Reg::reference(index) == src => Operand::ROut(dst.index),
            other => other,
        })
        .collect();
    Op::from_operands(op.opcode(), &operands)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_ops;
    use expect_test::{Expect, expect};

    fn check(body: &str, expected: Expect) {
        let text = format!(
            "fun f(n: i, m: i, x: r) -> i {{\n{body}\n}}\nfun two(n: i) -> (i, i) {{ ret n, n }}\n\
             fun main() {{ ret }}"
        );
        check_ops(&text, &Default::default(), expected);
    }

    #[test]
    fn a_result_is_computed_in_its_place() {
        check(
            "a = add n, m\nret a",
            expect![[r#"
            fun f(i, i, r) -> i {
                enter s3
                i0 = add i0, i1
                leave s3
                ret
            }
        "#]],
        );
    }

    #[test]
    fn an_argument_is_computed_in_its_place() {
        check(
            "s = \"text\"\ny = x\ncall print(s)\ncall print(y)\nret 0",
            expect![[r#"
                fun f(i, i, r) -> i {
                    enter s3
                    r3 = text "text"
                    r2 = rmov r0
                    call_host print, i0, r3
                    r0 = rmov r2
                    call_host print, i0, r0
                    leave s3
                    i0 = int 0
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn a_value_that_is_wanted_again_stays() {
        check(
            "a = add n, m\nb, c = call two(a)\na = add a, c\nret a",
            expect![[r#"
                fun f(i, i, r) -> i {
                    enter s3
                    i2 = add i0, i1
                    i3 = mov i2
                    call two, i3, r0
                    i0 = add i2, i4
                    leave s3
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn a_value_that_is_passed_twice_stays() {
        check(
            "a = add n, m\ntail_call g(a, a)\nfun g(a: i, b: i) -> i { ret b }",
            expect![[r#"
                fun f(i, i, r) -> i {
                    enter s3
                    i2 = add i0, i1
                    leave s3
                    i0 = mov i2
                    i1 = mov i2
                    tail_call f.g
                }
            "#]],
        );
    }

    #[test]
    fn a_value_that_is_in_place_for_another_argument_stays() {
        check(
            "a = add n, m
            a = call g(a, a)
            a = add a, n
            a = add a, m
            ret a
            fun g(a: i, b: i) -> i { ret b }",
            expect![[r#"
                fun f(i, i, r) -> i {
                    enter s3
                    i2 = add i0, i1
                    i3 = mov i2
                    call f.g, i2, r0
                    i2 = add i2, i0
                    i0 = add i2, i1
                    leave s3
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn an_op_between_that_reads_the_place_keeps_it() {
        check(
            "a = add n, m\nst_i x, 0, n\nret a",
            expect![[r#"
            fun f(i, i, r) -> i {
                enter s3
                i2 = add i0, i1
                st_i r0, 0, i0
                leave s3
                i0 = mov i2
                ret
            }
        "#]],
        );
    }

    #[test]
    fn what_a_call_gives_stays_for_the_next_one() {
        check(
            "a, b = call two(n)\na, b = call two(a)\nret a",
            expect![[r#"
                fun f(i, i, r) -> i {
                    enter s3
                    call two, i0, r1
                    call two, i0, r1
                    leave s3
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn an_op_with_two_results_may_change_one() {
        check(
            "a, ok = int_of_str x\nret ok",
            expect![[r#"
            fun f(i, i, r) -> i {
                enter s3
                i2, i0 = int_of_str r0
                leave s3
                ret
            }
        "#]],
        );
    }
}
