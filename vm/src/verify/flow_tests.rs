//! How much work it is to follow registers: edges that are followed again are counted.

use super::super::operands;
use super::*;

/// How many edges are followed again in a function of these ops, whose targets are indices of
/// ops; and how many edges there are.
fn steps(ops: &[Op]) -> Result<(usize, usize), VerifyErrorKind> {
    let mut offsets = Vec::new();
    let mut code = Vec::new();
    for op in ops {
        offsets.push(code.len() as u32);
        op.encode(&mut code);
    }
    code.clear();
    for op in ops {
        let mut op = op.clone();
        if let Op::JeqImm { target, .. } | Op::Jmp { target } = &mut op {
            target.0 = offsets[target.0 as usize];
        }
        op.encode(&mut code);
    }
    let main = Function {
        name: "main".into(),
        code,
        ..Function::default()
    };
    let callee = Function {
        name: "callee".into(),
        ..Function::default()
    };
    let module = Module {
        functions: vec![main, callee],
        ..Module::default()
    };
    let decoded = operands::check_function(&module, 0).expect("each op is right by itself");
    let mut flow = Flow::new(&module, 0, &decoded);
    flow.visit_all().map_err(|(_, kind)| kind)?;
    let steps = flow.check_registers().map_err(|(_, kind)| kind)?;
    Ok((steps, flow.blocks.edges.len()))
}

fn branch(target: usize) -> Op {
    Op::JeqImm {
        lhs: IIn(0),
        rhs: Int32(0),
        target: Target(target as u32),
    }
}

fn write_all() -> Vec<Op> {
    let write = |register| Op::Int {
        dst: IOut(register),
        value: Int64(0),
    };
    (0..=255).map(write).collect()
}

/// Forgets the registers from `base` on.
fn call(base: usize) -> Op {
    Op::Call {
        function: FuncId(1),
        ints: IWindow(base as u8),
        refs: RWindow(0),
    }
}

#[test]
fn blocks_that_each_forget_one_more_register_take_one_more_round() {
    let mut ops = write_all();
    let start = ops.len();
    for _ in 0..1_000 {
        ops.push(branch(ops.len() + 1));
    }
    for base in (1..=255).rev() {
        ops.extend([call(base), branch(start), branch(ops.len() + 3)]);
    }
    ops.push(Op::Ret {});
    let (steps, edges) = steps(&ops).expect("it verifies");
    assert!(
        (1..=2 * edges).contains(&steps),
        "{steps} for {edges} edges"
    );
}

#[test]
fn loops_in_loops_take_a_round_a_level_at_most() {
    for depth in [1, 8, 30, 100] {
        let mut ops = write_all();
        let start = ops.len();
        // Heads, which may leave their loops, the innermost body, and the ways back.
        for level in 0..depth {
            let tail = start + 2 * depth - level + 1;
            ops.push(branch(tail + 1));
        }
        ops.push(call(2));
        for level in (0..depth).rev() {
            ops.push(Op::Jmp {
                target: Target((start + level) as u32),
            });
        }
        ops.extend([Op::Ret {}, Op::Ret {}, Op::Ret {}]);
        let (steps, edges) = steps(&ops).expect("it verifies");
        assert!(steps <= (depth + 2) * edges, "{steps} for {edges} edges");
    }
}

/// Statements as compilers make them, up to this many levels in one another: ops that write
/// registers, calls that forget them, two-way branches, and loops that test at their start.
fn structured(ops: &mut Vec<Op>, levels: usize, next: &mut impl FnMut(usize) -> usize) {
    for _ in 0..1 + next(6) {
        match next(if levels == 0 || ops.len() > 100_000 {
            3
        } else {
            6
        }) {
            0 | 1 => ops.push(Op::Int {
                dst: IOut(1 + next(200) as u8),
                value: Int64(0),
            }),
            2 => ops.push(call(1 + next(250))),
            kind => {
                let head = ops.len();
                ops.push(branch(0));
                structured(ops, levels - 1, next);
                if kind == 3 {
                    ops.push(Op::Jmp {
                        target: Target(head as u32),
                    });
                }
                ops[head] = branch(ops.len());
            }
        }
    }
}

#[test]
fn a_hundred_thousand_ops_of_a_compiler_take_a_small_part_of_the_limit() {
    for levels in [3, 10, 40] {
        let mut state = levels as u64;
        let mut next = |bound: usize| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        let mut ops = write_all();
        while ops.len() < 100_000 {
            structured(&mut ops, levels, &mut next);
        }
        ops.push(Op::Ret {});
        let bytes: usize = ops
            .iter()
            .map(|op| {
                let mut code = Vec::new();
                op.encode(&mut code);
                code.len()
            })
            .sum();
        let (steps, _) = steps(&ops).expect("it verifies");
        assert!(
            10 * steps < STEPS_PER_BYTE * bytes,
            "{steps} for {bytes} bytes"
        );
    }
}

#[test]
fn straight_code_and_branches_forward_take_no_second_look() {
    let mut ops = write_all();
    for base in (1..=200).rev() {
        ops.extend([branch(ops.len() + 3), call(base), branch(ops.len() + 3)]);
    }
    ops.extend([Op::Ret {}, Op::Ret {}, Op::Ret {}]);
    assert_eq!(steps(&ops).expect("it verifies").0, 0);
}

#[test]
fn news_that_come_one_by_one_meet_the_limit() {
    let mut ops = write_all();
    let mut before = ops.len();
    for _ in 0..2_000 {
        ops.push(branch(ops.len() + 1));
    }
    for base in (1..=255).rev() {
        let start = ops.len();
        ops.extend([call(base), branch(before)]);
        before = start;
    }
    ops.push(Op::Ret {});
    let error = steps(&ops).expect_err("that takes 255 rounds");
    assert!(
        matches!(error, VerifyErrorKind::TooManySteps { .. }),
        "{error}"
    );
}
