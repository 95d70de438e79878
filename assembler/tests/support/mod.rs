//! Random modules that verify, and the golden programs.
#![allow(dead_code, reason = "each test file uses its part")]

use profiler::{NameId, Source, SourceId, SourceMap, SourceSeqId};
use vm::isa::*;
use vm::module::*;

/// Numbers of known quality (splitmix64) that repeat.
pub(crate) struct Numbers(u64);

impl Numbers {
    /// The numbers of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a limit; 0 for the limit 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit.max(1)
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// The programs in `tests/golden`.
pub(crate) fn golden_texts() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let mut texts: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "asm"))
        .map(|path| {
            let name = path
                .file_name()
                .expect("a file has a name")
                .to_string_lossy()
                .into_owned();
            (name, std::fs::read_to_string(path).expect("it is text"))
        })
        .collect();
    texts.sort();
    texts
}

/// Registers of each class that random code uses; all are written at the start of each function
/// and after each call.
const REGISTERS: u8 = 6;

/// Constants that refer to others, and globals, some of which have the same name.
fn objects(numbers: &mut Numbers, module: &mut Module) {
    for _ in 0..numbers.below(4) {
        let count = module.constants.len();
        let refs = (0..numbers.below(4)).map(|_| reference(numbers, count));
        let refs = refs.collect();
        let ints = (0..numbers.below(3))
            .map(|_| numbers.next() as i64)
            .collect();
        module.constants.push(match numbers.below(2) {
            0 => Constant::Refs(refs),
            _ => Constant::Record {
                tag: numbers.next() as u16,
                refs,
                ints,
            },
        });
    }
    let count = module.constants.len();
    for _ in 0..numbers.below(3) {
        let name = (*numbers.pick(&["g", "g", "with space", "null"])).to_owned();
        let value = numbers.next() as i64;
        module.globals.ints.push(Global { name, value });
    }
    for _ in 0..numbers.below(3) {
        let name = (*numbers.pick(&["g", "h", "\"", "i0"])).to_owned();
        let value = reference(numbers, count);
        module.globals.refs.push(Global { name, value });
    }
}

fn reference(numbers: &mut Numbers, count: usize) -> ConstRef {
    match numbers.below(3) {
        0 => ConstRef::Null,
        1 => ConstRef::Immediate(numbers.next() as i64 >> 1),
        _ => ConstRef::Constant(numbers.below(count) as u32),
    }
}

/// A random module that verifies.
pub(crate) fn random_module(seed: u64) -> Module {
    let mut numbers = Numbers::new(seed);
    let numbers = &mut numbers;
    let mut module = Module {
        constants: (0..1 + numbers.below(6))
            .map(|_| constant(numbers))
            .collect(),
        hosts: (0..numbers.below(4)).map(|_| host(numbers)).collect(),
        files: (0..numbers.below(4))
            .map(|_| {
                numbers
                    .pick(&["a.sml", "b.sml", "", "with \"quotes\"\n", "é"])
                    .to_owned()
            })
            .collect(),
        metadata: (0..numbers.below(3))
            .map(|index| (format!("key {index}"), "a\tvalue\u{1}\u{85}".to_owned()))
            .collect(),
        sources: sources(numbers),
        ..Module::default()
    };
    objects(numbers, &mut module);
    let count = 1 + numbers.below(5);
    for index in 0..count {
        module.functions.push(declaration(numbers, index));
    }
    module.entry = numbers.below(count) as u32;
    let entry = &mut module.functions[module.entry as usize];
    entry.captures = None;
    entry.signature.int_params = 0;
    entry.signature.ref_params = 0;
    for index in 0..count {
        let body = Body::random(&module, index, numbers);
        let function = &mut module.functions[index];
        (function.code, function.handlers, function.lines) = body;
    }
    module
}

fn constant(numbers: &mut Numbers) -> Constant {
    match numbers.below(4) {
        0 => Constant::Text(vec![b'a', 0xff, b'"', numbers.below(3) as u8]),
        1 => Constant::Bytes(
            (0..numbers.below(4))
                .map(|_| numbers.next() as u8)
                .collect(),
        ),
        2 => Constant::Ints(
            (0..numbers.below(4))
                .map(|_| numbers.next() as i64)
                .collect(),
        ),
        _ => Constant::Floats(
            (0..numbers.below(4))
                .map(|_| f64::from_bits(numbers.next()))
                .collect(),
        ),
    }
}

fn signature(numbers: &mut Numbers) -> Signature {
    let mut count = || numbers.below(4) as u8;
    Signature {
        int_params: count(),
        ref_params: count(),
        int_results: count(),
        ref_results: count(),
    }
}

fn host(numbers: &mut Numbers) -> HostImport {
    let name = numbers.pick(&["print", "clock", "odd name", ""]).to_owned();
    HostImport {
        name,
        signature: signature(numbers),
    }
}

fn declaration(numbers: &mut Numbers, index: usize) -> Function {
    let name = match numbers.below(5) {
        0 => format!("f{index}"),
        1 => format!("f0.f{index}"),
        2 => format!("with space {index}\n"),
        3 => format!("text{index}."),
        _ if index == 0 => "main".to_owned(),
        _ => format!("f1.f0.g{index}"),
    };
    let captures = Captures {
        refs: numbers.below(3) as u8,
        ints: numbers.below(3) as u8,
    };
    Function {
        name,
        signature: signature(numbers),
        captures: numbers.chance(3).then_some(captures),
        is_exported: numbers.chance(2),
        ..Function::default()
    }
}

/// A map of sources; half of the time with odd sequences and names.
fn sources(numbers: &mut Numbers) -> SourceMap {
    let mut map = SourceMap::new();
    let is_odd = numbers.chance(2);
    for index in 0..numbers.below(5) {
        map.names
            .push(format!("f{index}\ta.sml: {}", numbers.below(99)));
        let name = NameId(map.names.len() as u32 - 1);
        map.sources.push(Source {
            name,
            successors: SourceSeqId::EMPTY,
        });
        if is_odd {
            map.names.push(
                numbers
                    .pick(&["plain", "\ta", "a\tb: 01", "<x>"])
                    .to_owned(),
            );
            let sequence = (0..numbers.below(3)).map(|_| SourceId(numbers.below(3) as u32));
            map.sequences.push(sequence.collect());
            let last = map.sources.len() - 1;
            map.sources[last].successors = SourceSeqId(map.sequences.len() as u32 - 1);
        }
    }
    map
}

/// A function's ops in pieces, each of which leaves all registers written and nothing open.
struct Body<'a> {
    module: &'a Module,
    own: &'a Function,
    numbers: &'a mut Numbers,
    ops: Vec<Op>,
    /// Where pieces start, and which of them write all registers first.
    starts: Vec<usize>,
    fresh_starts: Vec<usize>,
}

impl Body<'_> {
    fn random(
        module: &Module,
        index: usize,
        numbers: &mut Numbers,
    ) -> (Vec<u8>, Vec<HandlerRange>, Vec<LineEntry>) {
        let own = &module.functions[index];
        let mut body = Body {
            module,
            own,
            numbers,
            ops: vec![],
            starts: vec![],
            fresh_starts: vec![],
        };
        body.write_all();
        for _ in 0..body.numbers.below(20) {
            body.starts.push(body.ops.len());
            body.piece();
        }
        body.starts.push(body.ops.len());
        body.ops.push(Op::MatchFail {});
        body.finish()
    }

    fn write_all(&mut self) {
        self.starts.push(self.ops.len());
        self.fresh_starts.push(self.ops.len());
        for register in 0..REGISTERS {
            self.ops.push(Op::Int {
                dst: IOut(register),
                value: Int64(-1),
            });
            self.ops.push(Op::Null {
                dst: ROut(register),
            });
        }
    }

    fn piece(&mut self) {
        let source = 2 + self.numbers.below(self.module.sources.sources.len() - 2) as u32;
        let is_open = self.numbers.chance(4);
        let enter = Op::Enter {
            source: SourceRef(source),
        };
        self.ops.extend(is_open.then_some(enter));
        let opcode = self.numbers.pick(OPS).opcode;
        let may_stand_open = matches!(opcode, Opcode::Add | Opcode::LdR | Opcode::Text);
        if !is_open || may_stand_open {
            self.op(opcode);
        }
        let leave = Op::Leave {
            source: SourceRef(source),
        };
        self.ops.extend(is_open.then_some(leave));
    }

    /// A random op of this opcode, if one fits here.
    fn op(&mut self, opcode: Opcode) {
        if matches!(opcode, Opcode::Enter | Opcode::Leave) {
            return;
        }
        let op = random_op(opcode, &mut || self.numbers.next());
        let operands: Option<Vec<Operand>> = op
            .operands()
            .iter()
            .map(|operand| self.fit(operand))
            .collect();
        let Some(op) = operands.and_then(|operands| Op::from_operands(opcode, &operands)) else {
            return;
        };
        let Some(op) = self.fit_op(op) else { return };
        let is_call = op
            .operands()
            .iter()
            .any(|operand| operand.role() == Role::IWindow);
        self.ops.push(op);
        if is_call {
            self.write_all();
        }
    }

    fn fit(&mut self, operand: &Operand) -> Option<Operand> {
        let list = |list: &RegisterList| list.iter().map(|index| index % REGISTERS).collect();
        Some(match operand {
            Operand::IIn(index) => Operand::IIn(index % REGISTERS),
            Operand::IOut(index) => Operand::IOut(index % REGISTERS),
            Operand::RIn(index) => Operand::RIn(index % REGISTERS),
            Operand::ROut(index) => Operand::ROut(index % REGISTERS),
            Operand::IRegs(registers) => Operand::IRegs(list(registers)),
            Operand::RRegs(registers) => Operand::RRegs(list(registers)),
            Operand::IWindow(index) => Operand::IWindow(1 + index % 2),
            Operand::RWindow(index) => Operand::RWindow(1 + index % 2),
            Operand::FuncId(_) => {
                Operand::FuncId(self.numbers.below(self.module.functions.len()) as u32)
            }
            Operand::ConstId(_) => {
                Operand::ConstId(self.numbers.below(self.module.constants.len()) as u32)
            }
            Operand::IntGlobal(_) => match self.module.globals.ints.len() {
                0 => return None,
                count => Operand::IntGlobal(self.numbers.below(count) as u32),
            },
            Operand::RefGlobal(_) => match self.module.globals.refs.len() {
                0 => return None,
                count => Operand::RefGlobal(self.numbers.below(count) as u32),
            },
            Operand::HostId(_) => match self.module.hosts.len() {
                0 => return None,
                count => Operand::HostId(self.numbers.below(count) as u32),
            },
            Operand::Sig(_) => Operand::Sig(signature(self.numbers)),
            other => other.clone(),
        })
    }

    /// The op with what its own rules ask for.
    fn fit_op(&mut self, op: Op) -> Option<Op> {
        let function = |id: &FuncId| &self.module.functions[id.0 as usize];
        let own = self.own.signature;
        match &op {
            Op::Text { constant, .. } => matches!(
                self.module.constants[constant.0 as usize],
                Constant::Text(_)
            )
            .then_some(op),
            Op::Data { constant, .. } => matches!(
                self.module.constants[constant.0 as usize],
                Constant::Bytes(_) | Constant::Ints(_) | Constant::Floats(_)
            )
            .then_some(op),
            Op::SExt { dst, src, .. } => Some(Op::SExt {
                dst: dst.clone(),
                src: src.clone(),
                bits: Int32(64),
            }),
            Op::ZExt { dst, src, .. } => Some(Op::ZExt {
                dst: dst.clone(),
                src: src.clone(),
                bits: Int32(1),
            }),
            Op::Call { function: id, .. } => function(id).captures.is_none().then_some(op),
            Op::TailCall { function: id } => {
                let callee = function(id);
                let same = callee.signature.int_results == own.int_results
                    && callee.signature.ref_results == own.ref_results;
                (callee.captures.is_none() && same).then_some(op)
            }
            Op::TailCallClosure {
                closure,
                sig: Sig(sig),
            } => {
                let results = Signature {
                    int_results: own.int_results,
                    ref_results: own.ref_results,
                    ..*sig
                };
                Some(Op::TailCallClosure {
                    closure: closure.clone(),
                    sig: Sig(results),
                })
            }
            Op::Closure {
                dst, function: id, ..
            } => {
                let captures = function(id).captures?;
                Some(Op::Closure {
                    dst: dst.clone(),
                    function: id.clone(),
                    refs: RRegs((0..captures.refs).collect()),
                    ints: IRegs((0..captures.ints).collect()),
                })
            }
            _ => Some(op),
        }
    }

    /// The code with targets, handlers and lines.
    fn finish(mut self) -> (Vec<u8>, Vec<HandlerRange>, Vec<LineEntry>) {
        let mut offsets = Vec::new();
        let mut code = Vec::new();
        for op in &self.ops {
            offsets.push(code.len() as u32);
            op.encode(&mut code);
        }
        offsets.push(code.len() as u32);
        let mut code = Vec::new();
        for op in std::mem::take(&mut self.ops) {
            let operands: Vec<Operand> = op
                .operands()
                .into_iter()
                .map(|operand| match operand {
                    Operand::Target(_) => Operand::Target(self.start(&offsets)),
                    Operand::Targets(list) => {
                        Operand::Targets(list.iter().map(|_| self.start(&offsets)).collect())
                    }
                    other => other,
                })
                .collect();
            let op = Op::from_operands(op.opcode(), &operands).expect("the roles are the same");
            op.encode(&mut code);
        }
        let mut handlers = Vec::new();
        for _ in 0..self.numbers.below(4) {
            let (one, other) = (self.start(&offsets), self.start(&offsets));
            let fresh = self.numbers.pick(&self.fresh_starts.clone());
            let range = HandlerRange {
                start: one.min(other),
                end: one.max(other),
                target: offsets[fresh],
                register: self.numbers.below(256) as u8,
            };
            handlers.extend((one != other).then_some(range));
        }
        (code, handlers, self.lines(&offsets))
    }

    fn start(&mut self, offsets: &[u32]) -> u32 {
        let start = self.numbers.pick(&self.starts.clone());
        offsets[start]
    }

    /// A line table, with files in any order.
    fn lines(&mut self, offsets: &[u32]) -> Vec<LineEntry> {
        let files = self.module.files.len();
        let mut lines: Vec<LineEntry> = (0..self.numbers.below(6))
            .filter(|_| files > 0)
            .map(|_| LineEntry {
                offset: self.numbers.pick(&offsets[..offsets.len() - 1]),
                file: self.numbers.below(files) as u32,
                line: self.numbers.below(100) as u32,
            })
            .collect();
        lines.sort_by_key(|entry| entry.offset);
        lines
    }
}
