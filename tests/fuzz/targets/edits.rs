//! Programs made of an example by a row of edits. The edits are of ops, with targets that move
//! with them, so that many of the results verify.

use vm::host::STANDARD;
use vm::isa::{OPS, Op, Operand, random_op};
use vm::module::{Constant, Function, HandlerRange, HostImport, Module};

use super::examples::modules;
use super::input::Input;

/// The most edits of one program.
const MAX_EDITS: usize = 24;

/// A program that the input describes: which example, and what is changed in it.
pub fn edited(input: &mut Input) -> Module {
    let examples = modules();
    let mut module = examples[input.below(examples.len())].clone();
    for _ in 0..MAX_EDITS {
        if input.is_empty() {
            break;
        }
        edit(&mut module, input);
    }
    module
}

fn edit(module: &mut Module, input: &mut Input) {
    let place = input.below(module.functions.len());
    let kind = input.below(16);
    match kind {
        0 => add_host(module, input),
        1 => {
            let signature = &mut module.functions[place].signature;
            let number = input.below(4) as u8;
            match input.below(4) {
                0 => signature.int_params = number,
                1 => signature.ref_params = number,
                2 => signature.int_results = number,
                _ => signature.ref_results = number,
            }
        }
        2 => change_constant(module, input),
        _ => {
            let function = &mut module.functions[place];
            if let Some(mut body) = Body::of(function) {
                body.edit(kind, input);
                body.put_into(function);
            }
        }
    }
}

/// Imports another standard function, or one of the same name with another signature.
fn add_host(module: &mut Module, input: &mut Input) {
    let function = &STANDARD[input.below(STANDARD.len())];
    let import = HostImport {
        name: function.name.to_owned(),
        signature: function.signature,
    };
    let place = input.below(module.hosts.len() + 1);
    match module.hosts.get_mut(place) {
        Some(old) => *old = import,
        None => module.hosts.push(import),
    }
}

fn change_constant(module: &mut Module, input: &mut Input) {
    let place = input.below(module.constants.len() + 1);
    let length = (input.number() % (1 << 18)) as usize;
    let constant = match input.below(4) {
        0 => Constant::Text(vec![b'0'; length]),
        1 => Constant::Bytes(vec![7; length]),
        2 => Constant::Ints(vec![-1; length / 8]),
        _ => Constant::Floats(vec![0.5; length / 8]),
    };
    match module.constants.get_mut(place) {
        Some(old) => *old = constant,
        None => module.constants.push(constant),
    }
}

/// A function's ops and ranges; targets are indices of ops instead of offsets.
struct Body {
    ops: Vec<Op>,
    handlers: Vec<HandlerRange>,
}

impl Body {
    /// The body of a function whose code decodes.
    fn of(function: &Function) -> Option<Self> {
        let mut offsets = Vec::new();
        let mut ops = Vec::new();
        for op in function.ops() {
            let (offset, op) = op.ok()?;
            offsets.push(offset);
            ops.push(op);
        }
        let index = |offset: u32| offsets.partition_point(|&known| known < offset) as u32;
        let ops = ops.iter().map(|op| with_targets(op, index)).collect();
        let handlers = with_offsets(&function.handlers, index);
        Some(Self { ops, handlers })
    }

    /// The other way.
    fn put_into(&self, function: &mut Function) {
        let mut offsets = Vec::new();
        let mut code = Vec::new();
        for op in &self.ops {
            offsets.push(code.len() as u32);
            // Targets have the same size whatever they are.
            op.encode(&mut code);
        }
        offsets.push(code.len() as u32);
        let offset = |index: u32| offsets.get(index as usize).copied().unwrap_or(u32::MAX);
        function.code.clear();
        for op in &self.ops {
            with_targets(op, offset).encode(&mut function.code);
        }
        function.handlers = with_offsets(&self.handlers, offset);
        // What lines say stays in order, and need not stay true.
        let end = function.code.len() as u32;
        function.lines.retain(|entry| entry.offset < end);
    }

    fn edit(&mut self, kind: usize, input: &mut Input) {
        let at = input.below(self.ops.len() + 1);
        let n_ops = self.ops.len();
        match kind {
            3 | 4 if at < n_ops => drop(self.remove(at)),
            5 if at < n_ops => {
                let end = n_ops.min(at + 1 + input.below(8));
                let copies = self.ops[at..end].to_vec();
                let to = input.below(n_ops + 1);
                copies.into_iter().for_each(|op| self.insert(to, op));
            }
            6 => {
                let (start, end) = (at as u32, (at + input.below(16)) as u32);
                let target = input.below(n_ops + 1) as u32;
                let register = input.below(8) as u8;
                self.handlers.push(HandlerRange {
                    start,
                    end,
                    target,
                    register,
                });
            }
            7 if !self.handlers.is_empty() => {
                let place = input.below(self.handlers.len());
                self.handlers.swap_remove(place);
            }
            8 | 9 => {
                let op = op(input);
                self.insert(at, op);
            }
            10 if at < n_ops => self.ops[at] = op(input),
            11 if at < n_ops => {
                let other = input.below(n_ops);
                self.ops.swap(at, other);
            }
            _ if at < n_ops => self.change_operand(at, input),
            _ => {}
        }
    }

    /// Another value for one operand of an op.
    fn change_operand(&mut self, at: usize, input: &mut Input) {
        let old = &self.ops[at];
        let mut operands = old.operands();
        if operands.is_empty() {
            return;
        }
        let place = input.below(operands.len());
        // Made with the op's own opcode, so that it is of the right role.
        let mut next = || input.number();
        let other = random_op(old.opcode(), &mut next).operands();
        operands[place] = other[place].clone();
        if let Some(changed) = Op::from_operands(old.opcode(), &operands) {
            self.ops[at] = changed;
        }
    }

    fn insert(&mut self, at: usize, op: Op) {
        self.ops.insert(at, op);
        self.renumber(|index| index.saturating_add(u32::from(index > at as u32)));
    }

    fn remove(&mut self, at: usize) -> Op {
        let removed = self.ops.remove(at);
        self.renumber(|index| index - u32::from(index > at as u32));
        removed
    }

    fn renumber(&mut self, number: impl Fn(u32) -> u32 + Copy) {
        for op in &mut self.ops {
            *op = with_targets(op, number);
        }
        self.handlers = with_offsets(&self.handlers, number);
    }
}

/// An op whose operands are small as a rule.
fn op(input: &mut Input) -> Op {
    let opcode = OPS[input.below(OPS.len())].opcode;
    random_op(opcode, &mut || input.number())
}

/// The op with other targets.
fn with_targets(op: &Op, other: impl Fn(u32) -> u32) -> Op {
    let mut operands = op.operands();
    for operand in &mut operands {
        match operand {
            Operand::Target(target) => *target = other(*target),
            Operand::Targets(targets) => {
                for target in targets {
                    *target = other(*target);
                }
            }
            _ => {}
        }
    }
    Op::from_operands(op.opcode(), &operands).expect("the roles are the same")
}

/// The ranges with other offsets.
fn with_offsets(handlers: &[HandlerRange], other: impl Fn(u32) -> u32) -> Vec<HandlerRange> {
    let moved = handlers.iter().map(|range| HandlerRange {
        start: other(range.start),
        end: other(range.end),
        target: other(range.target),
        ..*range
    });
    moved.collect()
}
