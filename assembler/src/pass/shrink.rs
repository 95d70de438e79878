//! Makes tail calls of calls whose results are returned as they are.
//!
//! Between such a call and the return stand only moves of the results, jumps, and `leave`s; the
//! `leave`s move before the call. A call in a handler's range stays, because the handler's frame
//! must outlive it.

use vm::isa::{Op, Signature};

use crate::TailCalls;
use crate::ir::*;

/// How many blocks are followed from a call to its return; loops end here, too.
const MAX_JUMPS: usize = 16;

/// Shrinks all functions.
pub(crate) fn run(program: &mut Program, tail_calls: TailCalls) {
    for index in 0..program.functions.len() {
        let mut function = std::mem::take(&mut program.functions[index]);
        // Taken out, the function can be changed while callees are looked at; its own signature
        // must still be found when it calls itself.
        program.functions[index].signature = function.signature;
        // A walk through the function, which most functions need not have.
        let mut was_reachable: Option<Vec<bool>> = None;
        let covering = function.covering_handlers();
        let positions = function.positions();
        for position in 0..function.layout.len() {
            let block = function.layout[position];
            if covering[block as usize].is_some() || !is_allowed(tail_calls) {
                continue;
            }
            let allows = |call: &Call| match tail_calls {
                TailCalls::Always => !matches!(call.callee, Callee::Host(_)),
                TailCalls::SelfOnly => call.callee == Callee::Function(index as u32),
                TailCalls::Never => false,
            };
            let has_own_results =
                |call: &Call| same_results(program.signature(call.callee), function.signature);
            if let Some((at, leaves)) = find(&function, &positions, position, |call| {
                allows(call) && has_own_results(call)
            }) {
                was_reachable.get_or_insert_with(|| function.reachable());
                make_tail_call(&mut function.blocks[block as usize], at, leaves);
            }
        }
        if let Some(was_reachable) = was_reachable {
            function.clear_unreachable(&was_reachable);
        }
        program.functions[index] = function;
    }
}

fn is_allowed(tail_calls: TailCalls) -> bool {
    tail_calls != TailCalls::Never
}

fn same_results(callee: Signature, own: Signature) -> bool {
    (callee.int_results, callee.ref_results) == (own.int_results, own.ref_results)
}

/// The index of the block's last call and the `leave`s behind it, when it is in tail position.
fn find(
    function: &Function,
    positions: &[Option<usize>],
    position: usize,
    allows: impl Fn(&Call) -> bool,
) -> Option<(usize, Vec<Instr>)> {
    let block = &function.blocks[function.layout[position] as usize];
    let (at, call) = block
        .instrs
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, instr)| match &instr.action {
            Action::Call(call) => Some((at, call)),
            _ => None,
        })?;
    let leaves = allows(call)
        .then(|| follow(function, positions, position, at, call))
        .flatten()?;
    Some((at, leaves))
}

/// Follows control from behind a call to a return of its results.
fn follow(
    function: &Function,
    positions: &[Option<usize>],
    position: usize,
    at: usize,
    call: &Call,
) -> Option<Vec<Instr>> {
    // What each register holds, as the number of a result within its class.
    let mut held = std::collections::HashMap::new();
    let mut counts = [0; 2];
    for &reg in &call.results {
        held.insert(reg, counts[reg.class as usize]);
        counts[reg.class as usize] += 1;
    }
    let mut leaves = Vec::new();
    let (mut position, mut from) = (position, at + 1);
    for _ in 0..MAX_JUMPS {
        let block = &function.blocks[*function.layout.get(position)? as usize];
        let mut next = position + 1;
        for instr in &block.instrs[from..] {
            match &instr.action {
                Action::Op(Op::Leave { .. }) => leaves.push(instr.clone()),
                Action::Op(Op::Mov { dst, src }) => {
                    copy(&mut held, Reg::int(dst.0), Reg::int(src.0));
                }
                Action::Op(Op::RMov { dst, src }) => {
                    copy(&mut held, Reg::reference(dst.0), Reg::reference(src.0));
                }
                Action::Op(Op::Jmp { target }) => next = positions[target.0 as usize]?,
                Action::Ret(values) => return returns(values, &held).then_some(leaves),
                Action::Line(_) => {}
                _ => return None,
            }
        }
        (position, from) = (next, 0);
    }
    None
}

fn copy(held: &mut std::collections::HashMap<Reg, usize>, dst: Reg, src: Reg) {
    match held.get(&src).copied() {
        Some(result) => held.insert(dst, result),
        None => held.remove(&dst),
    };
}

/// Whether the values are all the results, in order.
fn returns(values: &[Value], held: &std::collections::HashMap<Reg, usize>) -> bool {
    let mut counts = [0; 2];
    values.iter().all(|value| {
        let count = &mut counts[value.class() as usize];
        *count += 1;
        value.reg().and_then(|reg| held.get(&reg)) == Some(&(*count - 1))
    })
}

fn make_tail_call(block: &mut Block, at: usize, leaves: Vec<Instr>) {
    block.instrs.truncate(at + 1);
    let Some(call) = block.instrs.pop() else {
        return;
    };
    let Action::Call(Call { callee, args, .. }) = &call.action else {
        return;
    };
    let tail_call = call.with(Action::TailCall(*callee, args.clone()));
    block.instrs.extend(leaves);
    block.instrs.push(tail_call);
}

#[cfg(test)]
mod tests {
    use crate::testing::check_ops;
    use crate::{AssembleOptions, TailCalls};
    use expect_test::{Expect, expect};

    fn check_with(tail_calls: TailCalls, body: &str, expected: Expect) {
        let text = format!(
            "fun f(n: i) -> i {{\n{body}\n}}\nfun g(n: i) -> i {{ ret n }}\n\
             fun two(n: i) -> (i, i) {{ ret n, n }}\nfun main() {{ ret }}"
        );
        check_ops(
            &text,
            &AssembleOptions {
                tail_calls,
                ..Default::default()
            },
            expected,
        );
    }

    fn check(body: &str, expected: Expect) {
        check_with(TailCalls::Always, body, expected);
    }

    #[test]
    fn leave_moves_before_a_tail_call() {
        check(
            "n = call g(n)\nret n",
            expect![[r#"
            fun f(i) -> i {
                enter s3
                leave s3
                tail_call g
            }
        "#]],
        );
    }

    #[test]
    fn moves_and_jumps_to_the_return_are_followed() {
        check(
            "x = call g(n)
             jmp done
            other:
             x = 1
            done:
             y = x
             ret y",
            expect![[r#"
                fun f(i) -> i {
                    enter s3
                    leave s3
                    tail_call g
                    i1 = int 1
                    i0 = mov i1
                    leave s3
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn another_value_than_the_result_is_no_tail_call() {
        check(
            "x = call g(n)\nret n",
            expect![[r#"
            fun f(i) -> i {
                enter s3
                i1 = mov i0
                call g, i1, r0
                leave s3
                ret
            }
        "#]],
        );
    }

    #[test]
    fn fewer_results_than_the_callee_gives_are_no_tail_call() {
        check(
            "x, y = call two(n)\nret x",
            expect![[r#"
                fun f(i) -> i {
                    enter s3
                    call two, i0, r1
                    leave s3
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn a_call_under_a_handler_stays() {
        check(
            "try h(e) {
             x = call g(n)
             }
             ret x
            h:
             ret 0",
            expect![[r#"
                fun f(i) -> i {
                    .handle L0, L1, L2, r0
                    enter s3
                L0:
                    call g, i0, r1
                    i1 = mov i0
                L1:
                    leave s3
                    i0 = mov i1
                    ret
                L2:
                    leave s3
                    i0 = int 0
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn endless_loops_are_followed_once() {
        check(
            "x = call g(n)\nloop:\njmp loop",
            expect![[r#"
                fun f(i) -> i {
                    enter s3
                    call g, i0, r1
                L0:
                    jmp L0
                }
            "#]],
        );
    }

    #[test]
    fn only_calls_to_itself_when_asked() {
        check_with(
            TailCalls::SelfOnly,
            "jeq n, 0, other\nn = call f(n)\nret n\nother:\nn = call g(n)\nret n",
            expect![[r#"
                fun f(i) -> i {
                    enter s3
                    jeq_imm i0, 0, L0
                    leave s3
                    tail_call f
                L0:
                    call g, i0, r1
                    leave s3
                    ret
                }
            "#]],
        );
    }

    #[test]
    fn never_means_only_those_that_are_written() {
        check_with(
            TailCalls::Never,
            "jeq n, 0, other\nn = call g(n)\nret n\nother:\ntail_call g(n)",
            expect![[r#"
                fun f(i) -> i {
                    enter s3
                    jeq_imm i0, 0, L0
                    call g, i0, r1
                    leave s3
                    ret
                L0:
                    leave s3
                    tail_call g
                }
            "#]],
        );
    }
}
