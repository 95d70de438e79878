//! The first walk: everything with a name of its own.

use profiler::{NameId, Source, SourceId, SourceMap, SourceSeqId};
use vm::isa::Signature;
use vm::module::{Captures, ConstRef, Constant, Global};

use super::*;
use crate::ir::SourceName;
use crate::parser::{TOO_MANY_PARAMETERS, float_of, signature_of};

impl Lowerer {
    /// Declares what stands in statements, at any depth; `outer` is the function around them.
    pub(super) fn declare_all(&mut self, statements: &[Stmt], outer: &str) {
        for statement in statements {
            if self.is_full() {
                return;
            }
            let result = match &statement.kind {
                StmtKind::Fun(fun) => self.declare_function(fun, outer),
                StmtKind::Host {
                    name,
                    params,
                    results,
                } => self.declare_host(name, params, results),
                StmtKind::Data { name, value } => self.declare_data(name, value),
                StmtKind::Object { name, value } => self.declare_object(name, value),
                StmtKind::Global { name, kind, value } => {
                    self.declare_global(name, *kind, value.as_ref())
                }
                StmtKind::Source { name, label, place } => {
                    let text = match place {
                        Some((file, line)) => SourceName::at(label, file, *line),
                        None => SourceName(label.clone()),
                    };
                    self.declare_source(name, text)
                }
                StmtKind::Directive { name, args } if name.text == "files" => {
                    self.declare_files(name, args)
                }
                StmtKind::Directive { name, args } if name.text == "sources" => {
                    self.declare_sources(name, args)
                }
                StmtKind::Try { body, .. } => {
                    self.declare_all(body, outer);
                    Ok(())
                }
                _ => Ok(()),
            };
            self.keep(result);
        }
    }

    fn declare_function(&mut self, fun: &Fun, outer: &str) -> Lowered<()> {
        let text = match outer {
            "" => fun.name.text.clone(),
            outer => format!("{outer}.{}", fun.name.text),
        };
        if !outer.is_empty() && text.len() > MAX_NAME_BYTES {
            let message = format!(
                "the name of this function has {} bytes with those around it; {MAX_NAME_BYTES} \
                 are the most",
                text.len()
            );
            return Err(Diagnostic::new(fun.name.span, message));
        }
        let signature = self.signature(&fun.params, &fun.results, fun.name.span)?;
        let id = match &fun.captures {
            None => self.module.declare(&text, signature),
            Some(captures) => {
                let counts = self.signature(captures, &[], fun.name.span)?;
                let captures = Captures {
                    refs: counts.ref_params,
                    ints: counts.int_params,
                };
                self.module.declare_closure(&text, signature, captures)
            }
        };
        self.module.program.functions[id.0 as usize].span = fun.name.span;
        if fun.is_exported {
            self.module.export(id);
        }
        self.names
            .ids
            .insert(fun.name.span.start, (id, text.clone()));
        self.note_classes(&text, fun);
        let entry = FunctionEntry {
            id,
            params: kinds(&fun.params),
            results: kinds(&fun.results),
            captures: fun.captures.as_deref().map(kinds),
        };
        if self.names.functions.insert(text.clone(), entry).is_some() {
            let message = format!("two functions are called `{text}`");
            self.report(Diagnostic::new(fun.name.span, message));
        }
        self.declare_all(&fun.body, &text);
        Ok(())
    }

    /// A signature does not tell doubles from integers; for tools that show values, metadata does.
    fn note_classes(&mut self, name: &str, fun: &Fun) {
        let classes = || fun.params.iter().chain(&fun.results);
        let is_written_out = self.module.program.is_instrumented;
        if is_written_out || classes().all(|one| one.kind != Kind::Float) {
            return;
        }
        let list = |params: &[Param]| letters(&kinds(params));
        let classes = format!("({}) -> ({})", list(&fun.params), list(&fun.results));
        let key = format!("{}{name}", crate::link::SIGNATURE_KEY);
        self.module.metadata(&key, &classes);
    }

    fn declare_host(&mut self, name: &Name, params: &[Param], results: &[Param]) -> Lowered<()> {
        let signature = self.signature(params, results, name.span)?;
        // Declared ones stand in the order of the text, even if two are the same.
        let id = self.module.program.hosts.len() as u32;
        let import = vm::module::HostImport {
            name: name.text.clone(),
            signature,
        };
        self.module.program.hosts.push(import);
        let entry = HostEntry {
            id,
            params: kinds(params),
            results: kinds(results),
        };
        let is_new = self.names.hosts.insert(name.text.clone(), entry).is_none();
        if !is_new && !self.module.program.is_instrumented {
            let message = format!("two host functions are called `{}`", name.text);
            return Err(Diagnostic::new(name.span, message));
        }
        Ok(())
    }

    fn declare_data(&mut self, name: &Name, value: &Data) -> Lowered<()> {
        let id = self.module.program.constants.len() as u32;
        self.module.program.constants.push(constant_of(value));
        self.declare_name(name, id, |names| &mut names.constants)
    }

    fn declare_object(&mut self, name: &Name, value: &ObjectData) -> Lowered<()> {
        let refs = value.refs.iter().map(|arg| self.const_ref(arg));
        let refs = refs.collect::<Lowered<_>>()?;
        let ints = value.ints.clone();
        let id = self.module.program.constants.len() as u32;
        let constant = match &value.kind {
            ObjectKind::Refs => Constant::Refs(refs),
            ObjectKind::Record(tag) => Constant::Record {
                tag: *tag,
                refs,
                ints,
            },
            ObjectKind::Closure(function) => {
                // The function may stand further down.
                self.names.closures.push((id, function.clone()));
                Constant::Closure {
                    function: u32::MAX,
                    refs,
                    ints,
                }
            }
        };
        self.module.program.constants.push(constant);
        self.declare_name(name, id, |names| &mut names.constants)
    }

    /// Fills in what may be named before it is declared: the functions of constant closures, and
    /// what globals hold at the start.
    pub(super) fn resolve_names(&mut self) {
        for (id, arg) in std::mem::take(&mut self.names.first_values) {
            let value = self.const_ref(&arg);
            if let Some(value) = self.keep(value) {
                self.module.program.globals.refs[id as usize].value = value;
            }
        }
        for (id, arg) in std::mem::take(&mut self.names.closures) {
            let found = self.function_id(&arg, "");
            let found = self.keep(found);
            if let (Some(found), Constant::Closure { function, .. }) =
                (found, &mut self.module.program.constants[id as usize])
            {
                *function = found.0;
            }
        }
    }

    fn declare_global(&mut self, name: &Name, kind: Kind, value: Option<&Arg>) -> Lowered<()> {
        let text = name.text.clone();
        let globals = &mut self.module.program.globals;
        let id = match kind.class() {
            Class::Int => {
                let value = value.map_or(Ok(0), |arg| int_of(arg, kind))?;
                globals.ints.push(Global { name: text, value });
                globals.ints.len() as u32 - 1
            }
            Class::Ref => {
                let id = globals.refs.len() as u32;
                // The constant may stand further down.
                let pending = value.map(|arg| (id, arg.clone()));
                self.names.first_values.extend(pending);
                let value = ConstRef::Null;
                globals.refs.push(Global { name: text, value });
                id
            }
        };
        let known = self
            .names
            .globals
            .insert(name.text.clone(), (kind.class(), id));
        match known {
            Some(_) if !self.module.program.is_instrumented => {
                let message = format!("two globals are called `{}`", name.text);
                Err(Diagnostic::new(name.span, message))
            }
            _ => Ok(()),
        }
    }

    /// A reference in a constant, or of a global at the start.
    fn const_ref(&mut self, arg: &Arg) -> Lowered<ConstRef> {
        match &arg.kind {
            ArgKind::Name(name) if name == "null" => Ok(ConstRef::Null),
            ArgKind::Int(number) => Ok(ConstRef::Immediate(*number)),
            _ => self.constant_id(arg).map(ConstRef::Constant),
        }
    }

    fn declare_source(&mut self, name: &Name, text: SourceName) -> Lowered<()> {
        let n_parts = text.0.split('\t').filter(|part| !part.is_empty()).count();
        if text.0.contains('\n') || !(1..=2).contains(&n_parts) {
            let error = Diagnostic::new(name.span, "profiles cannot hold this source's name");
            return Err(error.with_help("one line: a label, or a label, a tab and a place"));
        }
        let id = self.module.source_named(text);
        self.declare_name(name, id, |names| &mut names.sources)
    }

    fn declare_name(
        &mut self,
        name: &Name,
        id: u32,
        map: impl Fn(&mut Names) -> &mut HashMap<String, u32>,
    ) -> Lowered<()> {
        match map(&mut self.names).insert(name.text.clone(), id) {
            None => Ok(()),
            Some(_) => {
                let message = format!("`{}` is declared twice", name.text);
                Err(Diagnostic::new(name.span, message))
            }
        }
    }

    fn signature(&self, params: &[Param], results: &[Param], span: Span) -> Lowered<Signature> {
        signature_of(params, results).ok_or_else(|| Diagnostic::new(span, TOO_MANY_PARAMETERS))
    }

    fn declare_files(&mut self, name: &Name, args: &[Arg]) -> Lowered<()> {
        let [list] = args else {
            return wrong_args(name, "`.files [\"a\", \"b\"]`");
        };
        let files: Lowered<Vec<String>> = list_of(list)?.iter().map(text_of).collect();
        self.module.program.files = files?;
        self.module.program.has_fixed_files = true;
        Ok(())
    }

    /// The whole map: names, sequences of sources, and each source's name and successors.
    fn declare_sources(&mut self, name: &Name, args: &[Arg]) -> Lowered<()> {
        let [names, sequences, sources] = args else {
            return wrong_args(
                name,
                "`.sources [names], [[sources], ...], [[name, sequence], ...]`",
            );
        };
        let mut map = SourceMap::new();
        map.names = list_of(names)?
            .iter()
            .map(text_of)
            .collect::<Lowered<_>>()?;
        map.sequences = list_of(sequences)?
            .iter()
            .map(|sequence| {
                list_of(sequence)?
                    .iter()
                    .map(|id| u32_of(id).map(SourceId))
                    .collect()
            })
            .collect::<Lowered<_>>()?;
        map.sources = list_of(sources)?
            .iter()
            .map(|source| match list_of(source)? {
                [name, successors] => Ok(Source {
                    name: NameId(u32_of(name)?),
                    successors: SourceSeqId(u32_of(successors)?),
                }),
                _ => Err(Diagnostic::new(
                    source.span,
                    "a source is `[name, sequence]`",
                )),
            })
            .collect::<Lowered<_>>()?;
        self.module.program.fixed_sources = Some(map);
        Ok(())
    }
}

pub(super) fn kinds(params: &[Param]) -> Vec<Kind> {
    params.iter().map(|param| param.kind).collect()
}

pub(super) fn constant_of(data: &Data) -> Constant {
    match data {
        Data::Text(bytes) => Constant::Text(bytes.clone()),
        Data::Bytes(bytes) => Constant::Bytes(bytes.clone()),
        Data::Ints(values) => Constant::Ints(values.clone()),
        Data::Floats(values) => Constant::Floats(values.clone()),
    }
}

/// The raw word that a global holds at the start.
fn int_of(arg: &Arg, kind: Kind) -> Lowered<i64> {
    let word = match (&arg.kind, kind) {
        (ArgKind::Int(value), Kind::Int) => Some(*value),
        (other, Kind::Float) => float_of(other.clone()).map(|value| value.to_bits() as i64),
        _ => None,
    };
    word.ok_or_else(|| {
        let wanted = if kind == Kind::Float {
            "a double"
        } else {
            "an integer"
        };
        let found = arg.kind.describe();
        Diagnostic::new(arg.span, format!("{wanted} should stand here, not {found}"))
    })
}
