//! The checks that need no path: each op by itself, and the module around it.

use std::collections::HashSet;

use profiler::SourceId;

use super::MAX_ERRORS;
use super::constants::{check_captures, check_constants, function_of};
use super::error::{Register, VerifyError, VerifyErrorKind};
use super::offsets::OpStarts;
use super::registers::MAX_REGISTERS;
use crate::isa::*;
use crate::module::{Constant, Function, Module};

/// The ops of a function with the offset of each, and of the function's end.
pub(super) struct Decoded {
    pub(super) ops: Vec<Op>,
    pub(super) offsets: Vec<u32>,
    pub(super) starts: OpStarts,
}

impl Decoded {
    /// The ops of a function, or why its bytes are none, with the offset of the last op before.
    fn new(function: &Function) -> Result<Self, (u32, VerifyErrorKind)> {
        // Ops have four bytes, more or less.
        let mut ops = Vec::with_capacity(function.code.len() / 4);
        let mut offsets = Vec::with_capacity(function.code.len() / 4 + 1);
        for result in function.ops() {
            match result {
                Ok((offset, op)) => {
                    offsets.push(offset);
                    ops.push(op);
                }
                Err(error) => {
                    let offset = offsets.last().copied().unwrap_or(0);
                    return Err((offset, VerifyErrorKind::Decode(error)));
                }
            }
        }
        let starts = OpStarts::new(&offsets, function.code.len());
        offsets.push(function.code.len() as u32);
        Ok(Self {
            ops,
            offsets,
            starts,
        })
    }

    /// The index of the op at `offset`.
    fn index_of(&self, offset: u32) -> Option<usize> {
        self.starts.index_of(offset)
    }

    /// The index of the op at `offset`, where one is known to start.
    pub(super) fn position(&self, offset: u32) -> usize {
        self.index_of(offset)
            .expect("it has been checked that an op starts there")
    }

    /// The index of the op at `offset`, or how many ops there are if it is that of the end.
    fn end_of(&self, offset: u32) -> Option<usize> {
        let end = self.offsets[self.ops.len()];
        self.index_of(offset)
            .or((offset == end).then_some(self.ops.len()))
    }

    /// The same, where a range is known to end.
    pub(super) fn end_position(&self, offset: u32) -> usize {
        self.end_of(offset)
            .expect("it has been checked that ranges end at ops")
    }
}

/// Checks the entry function, and that names are not used twice.
pub(super) fn check_module(module: &Module) -> Result<(), VerifyError> {
    let error = |function, kind| {
        Err(VerifyError {
            function,
            offset: 0,
            kind,
        })
    };
    let Some(entry) = module.functions.get(module.entry as usize) else {
        return error(module.entry, VerifyErrorKind::NoEntry);
    };
    if entry.signature.int_params != 0 || entry.signature.ref_params != 0 {
        return error(module.entry, VerifyErrorKind::EntryParameters);
    }
    if entry.captures.is_some() {
        return error(module.entry, VerifyErrorKind::EntryCaptures);
    }
    let mut names = HashSet::new();
    for (index, function) in (0..).zip(&module.functions) {
        if !names.insert(function.name.as_str()) {
            let name = function.name.clone();
            return error(index, VerifyErrorKind::NameTwice { name });
        }
    }
    if let Err(kind) = check_constants(module) {
        return error(module.entry, kind);
    }
    if let Err(problem) = module.sources.validate() {
        return error(module.entry, VerifyErrorKind::Sources(problem));
    }
    Ok(())
}

/// Decodes a function and checks each of its ops and handler ranges by itself.
pub(super) fn check_function(module: &Module, index: u32) -> Result<Decoded, Vec<VerifyError>> {
    let function = &module.functions[index as usize];
    let error = |(offset, kind)| VerifyError {
        function: index,
        offset,
        kind,
    };
    let decoded = Decoded::new(function).map_err(|found| vec![error(found)])?;
    let checker = Checker {
        module,
        function,
        decoded: &decoded,
    };
    let of_ops = decoded.ops.iter().zip(&decoded.offsets);
    let of_ops = of_ops.filter_map(|(op, &offset)| Some((offset, checker.check(op).err()?)));
    let rest = [
        check_end(&decoded),
        check_handlers(function, &decoded),
        check_lines(module, function, &decoded),
    ];
    let found = of_ops.chain(rest.into_iter().filter_map(Result::err));
    let errors: Vec<_> = found.take(MAX_ERRORS).map(error).collect();
    match errors.is_empty() {
        true => Ok(decoded),
        false => Err(errors),
    }
}

/// What is wrong at an offset.
type Found = Result<(), (u32, VerifyErrorKind)>;

fn check_end(decoded: &Decoded) -> Found {
    match decoded.ops.last() {
        None => Err((0, VerifyErrorKind::EmptyFunction)),
        Some(last) if last.opcode().info().falls_through => Err((
            decoded.offsets[decoded.ops.len() - 1],
            VerifyErrorKind::NoEnd,
        )),
        Some(_) => Ok(()),
    }
}

fn check_lines(module: &Module, function: &Function, decoded: &Decoded) -> Found {
    if !function.lines.is_sorted_by_key(|entry| entry.offset) {
        return Err((0, VerifyErrorKind::LinesOutOfOrder));
    }
    for entry in &function.lines {
        if decoded.index_of(entry.offset).is_none() {
            return Err((entry.offset, VerifyErrorKind::LineNotAtOp));
        }
        if entry.file as usize >= module.files.len() {
            return Err((entry.offset, VerifyErrorKind::NoFile { file: entry.file }));
        }
    }
    Ok(())
}

fn check_handlers(function: &Function, decoded: &Decoded) -> Found {
    for range in &function.handlers {
        if range.start >= range.end {
            return Err((range.start, VerifyErrorKind::EmptyRange));
        }
        if decoded.index_of(range.start).is_none() || decoded.end_of(range.end).is_none() {
            return Err((range.start, VerifyErrorKind::RangeNotAtOps));
        }
        if decoded.index_of(range.target).is_none() {
            return Err((range.target, VerifyErrorKind::HandlerNotAtOp));
        }
    }
    Ok(())
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    decoded: &'a Decoded,
}

impl Checker<'_> {
    fn check(&self, op: &Op) -> Result<(), VerifyErrorKind> {
        match op {
            Op::Text {
                constant: ConstId(id),
                ..
            } => match self.constant(*id)? {
                Constant::Text(_) => Ok(()),
                _ => Err(VerifyErrorKind::NotText { constant: *id }),
            },
            Op::Data {
                constant: ConstId(id),
                ..
            } => match self.constant(*id)? {
                Constant::Bytes(_) | Constant::Ints(_) | Constant::Floats(_) => Ok(()),
                _ => Err(VerifyErrorKind::NotData { constant: *id }),
            },
            Op::Constant {
                constant: ConstId(id),
                ..
            } => self.constant(*id).map(drop),
            Op::LdGI {
                global: IntGlobal(id),
                ..
            }
            | Op::StGI {
                global: IntGlobal(id),
                ..
            } => check_global(*id, self.module.globals.ints.len()),
            Op::LdGR {
                global: RefGlobal(id),
                ..
            }
            | Op::StGR {
                global: RefGlobal(id),
                ..
            } => check_global(*id, self.module.globals.refs.len()),
            Op::SExt {
                bits: Int32(bits), ..
            }
            | Op::ZExt {
                bits: Int32(bits), ..
            } => {
                let fits = (1..=64).contains(bits);
                if fits {
                    Ok(())
                } else {
                    Err(VerifyErrorKind::BitCount { bits: *bits })
                }
            }
            Op::Closure {
                function: FuncId(id),
                refs,
                ints,
                ..
            } => check_captures(self.module, *id, refs.0.len(), ints.0.len()),
            Op::Call {
                function: FuncId(id),
                ints,
                refs,
            } => {
                let callee = self.direct_callee(*id)?;
                check_window(callee.signature, ints, refs, false)?;
                check_advance(ints, refs)
            }
            Op::CallClosure {
                sig: Sig(sig),
                ints,
                refs,
                ..
            } => {
                check_window(*sig, ints, refs, true)?;
                check_advance(ints, refs)
            }
            Op::CallHost {
                host: HostId(id),
                ints,
                refs,
            } => {
                let host = self.module.hosts.get(*id as usize);
                let host = host.ok_or(VerifyErrorKind::NoHost { host: *id })?;
                check_window(host.signature, ints, refs, false)
            }
            Op::TailCall {
                function: FuncId(id),
            } => self.check_results(self.direct_callee(*id)?.signature),
            Op::TailCallClosure { sig: Sig(sig), .. } => self.check_results(*sig),
            Op::Enter {
                source: SourceRef(id),
            }
            | Op::Leave {
                source: SourceRef(id),
            } => self.source(*id),
            _ => self.targets(op),
        }
    }

    fn constant(&self, id: u32) -> Result<&Constant, VerifyErrorKind> {
        let constant = self.module.constants.get(id as usize);
        constant.ok_or(VerifyErrorKind::NoConstant { constant: id })
    }

    fn direct_callee(&self, id: u32) -> Result<&Function, VerifyErrorKind> {
        let callee = function_of(self.module, id)?;
        match callee.captures {
            Some(_) => Err(VerifyErrorKind::DirectCallOfClosure {
                name: callee.name.clone(),
            }),
            None => Ok(callee),
        }
    }

    fn check_results(&self, callee: Signature) -> Result<(), VerifyErrorKind> {
        let own = self.function.signature;
        let same = callee.int_results == own.int_results && callee.ref_results == own.ref_results;
        if same {
            return Ok(());
        }
        Err(VerifyErrorKind::TailCallResults { callee, own })
    }

    fn source(&self, id: u32) -> Result<(), VerifyErrorKind> {
        if id == SourceId::UNKNOWN.0 || id == SourceId::GC.0 {
            return Err(VerifyErrorKind::MachineSource { source: id });
        }
        if id as usize >= self.module.sources.sources.len() {
            return Err(VerifyErrorKind::NoSource { source: id });
        }
        Ok(())
    }

    fn targets(&self, op: &Op) -> Result<(), VerifyErrorKind> {
        let check = |target: u32| match self.decoded.index_of(target) {
            Some(_) => Ok(()),
            None => Err(VerifyErrorKind::NoTarget { target }),
        };
        let mut found = Ok(());
        op.visit_targets(&mut |target| {
            if found.is_ok() {
                found = check(target);
            }
        });
        found
    }
}

fn check_global(id: u32, count: usize) -> Result<(), VerifyErrorKind> {
    match (id as usize) < count {
        true => Ok(()),
        false => Err(VerifyErrorKind::NoGlobal { global: id }),
    }
}

fn check_window(
    sig: Signature,
    ints: &IWindow,
    refs: &RWindow,
    is_closure: bool,
) -> Result<(), VerifyErrorKind> {
    let no_room = |window| VerifyErrorKind::NoRoom {
        window,
        signature: sig,
    };
    if ints.0 as usize + sig.int_window() > MAX_REGISTERS {
        return Err(no_room(Register::Int(ints.0)));
    }
    if refs.0 as usize + sig.ref_window(is_closure) > MAX_REGISTERS {
        return Err(no_room(Register::Ref(refs.0)));
    }
    Ok(())
}

/// A call must move a base, or endless recursion would fill the control stack while the stack
/// check, which compares the bases, sees nothing.
fn check_advance(ints: &IWindow, refs: &RWindow) -> Result<(), VerifyErrorKind> {
    match (ints.0, refs.0) {
        (0, 0) => Err(VerifyErrorKind::CallMovesNothing),
        _ => Ok(()),
    }
}
