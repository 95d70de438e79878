//! Modules whose shape is made to be slow: each is of about as many bytes as asked for, and is
//! what some way to verify or load functions is worst at.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test program uses its own part"
)]

use profiler::{NameId, Source, SourceMap, SourceSeqId};
use vm::isa::*;
use vm::module::{Function, HandlerRange, HostImport, Module};

/// A shape: its name, and a module of about as many bytes of code and tables as asked for.
pub type Shape = (&'static str, fn(usize) -> Module);

/// All shapes. All but those of [`TOO_INTERTWINED`] verify.
pub const SHAPES: &[Shape] = &[
    ("tails that drop registers", dropping_tails),
    ("enters in a handler's range", deep_stacks),
    (
        "enters, leaves and enters in a handler's range",
        zigzag_stacks,
    ),
    ("handlers over everything", wide_handlers),
    ("handlers within handlers", nested_handlers),
    ("handlers of one op each", chained_handlers),
    ("tiny functions", tiny_functions),
    ("tiny functions with handlers", tiny_functions_with_handlers),
    ("calls with wide windows", wide_windows),
    ("large switches to the same ops", switches),
    ("loops in loops", nested_loops),
    ("jumps from the last op to the first", backward_chain),
    ("skipping branches", skipping_branches),
    ("one enter and leave after another", flat_sources),
    ("sources in sources", nested_sources),
    ("branches to and fro", woven_branches),
];

/// Shapes that the verifier may refuse, because registers cannot be followed in linear time.
pub const TOO_INTERTWINED: &[Shape] = &[
    ("news that come one by one", delay_line),
    ("random branches", random_branches),
];

/// Registers of a class that shapes use.
const REGISTERS: usize = 250;
/// The source that shapes open.
const FIRST_SOURCE: u32 = 3;

/// Ops whose jump targets are indices of ops.
#[derive(Default)]
pub struct Body {
    ops: Vec<Op>,
    handlers: Vec<(usize, usize, usize)>,
}

impl Body {
    /// How many ops there are: the index of the next one.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// A branch on `i0` to an op.
    pub fn branch(&mut self, target: usize) {
        self.push(Op::JeqImm {
            lhs: IIn(0),
            rhs: Int32(0),
            target: Target(target as u32),
        });
    }

    pub fn jump(&mut self, target: usize) {
        self.push(Op::Jmp {
            target: Target(target as u32),
        });
    }

    pub fn int(&mut self, register: usize) {
        self.push(Op::Int {
            dst: IOut(register as u8),
            value: Int64(0),
        });
    }

    /// A call of a host function, which may raise, with windows from these registers on.
    pub fn call_host(&mut self, ints: usize, refs: usize) {
        self.push(Op::CallHost {
            host: HostId(0),
            ints: IWindow(ints as u8),
            refs: RWindow(refs as u8),
        });
    }

    pub fn enter(&mut self) {
        self.push(Op::Enter {
            source: SourceRef(FIRST_SOURCE),
        });
    }

    pub fn leave(&mut self) {
        self.push(Op::Leave {
            source: SourceRef(FIRST_SOURCE),
        });
    }

    pub fn ret(&mut self) {
        self.push(Op::Ret {});
    }

    /// Ops from `start` to before `end` that raise go on at `target`.
    pub fn handler(&mut self, start: usize, end: usize, target: usize) {
        self.handlers.push((start, end, target));
    }

    /// Writes all registers that shapes use.
    pub fn write_all(&mut self) {
        (0..REGISTERS).for_each(|register| self.int(register));
        for register in 0..REGISTERS as u8 {
            self.push(Op::Null {
                dst: ROut(register),
            });
        }
    }

    /// A function of these ops.
    pub fn function(self, name: &str) -> Function {
        let mut offsets = Vec::with_capacity(self.ops.len() + 1);
        let mut code = Vec::new();
        for op in &self.ops {
            offsets.push(code.len() as u32);
            op.encode(&mut code);
        }
        offsets.push(code.len() as u32);
        code.clear();
        for op in &self.ops {
            let mut operands = op.operands();
            for operand in &mut operands {
                match operand {
                    Operand::Target(target) => *target = offsets[*target as usize],
                    Operand::Targets(targets) => targets
                        .iter_mut()
                        .for_each(|target| *target = offsets[*target as usize]),
                    _ => {}
                }
            }
            let op = Op::from_operands(op.opcode(), &operands).expect("the same operands fit");
            op.encode(&mut code);
        }
        let handlers = self.handlers.into_iter();
        Function {
            name: name.into(),
            code,
            handlers: handlers
                .map(|(start, end, target)| HandlerRange {
                    start: offsets[start],
                    end: offsets[end],
                    target: offsets[target],
                    register: 0,
                })
                .collect(),
            ..Function::default()
        }
    }
}

/// How many bytes of code and tables a module has.
pub fn bytes(module: &Module) -> usize {
    let functions = module.functions.iter();
    functions
        .map(|one| 15 + one.name.len() + one.code.len() + 13 * one.handlers.len())
        .sum()
}

/// A module of a function's ops.
pub fn module_of(body: Body) -> Module {
    module(vec![body.function("main")])
}

fn module(functions: Vec<Function>) -> Module {
    let mut sources = SourceMap::new();
    for name in ["first\tx: 1", "second\tx: 2"] {
        sources.names.push(name.into());
        sources.sources.push(Source {
            name: NameId(sources.names.len() as u32 - 1),
            successors: SourceSeqId::EMPTY,
        });
    }
    let nothing = Signature::default();
    let wide = Signature {
        int_params: REGISTERS as u8,
        ref_params: REGISTERS as u8,
        int_results: REGISTERS as u8,
        ref_results: REGISTERS as u8,
    };
    Module {
        functions,
        hosts: [("narrow", nothing), ("wide", wide)]
            .map(|(name, signature)| HostImport {
                name: name.into(),
                signature,
            })
            .into(),
        sources,
        ..Module::default()
    }
}

/// A loop of many blocks, and behind it blocks that go back to its start, each with one register
/// less: who visits the earliest block first goes round once for each.
fn dropping_tails(size: usize) -> Module {
    let mut body = Body::default();
    body.write_all();
    let start = body.len();
    while body.len() - start < size / 10 {
        body.branch(body.len() + 1);
    }
    for register in (1..REGISTERS).rev() {
        body.call_host(register, REGISTERS);
        body.branch(start);
        // So that each is a block.
        body.branch(body.len() + 1);
    }
    for register in (0..REGISTERS).rev() {
        body.call_host(1, register);
        body.branch(start);
        body.branch(body.len() + 1);
    }
    body.ret();
    module_of(body)
}

/// Enters, each with an op that may raise, over which a handler stands.
fn deep_stacks(size: usize) -> Module {
    let mut body = Body::default();
    body.int(0);
    let start = body.len();
    let depth = size / 17;
    for _ in 0..depth {
        body.call_host(1, 0);
        body.enter();
    }
    (0..depth).for_each(|_| body.leave());
    let end = body.len();
    body.ret();
    body.handler(start, end, end);
    module_of(body)
}

/// The same, going up and down before each op that may raise.
fn zigzag_stacks(size: usize) -> Module {
    let mut body = Body::default();
    let start = body.len();
    body.call_host(1, 0);
    let depth = size / 44;
    for _ in 0..depth {
        body.enter();
        body.enter();
        body.call_host(1, 0);
        body.leave();
        body.call_host(1, 0);
        body.enter();
        body.leave();
    }
    (0..depth).for_each(|_| body.leave());
    let end = body.len();
    body.ret();
    body.handler(start, end, end);
    module_of(body)
}

/// Half of the bytes are ops that may raise, the other half handlers, each over all of them.
fn wide_handlers(size: usize) -> Module {
    let mut body = Body::default();
    (0..size / 2 / 7).for_each(|_| body.call_host(1, 0));
    let end = body.len();
    body.ret();
    (0..size / 2 / 13).for_each(|_| body.handler(0, end, end));
    module_of(body)
}

/// Handlers, the inner ones first, each over one op more at either side.
fn nested_handlers(size: usize) -> Module {
    let mut body = Body::default();
    let count = size / (7 * 2 + 13);
    (0..2 * count).for_each(|_| body.call_host(1, 0));
    let end = body.len();
    body.ret();
    for distance in 1..=count {
        body.handler(count - distance, count + distance, end);
    }
    module_of(body)
}

/// Each op has a handler of its own, which is the next op.
fn chained_handlers(size: usize) -> Module {
    let mut body = Body::default();
    let count = size / 20;
    for index in 0..count {
        body.call_host(1, 1);
        body.handler(index, index + 1, index + 1);
    }
    body.ret();
    module_of(body)
}

/// Functions of one op.
fn tiny_functions(size: usize) -> Module {
    let count = size / 22;
    let function = |index: usize| {
        let mut body = Body::default();
        body.ret();
        body.function(&format!("{index:x}"))
    };
    module((0..count).map(function).collect())
}

/// Functions of two ops with eight handlers.
fn tiny_functions_with_handlers(size: usize) -> Module {
    let function = |index: usize| {
        let mut body = Body::default();
        body.call_host(1, 0);
        body.ret();
        (0..8).for_each(|_| body.handler(0, 1, 1));
        body.function(&format!("{index:x}"))
    };
    module((0..size / 130).map(function).collect())
}

/// Calls that read and write nearly all registers.
fn wide_windows(size: usize) -> Module {
    let mut body = Body::default();
    body.write_all();
    let start = body.len();
    for _ in 0..size / 7 {
        body.push(Op::CallHost {
            host: HostId(1),
            ints: IWindow(0),
            refs: RWindow(0),
        });
    }
    let end = body.len();
    body.ret();
    body.handler(start, end, end);
    module_of(body)
}

/// Switches of 1,000 targets, which are all the same ops: branches, each to one of the switches.
fn switches(size: usize) -> Module {
    const LANDINGS: usize = 1000;
    let mut body = Body::default();
    body.write_all();
    let first = body.len();
    let count = (size / (4 * LANDINGS)).max(1);
    let landings = first + count;
    for _ in 0..count {
        body.push(Op::Switch {
            index: IIn(0),
            targets: Targets(
                (landings..landings + LANDINGS)
                    .map(|op| op as u32)
                    .collect(),
            ),
        });
    }
    (0..LANDINGS).for_each(|landing| body.branch(first + landing % count));
    body.ret();
    module_of(body)
}

/// Loops in loops that test at their start, so that what the innermost forgets goes from one to
/// the next. No deeper than the limit on steps lets pass at any size.
fn nested_loops(size: usize) -> Module {
    const DEPTH: usize = 16;
    let mut body = Body::default();
    body.write_all();
    while body.len() * 6 < size {
        let start = body.len();
        // Heads, each of which may leave its loop; then tails, the innermost first.
        let head = |level: usize| start + level;
        let tail = |level: usize| start + DEPTH + 1 + (DEPTH - 1 - level);
        (0..DEPTH).for_each(|level| match level {
            0 => body.branch(start + 2 * DEPTH + 1),
            _ => body.branch(tail(level - 1)),
        });
        body.call_host(2, 2);
        (0..DEPTH).rev().for_each(|level| body.jump(head(level)));
    }
    body.ret();
    module_of(body)
}

/// Jumps, each to the one before it.
fn backward_chain(size: usize) -> Module {
    let mut body = Body::default();
    let count = size / 15;
    body.int(0);
    body.jump(3 + 2 * (count - 1));
    body.ret();
    for index in 0..count {
        let before = if index == 0 { 2 } else { 3 + 2 * (index - 1) };
        body.branch(before);
        body.jump(before);
    }
    module_of(body)
}

/// Branches over the next branch: each op is reached in two ways.
fn skipping_branches(size: usize) -> Module {
    let mut body = Body::default();
    body.write_all();
    for index in 0..size / 13 {
        body.branch(body.len() + 2);
        body.push(Op::Mov {
            dst: IOut(1 + (index % 200) as u8),
            src: IIn(0),
        });
    }
    body.ret();
    body.ret();
    module_of(body)
}

/// A source opened and closed again and again.
fn flat_sources(size: usize) -> Module {
    let mut body = Body::default();
    for _ in 0..size / 10 {
        body.enter();
        body.leave();
    }
    body.ret();
    module_of(body)
}

/// Sources opened in one another, the innermost closed and opened again and again, then all closed.
/// What follows is no exit, so that closing them is work.
pub fn nested_sources(size: usize) -> Module {
    let mut body = Body::default();
    body.int(0);
    (0..size / 20).for_each(|_| body.enter());
    for _ in 0..size / 20 {
        body.leave();
        body.enter();
    }
    (0..size / 20).for_each(|_| body.leave());
    body.branch(body.len() + 1);
    body.ret();
    module_of(body)
}

/// Branches far forward and far back by turns, with calls that forget registers in between.
fn woven_branches(size: usize) -> Module {
    let mut body = Body::default();
    body.write_all();
    let start = body.len();
    let count = size / 27;
    for index in 0..count {
        body.branch(start + 3 * ((index + count / 2) % count));
        body.branch(start + 3 * (index * 7919 % count));
        body.call_host(1 + index % 200, index % 200);
    }
    body.ret();
    module_of(body)
}

/// A long loop, and behind it blocks each of which goes back to the one before it, the first to
/// the loop's start. A register that is forgotten in the nth comes to the start in the nth pass.
fn delay_line(size: usize) -> Module {
    let mut body = Body::default();
    body.write_all();
    let mut before = body.len();
    while body.len() * 11 < size {
        body.branch(body.len() + 1);
    }
    for register in (1..REGISTERS).rev() {
        let start = body.len();
        body.call_host(register, REGISTERS);
        body.branch(before);
        before = start;
    }
    body.ret();
    module_of(body)
}

/// Branches to anywhere, and calls that forget registers and ops that write them again.
fn random_branches(size: usize) -> Module {
    let mut state = size as u64;
    let mut next = move |bound: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % bound
    };
    let mut body = Body::default();
    body.write_all();
    let start = body.len();
    let count = size / 25;
    for _ in 0..count {
        body.branch(start + 3 * next(count));
        body.int(1 + next(REGISTERS - 1));
        match next(50) {
            0 => body.call_host(1 + next(REGISTERS - 1), next(REGISTERS)),
            _ => body.branch(start + 3 * next(count)),
        }
    }
    body.ret();
    module_of(body)
}
