//! Operands, by their roles, and the names that they are.

use vm::host::{HostValue, ValueKind, standard_function, standard_signature};
use vm::isa::{Operand, Role};

use super::body::{Body, name_of};
use super::declare::constant_of;
use super::*;
use crate::builder::{Class, Reg};
use crate::parser::float_of;

/// A function or host that a call names.
#[derive(Clone)]
pub(super) enum Target {
    Function(FunctionEntry),
    Host(HostEntry),
}

impl Lowerer {
    /// The function that a name means in the function `scope`: looked up from there outwards.
    pub(super) fn find_function(&self, name: &str, scope: &str) -> Option<&FunctionEntry> {
        let mut scope = scope;
        while !scope.is_empty() {
            if let Some(entry) = self.names.functions.get(&format!("{scope}.{name}")) {
                return Some(entry);
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        self.names.functions.get(name)
    }

    pub(super) fn function_id(&self, arg: &Arg, scope: &str) -> Lowered<FunctionId> {
        let name = match &arg.kind {
            ArgKind::Index(index) => return Ok(FunctionId(*index)),
            ArgKind::Text(_) => Name {
                text: text_of(arg)?,
                span: arg.span,
            },
            _ => name_of(arg)?,
        };
        let found = self.find_function(&name.text, scope).map(|entry| entry.id);
        found.ok_or_else(|| {
            let error = Diagnostic::new(arg.span, format!("no function is called `{}`", name.text));
            if self.host_names().any(|host| host == name.text) {
                return error.with_help(format!("it is a host: `call {}(...)`", name.text));
            }
            error.suggesting(&name.text, self.names.functions.keys().map(String::as_str))
        })
    }

    /// A host function that the text declares, or a standard one, which is then imported.
    pub(super) fn find_host(&mut self, name: &str) -> Option<HostEntry> {
        if let Some(entry) = self.names.hosts.get(name) {
            return Some(entry.clone());
        }
        let mut entry = standard_host(name)?;
        entry.id = self.module.host(name, standard_signature(name)?);
        self.names.hosts.insert(name.to_owned(), entry.clone());
        Some(entry)
    }

    fn host_id(&mut self, arg: &Arg) -> Lowered<u32> {
        let name = match &arg.kind {
            ArgKind::Index(index) => return Ok(*index),
            ArgKind::Text(_) => text_of(arg)?,
            _ => name_of(arg)?.text,
        };
        match self.find_host(&name) {
            Some(entry) => Ok(entry.id),
            None => {
                let message = format!("no host function is called `{name}`");
                Err(Diagnostic::new(arg.span, message).suggesting(&name, self.host_names()))
            }
        }
    }

    pub(super) fn host_names(&self) -> impl Iterator<Item = &str> {
        let standard = vm::host::STANDARD.iter().map(|host| host.name);
        self.names.hosts.keys().map(String::as_str).chain(standard)
    }

    pub(super) fn constant_id(&mut self, arg: &Arg) -> Lowered<u32> {
        match &arg.kind {
            ArgKind::Index(index) => Ok(*index),
            ArgKind::Text(bytes) => Ok(self
                .module
                .constant(constant_of(&Data::Text(bytes.clone())))),
            ArgKind::Data(data) => Ok(self.module.constant(constant_of(data))),
            _ => {
                let name = name_of(arg)?;
                look_up(&self.names.constants, &name, "constant")
            }
        }
    }

    fn global_id(&self, arg: &Arg, class: Class) -> Lowered<u32> {
        let name = match &arg.kind {
            ArgKind::Index(index) => return Ok(*index),
            ArgKind::Text(_) => text_of(arg)?,
            _ => name_of(arg)?.text,
        };
        match self.names.globals.get(&name) {
            Some(&(found, id)) if found == class => Ok(id),
            Some(_) => {
                let message = format!("the global `{name}` is of the other class");
                let help = "`ld_gi` and `st_gi` are for `i` and `f`, `ld_gr` and `st_gr` for `r`";
                Err(Diagnostic::new(arg.span, message).with_help(help))
            }
            None => {
                let message = format!("no global is called `{name}`");
                let error = Diagnostic::new(arg.span, message);
                let known = self.names.globals.keys().map(String::as_str);
                Err(error.suggesting(&name, known))
            }
        }
    }

    fn source_id(&self, arg: &Arg) -> Lowered<u32> {
        match &arg.kind {
            ArgKind::Index(index) => Ok(*index),
            _ => look_up(&self.names.sources, &name_of(arg)?, "source"),
        }
    }
}

/// A standard host function that is not imported yet.
fn standard_host(name: &str) -> Option<HostEntry> {
    let function = standard_function(name)?;
    let kind = |one: &HostValue| match one.kind {
        ValueKind::Int => Kind::Int,
        ValueKind::Float => Kind::Float,
        ValueKind::Ref => Kind::Ref,
    };
    Some(HostEntry {
        id: 0,
        params: function.params.iter().map(kind).collect(),
        results: function.results.iter().map(kind).collect(),
    })
}

fn look_up(map: &HashMap<String, u32>, name: &Name, what: &str) -> Lowered<u32> {
    map.get(&name.text).copied().ok_or_else(|| {
        let error = Diagnostic::new(name.span, format!("no {what} is called `{}`", name.text));
        error.suggesting(&name.text, map.keys().map(String::as_str))
    })
}

impl Body<'_> {
    /// The register of a class that an operand names.
    pub(super) fn register(&self, arg: &Arg, class: Class) -> Lowered<Reg> {
        let reg = self.any_register(arg, class)?;
        match reg.class == class {
            true => Ok(reg),
            false => Err(self.wrong_class(arg, class)),
        }
    }

    /// An error for a register where one of the other class is read.
    pub(super) fn wrong_class(&self, arg: &Arg, class: Class) -> Diagnostic {
        let what = arg.kind.describe();
        let message = format!(
            "an {} register should stand here, not {what}",
            letter(class)
        );
        let other = match class {
            Class::Int => Class::Ref,
            Class::Ref => Class::Int,
        };
        let help = format!(
            "{what} is an {} register in all of this function",
            letter(other)
        );
        Diagnostic::new(arg.span, message).with_help(help)
    }

    /// The register that an operand names; `class` is what would be right, for the message.
    pub(super) fn any_register(&self, arg: &Arg, class: Class) -> Lowered<Reg> {
        let ArgKind::Name(name) = &arg.kind else {
            let what = arg.kind.describe();
            let message = format!(
                "an {} register should stand here, not {what}",
                letter(class)
            );
            let error = Diagnostic::new(arg.span, message);
            return Err(error.with_help("put the value into a register first: `x = ...`"));
        };
        self.register_named(name).ok_or_else(|| {
            let error = Diagnostic::new(arg.span, format!("no register is called `{name}`"));
            match self.lowerer.find_function(name, &self.name) {
                Some(entry) if entry.captures.is_none() => {
                    error.with_help(format!("it is a function: `call {name}(...)`"))
                }
                Some(_) => error.with_help(format!(
                    "it is a function: `c = closure {name}, [refs], [ints]`"
                )),
                None => error.suggesting(name, self.registers.keys().map(String::as_str)),
            }
        })
    }

    /// An operand of a role that is no register of an op.
    pub(super) fn operand(&mut self, role: Role, arg: &Arg) -> Lowered<Operand> {
        Ok(match role {
            // Registers that are read may be literals, and what is written stands left of `=`.
            Role::IIn | Role::RIn | Role::IRegs | Role::RRegs | Role::IOut | Role::ROut => {
                return Err(Diagnostic::new(arg.span, "a register should stand here"));
            }
            Role::IWindow => Operand::IWindow(self.register(arg, Class::Int)?.index),
            Role::RWindow => Operand::RWindow(self.register(arg, Class::Ref)?.index),
            Role::Int64 => Operand::Int64(integer(arg, "64-bit")?),
            Role::Float64 => {
                let wrong = || Diagnostic::new(arg.span, "a double should stand here");
                Operand::Float64(float_of(arg.kind.clone()).ok_or_else(wrong)?)
            }
            Role::Int32 => Operand::Int32(integer(arg, "32-bit")?),
            Role::Field => Operand::Field(integer(arg, "field's")?),
            Role::Tag => Operand::Tag(integer(arg, "tag's")?),
            Role::Target => Operand::Target(self.label(&name_of(arg)?)?.0),
            Role::Targets => {
                let labels = list_of(arg)?.iter();
                let labels = labels.map(|arg| Ok(self.label(&name_of(arg)?)?.0));
                Operand::Targets(labels.collect::<Lowered<_>>()?)
            }
            Role::FuncId => Operand::FuncId(self.lowerer.function_id(arg, &self.name)?.0),
            Role::ConstId => Operand::ConstId(self.lowerer.constant_id(arg)?),
            Role::IntGlobal => Operand::IntGlobal(self.lowerer.global_id(arg, Class::Int)?),
            Role::RefGlobal => Operand::RefGlobal(self.lowerer.global_id(arg, Class::Ref)?),
            Role::HostId => Operand::HostId(self.lowerer.host_id(arg)?),
            Role::SourceRef => Operand::SourceRef(self.lowerer.source_id(arg)?),
            Role::Sig => match arg.kind {
                ArgKind::Sig(signature) => Operand::Sig(signature),
                _ => {
                    let error = Diagnostic::new(arg.span, "a signature should stand here");
                    return Err(error.with_help("`(i, r) -> (i)`"));
                }
            },
        })
    }

    /// What a call's callee gives, as far as that is known without importing a host.
    pub(super) fn results_of(&self, mnemonic: &str, arg: &Arg) -> Option<Vec<Kind>> {
        let text;
        let name = match &arg.kind {
            ArgKind::Name(name) => name,
            ArgKind::Text(_) => {
                text = text_of(arg).ok()?;
                &text
            }
            _ => return None,
        };
        let function = self.lowerer.find_function(name, &self.name);
        if let Some(entry) = function.filter(|_| mnemonic != "call_host") {
            return Some(entry.results.clone());
        }
        let known = self.lowerer.names.hosts.get(name).cloned();
        known
            .or_else(|| standard_host(name))
            .map(|entry| entry.results)
    }

    /// The callee of a sugared call: functions come first, then hosts.
    pub(super) fn callee(&mut self, arg: &Arg, is_host: bool) -> Lowered<Target> {
        let name = match &arg.kind {
            ArgKind::Text(_) => text_of(arg)?,
            _ => name_of(arg)?.text,
        };
        if !is_host && let Some(entry) = self.lowerer.find_function(&name, &self.name) {
            return Ok(Target::Function(entry.clone()));
        }
        if let Some(entry) = self.lowerer.find_host(&name) {
            return Ok(Target::Host(entry));
        }
        let error = Diagnostic::new(arg.span, format!("nothing to call is named `{name}`"));
        let functions = self.lowerer.names.functions.keys().map(String::as_str);
        Err(error.suggesting(&name, functions.chain(self.lowerer.host_names())))
    }
}

pub(super) fn letter(class: Class) -> char {
    match class {
        Class::Int => 'i',
        Class::Ref => 'r',
    }
}

fn integer<T: TryFrom<i64>>(arg: &Arg, what: &str) -> Lowered<T> {
    let value = match arg.kind {
        ArgKind::Int(value) => T::try_from(value).ok(),
        _ => None,
    };
    value.ok_or_else(|| Diagnostic::new(arg.span, format!("a {what} number should stand here")))
}
