//! Op statements: the table's rows, and the forms that the assembler adds to them.

use vm::isa::{OPS, Op, Opcode, Operand, Role, Signature};

use super::body::Body;
use super::literal::{Reads, form, with_immediate, wrong_literal};
use super::operand::{Target, letter};
use super::*;
use crate::builder::{Callee, Class, Reg, Value};
use crate::pass::move_op;

impl Body<'_> {
    /// Lowers an op statement.
    pub(super) fn op(&mut self, op: &OpStmt, span: Span) -> Lowered<()> {
        self.temporaries.free();
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
            return Err(self.unknown_op(mnemonic));
        };
        let info = opcode.info();
        let written = opcode.info().n_written();
        if op.dsts.len() != written || op.args.len() != info.operands.len() - written {
            let error = Diagnostic::new(span, format!("`{}` has another form", info.mnemonic));
            return Err(error.with_help(form(info)));
        }
        if let (Opcode::Mov | Opcode::RMov, [arg]) = (opcode, op.args.as_slice())
            && self.is_literal(arg)
        {
            return self.move_literal(op, opcode, arg);
        }
        let mut args = op.args.clone();
        let info = with_immediate(info, &mut args);
        let captures = match opcode {
            Opcode::Closure => self.raw_captures(&args[0]),
            _ => Vec::new(),
        };
        let mut operands = Vec::with_capacity(info.operands.len());
        for (operand, arg) in info.operands[written..].iter().zip(&args) {
            operands.push(self.read_operand(info, operand, arg, &captures)?);
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

    fn unknown_op(&self, mnemonic: &Name) -> Diagnostic {
        let name = &mnemonic.text;
        let error = Diagnostic::new(mnemonic.span, format!("no op is called `{name}`"));
        let is_function = self.lowerer.find_function(name, &self.name).is_some();
        if is_function || self.lowerer.host_names().any(|host| host == name) {
            return error.with_help(format!(
                "functions and hosts are called: `call {name}(...)`"
            ));
        }
        error.suggesting(name, OPS.iter().map(|info| info.mnemonic))
    }

    /// `x = mov 5` and its like, which are `x = 5`.
    fn move_literal(&mut self, op: &OpStmt, opcode: Opcode, arg: &Arg) -> Lowered<()> {
        let dst = &op.dsts[0];
        let reads = match (opcode, dst.kind) {
            (Opcode::RMov, _) => Reads::Reference,
            (_, Some(Kind::Float)) => Reads::Double,
            _ => Reads::Word,
        };
        let value = self.literal(arg, reads)?;
        let reg = self.destination(dst, value.class())?;
        let op = move_op(reg, value);
        op.into_iter().for_each(|op| self.builder.op(op));
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
        if !self.is_literal(arg) {
            return Ok(Value::Reg(self.any_register(arg, kind.class())?));
        }
        let reads = match &arg.kind {
            ArgKind::Text(_) | ArgKind::Data(_) => Reads::Reference,
            ArgKind::Name(name) if name == "null" => Reads::Reference,
            _ if kind == Kind::Float => Reads::Double,
            _ => Reads::Word,
        };
        self.literal(arg, reads)
    }

    /// Refuses a literal double where a host function means an integer: a declaration of a host
    /// says `f` where it means a double.
    fn check_host_literals(&self, args: &[Arg], kinds: &[Kind]) -> Lowered<()> {
        let mut pairs = args.iter().zip(kinds);
        let wrong = pairs.find(|(arg, kind)| {
            let is_double = match &arg.kind {
                ArgKind::Float(_) => true,
                ArgKind::Name(name) => name != "null" && self.is_literal(arg),
                _ => false,
            };
            is_double && **kind == Kind::Int
        });
        match wrong {
            Some((arg, _)) => Err(wrong_literal(arg, Reads::Integer)),
            None => Ok(()),
        }
    }

    /// Values for parameters or results of these kinds, as many as there are.
    fn values(&mut self, args: &[Arg], kinds: &[Kind]) -> Lowered<Vec<Value>> {
        let mut values = Vec::with_capacity(args.len());
        for (arg, &kind) in args.iter().zip(kinds) {
            let value = self.value(arg, kind)?;
            if value.class() != kind.class() {
                return Err(match self.is_literal(arg) {
                    true => wrong_literal(arg, Reads::of_kind(kind)),
                    false => self.wrong_class(arg, kind.class()),
                });
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The arguments of a call of something by its name.
    fn arguments(
        &mut self,
        callee: &Arg,
        args: &[Arg],
        (params, results): (&[Kind], &[Kind]),
        span: Span,
    ) -> Lowered<Vec<Value>> {
        if args.len() != params.len() {
            let name = callee.kind.name();
            let wanted = counted(params.len(), "argument");
            let message = format!("`{name}` takes {wanted}, not {}", args.len());
            let help = format!("`{name}` is {}", signature_text(params, results));
            return Err(Diagnostic::new(span, message).with_help(help));
        }
        self.values(args, params)
    }

    /// The registers that take the results of a call of something by its name.
    fn results(
        &mut self,
        op: &OpStmt,
        (params, results): (&[Kind], &[Kind]),
        span: Span,
    ) -> Lowered<Vec<Reg>> {
        let dsts = &op.dsts;
        if dsts.len() != results.len() {
            let name = op.args[0].kind.name();
            let given = counted(results.len(), "result");
            let found = counted(dsts.len(), "register");
            let verb = if dsts.len() == 1 { "stands" } else { "stand" };
            let message = format!("`{name}` gives {given}, and {found} {verb} left of `=`");
            let names: Vec<String> = (1..=results.len()).map(|n| format!("x{n}")).collect();
            let written = match names.as_slice() {
                [] => String::new(),
                [_] => "x = ".into(),
                names => format!("{} = ", names.join(", ")),
            };
            let signature = signature_text(params, results);
            let help = format!("`{written}call {name}(...)`; it is {signature}");
            return Err(Diagnostic::new(span, message).with_help(help));
        }
        dsts.iter()
            .zip(results)
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
            Target::Host(entry) => {
                self.check_host_literals(args, &entry.params)?;
                (Callee::Host(entry.id), entry.params, entry.results)
            }
        };
        let args = self.arguments(&op.args[0], args, (&params, &results), span)?;
        let results = self.results(op, (&params, &results), span)?;
        self.builder.call(callee, &args, &results);
        Ok(())
    }

    fn check_is_plain(&self, entry: &FunctionEntry, span: Span) -> Lowered<()> {
        if entry.captures.is_none() {
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
        let signature = (&entry.params[..], &entry.results[..]);
        let args = self.arguments(&op.args[0], args, signature, span)?;
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
        if op.args.len() != results.len() {
            let span = op.args[0].span.to(op.args[op.args.len() - 1].span);
            let (name, wanted) = (&self.fun.name.text, counted(results.len(), "result"));
            let found = counted(op.args.len(), "value");
            let message = format!("`{name}` gives {wanted}, and `ret` has {found}");
            let help = match results.as_slice() {
                [] => format!("say their classes: `fun {name}(...) -> (i, r)`, or write `ret`"),
                _ => format!(
                    "it is {}",
                    signature_text(&self.signature_kinds().0, &results)
                ),
            };
            return Err(Diagnostic::new(span, message).with_help(help));
        }
        let values = self.values(&op.args, &results)?;
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

/// A number of things: `1 argument`, `2 arguments`, `no arguments`.
fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// Parameters and results as a declaration has them.
fn signature_text(params: &[Kind], results: &[Kind]) -> String {
    format!("`({}) -> ({})`", letters(params), letters(results))
}
