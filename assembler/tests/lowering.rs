//! Windows, moves and tail calls keep a program's meaning: random programs give what a direct
//! reading of their text gives, in a machine that spoils every register a call may spoil.

mod support;

use assembler::{AssembleOptions, TailCalls, assemble, print};
use support::Numbers;
use vm::isa::Op;
use vm::module::Module;

/// Variables of a function; the first three are its parameters.
const VARIABLES: usize = 7;

/// A statement on variables, by index.
#[derive(Clone, Copy)]
enum Step {
    Set(usize, i64),
    Copy(usize, usize),
    Add(usize, usize, usize),
    /// Two results of a function of three parameters.
    Call(usize, [usize; 2], [usize; 3]),
    /// Skips that many steps when the first is less than the second.
    Skip(usize, usize, usize),
}

/// A function of three parameters and two results.
struct Program {
    steps: Vec<Step>,
    returns: [usize; 2],
    /// The function that is called last, in place of a return.
    tail: Option<(usize, [usize; 3])>,
}

/// Functions call those after them only, so that every run ends.
fn random_program(numbers: &mut Numbers, index: usize, count: usize) -> Program {
    // With few variables, arguments often stand in their places already.
    let n_used = 2 + numbers.below(VARIABLES - 1);
    let mut variable = || numbers.below(n_used);
    let mut steps: Vec<Step> = (3..VARIABLES).map(|index| Step::Set(index, 0)).collect();
    let returns = [variable(), variable()];
    let args = [variable(), variable(), variable()];
    for _ in 0..numbers.below(12) {
        let [a, b, c, d] = [0; 4].map(|_| numbers.below(n_used));
        steps.push(match numbers.below(6) {
            0 => Step::Set(a, numbers.next() as i64 % 100),
            1 => Step::Copy(a, b),
            2 => Step::Skip(a, b, 1 + numbers.below(3)),
            3 => Step::Add(a, b, c),
            _ if index + 1 < count && a != b => {
                let callee = index + 1 + numbers.below(count - index - 1);
                Step::Call(callee, [a, b], [c, d, numbers.below(n_used)])
            }
            _ => Step::Add(a, b, c),
        });
    }
    let tail = (index + 1 < count && numbers.below(3) == 0).then_some((count - 1, args));
    Program {
        steps,
        returns,
        tail,
    }
}

fn text_of(programs: &[Program]) -> String {
    let mut text = String::new();
    for (index, program) in programs.iter().enumerate() {
        text += &format!("fun f{index}(v0: i, v1: i, v2: i) -> (i, i) {{\n");
        for (at, step) in program.steps.iter().enumerate() {
            text += &format!("l{at}:\n");
            text += &match step {
                Step::Set(a, value) => format!("v{a} = {value}\n"),
                Step::Copy(a, b) => format!("v{a} = v{b}\n"),
                Step::Add(a, b, c) => format!("v{a} = add v{b}, v{c}\n"),
                Step::Call(callee, [a, b], [c, d, e]) => {
                    format!("v{a}, v{b} = call f{callee}(v{c}, v{d}, v{e})\n")
                }
                Step::Skip(a, b, count) => {
                    let target = (at + 1 + count).min(program.steps.len());
                    format!("jlt v{a}, v{b}, l{target}\n")
                }
            };
        }
        text += &format!("l{}:\n", program.steps.len());
        let [a, b] = program.returns;
        text += &match program.tail {
            Some((callee, [a, b, c])) => {
                format!("v0, v1 = call f{callee}(v{a}, v{b}, v{c})\nret v0, v1\n")
            }
            None => format!("ret v{a}, v{b}\n"),
        };
        text += "}\n";
    }
    text + "fun main() { ret }\n"
}

/// What the text says.
fn evaluate(programs: &[Program], index: usize, args: [i64; 3]) -> [i64; 2] {
    let program = &programs[index];
    let mut variables = [0; VARIABLES];
    variables[..3].copy_from_slice(&args);
    let mut at = 0;
    while let Some(&step) = program.steps.get(at) {
        at += 1;
        match step {
            Step::Set(a, value) => variables[a] = value,
            Step::Copy(a, b) => variables[a] = variables[b],
            Step::Add(a, b, c) => variables[a] = variables[b].wrapping_add(variables[c]),
            Step::Call(callee, [a, b], args) => {
                let args = args.map(|arg| variables[arg]);
                [variables[a], variables[b]] = evaluate(programs, callee, args);
            }
            Step::Skip(a, b, count) if variables[a] < variables[b] => at += count,
            Step::Skip(..) => {}
        }
    }
    match program.tail {
        Some((callee, args)) => evaluate(programs, callee, args.map(|arg| variables[arg])),
        None => program.returns.map(|variable| variables[variable]),
    }
}

const SPOILT: i64 = 0x5901_1ed0;

/// What the module's code does to the `i` registers from `base` on.
fn run(module: &Module, mut index: usize, base: usize, registers: &mut [i64]) {
    registers[base + 3..].fill(SPOILT);
    let ops = |index: usize| -> Vec<(u32, Op)> {
        module.functions[index]
            .ops()
            .collect::<Result<_, _>>()
            .expect("it verifies")
    };
    let mut code = ops(index);
    let mut at = 0;
    loop {
        let (_, op) = &code[at];
        let mut target = None;
        let get = |register: u8| registers[base + register as usize];
        match op {
            Op::Int { dst, value } => registers[base + dst.0 as usize] = value.0,
            Op::Mov { dst, src } => registers[base + dst.0 as usize] = get(src.0),
            Op::Add { dst, lhs, rhs } => {
                registers[base + dst.0 as usize] = get(lhs.0).wrapping_add(get(rhs.0));
            }
            Op::Jlt {
                lhs,
                rhs,
                target: to,
            } => {
                target = (get(lhs.0) < get(rhs.0)).then_some(to.0);
            }
            Op::Call { function, ints, .. } => {
                let window = base + ints.0 as usize;
                run(module, function.0 as usize, window, registers);
                registers[window + 2..].fill(SPOILT);
            }
            Op::TailCall { function } => {
                index = function.0 as usize;
                registers[base + 3..].fill(SPOILT);
                code = ops(index);
                at = 0;
                continue;
            }
            Op::Ret {} => return,
            Op::Enter { .. } | Op::Leave { .. } => {}
            other => panic!("no program of this test holds {other:?}"),
        }
        at = match target {
            Some(offset) => code
                .iter()
                .position(|(start, _)| *start == offset)
                .expect("targets are ops"),
            None => at + 1,
        };
    }
}

#[test]
fn random_programs_keep_their_meaning() {
    for seed in 0..600 {
        let mut numbers = Numbers::new(seed);
        let programs: Vec<Program> = (0..4)
            .map(|index| random_program(&mut numbers, index, 4))
            .collect();
        let text = text_of(&programs);
        let args = [0; 3].map(|_| numbers.next() as i64 % 1000);
        let expected = evaluate(&programs, 0, args);
        for tail_calls in [TailCalls::Always, TailCalls::SelfOnly, TailCalls::Never] {
            let options = AssembleOptions {
                tail_calls,
                ..Default::default()
            };
            let module = assemble(&text, &options).unwrap_or_else(|errors| {
                panic!("seed {seed}: {}", errors[0].render("random.asm", &text))
            });
            let mut registers = vec![SPOILT; 300];
            registers[..3].copy_from_slice(&args);
            run(&module, 0, 0, &mut registers);
            assert!(
                registers[..2] == expected,
                "seed {seed}: {:?} instead of {expected:?}\n{text}\n{}",
                &registers[..2],
                print(&module)
            );
        }
    }
}
