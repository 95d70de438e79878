//! A function's ops, with labels.

use std::collections::BTreeSet;
use std::fmt::Write;

use vm::isa::{Access, Op, Operand};
use vm::module::{Function, Global};

use super::{Lines, Printer, constants, name};
use crate::ir::{FIRST_OWN_SOURCE, targets};

/// Labels of a function: the offsets that jumps and handlers name, in order.
struct Labels(Vec<u32>);

impl Labels {
    fn of(function: &Function, ops: &[(u32, Op)]) -> Self {
        let mut offsets: BTreeSet<u32> = ops.iter().flat_map(|(_, op)| targets(op)).collect();
        for range in &function.handlers {
            offsets.extend([range.start, range.end, range.target]);
        }
        let is_place = |offset: &u32| {
            *offset as usize == function.code.len()
                || ops.binary_search_by_key(offset, |(at, _)| *at).is_ok()
        };
        Self(offsets.into_iter().filter(is_place).collect())
    }

    /// The label's name; an offset within an op, which no module that verifies names, as a number.
    fn name(&self, offset: u32) -> String {
        match self.0.binary_search(&offset) {
            Ok(index) => format!("L{index}"),
            Err(_) => format!("@{offset}"),
        }
    }
}

impl Printer<'_> {
    pub(super) fn body(&mut self, function: &Function, lines: Lines) {
        let ops: Vec<(u32, Op)> = function.ops().map_while(Result::ok).collect();
        let labels = Labels::of(function, &ops);
        for range in &function.handlers {
            let [start, end, target] =
                [range.start, range.end, range.target].map(|offset| labels.name(offset));
            let register = range.register;
            let _ = writeln!(
                self.out,
                "    .handle {start}, {end}, {target}, r{register}"
            );
        }
        let mut entries = function
            .lines
            .iter()
            .filter(|_| lines == Lines::AtOps)
            .peekable();
        let mut file = self.file;
        let end = function.code.len() as u32;
        let places = ops
            .iter()
            .map(|(offset, op)| (*offset, Some(op)))
            .chain([(end, None)]);
        for (offset, op) in places {
            if labels.0.binary_search(&offset).is_ok() {
                let _ = writeln!(self.out, "{}:", labels.name(offset));
            }
            while let Some(entry) = entries.next_if(|entry| entry.offset == offset) {
                if !self.names_files {
                    let _ = writeln!(self.out, "    .line {}, {}", entry.line, entry.file);
                    continue;
                }
                if file != Some(entry.file) {
                    self.file_directive(entry.file, "    ");
                    file = Some(entry.file);
                }
                let _ = writeln!(self.out, "    .line {}", entry.line);
            }
            if let Some(op) = op {
                let text = self.op(function, op, &labels);
                let _ = writeln!(self.out, "    {text}");
            }
        }
        if let Some(Err(error)) = function.ops().find(Result::is_err) {
            let _ = writeln!(self.out, "    ; {error}");
        }
    }

    fn op(&self, function: &Function, op: &Op, labels: &Labels) -> String {
        let mut written = Vec::new();
        let mut others = Vec::new();
        for operand in op.operands() {
            let text = self.operand(function, &operand, labels);
            match operand.role().access() {
                Access::Write => written.push(text),
                Access::Read | Access::None => others.push(text),
            }
        }
        let mut out = written.join(", ");
        out.push_str(if written.is_empty() { "" } else { " = " });
        out.push_str(op.opcode().info().mnemonic);
        out.push_str(if others.is_empty() { "" } else { " " });
        out.push_str(&others.join(", "));
        out
    }

    fn operand(&self, function: &Function, operand: &Operand, labels: &Labels) -> String {
        match operand {
            Operand::IIn(index) | Operand::IOut(index) | Operand::IWindow(index) => {
                format!("i{index}")
            }
            Operand::RIn(index) | Operand::ROut(index) | Operand::RWindow(index) => {
                format!("r{index}")
            }
            Operand::IRegs(list) => registers('i', list),
            Operand::RRegs(list) => registers('r', list),
            Operand::Int64(value) => value.to_string(),
            Operand::Float64(value) => constants::float(*value),
            Operand::Int32(value) => value.to_string(),
            Operand::Field(value) => value.to_string(),
            Operand::Tag(value) => value.to_string(),
            Operand::Target(target) => labels.name(*target),
            Operand::Targets(list) => {
                let list: Vec<String> = list.iter().map(|target| labels.name(*target)).collect();
                format!("[{}]", list.join(", "))
            }
            Operand::FuncId(id) => self.function_name(&function.name, *id),
            Operand::ConstId(id) => match self.module.constants.get(*id as usize) {
                Some(vm::module::Constant::Text(bytes)) if self.inlines_constants => {
                    super::quote(bytes)
                }
                Some(constant) if self.inlines_constants => {
                    constants::text(constant, |id| self.function_name(&function.name, id))
                }
                Some(_) => format!("k{id}"),
                None => format!("@{id}"),
            },
            Operand::IntGlobal(id) => self.global(&self.module.globals.ints, *id),
            Operand::RefGlobal(id) => self.global(&self.module.globals.refs, *id),
            Operand::HostId(id) => match self.module.hosts.get(*id as usize) {
                Some(host) if self.host_counts.get(host.name.as_str()) == Some(&1) => {
                    name(&host.name)
                }
                _ => format!("@{id}"),
            },
            Operand::SourceRef(id) => {
                let is_named = self.names_sources
                    && *id >= FIRST_OWN_SOURCE
                    && (*id as usize) < self.module.sources.sources.len();
                if is_named {
                    format!("s{id}")
                } else {
                    format!("@{id}")
                }
            }
            Operand::Sig(signature) => signature.to_string(),
        }
    }

    /// A global's name, if no other one has it.
    fn global<T>(&self, globals: &[Global<T>], id: u32) -> String {
        match globals.get(id as usize) {
            Some(global) if self.global_counts.get(global.name.as_str()) == Some(&1) => {
                name(&global.name)
            }
            _ => format!("@{id}"),
        }
    }

    /// The function's name, when the text means that function by it where it stands.
    pub(super) fn function_name(&self, scope: &str, id: u32) -> String {
        let Some(function) = self.module.functions.get(id as usize) else {
            return format!("@{id}");
        };
        let mut scope = scope;
        while !scope.is_empty() {
            let inner = format!("{scope}.{}", function.name);
            if self.function_names.contains(inner.as_str()) {
                return format!("@{id}");
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        name(&function.name)
    }
}

fn registers(class: char, list: &[u8]) -> String {
    let list: Vec<String> = list.iter().map(|index| format!("{class}{index}")).collect();
    format!("[{}]", list.join(", "))
}
