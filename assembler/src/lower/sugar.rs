//! Op statements: the table's rows, and the forms that the assembler adds to them.

use vm::isa::{Access, OPS, Op, OpInfo, Opcode, Operand, Role, Signature};

use super::body::{Body, written_count};
use super::operand::{Target, letter};
use super::*;
use crate::builder::{Callee, Class, Reg, Value};
use crate::pass::move_op;

impl Body<'_> {
    /// Lowers an op statement.
    pub(super) fn op(&mut self, op: &OpStmt, span: Span) -> Lowered<()> {
        let Some(mnemonic) = &op.mnemonic else {
            return self.assign(op, span);
        };
        match (mnemonic.text.as_str(), &op.call_args) {
            ("call", Some(args)) => self.call(op, args, span, false),
            ("call_host", Some(args)) => self.call(op, args, span, true),
            ("tail_call", Some(args)) => self.tail_call(op, args),
            ("call_closure", Some(args)) => self.call_closure(op, args, span),
            ("tail_call_closure", Some(args)) => self.tail_call_closure(op, args),
            ("ret", None) if !op.args.is_empty() => self.ret(op),
            ("cap", None) => self.cap(op, span),
            (_, Some(_)) => {
                let message = format!("`{}` calls nothing", mnemonic.text);
                Err(Diagnostic::new(mnemonic.span, message))
            }
            _ => self.plain_op(op, mnemonic, span),
        }
    }

    /// A row of the table, with a literal perhaps where a register would stand.
    fn plain_op(&mut self, op: &OpStmt, mnemonic: &Name, span: Span) -> Lowered<()> {
        let Some(opcode) = Opcode::from_mnemonic(&mnemonic.text) else {
            let message = format!("no op is called `{}`", mnemonic.text);
            let names = OPS.iter().map(|info| info.mnemonic);
            return Err(Diagnostic::new(mnemonic.span, message).suggesting(&mnemonic.text, names));
        };
        let mut args = op.args.clone();
        let info = with_immediate(opcode.info(), &mut args)?;
        let written = written_count(info.opcode);
        if op.dsts.len() != written || args.len() != info.operands.len() - written {
            let error = Diagnostic::new(span, format!("`{}` has another form", info.mnemonic));
            return Err(error.with_help(form(info)));
        }
        let mut operands = Vec::with_capacity(info.operands.len());
        for (operand, arg) in info.operands[written..].iter().zip(&args) {
            operands.push(self.operand(operand.role, arg)?);
        }
        for (index, dst) in op.dsts.iter().enumerate() {
            let operand = match info.operands[index].role {
                Role::IOut => Operand::IOut(self.destination(dst, Class::Int)?.index),
                _ => Operand::ROut(self.destination(dst, Class::Ref)?.index),
            };
            operands.insert(index, operand);
        }
        match Op::from_operands(info.opcode, &operands) {
            Some(op) => self.builder.op(op),
            None => return Err(Diagnostic::new(span, form(info))),
        }
        Ok(())
    }

    /// A register that is written, which must be of a class.
    fn destination(&mut self, dst: &Dst, class: Class) -> Lowered<Reg> {
        let reg = self.known_destination(dst)?;
        if reg.class == class {
            return Ok(reg);
        }
        let name = &dst.name.text;
        let (is, wanted) = (letter(reg.class), letter(class));
        let message = format!("`{name}` is an {is} register, and this gives an {wanted}");
        Err(Diagnostic::new(dst.name.span, message))
    }

    /// A register that is written, whose class must be known from its name or from before.
    fn known_destination(&mut self, dst: &Dst) -> Lowered<Reg> {
        let name = &dst.name.text;
        let Some(reg) = self.register_named(name) else {
            let error = Diagnostic::new(
                dst.name.span,
                format!("the class of `{name}` is not known here"),
            );
            return Err(error.with_help(format!("say it: `{name}: i = ...`, or `f` or `r`")));
        };
        if dst.kind.is_some_and(|kind| kind.class() != reg.class) {
            let is = letter(reg.class);
            let message = format!("`{name}` is an {is} register already");
            return Err(Diagnostic::new(dst.name.span, message));
        }
        Ok(reg)
    }

    fn one_destination<'a>(&self, op: &'a OpStmt, span: Span) -> Lowered<&'a Dst> {
        match op.dsts.as_slice() {
            [dst] => Ok(dst),
            _ => Err(Diagnostic::new(
                span,
                "one register should stand left of `=`",
            )),
        }
    }

    /// `x = 5`, `x = "text"`, `x = y`.
    fn assign(&mut self, op: &OpStmt, span: Span) -> Lowered<()> {
        let dst = self.one_destination(op, span)?;
        let Some(arg) = op.args.first() else {
            return Err(Diagnostic::new(span, "a value should stand right of `=`"));
        };
        if let ArgKind::Data(_) = arg.kind {
            let constant = self.operand(Role::ConstId, arg)?;
            let is_text = matches!(arg.kind, ArgKind::Data(Data::Text(_)));
            let opcode = if is_text { Opcode::Text } else { Opcode::Data };
            let reg = self.destination(dst, Class::Ref)?;
            let op = Op::from_operands(opcode, &[Operand::ROut(reg.index), constant]);
            op.into_iter().for_each(|op| self.builder.op(op));
            return Ok(());
        }
        let kind = dst.kind.unwrap_or(Kind::Int);
        let value = self.value(arg, kind)?;
        let reg = self.destination(dst, value.class())?;
        move_op(reg, value)
            .into_iter()
            .for_each(|op| self.builder.op(op));
        Ok(())
    }

    /// A value of any class. Where a double is wanted, an integer is read as one.
    fn value(&mut self, arg: &Arg, kind: Kind) -> Lowered<Value> {
        Ok(match &arg.kind {
            ArgKind::Int(value) if kind == Kind::Float => Value::Float(*value as f64),
            ArgKind::Int(value) => Value::Int(*value),
            ArgKind::Float(value) => Value::Float(*value),
            ArgKind::Text(_) => match self.operand(Role::ConstId, arg)? {
                Operand::ConstId(id) => Value::Text(id),
                _ => Value::Null,
            },
            ArgKind::Name(name) if name == "null" && self.register_named(name).is_none() => {
                Value::Null
            }
            _ => Value::Reg(self.any_register(arg, kind.class())?),
        })
    }

    /// Values for parameters or results of these kinds.
    fn values(
        &mut self,
        args: &[Arg],
        kinds: &[Kind],
        what: &str,
        span: Span,
    ) -> Lowered<Vec<Value>> {
        if args.len() != kinds.len() {
            let message = format!(
                "{what}: {} should stand here, not {}",
                kinds.len(),
                args.len()
            );
            return Err(Diagnostic::new(span, message));
        }
        let mut values = Vec::with_capacity(args.len());
        for (arg, &kind) in args.iter().zip(kinds) {
            let value = self.value(arg, kind)?;
            if value.class() != kind.class() {
                let wanted = letter(kind.class());
                let what = arg.kind.describe();
                let message = format!("an {wanted} should stand here, not {what}");
                return Err(Diagnostic::new(arg.span, message));
            }
            values.push(value);
        }
        Ok(values)
    }

    fn results(&mut self, dsts: &[Dst], kinds: &[Kind], span: Span) -> Lowered<Vec<Reg>> {
        if dsts.len() != kinds.len() {
            let message = format!(
                "results: {} registers should stand left of `=`, not {}",
                kinds.len(),
                dsts.len()
            );
            return Err(Diagnostic::new(span, message));
        }
        dsts.iter()
            .zip(kinds)
            .map(|(dst, kind)| self.destination(dst, kind.class()))
            .collect()
    }

    fn call(&mut self, op: &OpStmt, args: &[Arg], span: Span, is_host: bool) -> Lowered<()> {
        let target = self.callee(&op.args[0], is_host)?;
        let (callee, params, results) = match target {
            Target::Function(entry) => {
                self.check_is_plain(&entry, op.args[0].span)?;
                (Callee::Function(entry.id.0), entry.params, entry.results)
            }
            Target::Host(entry) => (Callee::Host(entry.id), entry.params, entry.results),
        };
        let args = self.values(args, &params, "arguments", span)?;
        let results = self.results(&op.dsts, &results, span)?;
        self.builder.call(callee, &args, &results);
        Ok(())
    }

    fn check_is_plain(&self, entry: &FunctionEntry, span: Span) -> Lowered<()> {
        if !entry.is_closure {
            return Ok(());
        }
        let error = Diagnostic::new(span, "a closure's function is called through a closure");
        Err(error.with_help("`c = closure f, [refs], [ints]`, then `call_closure c(...)`"))
    }

    fn no_destinations(&self, op: &OpStmt) -> Lowered<()> {
        match op.dsts.first() {
            None => Ok(()),
            Some(dst) => Err(Diagnostic::new(
                dst.name.span,
                "a tail call gives nothing here",
            )),
        }
    }

    fn tail_call(&mut self, op: &OpStmt, args: &[Arg]) -> Lowered<()> {
        self.no_destinations(op)?;
        let span = op.args[0].span;
        let Target::Function(entry) = self.callee(&op.args[0], false)? else {
            return Err(Diagnostic::new(
                span,
                "a host function cannot be tail-called",
            ));
        };
        self.check_is_plain(&entry, span)?;
        let args = self.values(args, &entry.params, "arguments", span)?;
        self.builder.tail_call(Callee::Function(entry.id.0), &args);
        Ok(())
    }

    /// Arguments whose classes are their own.
    fn free_values(&mut self, args: &[Arg]) -> Lowered<Vec<Value>> {
        args.iter().map(|arg| self.value(arg, Kind::Int)).collect()
    }

    fn call_closure(&mut self, op: &OpStmt, args: &[Arg], span: Span) -> Lowered<()> {
        let closure = self.register(&op.args[0], Class::Ref)?;
        let args = self.free_values(args)?;
        let dsts = op.dsts.iter();
        let results: Vec<Reg> = dsts
            .map(|dst| self.known_destination(dst))
            .collect::<Lowered<_>>()?;
        let classes = |class| results.iter().filter(move |reg| reg.class == class).count();
        let signature = closure_signature(&args, classes(Class::Int), classes(Class::Ref), span)?;
        let callee = Callee::Closure {
            register: closure.index,
            signature,
        };
        self.builder.call(callee, &args, &results);
        Ok(())
    }

    fn tail_call_closure(&mut self, op: &OpStmt, args: &[Arg]) -> Lowered<()> {
        self.no_destinations(op)?;
        let span = op.args[0].span;
        let closure = self.register(&op.args[0], Class::Ref)?;
        let args = self.free_values(args)?;
        let (_, results) = self.signature_kinds();
        let count = |class| results.iter().filter(|kind| kind.class() == class).count();
        let signature = closure_signature(&args, count(Class::Int), count(Class::Ref), span)?;
        let callee = Callee::Closure {
            register: closure.index,
            signature,
        };
        self.builder.tail_call(callee, &args);
        Ok(())
    }

    fn ret(&mut self, op: &OpStmt) -> Lowered<()> {
        let (_, results) = self.signature_kinds();
        let span = op.args[0].span.to(op.args[op.args.len() - 1].span);
        let values = self.values(&op.args, &results, "results", span)?;
        self.builder.ret(&values);
        Ok(())
    }

    /// `x = cap k`: a capture by its name.
    fn cap(&mut self, op: &OpStmt, span: Span) -> Lowered<()> {
        let dst = self.one_destination(op, span)?;
        let [
            Arg {
                kind: ArgKind::Name(name),
                span: name_span,
            },
        ] = op.args.as_slice()
        else {
            return Err(Diagnostic::new(span, "`cap` has another form").with_help("`x = cap k`"));
        };
        let Some((class, field)) = self.capture(name) else {
            let captures = self.fun.captures.as_deref().unwrap_or_default();
            let names = captures.iter().filter_map(|param| param.name.as_ref());
            let names: Vec<&str> = names.map(|name| name.text.as_str()).collect();
            let error = Diagnostic::new(*name_span, format!("no capture is called `{name}`"));
            return Err(error.suggesting(name, names));
        };
        let reg = self.destination(dst, class)?;
        let (opcode, dst) = match class {
            Class::Int => (Opcode::CapI, Operand::IOut(reg.index)),
            Class::Ref => (Opcode::CapR, Operand::ROut(reg.index)),
        };
        let closure = Operand::RIn(self.builder.closure_register().index);
        let op = Op::from_operands(opcode, &[dst, closure, Operand::Field(field as u8)]);
        op.into_iter().for_each(|op| self.builder.op(op));
        Ok(())
    }
}

fn closure_signature(args: &[Value], ints: usize, refs: usize, span: Span) -> Lowered<Signature> {
    let count = |class| args.iter().filter(|value| value.class() == class).count();
    let byte = |count: usize| {
        u8::try_from(count).map_err(|_| Diagnostic::new(span, crate::parser::TOO_MANY_PARAMETERS))
    };
    Ok(Signature {
        int_params: byte(count(Class::Int))?,
        ref_params: byte(count(Class::Ref))?,
        int_results: byte(ints)?,
        ref_results: byte(refs)?,
    })
}

/// The row that takes the integer where a register would stand, if that is what the operands say.
/// `sub` is `add` of the negative.
fn with_immediate(info: &'static OpInfo, args: &mut [Arg]) -> Lowered<&'static OpInfo> {
    let written = written_count(info.opcode);
    let roles = &info.operands[written.min(info.operands.len())..];
    let literal = roles.iter().zip(args.iter()).position(|(operand, arg)| {
        operand.role == Role::IIn && matches!(arg.kind, ArgKind::Int(_))
    });
    let Some(position) = literal else {
        return Ok(info);
    };
    let (name, negate) = match info.mnemonic.strip_prefix("sub") {
        Some(rest) => (format!("add{rest}_imm"), true),
        None => (format!("{}_imm", info.mnemonic), false),
    };
    let arg = &mut args[position];
    let row = Opcode::from_mnemonic(&name)
        .map(Opcode::info)
        .filter(|row| {
            let operand = row.operands.get(written + position);
            row.operands.len() == info.operands.len()
                && operand.is_some_and(|operand| operand.role == Role::Int32)
        });
    let Some(row) = row else {
        let message = format!("`{}` takes no number here", info.mnemonic);
        let help = "put the number into a register first: `x = ...`";
        return Err(Diagnostic::new(arg.span, message).with_help(help));
    };
    if let (true, ArgKind::Int(value)) = (negate, &mut arg.kind) {
        *value = value.wrapping_neg();
    }
    let fits = matches!(arg.kind, ArgKind::Int(value) if i32::try_from(value).is_ok());
    if !fits {
        let error = Diagnostic::new(arg.span, "this number does not fit into 32 bits");
        return Err(error.with_help("put it into a register first: `x = ...`"));
    }
    Ok(row)
}

/// An op's form, as help.
fn form(info: &OpInfo) -> String {
    let name = |operand: &vm::isa::OperandInfo| operand.name;
    let written = info
        .operands
        .iter()
        .filter(|operand| operand.role.access() == Access::Write);
    let written: Vec<&str> = written.map(name).collect();
    let others = info
        .operands
        .iter()
        .filter(|operand| operand.role.access() != Access::Write);
    let others: Vec<&str> = others.map(name).collect();
    let equals = if written.is_empty() { "" } else { " = " };
    let space = if others.is_empty() { "" } else { " " };
    format!(
        "`{}{equals}{}{space}{}`, where {}",
        written.join(", "),
        info.mnemonic,
        others.join(", "),
        info.doc.trim()
    )
}
