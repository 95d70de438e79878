//! A second opinion: an interpreter that is slow, safe and obvious, written from the manuals and
//! not from the machine. It executes ops as they stand in a module; nothing is lowered, fused or
//! collected.
//!
//! | module | what it holds |
//! |---|---|
//! | `step` | ops, taken apart by the roles of their operands |
//! | `numbers` | ops on raw words |
//! | `heap`, `data` | objects, and ops on references |
//! | `control` | calls, returns, exceptions |
//! | `host` | host functions |
//! | `ledger` | what sources are charged |

mod control;
mod data;
mod heap;
mod host;
mod ledger;
mod numbers;
pub(crate) mod smith;
mod step;

use profiler::SourceId;
use vm::isa::{ConstId, FuncId, Op, SourceRef};
use vm::module::Constant;
use vm::verify::VerifiedModule;

use control::Frame;
use data::{Made, Operands};
use heap::{Heap, Object, Value};
pub(crate) use ledger::Counts;
use ledger::Ledger;
use step::{Step, Word};

/// How many calls may be active. Programs that come near never end; those that end stay far below.
pub(crate) const MAX_DEPTH: usize = 6_000;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The entry function returned these integers.
    Returned(Vec<i64>),
    /// The program asked for the end.
    ExitCode(u8),
    /// Nobody handled this exception.
    Uncaught(String),
    /// Too many calls were active.
    StackOverflow,
    /// More ops were run than allowed.
    OutOfOps,
}

/// What a run did, to tell whether it was worth while.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Ops run.
    pub ops: u64,
    /// Exceptions raised, faults included.
    pub raises: u64,
    /// Exceptions raised by ops.
    pub faults: u64,
    /// Exceptions that arrived at a handler.
    pub handled: u64,
    /// Tail calls.
    pub tail_calls: u64,
    /// Objects made.
    pub objects: u64,
    /// The size of the largest object.
    pub largest: u64,
    /// Which opcodes were run, by code.
    pub opcodes: Vec<bool>,
}

/// A run's result.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// How it ended.
    pub end: End,
    /// What it wrote to the output.
    pub output: Vec<u8>,
    /// What it wrote to the error output.
    pub errors: Vec<u8>,
    /// Bytes allocated.
    pub allocated: u64,
    /// What each source was charged.
    pub counts: Vec<Counts>,
    /// What the run did.
    pub tally: Tally,
}

/// The interpreter.
struct Machine<'a> {
    module: &'a VerifiedModule,
    steps: &'a [Vec<Step>],
    heap: Heap,
    /// Where each string constant stands in the heap; such strings are nobody's allocation.
    texts: Vec<Value>,
    ints: Vec<i64>,
    refs: Vec<Value>,
    frames: Vec<Frame>,
    ledger: Ledger,
    tally: Tally,
    arguments: &'a [Vec<u8>],
    output: Vec<u8>,
    errors: Vec<u8>,
}

/// Runs a module's entry function, for so many ops at most.
pub(crate) fn run(module: &VerifiedModule, arguments: &[Vec<u8>], max_ops: u64) -> Report {
    let mut heap = Heap::default();
    let texts = module.constants.iter().map(|constant| match constant {
        Constant::Text(bytes) => heap.add(Object::Text(bytes.clone())),
        _ => Value::Null,
    });
    let texts = texts.collect();
    let steps = step::steps(module);
    let mut machine = Machine {
        module,
        steps: &steps,
        heap,
        texts,
        ints: Vec::new(),
        refs: Vec::new(),
        frames: Vec::new(),
        ledger: Ledger::new(module.sources.sources.len()),
        tally: Tally {
            opcodes: vec![false; 256],
            ..Tally::default()
        },
        arguments,
        output: Vec::new(),
        errors: Vec::new(),
    };
    let end = machine.execute(max_ops);
    Report {
        end,
        output: machine.output,
        errors: machine.errors,
        allocated: machine.ledger.allocated,
        counts: machine.ledger.counts,
        tally: machine.tally,
    }
}

impl Machine<'_> {
    fn execute(&mut self, max_ops: u64) -> End {
        if let Err(end) = self.call(self.module.entry, 0, 0) {
            return end;
        }
        let steps = self.steps;
        loop {
            if self.tally.ops == max_ops {
                return End::OutOfOps;
            }
            self.tally.ops += 1;
            let frame = self.frame();
            let step = &steps[frame.function][frame.at];
            self.tally.opcodes[step.opcode as usize] = true;
            let result = match self.control(&step.op) {
                Ok(true) => Ok(()),
                Ok(false) => self.step(step),
                Err(end) => Err(end),
            };
            if let Err(end) = result {
                return end;
            }
        }
    }

    fn frame(&self) -> &Frame {
        self.frames.last().expect("a function is running")
    }

    fn frame_mut(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a function is running")
    }

    /// Executes an op that stays in its function, unless it faults.
    fn step(&mut self, step: &Step) -> Result<(), End> {
        let operands = self.fetch(step);
        if let Some(next) = self.jump(step, &operands) {
            self.frame_mut().at = next;
            return Ok(());
        }
        let [a, b, _] = operands.words;
        let made = if let Some(made) = self.special(&step.op) {
            Ok(made)
        } else if let Some(result) = numbers::evaluate(step.opcode, a, b) {
            result.map(Made::Word)
        } else {
            let result = data::execute(step.opcode, &operands, &mut self.heap);
            result.expect("every op is of one of these kinds")
        };
        match made {
            Ok(made) => {
                self.store(step, made);
                self.frame_mut().at += 1;
                Ok(())
            }
            Err(fault) => self.fault(fault),
        }
    }

    fn fetch(&self, step: &Step) -> Operands {
        let Frame { ints, refs, .. } = *self.frame();
        let mut operands = Operands {
            words: [0; 3],
            refs: [Value::Null; 2],
            field: step.field,
        };
        for (value, word) in operands.words.iter_mut().zip(&step.words) {
            *value = match *word {
                Word::Register(register) => self.ints[ints + register as usize],
                Word::Constant(value) => value,
            };
        }
        for (value, &register) in operands.refs.iter_mut().zip(&step.refs) {
            *value = self.refs[refs + register as usize];
        }
        operands
    }

    fn store(&mut self, step: &Step, made: Made) {
        let Frame { ints, refs, .. } = *self.frame();
        let mut set_int = |out: usize, value| {
            self.ints[ints + step.int_outs[out] as usize] = value;
        };
        let reference = match made {
            Made::Nothing => return,
            Made::Word(value) => return set_int(0, value),
            Made::Parsed(value) => {
                set_int(0, value.unwrap_or(0));
                return set_int(1, value.is_some().into());
            }
            Made::Reference(value) => value,
            Made::Object(object) => self.allocate(object),
        };
        let register = step.ref_out.expect("the op makes a reference");
        self.refs[refs + register as usize] = reference;
    }

    /// The step that a jump goes on at; `None` when the op is no jump.
    fn jump(&self, step: &Step, operands: &Operands) -> Option<usize> {
        let ([a, b, _], [one, other]) = (operands.words, operands.refs);
        let next = self.frame().at + 1;
        if let Op::Switch { .. } = step.op {
            let index = usize::try_from(a).unwrap_or(usize::MAX);
            return Some(step.targets.get(index).copied().unwrap_or(next));
        }
        let target = step.target?;
        let is_taken = match step.op {
            Op::JNull { .. } => one == Value::Null,
            Op::JNonNull { .. } => one != Value::Null,
            Op::JImm { .. } => matches!(one, Value::Immediate(_)),
            Op::JSame { .. } => one == other,
            _ => numbers::jumps(step.opcode, a, b).expect("every jump is of one of these kinds"),
        };
        Some(if is_taken { target } else { next })
    }

    /// Ops that need more than their registers: constants, lists of registers, sources.
    fn special(&mut self, op: &Op) -> Option<Made> {
        let Frame { ints, refs, .. } = *self.frame();
        let int_list = |list: &[u8]| -> Vec<i64> {
            let value = |&register: &u8| self.ints[ints + register as usize];
            list.iter().map(value).collect()
        };
        let ref_list = |list: &[u8]| -> Vec<Value> {
            let value = |&register: &u8| self.refs[refs + register as usize];
            list.iter().map(value).collect()
        };
        Some(match op {
            Op::Text {
                constant: ConstId(id),
                ..
            } => Made::Reference(self.texts[*id as usize]),
            Op::Data {
                constant: ConstId(id),
                ..
            } => {
                let bits = |values: &[f64]| values.iter().map(|one| one.to_bits() as i64).collect();
                Made::Object(match &self.module.constants[*id as usize] {
                    Constant::Text(_) => unreachable!("verified: no string"),
                    Constant::Bytes(bytes) => Object::Bytes(bytes.clone()),
                    Constant::Ints(values) => Object::Ints(values.clone()),
                    Constant::Floats(values) => Object::Floats(bits(values)),
                })
            }
            Op::New {
                tag, refs, ints, ..
            } => Made::Object(Object::Record {
                tag: tag.0,
                refs: ref_list(&refs.0),
                ints: int_list(&ints.0),
            }),
            Op::Closure {
                function: FuncId(function),
                refs,
                ints,
                ..
            } => Made::Object(Object::Closure {
                function: *function,
                refs: ref_list(&refs.0),
                ints: int_list(&ints.0),
            }),
            Op::Enter {
                source: SourceRef(id),
            } => {
                self.enter(SourceId(*id));
                Made::Nothing
            }
            Op::Leave {
                source: SourceRef(id),
            } => {
                assert_eq!(self.leave(), SourceId(*id), "verified: they nest");
                Made::Nothing
            }
            _ => return None,
        })
    }

    /// A new object, charged to the source that is current.
    fn allocate(&mut self, object: Object) -> Value {
        let size = object.size();
        self.tally.objects += 1;
        self.tally.largest = self.tally.largest.max(size);
        let frame = self.frame();
        let current = match frame.open.last() {
            Some(&source) => source,
            None if frame.function == self.module.entry as usize => SourceId::MAIN,
            None => SourceId::UNKNOWN,
        };
        self.ledger.charge(current, size);
        self.heap.add(object)
    }
}
