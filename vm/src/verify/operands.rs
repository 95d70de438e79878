//! The checks that need no path: each op by itself, and the module around it.

use std::collections::HashSet;

use profiler::SourceId;

use super::VerifyError;
use crate::isa::*;
use crate::module::{Constant, Function, Module};

/// Registers of one class that an op can name.
const MAX_REGISTERS: usize = 256;

/// The ops of a function with the offset of each, and of the function's end.
pub(super) struct Decoded {
    pub(super) ops: Vec<Op>,
    pub(super) offsets: Vec<u32>,
}

impl Decoded {
    /// The index of the op at `offset`.
    pub(super) fn index_of(&self, offset: u32) -> Option<usize> {
        self.offsets[..self.ops.len()].binary_search(&offset).ok()
    }
}

/// Checks the entry function, and that names are not used twice.
pub(super) fn check_module(module: &Module) -> Result<(), VerifyError> {
    let error = |function, message: String| {
        Err(VerifyError {
            function,
            offset: 0,
            message,
        })
    };
    let Some(entry) = module.functions.get(module.entry as usize) else {
        return error(
            module.entry,
            "the module has no function to start with".into(),
        );
    };
    if entry.signature.int_params != 0 || entry.signature.ref_params != 0 {
        return error(
            module.entry,
            "the entry function must have no parameters".into(),
        );
    }
    if entry.captures.is_some() {
        return error(
            module.entry,
            "the entry function must not be a closure's".into(),
        );
    }
    let mut names = HashSet::new();
    for (index, function) in (0..).zip(&module.functions) {
        if !names.insert(function.name.as_str()) {
            return error(
                index,
                format!("two functions are named `{}`", function.name),
            );
        }
    }
    if let Err(problem) = module.sources.validate() {
        return error(module.entry, problem.to_string());
    }
    Ok(())
}

/// Decodes a function and checks each of its ops and handler ranges by itself.
pub(super) fn check_function(module: &Module, index: u32) -> Result<Decoded, Vec<VerifyError>> {
    let function = &module.functions[index as usize];
    let mut errors = Vec::new();
    let mut report = |offset: u32, message: String| {
        errors.push(VerifyError {
            function: index,
            offset,
            message,
        });
    };
    let mut decoded = Decoded {
        ops: Vec::new(),
        offsets: Vec::new(),
    };
    for result in function.ops() {
        match result {
            Ok((offset, op)) => {
                decoded.offsets.push(offset);
                decoded.ops.push(op);
            }
            Err(error) => {
                let offset = decoded.offsets.last().copied().unwrap_or(0);
                report(offset, error.to_string());
                return Err(errors);
            }
        }
    }
    decoded.offsets.push(function.code.len() as u32);
    let checker = Checker {
        module,
        function,
        decoded: &decoded,
    };
    for (position, op) in decoded.ops.iter().enumerate() {
        if let Err(message) = checker.check(op) {
            report(decoded.offsets[position], message);
        }
    }
    match decoded.ops.last() {
        None => report(0, "the function is empty".into()),
        Some(last) if last.opcode().info().falls_through => {
            let offset = decoded.offsets[decoded.ops.len() - 1];
            report(offset, "control runs off the end of the function".into());
        }
        Some(_) => {}
    }
    if let Err((offset, message)) = check_handlers(function, &decoded) {
        report(offset, message);
    }
    if let Err((offset, message)) = check_lines(module, function, &decoded) {
        report(offset, message);
    }
    if errors.is_empty() {
        Ok(decoded)
    } else {
        Err(errors)
    }
}

fn check_lines(
    module: &Module,
    function: &Function,
    decoded: &Decoded,
) -> Result<(), (u32, String)> {
    if !function.lines.is_sorted_by_key(|entry| entry.offset) {
        return Err((0, "a line table's offsets must rise".into()));
    }
    for entry in &function.lines {
        if decoded.index_of(entry.offset).is_none() {
            return Err((
                entry.offset,
                "a line table names an offset that is no op's".into(),
            ));
        }
        if entry.file as usize >= module.files.len() {
            let message = format!(
                "a line table names file {}, which does not exist",
                entry.file
            );
            return Err((entry.offset, message));
        }
    }
    Ok(())
}

fn check_handlers(function: &Function, decoded: &Decoded) -> Result<(), (u32, String)> {
    for range in &function.handlers {
        if range.start >= range.end {
            return Err((range.start, "a handler's range is empty".into()));
        }
        if decoded.index_of(range.start).is_none()
            || decoded.offsets.binary_search(&range.end).is_err()
        {
            return Err((
                range.start,
                "a handler's range does not begin and end at ops".into(),
            ));
        }
        if decoded.index_of(range.target).is_none() {
            return Err((range.target, "a handler does not start at an op".into()));
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
    fn check(&self, op: &Op) -> Result<(), String> {
        match op {
            Op::Text {
                constant: ConstId(id),
                ..
            } => match self.constant(*id)? {
                Constant::Text(_) => Ok(()),
                _ => Err(format!("constant {id} is no string")),
            },
            Op::Data {
                constant: ConstId(id),
                ..
            } => match self.constant(*id)? {
                Constant::Text(_) => Err(format!("constant {id} is a string, not an array")),
                _ => Ok(()),
            },
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
                    Err(format!("{bits} bits; from 1 to 64 can be kept"))
                }
            }
            Op::Closure {
                function: FuncId(id),
                refs,
                ints,
                ..
            } => self.closure(*id, refs, ints),
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
                let host = host.ok_or_else(|| format!("no host function has the index {id}"))?;
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

    fn constant(&self, id: u32) -> Result<&Constant, String> {
        let constant = self.module.constants.get(id as usize);
        constant.ok_or_else(|| format!("no constant has the index {id}"))
    }

    fn callee(&self, id: u32) -> Result<&Function, String> {
        let callee = self.module.functions.get(id as usize);
        callee.ok_or_else(|| format!("no function has the index {id}"))
    }

    fn direct_callee(&self, id: u32) -> Result<&Function, String> {
        let callee = self.callee(id)?;
        match callee.captures {
            Some(_) => Err(format!(
                "`{}` is a closure's function; call a closure",
                callee.name
            )),
            None => Ok(callee),
        }
    }

    fn closure(&self, id: u32, refs: &RRegs, ints: &IRegs) -> Result<(), String> {
        let callee = self.callee(id)?;
        let Some(captures) = callee.captures else {
            return Err(format!(
                "`{}` is not declared as a closure's function",
                callee.name
            ));
        };
        if (refs.0.len(), ints.0.len()) != (captures.refs as usize, captures.ints as usize) {
            return Err(format!(
                "`{}` captures {} references and {} integers, not {} and {}",
                callee.name,
                captures.refs,
                captures.ints,
                refs.0.len(),
                ints.0.len()
            ));
        }
        Ok(())
    }

    fn check_results(&self, callee: Signature) -> Result<(), String> {
        let own = self.function.signature;
        let same = callee.int_results == own.int_results && callee.ref_results == own.ref_results;
        if same {
            return Ok(());
        }
        Err(format!(
            "a tail call of {callee} cannot return the results of {own}"
        ))
    }

    fn source(&self, id: u32) -> Result<(), String> {
        if id == SourceId::UNKNOWN.0 || id == SourceId::GC.0 {
            return Err(format!("source {id} is the machine's own"));
        }
        if id as usize >= self.module.sources.sources.len() {
            return Err(format!("no source has the index {id}"));
        }
        Ok(())
    }

    fn targets(&self, op: &Op) -> Result<(), String> {
        let check = |target: u32| match self.decoded.index_of(target) {
            Some(_) => Ok(()),
            None => Err(format!("the target {target:#x} is not the offset of an op")),
        };
        for operand in op.operands() {
            match operand {
                Operand::Target(target) => check(target)?,
                Operand::Targets(targets) => {
                    targets.iter().try_for_each(|target| check(*target))?
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn check_window(
    sig: Signature,
    ints: &IWindow,
    refs: &RWindow,
    is_closure: bool,
) -> Result<(), String> {
    if ints.0 as usize + sig.int_window() > MAX_REGISTERS {
        return Err(format!("the window at i{} has no room for {sig}", ints.0));
    }
    if refs.0 as usize + sig.ref_window(is_closure) > MAX_REGISTERS {
        return Err(format!("the window at r{} has no room for {sig}", refs.0));
    }
    Ok(())
}

/// A call must move a base, or endless recursion would fill the control stack while the stack
/// check, which compares the bases, sees nothing.
fn check_advance(ints: &IWindow, refs: &RWindow) -> Result<(), String> {
    match (ints.0, refs.0) {
        (0, 0) => Err("a call's windows must not both start at register 0".into()),
        _ => Ok(()),
    }
}
