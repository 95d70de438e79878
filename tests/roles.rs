//! What a handler does with registers is what its op's roles say: an op changes none that it does
//! not name as written, and what it writes depends on none that it does not name as read.

mod support;

use std::collections::HashSet;

use profiler::SourceMap;
use support::Random;
use vm::host::{HostIo, Hosts};
use vm::isa::*;
use vm::module::{ConstRef, Constant, Function, Global, Globals, Module};
use vm::verify::verify;
use vm::{Outcome, Vm, VmConfig};

/// Registers of each class that ops name in these tests.
const N_REGISTERS: u8 = 12;
/// An `r` register that holds null.
const NULL: u8 = 31;
/// Where copies of the `r` registers stand.
const COPIES: u8 = 32;
/// Where the comparisons with them are put.
const COMPARED: u8 = 64;
/// How often each op is tried without a fault.
const N_DONE: usize = 4;
/// How often each op is tried at most: it may fault for most of what registers hold.
const MAX_TRIES: usize = 3000;

/// What registers hold before the op.
#[derive(Clone)]
struct Before {
    ints: Vec<i64>,
    /// The kind of object in each `r` register; see [`Before::object`].
    refs: Vec<u64>,
}

/// What can be seen after the op.
#[derive(Debug, PartialEq)]
struct After {
    ints: Vec<i64>,
    /// Whether each `r` register still refers to what it did.
    is_same: Vec<bool>,
    /// What the op's reference output leads to.
    output: String,
}

impl Before {
    fn random(random: &mut Random) -> Self {
        let ints = (0..N_REGISTERS).map(|_| match random.next() % 3 {
            0 => (random.next() % 4) as i64,
            1 => (random.next() % 9) as i64 - 4,
            _ => f64::to_bits((random.next() % 100) as f64 / 4.0) as i64,
        });
        let ints = ints.collect();
        let refs = (0..N_REGISTERS).map(|_| random.next() % 11).collect();
        Self { ints, refs }
    }

    /// The same for registers of these sets, and something else in all others.
    fn with_others(&self, ints: &HashSet<u8>, refs: &HashSet<u8>, random: &mut Random) -> Self {
        let other = Self::random(random);
        let choose = |index: u8, is_kept: bool, kept: i64, other: i64| match is_kept {
            true => kept,
            false => other ^ index as i64,
        };
        let mut mixed = self.clone();
        for index in 0..N_REGISTERS {
            let at = index as usize;
            mixed.ints[at] = choose(index, ints.contains(&index), self.ints[at], other.ints[at]);
            if !refs.contains(&index) {
                mixed.refs[at] = other.refs[at];
            }
        }
        mixed
    }

    /// Ops that make what an `r` register holds.
    fn object(&self, index: u8) -> Vec<Op> {
        let dst = ROut(index);
        let length = IIn(COMPARED);
        let fill = IIn(COMPARED + 1);
        let data = |constant| Op::Data {
            dst: ROut(index),
            constant: ConstId(constant),
        };
        let op = match self.refs[index as usize] {
            0 => Op::Null { dst },
            1 => Op::Imm {
                dst,
                value: Int32(3),
            },
            2 => Op::Text {
                dst,
                constant: ConstId(0),
            },
            3 => data(1),
            4 => data(2),
            5 => data(3),
            6 => Op::NewB { dst, length, fill },
            7 => Op::Closure {
                dst,
                function: FuncId(1),
                refs: RRegs([NULL; 3].into_iter().collect()),
                ints: IRegs([COMPARED, COMPARED].into_iter().collect()),
            },
            9 => Op::NewWeak {
                dst,
                src: RIn(NULL),
            },
            8 => Op::NewR {
                dst,
                length,
                fill: RIn(NULL),
            },
            _ => Op::New {
                dst,
                tag: Tag(2),
                refs: RRegs([NULL; 3].into_iter().collect()),
                ints: IRegs([COMPARED, COMPARED, COMPARED].into_iter().collect()),
            },
        };
        vec![op]
    }

    /// Runs the op; `None` when it faults.
    fn run(&self, op: &Op) -> Option<After> {
        let mut ops = Vec::new();
        let int = |dst: u8, value: i64| Op::Int {
            dst: IOut(dst),
            value: Int64(value),
        };
        ops.extend((0..COMPARED + N_REGISTERS).map(|dst| int(dst, 4)));
        ops.extend([Op::Null { dst: ROut(NULL) }]);
        ops.extend((0..N_REGISTERS).flat_map(|index| self.object(index)));
        ops.extend((0..N_REGISTERS).map(|index| Op::RMov {
            dst: ROut(COPIES + index),
            src: RIn(index),
        }));
        ops.extend((0..N_REGISTERS).map(|index| int(index, self.ints[index as usize])));
        ops.push(op.clone());
        ops.extend((0..N_REGISTERS).map(|index| Op::Same {
            dst: IOut(COMPARED + index),
            lhs: RIn(index),
            rhs: RIn(COPIES + index),
        }));
        let written = op.operands().into_iter().find_map(|operand| match operand {
            Operand::ROut(register) => Some(register),
            _ => None,
        });
        let src = RIn(written.unwrap_or(NULL));
        ops.push(Op::RMov { dst: ROut(0), src });
        ops.push(Op::Ret {});
        let results = returned(ops)?;
        let (ints, same) = results.0.split_at(COMPARED as usize);
        Some(After {
            ints: ints.to_vec(),
            is_same: same.iter().map(|&one| one == 1).collect(),
            output: results.1,
        })
    }
}

/// The integers that a function of these ops returns, and its reference as text.
fn returned(mut ops: Vec<Op>) -> Option<(Vec<i64>, String)> {
    // Jumps of the op go on with the op behind it.
    let encode = |ops: &[Op]| {
        let mut code = Vec::new();
        ops.iter().for_each(|op| op.encode(&mut code));
        code
    };
    let jump = ops.iter().position(|op| op.opcode().info().has_targets());
    if let Some(index) = jump {
        let next = encode(&ops[..=index]).len() as u32;
        let operands = ops[index].operands().into_iter();
        let operands: Vec<Operand> = operands
            .map(|operand| match operand {
                Operand::Target(_) => Operand::Target(next),
                Operand::Targets(_) => Operand::Targets([next].into_iter().collect()),
                other => other,
            })
            .collect();
        ops[index] = Op::from_operands(ops[index].opcode(), &operands)?;
        let next = encode(&ops[..=index]).len() as u32;
        if let Op::Switch { targets, .. } = &mut ops[index] {
            targets.0[0] = next;
        }
    }
    let main = Function {
        name: "main".into(),
        signature: Signature {
            int_results: COMPARED + N_REGISTERS,
            ref_results: 1,
            ..Signature::default()
        },
        code: encode(&ops),
        ..Function::default()
    };
    let body = Function {
        name: "body".into(),
        captures: Some(vm::module::Captures { refs: 3, ints: 2 }),
        code: encode(&[Op::Ret {}]),
        ..Function::default()
    };
    let module = Module {
        functions: vec![main, body],
        constants: vec![
            Constant::Text(b"12.5".to_vec()),
            Constant::Bytes(b"abcdefgh".to_vec()),
            Constant::Ints(vec![1, 2, 3, 4, 5]),
            Constant::Floats(vec![1.5, 2.5, 3.5, 4.5]),
        ],
        globals: Globals {
            ints: vec![Global {
                name: "word".into(),
                value: 7,
            }],
            refs: vec![Global {
                name: "text".into(),
                value: ConstRef::Constant(0),
            }],
        },
        sources: SourceMap::new(),
        ..Module::default()
    };
    let module = verify(module).unwrap_or_else(|errors| panic!("{errors:?}\n{ops:?}"));
    let io = HostIo::new(std::io::empty(), std::io::sink(), std::io::sink(), vec![]);
    let config = VmConfig {
        stack_bytes: 1 << 20,
        ..VmConfig::default()
    };
    let mut vm = Vm::new(module, Hosts::standard(io), config).expect("a machine can be made");
    match vm.call(0, &[]) {
        Ok(Outcome::Returned(ints)) => Some((ints, format!("{:?}", vm.read_back(1, 64)))),
        _ => None,
    }
}

/// A random op of a kind, over the registers that are watched; written ones are not read too.
fn random_op_of(info: &OpInfo, random: &mut Random) -> Op {
    let mut free: Vec<u8> = (0..N_REGISTERS).collect();
    let mut registers = move |random: &mut Random| {
        let index = random.next() as usize % free.len();
        free.swap_remove(index)
    };
    let operands: Vec<Operand> = info
        .operands
        .iter()
        .map(|operand| match operand.role {
            Role::IIn => Operand::IIn(registers(random)),
            Role::IOut => Operand::IOut(registers(random)),
            Role::RIn => Operand::RIn(registers(random)),
            Role::ROut => Operand::ROut(registers(random)),
            Role::IRegs => Operand::IRegs((0..2).map(|_| registers(random)).collect()),
            Role::RRegs => Operand::RRegs((0..3).map(|_| registers(random)).collect()),
            Role::Int64 => Operand::Int64(random.next() as i64),
            Role::Float64 => Operand::Float64((random.next() % 64) as f64 / 8.0),
            Role::Int32 => Operand::Int32(1 + (random.next() % 3) as i32),
            Role::Field => Operand::Field((random.next() % 3) as u8),
            Role::Tag => Operand::Tag((random.next() % 4) as u16),
            Role::Target => Operand::Target(0),
            Role::Targets => Operand::Targets([0].into_iter().collect()),
            Role::IntGlobal => Operand::IntGlobal(0),
            Role::RefGlobal => Operand::RefGlobal(0),
            Role::FuncId => Operand::FuncId(1),
            Role::ConstId if info.opcode == Opcode::Text => Operand::ConstId(0),
            Role::ConstId => Operand::ConstId(1 + (random.next() % 3) as u32),
            role => unreachable!("{role:?} is no role of the ops tried"),
        })
        .collect();
    Op::from_operands(info.opcode, &operands).expect("operands to the row's roles")
}

/// The registers of a class that an op reads, or writes.
fn registers(op: &Op, is_ref: bool, access: Access) -> HashSet<u8> {
    let mut all = HashSet::new();
    for operand in op.operands() {
        if operand.role().access() != access {
            continue;
        }
        match operand {
            Operand::IIn(one) | Operand::IOut(one) if !is_ref => drop(all.insert(one)),
            Operand::RIn(one) | Operand::ROut(one) if is_ref => drop(all.insert(one)),
            Operand::IRegs(list) if !is_ref => all.extend(list),
            Operand::RRegs(list) if is_ref => all.extend(list),
            _ => {}
        }
    }
    all
}

#[test]
fn handlers_read_and_write_the_registers_that_their_ops_name() {
    let mut random = Random(1);
    for info in OPS {
        let ends_or_calls = info.effects.has(Effects::CALLS) || !info.falls_through;
        if ends_or_calls || info.effects.has(Effects::PROFILES) {
            continue;
        }
        let mut n_done = 0;
        for _ in 0..MAX_TRIES {
            if n_done == N_DONE {
                break;
            }
            let op = random_op_of(info, &mut random);
            let before = Before::random(&mut random);
            let reads = [false, true].map(|is_ref| registers(&op, is_ref, Access::Read));
            let writes = [false, true].map(|is_ref| registers(&op, is_ref, Access::Write));
            let other = before.with_others(&reads[0], &reads[1], &mut random);
            let (after, other_after) = (before.run(&op), other.run(&op));
            assert_eq!(
                after.is_some(),
                other_after.is_some(),
                "{op:?} faults by what it reads"
            );
            let (Some(after), Some(other_after)) = (after, other_after) else {
                continue;
            };
            n_done += 1;
            for index in 0..N_REGISTERS {
                let (int, other_int) =
                    (after.ints[index as usize], other_after.ints[index as usize]);
                match writes[0].contains(&index) {
                    true => assert_eq!(int, other_int, "{op:?}: i{index} by what it reads"),
                    false => assert_eq!(int, before.ints[index as usize], "{op:?}: i{index}"),
                }
                let is_same = after.is_same[index as usize];
                assert!(is_same || writes[1].contains(&index), "{op:?}: r{index}");
            }
            assert_eq!(after.output, other_after.output, "{op:?}: its reference");
        }
        assert_eq!(n_done, N_DONE, "{} nearly always faults", info.mnemonic);
    }
}
