//! Every op that is evaluated gives what the machine gives, and every jump that is decided goes
//! where the machine goes.

use std::collections::BTreeSet;

use vm::host::{HostIo, Hosts};
use vm::isa::{Access, IIn, OPS, OpInfo, RIn, Role, Signature};
use vm::{Outcome, Vm, VmConfig};

use super::*;
use crate::AssembleOptions;
use crate::builder::{ModuleBuilder, Value};
use crate::ir::map_targets;

/// Words at which ops behave in special ways, as integers or as doubles.
fn words() -> Vec<i64> {
    let mut words = vec![
        0,
        1,
        -1,
        2,
        5,
        -7,
        63,
        64,
        1 << 31,
        i64::MAX,
        i64::MIN,
        i64::MIN + 1,
    ];
    let doubles = [
        -0.0,
        0.5,
        1.0,
        -1.5,
        2.5,
        1e300,
        -9.3e18,
        1e-310,
        f64::INFINITY,
        f64::NAN,
    ];
    words.extend(doubles.map(|double: f64| double.to_bits() as i64));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..6 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        words.push(state as i64);
    }
    words
}

const IMMEDIATES: [i32; 9] = [0, 1, -1, 3, 31, 64, -128, i32::MAX, i32::MIN];

/// What the references are that ops read, in the registers from 0 on.
const REFERENCES: [Known; 4] = [
    Known::Null,
    Known::Immediate(0),
    Known::Immediate(-6),
    Known::Text(0),
];

/// The ops of a row over `i0` and `i1` or over references, with each immediate; what they write is
/// register 6.
fn ops_of(info: &OpInfo) -> Vec<Op> {
    let mut all: Vec<Vec<Operand>> = vec![Vec::new()];
    let mut n_ints = 0;
    for operand in info.operands {
        let choices: Vec<Operand> = match operand.role {
            Role::IOut => vec![Operand::IOut(6)],
            Role::ROut => vec![Operand::ROut(6)],
            Role::IIn => {
                n_ints += 1;
                vec![Operand::IIn(n_ints - 1)]
            }
            Role::RIn => (0..REFERENCES.len() as u8).map(Operand::RIn).collect(),
            Role::Int32 => IMMEDIATES.map(Operand::Int32).to_vec(),
            Role::Target => vec![Operand::Target(0)],
            _ => return Vec::new(),
        };
        let longer = all.iter().flat_map(|one| {
            let with = |choice: &Operand| [one.clone(), vec![choice.clone()]].concat();
            choices.iter().map(with).collect::<Vec<_>>()
        });
        all = longer.collect();
    }
    let ops = all.iter();
    ops.filter_map(|operands| Op::from_operands(info.opcode, operands))
        .collect()
}

/// A machine with a function that gives what an op writes, or whether it jumps; `None` when the
/// verifier refuses the op.
fn machine(op: &Op) -> Option<Vm> {
    let mut module = ModuleBuilder::new(&AssembleOptions::default());
    let signature = Signature {
        int_params: 2,
        int_results: 1,
        ..Signature::default()
    };
    let f = module.declare("f", signature);
    let main = module.declare("main", Signature::default());
    module.constant(vm::module::Constant::Text(b"text".to_vec()));
    let mut body = module.function(f);
    for (index, known) in (0..).zip(REFERENCES) {
        body.op(known.load(Reg::reference(index)));
    }
    let taken = body.label();
    body.op(map_targets(op, |_| taken.0));
    if op.opcode().info().names(Role::ROut) {
        let (dst, src) = (IOut(6), RIn(6));
        body.op(Op::OfImm { dst, src });
    }
    let is_jump = op.opcode().info().has_targets();
    let result = if is_jump {
        Value::Int(0)
    } else {
        Value::Reg(Reg::int(6))
    };
    body.ret(&[result]);
    body.bind(taken);
    body.ret(&[Value::Int(1)]);
    module.define(body);
    let mut body = module.function(main);
    body.ret(&[]);
    module.define(body);
    let module = module.finish_verified().ok()?;
    let io = HostIo::new(
        std::io::empty(),
        std::io::sink(),
        std::io::sink(),
        Vec::new(),
    );
    Vm::new(module, Hosts::standard(io), VmConfig::default()).ok()
}

fn known(words: [i64; 2], reg: Reg) -> Option<Known> {
    match reg.class {
        Class::Int => Some(Known::Word(words[reg.index as usize])),
        Class::Ref => Some(REFERENCES[reg.index as usize]),
    }
}

/// What an op is evaluated to: the bits of its result, or whether it jumps.
fn evaluated(op: &Op, words: [i64; 2]) -> Option<i64> {
    if op.opcode().info().has_targets() {
        return decide(op, |reg| known(words, reg)).map(i64::from);
    }
    let (dst, result) = evaluate(op, |reg| known(words, reg))?;
    assert_eq!(dst.index, 6, "{op:?}");
    match result {
        Known::Immediate(value) => Some(value.into()),
        other => other.bits(),
    }
}

/// Pairs of words for as many registers as an op reads.
fn pairs(op: &Op) -> Vec<[i64; 2]> {
    let words = words();
    let operands = op.operands();
    let is_read = |operand: &&Operand| operand.role() == Role::IIn;
    match operands.iter().filter(is_read).count() {
        0 => vec![[0, 0]],
        1 => words.iter().map(|&one| [one, 0]).collect(),
        _ => {
            let all = words.iter();
            all.flat_map(|&one| words.iter().map(move |&other| [one, other]))
                .collect()
        }
    }
}

/// The rows of the table of which some op is evaluated, each compared with the machine.
fn compared() -> BTreeSet<&'static str> {
    let mut compared = BTreeSet::new();
    for info in OPS {
        for op in ops_of(info) {
            let mut vm = None;
            for words in pairs(&op) {
                let Some(expected) = evaluated(&op, words) else {
                    continue;
                };
                let vm = match &mut vm {
                    Some(vm) => vm,
                    None => match machine(&op) {
                        Some(made) => vm.insert(made),
                        // Such an op is in no program.
                        None => break,
                    },
                };
                let actual = vm.call(0, &words);
                assert_eq!(
                    actual.ok(),
                    Some(Outcome::Returned(vec![expected])),
                    "{op:?} {words:?}"
                );
                compared.insert(info.mnemonic);
            }
        }
    }
    compared
}

#[test]
fn what_is_evaluated_is_what_the_machine_computes() {
    let compared = compared();
    let expected = [
        "add", "add_imm", "rsub_imm", "mul_ovf", "quot", "modulo", "urem", "shl_imm", "sext",
        "clz", "ule", "fdiv", "fround", "itof", "ftoi", "fle", "is_null", "is_imm", "same",
        "to_imm", "of_imm", "jeq", "jgt_imm", "jult", "jfnle", "jnull", "jimm", "jsame", "neg_ovf",
    ];
    for name in expected {
        assert!(compared.contains(name), "{name} is never evaluated");
    }
    assert!(compared.len() > 85, "{} rows", compared.len());
}

/// An op that is not evaluated is left to the machine; a pure one on numbers should not be.
#[test]
fn all_pure_ops_on_numbers_are_evaluated() {
    for info in OPS.iter().filter(|info| info.is_pure()) {
        let reads = info
            .operands
            .iter()
            .filter(|one| one.role.access() == Access::Read);
        let is_numeric =
            reads.clone().count() > 0 && reads.clone().all(|one| one.role == Role::IIn);
        let is_move = info.effects.has(Effects::MOVES);
        if !is_numeric || is_move {
            continue;
        }
        let ops = ops_of(info);
        let is_evaluated = |op: &Op| {
            pairs(op)
                .into_iter()
                .any(|words| evaluated(op, words).is_some())
        };
        assert!(
            ops.iter().any(is_evaluated),
            "{} is never folded",
            info.mnemonic
        );
    }
}

#[test]
fn inverses_jump_exactly_when_the_others_do_not() {
    let mut n_inverted = 0;
    for info in OPS.iter().filter(|info| info.has_targets()) {
        for op in ops_of(info) {
            let Some(opposite) = inverse(&op, 0) else {
                continue;
            };
            n_inverted += 1;
            assert_eq!(inverse(&opposite, 0).as_ref(), Some(&op), "there and back");
            for words in pairs(&op) {
                let (one, other) = (evaluated(&op, words), evaluated(&opposite, words));
                assert_eq!(
                    one.map(|taken| 1 - taken),
                    other,
                    "{op:?} {opposite:?} {words:?}"
                );
            }
        }
    }
    assert!(n_inverted > 60, "{n_inverted}");
}

#[test]
fn an_op_that_would_fault_is_not_evaluated() {
    let [dst, lhs, rhs] = [0, 0, 1];
    let (dst, lhs, rhs) = (IOut(dst), IIn(lhs), IIn(rhs));
    let cases = [
        (
            Op::Quot {
                dst: dst.clone(),
                lhs: lhs.clone(),
                rhs: rhs.clone(),
            },
            [1, 0],
        ),
        (
            Op::Div {
                dst: dst.clone(),
                lhs: lhs.clone(),
                rhs: rhs.clone(),
            },
            [i64::MIN, -1],
        ),
        (
            Op::AddOvf {
                dst: dst.clone(),
                lhs: lhs.clone(),
                rhs: rhs.clone(),
            },
            [i64::MAX, 1],
        ),
        (Op::FToI { dst, src: lhs }, [f64::NAN.to_bits() as i64, 0]),
    ];
    for (op, words) in cases {
        assert_eq!(evaluate(&op, |reg| known(words, reg)), None, "{op:?}");
    }
}
