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
use vm::Fault;
use vm::isa::{ConstId, FuncId, IntGlobal, Op, RefGlobal, SourceRef};
use vm::module::{ConstRef, Constant, Global};
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
    /// Each constant as an object, which is nobody's allocation.
    constants: Vec<Value>,
    global_ints: Vec<i64>,
    global_refs: Vec<Value>,
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
    let mut constants = Vec::new();
    for constant in &module.constants {
        let object = constant_object(constant, &constants);
        constants.push(heap.add_constant(object));
    }
    let value = |one: &Global<ConstRef>| reference(one.value, &constants);
    let global_refs = module.globals.refs.iter().map(value).collect();
    let global_ints = module.globals.ints.iter().map(|one| one.value).collect();
    let steps = step::steps(module);
    let mut machine = Machine {
        module,
        steps: &steps,
        heap,
        constants,
        global_ints,
        global_refs,
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

/// A constant as an object, which refers to constants before it.
fn constant_object(constant: &Constant, before: &[Value]) -> Object {
    let all = |refs: &[ConstRef]| refs.iter().map(|&one| reference(one, before)).collect();
    match constant {
        Constant::Text(bytes) => Object::Text(bytes.clone()),
        Constant::Bytes(bytes) => Object::Bytes(bytes.clone()),
        Constant::Ints(values) => Object::Ints(values.clone()),
        Constant::Floats(values) => {
            Object::Floats(values.iter().map(|one| one.to_bits() as i64).collect())
        }
        Constant::Refs(refs) => Object::Refs(all(refs)),
        Constant::Record { tag, refs, ints } => Object::Record {
            tag: *tag,
            refs: all(refs),
            ints: ints.clone(),
        },
        Constant::Closure {
            function,
            refs,
            ints,
        } => Object::Closure {
            function: *function,
            refs: all(refs),
            ints: ints.clone(),
        },
    }
}

fn reference(reference: ConstRef, constants: &[Value]) -> Value {
    match reference {
        ConstRef::Null => Value::Null,
        ConstRef::Immediate(number) => Value::Immediate(number),
        ConstRef::Constant(index) => constants[index as usize],
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
        match self.jump(step, &operands) {
            Ok(Some(next)) => {
                self.frame_mut().at = next;
                return Ok(());
            }
            Ok(None) => {}
            Err(fault) => return self.fault(fault),
        }
        let [a, b, _] = operands.words;
        let made = if let Some(made) = self.special(&step.op) {
            Ok(made)
        } else if let Some(result) = self.sig(step, &operands) {
            result.map(Made::Word)
        } else if let Some(both) = numbers::wide(step.opcode, operands.words) {
            Ok(Made::Words(both))
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
            Made::Words([one, other]) => {
                set_int(0, one);
                return set_int(1, other);
            }
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
    fn jump(&self, step: &Step, operands: &Operands) -> Result<Option<usize>, Fault> {
        let ([a, b, _], [one, other]) = (operands.words, operands.refs);
        let next = self.frame().at + 1;
        if let Op::Switch { .. } = step.op {
            let index = usize::try_from(a).unwrap_or(usize::MAX);
            return Ok(Some(step.targets.get(index).copied().unwrap_or(next)));
        }
        let record_tag = match self.heap.object(one) {
            Ok(Object::Record { tag, .. }) => Some(*tag),
            _ => None,
        };
        if let Op::SwitchTag { .. } = step.op {
            let n_imms = usize::from(step.tag);
            let index = match (one, record_tag) {
                (Value::Null, _) => Some(0),
                (Value::Immediate(number), _) => usize::try_from(number)
                    .ok()
                    .filter(|&number| number < n_imms)
                    .map(|number| 1 + number),
                (Value::Object(_), tag) => tag.map(|tag| 1 + n_imms + usize::from(tag)),
            };
            let target = index.and_then(|index| step.targets.get(index));
            return Ok(Some(target.copied().unwrap_or(next)));
        }
        let Some(target) = step.target else {
            return Ok(None);
        };
        let is_taken = match step.op {
            Op::JNull { .. } => one == Value::Null,
            Op::JNonNull { .. } => one != Value::Null,
            Op::JImm { .. } => matches!(one, Value::Immediate(_)),
            Op::JSame { .. } => one == other,
            Op::JNSame { .. } => one != other,
            Op::JTag { .. } => record_tag == Some(step.tag),
            Op::JNTag { .. } => record_tag != Some(step.tag),
            Op::JTLt { .. } => data::number(one)? < data::number(other)?,
            Op::JTLe { .. } => data::number(one)? <= data::number(other)?,
            Op::JStrEq { .. } => self.heap.text(one)? == self.heap.text(other)?,
            Op::JStrNe { .. } => self.heap.text(one)? != self.heap.text(other)?,
            _ => numbers::jumps(step.opcode, a, b).expect("every jump is of one of these kinds"),
        };
        Ok(Some(if is_taken { target } else { next }))
    }

    /// The signature of a closure, if that is the op.
    fn sig(&self, step: &Step, operands: &Operands) -> Option<Result<i64, Fault>> {
        let Op::GetSig { .. } = step.op else {
            return None;
        };
        let object = self.heap.object(operands.refs[0]);
        Some(object.and_then(|object| match object {
            Object::Closure { function, .. } => {
                let sig = self.signature(*function);
                let bytes = [
                    sig.int_params,
                    sig.ref_params,
                    sig.int_results,
                    sig.ref_results,
                ];
                Ok(u32::from_le_bytes(bytes).into())
            }
            _ => Err(Fault::WrongKind),
        }))
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
            }
            | Op::Constant {
                constant: ConstId(id),
                ..
            } => Made::Reference(self.constants[*id as usize]),
            Op::Data {
                constant: ConstId(id),
                ..
            } => {
                let object = self.heap.object(self.constants[*id as usize]);
                Made::Object(object.expect("a constant is an object").clone())
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
            _ => return self.global(op),
        })
    }

    /// Ops on globals.
    fn global(&mut self, op: &Op) -> Option<Made> {
        let Frame { ints, refs, .. } = *self.frame();
        Some(match op {
            Op::LdGI {
                global: IntGlobal(id),
                ..
            } => Made::Word(self.global_ints[*id as usize]),
            Op::LdGR {
                global: RefGlobal(id),
                ..
            } => Made::Reference(self.global_refs[*id as usize]),
            Op::StGI {
                global: IntGlobal(id),
                src,
            } => {
                self.global_ints[*id as usize] = self.ints[ints + src.0 as usize];
                Made::Nothing
            }
            Op::StGR {
                global: RefGlobal(id),
                src,
            } => {
                self.global_refs[*id as usize] = self.refs[refs + src.0 as usize];
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
