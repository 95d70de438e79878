//! The second walk: a function's body, statement by statement.

use std::collections::HashSet;

use vm::isa::{Opcode, Role};

use super::literal::Temporaries;
use super::*;
use crate::builder::{Class, FunctionBuilder, Label, Reg};

/// A function that is being lowered.
pub(super) struct Body<'a> {
    pub(super) lowerer: &'a mut Lowerer,
    pub(super) builder: FunctionBuilder,
    /// The function's full name: where lookups start.
    pub(super) name: String,
    pub(super) fun: &'a Fun,
    pub(super) registers: HashMap<String, Reg>,
    pub(super) labels: HashMap<String, Label>,
    pub(super) temporaries: Temporaries,
    /// Labels that have been met.
    bound: HashSet<String>,
    /// The line of the function that stands next, when one was given for it.
    line_of_next: Option<u32>,
}

impl Lowerer {
    /// Defines a function and those in it.
    pub(super) fn define(&mut self, fun: &Fun) {
        let Some((id, name)) = self.names.ids.get(&fun.name.span.start).cloned() else {
            // Its declaration was wrong, which has been said.
            return;
        };
        let around = self.place.clone();
        let mut builder = self.module.function(id);
        builder.span = fun.name.span;
        let line = self.line_of(fun.name.span);
        if !self.module.program.is_instrumented {
            builder.declared_at(self.file(), line);
        }
        let mut body = Body {
            lowerer: self,
            builder,
            name,
            fun,
            registers: HashMap::new(),
            labels: HashMap::new(),
            temporaries: Temporaries::default(),
            bound: HashSet::new(),
            line_of_next: None,
        };
        body.params();
        body.reserve(&fun.body);
        body.declare(&fun.body);
        body.reserve_windows(&fun.body);
        body.statements(&fun.body);
        let Body {
            mut builder,
            registers,
            ..
        } = body;
        registers
            .iter()
            .for_each(|(name, &reg)| builder.name_register(reg, name));
        self.module.define_spanned(builder);
        self.place = around;
    }
}

/// The register that a name like `i0` or `r12` is, whatever the function calls its registers.
pub(super) fn raw_register(name: &str) -> Option<Reg> {
    let (class, digits) = match name.as_bytes().first()? {
        b'i' => (Class::Int, &name[1..]),
        b'r' => (Class::Ref, &name[1..]),
        _ => return None,
    };
    let is_canonical = digits == "0" || !digits.starts_with('0');
    let is_number =
        is_canonical && !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    let index = digits.parse().ok().filter(|_| is_number)?;
    Some(Reg { class, index })
}

impl Body<'_> {
    pub(super) fn report(&mut self, error: Diagnostic) {
        self.lowerer.report(error);
    }

    pub(super) fn signature_kinds(&self) -> (Vec<Kind>, Vec<Kind>) {
        (
            declare::kinds(&self.fun.params),
            declare::kinds(&self.fun.results),
        )
    }

    fn params(&mut self) {
        let mut counts = [0_u8; 2];
        for param in &self.fun.params {
            let class = param.kind.class();
            let index = counts[class as usize];
            counts[class as usize] = index.wrapping_add(1);
            let Some(name) = &param.name else { continue };
            let reg = Reg { class, index };
            let raw = raw_register(&name.text);
            if raw.is_some_and(|raw| raw != reg) {
                let message = format!("this parameter does not arrive in `{}`", name.text);
                self.report(Diagnostic::new(param.span, message));
            }
            if self.registers.insert(name.text.clone(), reg).is_some() {
                let message = format!("two parameters are called `{}`", name.text);
                self.report(Diagnostic::new(name.span, message));
            }
        }
        if self.fun.captures.is_some() {
            let closure = self.builder.closure_register();
            self.registers.entry("self".into()).or_insert(closure);
        }
    }

    /// Keeps registers that the text names by number from being given to other names.
    fn reserve(&mut self, statements: &[Stmt]) {
        let mut seen = HashSet::new();
        for_each_op(statements, &mut |op: &OpStmt| {
            let args = op.args.iter().chain(op.call_args.iter().flatten());
            let mut names: Vec<&str> = op.dsts.iter().map(|dst| dst.name.text.as_str()).collect();
            args.for_each(|arg| collect_names(arg, &mut names));
            seen.extend(names.into_iter().filter_map(raw_register));
        });
        seen.into_iter().for_each(|reg| self.builder.reserve(reg));
    }

    /// Declares labels, and registers in the order in which they are first written.
    fn declare(&mut self, statements: &[Stmt]) {
        for statement in statements {
            match &statement.kind {
                StmtKind::Label(name) => {
                    let label = self.builder.label();
                    if self.labels.insert(name.text.clone(), label).is_some() {
                        let message = format!("the label `{}` stands twice", name.text);
                        self.report(Diagnostic::new(name.span, message));
                    }
                }
                StmtKind::Try { register, body, .. } => {
                    self.new_register(&register.text, Class::Ref);
                    self.declare(body);
                }
                StmtKind::Directive { name, args } if name.text == "handle" => {
                    if let Some(Arg {
                        kind: ArgKind::Name(register),
                        ..
                    }) = args.get(3)
                    {
                        self.new_register(register, Class::Ref);
                    }
                }
                StmtKind::Op(op) => self.declare_destinations(op),
                _ => {}
            }
        }
    }

    fn new_register(&mut self, name: &str, class: Class) {
        if raw_register(name).is_none() && !self.registers.contains_key(name) {
            let reg = self.builder.new_reg(class);
            self.registers.insert(name.to_owned(), reg);
        }
    }

    fn declare_destinations(&mut self, op: &OpStmt) {
        for (index, dst) in op.dsts.iter().enumerate() {
            let class = dst
                .kind
                .map(Kind::class)
                .or_else(|| self.class_written(op, index));
            if let Some(class) = class {
                self.new_register(&dst.name.text, class);
            }
        }
    }

    /// The class of register that an op statement writes, as far as it says so itself.
    fn class_written(&self, op: &OpStmt, index: usize) -> Option<Class> {
        let Some(mnemonic) = &op.mnemonic else {
            let value = op.args.first()?;
            return match &value.kind {
                ArgKind::Name(name) => match self.register_named(name) {
                    None if matches!(name.as_str(), "inf" | "nan") => Some(Class::Int),
                    reg => reg.map(|reg| reg.class),
                },
                ArgKind::Int(_) | ArgKind::Float(_) => Some(Class::Int),
                ArgKind::Text(_) | ArgKind::Data(_) => Some(Class::Ref),
                _ => None,
            };
        };
        match (mnemonic.text.as_str(), &op.call_args) {
            ("call" | "call_host", Some(_)) => {
                let kinds = self.results_of(&mnemonic.text, op.args.first()?)?;
                kinds.get(index).map(|kind| kind.class())
            }
            ("cap", _) => {
                let ArgKind::Name(name) = &op.args.first()?.kind else {
                    return None;
                };
                self.capture(name).map(|(reg, _)| reg)
            }
            (mnemonic, _) => {
                let info = Opcode::from_mnemonic(mnemonic)?.info();
                let operand = info.operands.get(index)?;
                match operand.role {
                    Role::IOut => Some(Class::Int),
                    Role::ROut => Some(Class::Ref),
                    _ => None,
                }
            }
        }
    }

    /// The class and field of a capture.
    pub(super) fn capture(&self, name: &str) -> Option<(Class, usize)> {
        let captures = self.fun.captures.as_deref().unwrap_or_default();
        let is_named = |param: &Param| param.name.as_ref().is_some_and(|own| own.text == name);
        let position = captures.iter().position(is_named)?;
        let class = captures[position].kind.class();
        let before = captures[..position].iter();
        Some((
            class,
            before.filter(|param| param.kind.class() == class).count(),
        ))
    }

    /// The register of a name, if it has one.
    pub(super) fn register_named(&self, name: &str) -> Option<Reg> {
        self.registers
            .get(name)
            .copied()
            .or_else(|| raw_register(name))
    }

    fn statements(&mut self, statements: &[Stmt]) {
        for (index, statement) in statements.iter().enumerate() {
            if self.lowerer.is_full() {
                return;
            }
            self.locate(statement.span);
            let result = match &statement.kind {
                StmtKind::Label(name) => {
                    let is_first = self.bound.insert(name.text.clone());
                    if let Some(&label) = self.labels.get(&name.text).filter(|_| is_first) {
                        self.builder.bind(label);
                    }
                    Ok(())
                }
                StmtKind::Op(op) => self.op(op, statement.span),
                StmtKind::Fun(fun) => {
                    let around = self.lowerer.place.line;
                    self.lowerer.place.line = self.line_of_next.take();
                    self.lowerer.define(fun);
                    self.lowerer.place.line = around;
                    Ok(())
                }
                StmtKind::Try {
                    target,
                    register,
                    body,
                } => self.try_region(target, register, body),
                StmtKind::Directive { name, args } => {
                    let next = statements.get(index + 1).map(|next| &next.kind);
                    self.directive(name, args, next)
                }
                StmtKind::Host { .. }
                | StmtKind::Data { .. }
                | StmtKind::Object { .. }
                | StmtKind::Global { .. }
                | StmtKind::Source { .. } => Ok(()),
            };
            if let Err(error) = result {
                self.report(error);
            }
        }
    }

    /// Says where the next ops come from.
    fn locate(&mut self, span: Span) {
        self.builder.span = span;
        if !self.lowerer.module.program.is_instrumented {
            let line = self.lowerer.line_of(span);
            let file = self.lowerer.file();
            self.builder.at_line(file, line);
        }
    }

    fn try_region(&mut self, target: &Name, register: &Name, body: &[Stmt]) -> Lowered<()> {
        let handler = self.label(target)?;
        let reg = self.register_named(&register.text);
        let Some(reg) = reg.filter(|reg| reg.class == Class::Ref) else {
            let message = format!("`{}` is no r register, for the exception", register.text);
            return Err(Diagnostic::new(register.span, message));
        };
        let (start, end) = (self.builder.label(), self.builder.label());
        self.builder.bind(start);
        self.statements(body);
        self.builder.bind(end);
        self.builder.span = target.span;
        self.builder.handle(start, end, handler, reg);
        Ok(())
    }

    pub(super) fn label(&self, name: &Name) -> Lowered<Label> {
        self.labels.get(&name.text).copied().ok_or_else(|| {
            let error = Diagnostic::new(name.span, format!("no label is called `{}`", name.text));
            if self.registers.contains_key(&name.text) {
                let name = &name.text;
                return error.with_help(format!(
                    "`{name}: i = ...` writes a register; the label `{name}:` needs its own line"
                ));
            }
            error.suggesting(&name.text, self.labels.keys().map(String::as_str))
        })
    }

    fn directive(&mut self, name: &Name, args: &[Arg], next: Option<&StmtKind>) -> Lowered<()> {
        const NAMES: [&str; 6] = ["branch", "end_branch", "file", "handle", "line", "lines"];
        match name.text.as_str() {
            "file" => self.lowerer.file_directive(name, args),
            "line" => {
                let around = self.lowerer.place.line;
                self.line(name, args)?;
                // In front of a function the line is that function's.
                if let Some(StmtKind::Fun(_)) = next {
                    self.line_of_next = self.lowerer.place.line;
                    self.lowerer.place.line = around;
                }
                Ok(())
            }
            "lines" => {
                let entries = line_entries(name, args)?;
                self.builder.set_line_entries(entries);
                Ok(())
            }
            "handle" => self.handle(name, args),
            "branch" => {
                let [label] = args else {
                    return wrong_args(name, "`.branch \"name\"`");
                };
                self.builder.begin_branch(&text_of(label)?);
                Ok(())
            }
            "end_branch" => {
                no_args(name, args)?;
                self.builder.end_branch();
                Ok(())
            }
            other => {
                let error = Diagnostic::new(
                    name.span,
                    format!("no directive in a function is called `.{other}`"),
                );
                Err(error.suggesting(other, NAMES))
            }
        }
    }

    /// `.line LINE`, and in instrumented texts `.line LINE, FILE` with the file's index.
    fn line(&mut self, name: &Name, args: &[Arg]) -> Lowered<()> {
        if !self.lowerer.module.program.is_instrumented {
            return self.lowerer.line_directive(name, args);
        }
        let (line, file) = match args {
            [line] => (u32_of(line)?, self.lowerer.file()),
            [line, file] => (u32_of(line)?, FileId(u32_of(file)?)),
            _ => return wrong_args(name, "`.line NUMBER`"),
        };
        self.builder.line_entry(file, line);
        Ok(())
    }

    fn handle(&mut self, name: &Name, args: &[Arg]) -> Lowered<()> {
        let [start, end, target, register] = args else {
            return wrong_args(name, "`.handle START, END, TARGET, REGISTER`");
        };
        let label = |arg: &Arg| self.label(&name_of(arg)?);
        let (start, end, target) = (label(start)?, label(end)?, label(target)?);
        let register = self.register(register, Class::Ref)?;
        self.builder.handle(start, end, target, register);
        Ok(())
    }
}

pub(super) fn name_of(arg: &Arg) -> Lowered<Name> {
    match &arg.kind {
        ArgKind::Name(text) => Ok(Name {
            text: text.clone(),
            span: arg.span,
        }),
        other => {
            let message = format!("a name should stand here, not {}", other.describe());
            Err(Diagnostic::new(arg.span, message))
        }
    }
}

/// Visits the op statements of a function, those of functions in it left out.
pub(super) fn for_each_op(statements: &[Stmt], visit: &mut impl FnMut(&OpStmt)) {
    for statement in statements {
        match &statement.kind {
            StmtKind::Op(op) => visit(op),
            StmtKind::Try { body, .. } => for_each_op(body, visit),
            _ => {}
        }
    }
}

fn collect_names<'a>(arg: &'a Arg, names: &mut Vec<&'a str>) {
    match &arg.kind {
        ArgKind::Name(name) => names.push(name),
        ArgKind::List(list) => list.iter().for_each(|arg| collect_names(arg, names)),
        _ => {}
    }
}
