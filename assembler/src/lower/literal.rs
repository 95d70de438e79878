//! Literals where ops read registers: a number becomes the immediate of a row that has one; any
//! other literal is put into a temporary register right before the op.

use vm::isa::{
    Access, ImmediateForm, MAX_LIST_REGISTERS, OpInfo, Opcode, Operand, OperandInfo, RegisterList,
    Role,
};

use super::body::Body;
use super::operand::letter;
use super::*;
use crate::builder::{Class, Reg, Value};
use crate::parser::float_of;
use crate::pass::move_op;

/// What an op reads at a place, as far as the table says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    Integer,
    Double,
    /// 64 bits of any meaning: what is moved, or stored in a record or closure.
    Word,
    Reference,
}

impl Reads {
    /// What an operand of a row reads. The row's sentence writes `f[x]` for a double in `i[x]`.
    fn of(info: &OpInfo, operand: &OperandInfo) -> Self {
        match operand.role {
            Role::RIn | Role::RRegs => Self::Reference,
            Role::IRegs => Self::Word,
            _ if matches!(info.opcode, Opcode::Mov | Opcode::StI | Opcode::StCapI) => Self::Word,
            _ if info.doc.contains(&format!("f[{}]", operand.name)) => Self::Double,
            _ => Self::Integer,
        }
    }

    /// What a parameter, result or capture of a class takes.
    pub(super) fn of_kind(kind: Kind) -> Self {
        match kind {
            Kind::Int => Self::Word,
            Kind::Float => Self::Double,
            Kind::Ref => Self::Reference,
        }
    }

    pub(super) fn class(self) -> Class {
        match self {
            Self::Integer | Self::Double | Self::Word => Class::Int,
            Self::Reference => Class::Ref,
        }
    }

    /// What may be written there.
    fn wanted(self) -> &'static str {
        match self {
            Self::Integer => "an i register or an integer",
            Self::Double => "an i register or a double",
            Self::Word => "an i register or a number",
            Self::Reference => "an r register, a string or `null`",
        }
    }
}

/// The registers that hold literals. Each is free again behind the statement of its literal, so a
/// function needs as many as its statement with the most literals.
#[derive(Default)]
pub(super) struct Temporaries {
    /// All that there are, by class.
    registers: [Vec<Reg>; 2],
    /// How many of them this statement uses, by class.
    n_used: [usize; 2],
    /// What this statement's registers hold.
    held: Vec<(Value, Reg)>,
}

impl Temporaries {
    /// Frees them all, at the start of a statement.
    pub(super) fn free(&mut self) {
        self.n_used = [0; 2];
        self.held.clear();
    }
}

/// Whether two literals are the same to the last bit: -0.0 is not 0.0.
fn is_same(one: Value, other: Value) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

impl Body<'_> {
    /// Keeps the registers in which calls with chosen windows leave their results from being used
    /// for literals. What else such a function keeps is named where it is written.
    pub(super) fn reserve_windows(&mut self, statements: &[Stmt]) {
        let mut results = std::collections::HashSet::new();
        super::body::for_each_op(statements, &mut |op: &OpStmt| {
            results.extend(self.window_results(op).unwrap_or_default());
        });
        results
            .into_iter()
            .for_each(|reg| self.builder.reserve(reg));
    }

    /// The registers that hold the results of a call with chosen windows.
    fn window_results(&self, op: &OpStmt) -> Option<Vec<Reg>> {
        let mnemonic = op.mnemonic.as_ref()?.text.as_str();
        let (callee, windows) = match (&op.call_args, op.args.as_slice()) {
            (None, [callee, ints, refs]) => (callee, [ints, refs]),
            (None, [_, signature, ints, refs]) => (signature, [ints, refs]),
            _ => return None,
        };
        let program = &self.lowerer.module.program;
        let signature = match (mnemonic, &callee.kind) {
            ("call", ArgKind::Index(id)) => program.functions.get(*id as usize)?.signature,
            ("call_host", ArgKind::Index(id)) => program.hosts.get(*id as usize)?.signature,
            ("call_closure", ArgKind::Sig(signature)) => *signature,
            ("call" | "call_host", _) => {
                let kinds = self.results_of(mnemonic, callee)?;
                let count = |class| kinds.iter().filter(|kind| kind.class() == class).count();
                vm::isa::Signature {
                    int_results: count(Class::Int) as u8,
                    ref_results: count(Class::Ref) as u8,
                    ..Default::default()
                }
            }
            _ => return None,
        };
        let counts = [signature.int_results, signature.ref_results];
        let mut registers = Vec::new();
        for (window, count) in windows.into_iter().zip(counts) {
            let ArgKind::Name(name) = &window.kind else {
                continue;
            };
            let Reg { class, index } = self.register_named(name)?;
            let indices = (index..=u8::MAX).take(count as usize);
            registers.extend(indices.map(|index| Reg { class, index }));
        }
        Some(registers)
    }

    /// A register that holds a value, which is put into one unless it is in one.
    pub(super) fn hold(&mut self, value: Value) -> Reg {
        if let Some(reg) = value.reg() {
            return reg;
        }
        let held = &self.temporaries.held;
        if let Some(&(_, reg)) = held.iter().find(|(known, _)| is_same(*known, value)) {
            return reg;
        }
        let reg = self.temporary(value.class());
        let op = move_op(reg, value);
        op.into_iter().for_each(|op| self.builder.op(op));
        self.temporaries.held.push((value, reg));
        reg
    }

    fn temporary(&mut self, class: Class) -> Reg {
        let n_used = self.temporaries.n_used[class as usize];
        self.temporaries.n_used[class as usize] += 1;
        if let Some(&reg) = self.temporaries.registers[class as usize].get(n_used) {
            return reg;
        }
        let reg = self.builder.new_reg(class);
        self.temporaries.registers[class as usize].push(reg);
        reg
    }

    /// A register that holds a new array of a constant's elements.
    pub(super) fn new_data(&mut self, arg: &Arg) -> Lowered<Reg> {
        let constant = self.operand(Role::ConstId, arg)?;
        let reg = self.temporary(Class::Ref);
        let op = vm::isa::Op::from_operands(Opcode::Data, &[Operand::ROut(reg.index), constant]);
        op.into_iter().for_each(|op| self.builder.op(op));
        Ok(reg)
    }

    /// Whether an operand is a literal, not the name of a register.
    pub(super) fn is_literal(&self, arg: &Arg) -> bool {
        match &arg.kind {
            ArgKind::Name(name) => {
                matches!(name.as_str(), "null" | "inf" | "nan")
                    && self.register_named(name).is_none()
            }
            ArgKind::Int(_) | ArgKind::Float(_) | ArgKind::Text(_) | ArgKind::Data(_) => true,
            ArgKind::List(_) | ArgKind::Sig(_) | ArgKind::Index(_) => false,
        }
    }

    /// A literal's value at a place that reads such a thing. An integer that is exactly a double
    /// may stand for it.
    pub(super) fn literal(&mut self, arg: &Arg, reads: Reads) -> Lowered<Value> {
        Ok(match (&arg.kind, reads) {
            (ArgKind::Int(value), Reads::Integer | Reads::Word) => Value::Int(*value),
            (ArgKind::Float(value), Reads::Double | Reads::Word) => Value::Float(*value),
            (ArgKind::Int(value), Reads::Double) => match float_of(arg.kind.clone()) {
                Some(value) => Value::Float(value),
                None => return Err(no_double(arg, *value)),
            },
            (ArgKind::Name(name), Reads::Double | Reads::Word) if name != "null" => {
                Value::Float(float_of(arg.kind.clone()).unwrap_or(f64::NAN))
            }
            (ArgKind::Name(name), Reads::Reference) if name == "null" => Value::Null,
            (ArgKind::Text(_) | ArgKind::Data(Data::Text(_)), Reads::Reference) => {
                match self.operand(Role::ConstId, arg)? {
                    Operand::ConstId(id) => Value::Text(id),
                    _ => Value::Null,
                }
            }
            (ArgKind::Data(_), Reads::Reference) => Value::Reg(self.new_data(arg)?),
            _ => return Err(wrong_literal(arg, reads)),
        })
    }

    /// The register that an op reads: the one named, or one that holds the literal.
    pub(super) fn read(&mut self, arg: &Arg, reads: Reads) -> Lowered<Reg> {
        if self.is_literal(arg) {
            let value = self.literal(arg, reads)?;
            return Ok(self.hold(value));
        }
        match &arg.kind {
            ArgKind::Name(_) => self.register(arg, reads.class()),
            _ => Err(wrong_literal(arg, reads)),
        }
    }

    /// An operand of a row that is not written to. Of the raw captures of a closure, `captures`
    /// are the classes.
    pub(super) fn read_operand(
        &mut self,
        info: &OpInfo,
        operand: &OperandInfo,
        arg: &Arg,
        captures: &[Kind],
    ) -> Lowered<Operand> {
        let reads = match &arg.kind {
            // A register holds whatever its class holds.
            ArgKind::Name(_) if operand.role == Role::IIn && !self.is_literal(arg) => Reads::Word,
            _ => Reads::of(info, operand),
        };
        Ok(match operand.role {
            Role::IIn => Operand::IIn(self.read(arg, reads)?.index),
            Role::RIn => Operand::RIn(self.read(arg, reads)?.index),
            Role::IRegs => Operand::IRegs(self.read_list(arg, reads, captures)?),
            Role::RRegs => Operand::RRegs(self.read_list(arg, reads, &[])?),
            Role::IWindow | Role::RWindow if self.is_literal(arg) => {
                let what = arg.kind.describe();
                let message = format!("a window begins at a register, not at {what}");
                let help = format!("`{} f(a, 5)` passes values", info.mnemonic);
                return Err(Diagnostic::new(arg.span, message).with_help(help));
            }
            role => self.operand(role, arg)?,
        })
    }

    fn read_list(&mut self, arg: &Arg, reads: Reads, kinds: &[Kind]) -> Lowered<RegisterList> {
        let ArgKind::List(list) = &arg.kind else {
            let class = letter(reads.class());
            let message = format!("a list of {class} registers should stand here");
            return Err(Diagnostic::new(arg.span, message).with_help("`[x, y]`, or `[]` for none"));
        };
        // The text may have more literals than there are registers to put them into.
        if list.len() > MAX_LIST_REGISTERS {
            let message = format!("a list has at most {MAX_LIST_REGISTERS} registers");
            return Err(Diagnostic::new(arg.span, message));
        }
        let mut registers = RegisterList::new();
        for (index, arg) in list.iter().enumerate() {
            let reads = kinds.get(index).copied().map_or(reads, Reads::of_kind);
            registers.push(self.read(arg, reads)?.index);
        }
        Ok(registers)
    }

    /// The classes of the `i` registers that the function of a `closure` op captures.
    pub(super) fn raw_captures(&self, function: &Arg) -> Vec<Kind> {
        let name = match &function.kind {
            ArgKind::Name(name) => name.clone(),
            _ => text_of(function).unwrap_or_default(),
        };
        let entry = self.lowerer.find_function(&name, &self.name);
        let captures = entry.and_then(|entry| entry.captures.as_deref());
        let captures = captures.unwrap_or_default().iter().copied();
        captures.filter(|kind| kind.class() == Class::Int).collect()
    }
}

/// The row that takes one of the numbers as its immediate, with the operands in its order; without
/// such a row, or when the number does not fit into it, the row itself.
pub(super) fn with_immediate(info: &'static OpInfo, args: &mut [Arg]) -> &'static OpInfo {
    let written = info.n_written();
    // An immediate is never an op's first operand; the last literal becomes one.
    for position in (1..args.len()).rev() {
        if let Some(form) = info.immediate_form(written + position)
            && let Some(value) = immediate(&args[position], form)
        {
            args[position].kind = value;
            return form.row;
        }
    }
    if args.len() > 1
        && let Some(form) = info.swapped_form()
        && let Some(value) = immediate(&args[0], form)
    {
        args[0].kind = value;
        args.swap(0, 1);
        return form.row;
    }
    info
}

/// The number as a form's immediate, if it can be one.
fn immediate(arg: &Arg, form: ImmediateForm) -> Option<ArgKind> {
    let operand = match arg.kind {
        ArgKind::Int(value) => form.immediate(value),
        _ => None,
    };
    let operand = operand.or_else(|| form.immediate_float(float_of(arg.kind.clone())?));
    match operand? {
        Operand::Int32(value) => Some(ArgKind::Int(value.into())),
        Operand::Float64(value) => Some(ArgKind::Float(value)),
        _ => None,
    }
}

/// An error for an integer that no double is.
fn no_double(arg: &Arg, value: i64) -> Diagnostic {
    let message = format!("a double should stand here, and none is exactly {value}");
    Diagnostic::new(arg.span, message).with_help(format!("write `{:?}`", value as f64))
}

/// An error for what can never be in a register of the class that is read.
pub(super) fn wrong_literal(arg: &Arg, reads: Reads) -> Diagnostic {
    let what = arg.kind.describe();
    let message = format!("{} should stand here, not {what}", reads.wanted());
    let help = match (&arg.kind, reads) {
        (ArgKind::Text(bytes), Reads::Integer | Reads::Word) if bytes.len() == 1 => {
            let character = char::from(bytes[0]).escape_default();
            format!("a character is written `'{character}'`")
        }
        (ArgKind::Text(_), Reads::Double) => "`x, ok = float_of_str s` reads a number".into(),
        (ArgKind::Text(_), _) => "`x, ok = int_of_str s` reads a number".into(),
        (ArgKind::Float(_), Reads::Integer) => {
            "ops on doubles begin with `f`, jumps with `jf`; `ftoi` makes an integer of one".into()
        }
        (ArgKind::Int(value), Reads::Reference) => {
            format!("`x = imm {value}` makes a small immediate, `str_of_int` a string")
        }
        (ArgKind::Float(_), Reads::Reference) => "`str_of_float` makes a string of it".into(),
        (ArgKind::Name(name), _) if name == "null" => "`null` is a reference".into(),
        (ArgKind::Name(_), Reads::Reference) => "`str_of_float` makes a string of it".into(),
        _ => return Diagnostic::new(arg.span, message),
    };
    Diagnostic::new(arg.span, message).with_help(help)
}

/// An op's form, as help.
pub(super) fn form(info: &OpInfo) -> String {
    let names = |is_written: bool| {
        let operands = info.operands.iter();
        let chosen = operands.filter(|one| (one.role.access() == Access::Write) == is_written);
        chosen.map(|one| one.name).collect::<Vec<_>>().join(", ")
    };
    let (written, others) = (names(true), names(false));
    let equals = if written.is_empty() { "" } else { " = " };
    let space = if others.is_empty() { "" } else { " " };
    let (name, doc) = (info.mnemonic, info.doc.trim());
    let form = format!("`{written}{equals}{name}{space}{others}`");
    match info.operands.iter().any(|one| one.role == Role::IWindow) {
        true => format!("`x = {name} f(a, 5)` passes values; with windows it is {form}"),
        false => format!("{form}, where {doc}"),
    }
}
