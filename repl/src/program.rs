//! The program of a session: functions by name, from files and from what was typed.
//!
//! A definition replaces the one of the same name. What was assembled before stays as it is; the
//! linker finds functions by their names, so later calls see the new one.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use assembler::builder::Class;
use assembler::link::{LinkError, Place, SIGNATURE_KEY, link};
use assembler::{AssembleOptions, OptLevel, assemble, function_names};
use vm::isa::{Op, Signature};
use vm::module::{self, Function, Module};
use vm::verify::verify;

use crate::values::Kind;

/// The entry of a text that has none of its own.
const NO_ENTRY: &str = "<none>";

/// The functions of a session.
#[derive(Debug, Default)]
pub(crate) struct Program {
    definitions: BTreeMap<String, Definition>,
    files: Vec<SourceFile>,
    /// The function that `:run` starts with.
    entry: Option<String>,
    /// How many functions have been defined so far, one by one.
    n_versions: u64,
    /// How much the assembler does for the speed of texts.
    pub(crate) opt_level: OptLevel,
}

/// Functions that were assembled together.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) module: Module,
    /// The text, when there is one, by the file name that line tables have.
    pub(crate) text: Option<(String, String)>,
}

#[derive(Debug, Clone)]
struct Definition {
    unit: Rc<Unit>,
    index: u32,
    /// Tells this definition from others of the same name.
    version: u64,
}

/// A file that was loaded.
#[derive(Debug)]
struct SourceFile {
    path: PathBuf,
    modified: Option<SystemTime>,
    /// Whether the user knows that the file has changed.
    is_noted: bool,
}

/// What a function takes and gives, as its text has it when that is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Classes {
    pub(crate) params: Vec<Kind>,
    pub(crate) results: Vec<Kind>,
    /// Whether doubles are told from integers.
    pub(crate) is_exact: bool,
}

impl Classes {
    /// All that a signature tells.
    pub(crate) fn of(signature: Signature) -> Self {
        let kinds = |ints: u8, refs: u8| {
            let ints = std::iter::repeat_n(Kind::Int, ints as usize);
            let refs = std::iter::repeat_n(Kind::Ref, refs as usize);
            ints.chain(refs).collect()
        };
        Self {
            params: kinds(signature.int_params, signature.ref_params),
            results: kinds(signature.int_results, signature.ref_results),
            is_exact: false,
        }
    }

    /// The same with doubles for integers.
    pub(crate) fn with_floats(self) -> Self {
        let float = |kind| match kind {
            Kind::Int => Kind::Float,
            other => other,
        };
        Self {
            params: self.params.into_iter().map(float).collect(),
            results: self.results.into_iter().map(float).collect(),
            is_exact: true,
        }
    }

    /// Reads `(i, f) -> (r)`.
    fn parse(text: &str) -> Option<Self> {
        let (params, results) = text.split_once("->")?;
        let list = |text: &str| {
            let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
            let words = inner
                .split(',')
                .map(str::trim)
                .filter(|one| !one.is_empty());
            words
                .map(|word| match word {
                    "i" => Some(Kind::Int),
                    "f" => Some(Kind::Float),
                    "r" => Some(Kind::Ref),
                    _ => None,
                })
                .collect::<Option<Vec<Kind>>>()
        };
        Some(Self {
            params: list(params)?,
            results: list(results)?,
            is_exact: true,
        })
    }

    fn signature(&self) -> Signature {
        let count = |kinds: &[Kind], is_ref: bool| {
            let of_class = kinds.iter().filter(|&&kind| (kind == Kind::Ref) == is_ref);
            of_class.count().min(255) as u8
        };
        Signature {
            int_params: count(&self.params, false),
            ref_params: count(&self.params, true),
            int_results: count(&self.results, false),
            ref_results: count(&self.results, true),
        }
    }

    /// The parameters of a class of registers, in order.
    pub(crate) fn params_of_class(&self, class: Class) -> Vec<Kind> {
        let is_ref = class == Class::Ref;
        let params = self.params.iter().copied();
        params
            .filter(|&kind| (kind == Kind::Ref) == is_ref)
            .collect()
    }
}

impl fmt::Display for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |kinds: &[Kind]| {
            let letters: Vec<String> = kinds.iter().map(|one| one.letter().to_string()).collect();
            letters.join(", ")
        };
        write!(f, "({}) -> ({})", list(&self.params), list(&self.results))
    }
}

/// What a definition has changed.
#[derive(Debug, Default)]
pub(crate) struct Defined {
    /// The functions, each with whether it replaces another.
    pub(crate) functions: Vec<(String, bool)>,
    /// Callers that were assembled for another shape of a function, with that function.
    pub(crate) stale: Vec<(String, String)>,
}

impl Program {
    /// The function of this name.
    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        let (module, index) = self.place(name)?;
        module.functions.get(index as usize)
    }

    /// Where the function of this name stands.
    pub(crate) fn place(&self, name: &str) -> Option<Place<'_>> {
        let definition = self.definitions.get(name)?;
        Some((&definition.unit.module, definition.index))
    }

    /// What tells the definition of this name from earlier and later ones.
    pub(crate) fn version(&self, name: &str) -> Option<u64> {
        self.definitions.get(name).map(|one| one.version)
    }

    /// The unit in which the function of this name was defined.
    pub(crate) fn unit(&self, name: &str) -> Option<&Rc<Unit>> {
        self.definitions.get(name).map(|one| &one.unit)
    }

    /// What a function takes and gives.
    pub(crate) fn classes(&self, name: &str) -> Classes {
        let Some((module, index)) = self.place(name) else {
            return Classes::of(Signature::default());
        };
        classes_of(module, index)
    }

    /// The names of all functions, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions.keys().map(String::as_str)
    }

    /// The function that `:run` starts with.
    pub(crate) fn entry(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// Defines the functions of a text. Others that it calls are the session's.
    pub(crate) fn define(&mut self, text: &str, file_name: &str) -> Result<Defined, String> {
        let names: HashSet<String> = function_names(text).into_iter().collect();
        let mut whole = String::from(text);
        whole.push('\n');
        if !names.contains("main") && !text.contains(".entry") {
            whole += &format!("fun \"{NO_ENTRY}\"() {{ ret }}\n.entry \"{NO_ENTRY}\"\n");
        }
        for name in self.definitions.keys() {
            let last = name.rsplit('.').next().unwrap_or(name);
            if !names.contains(name) && text.contains(last) {
                whole += &self.stub(name);
            }
        }
        let options = AssembleOptions {
            opt_level: self.opt_level,
            file_name: file_name.to_owned(),
            ..AssembleOptions::default()
        };
        let module = assemble(&whole, &options).map_err(|errors| {
            let shown = errors.iter().map(|error| error.render(file_name, text));
            shown.collect::<Vec<_>>().join("\n").trim_end().to_owned()
        })?;
        let text = Some((file_name.to_owned(), text.to_owned()));
        Ok(self.adopt(module, text, |name| names.contains(name)))
    }

    /// A function in name only, so that a text may call it.
    fn stub(&self, name: &str) -> String {
        let Some(function) = self.function(name) else {
            return String::new();
        };
        let classes = self.classes(name);
        let list = |kinds: &[Kind]| {
            let letters: Vec<String> = kinds.iter().map(|one| one.letter().to_string()).collect();
            letters.join(", ")
        };
        let (params, results) = (list(&classes.params), list(&classes.results));
        let (start, captures) = match function.captures {
            Some(captures) => {
                let ints = std::iter::repeat_n("i", captures.ints as usize);
                let refs = std::iter::repeat_n("r", captures.refs as usize);
                let list: Vec<&str> = ints.chain(refs).collect();
                ("closure fun", format!("{{{}}}", list.join(", ")))
            }
            None => ("fun", String::new()),
        };
        format!("{start} {name:?}{captures}({params}) -> ({results}) {{\nagain: jmp again\n}}\n")
    }

    /// Loads a file, assembly or `.bc`. Gives the number of its functions.
    pub(crate) fn load(&mut self, path: &Path) -> Result<Defined, String> {
        let shown = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| format!("{shown}: {error}"))?;
        let modified = std::fs::metadata(path).and_then(|one| one.modified()).ok();
        let defined = if module::strip_interpreter_line(&bytes).starts_with(&module::MAGIC) {
            let module = module::read(&bytes).map_err(|error| format!("{shown}: {error}"))?;
            let verified = verify(module).map_err(|errors| {
                let lines = errors.iter().map(|error| format!("{shown}: {error}"));
                lines.collect::<Vec<_>>().join("\n")
            })?;
            self.adopt(with_unique_names(verified.into_module()), None, |_| true)
        } else {
            let text = String::from_utf8(bytes)
                .map_err(|_| format!("{shown}: this is neither a .bc file nor UTF-8 text"))?;
            self.define(&text, &shown)?
        };
        self.files.retain(|file| file.path != path);
        self.files.push(SourceFile {
            path: path.to_owned(),
            modified,
            is_noted: false,
        });
        Ok(defined)
    }

    /// Makes the functions of a module definitions, those that are wanted.
    fn adopt(
        &mut self,
        module: Module,
        text: Option<(String, String)>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Defined {
        let unit = Rc::new(Unit { module, text });
        let mut defined = Defined::default();
        let mut reshaped = HashSet::new();
        for (index, function) in (0..).zip(&unit.module.functions) {
            if !is_wanted(&function.name) {
                continue;
            }
            let name = function.name.clone();
            let known = self.function(&name);
            let shape = |one: &Function| (one.signature, one.captures);
            if known.is_some_and(|known| shape(known) != shape(function)) {
                reshaped.insert(name.clone());
            }
            self.n_versions += 1;
            let definition = Definition {
                unit: unit.clone(),
                index,
                version: self.n_versions,
            };
            let known = self.definitions.insert(name.clone(), definition);
            defined.functions.push((name, known.is_some()));
        }
        let entry = unit.module.functions.get(unit.module.entry as usize);
        if let Some(entry) = entry.filter(|entry| is_wanted(&entry.name)) {
            self.entry = Some(entry.name.clone());
        }
        defined.stale = self.stale_callers(&reshaped);
        defined
    }

    /// Functions that call one of these by a shape that it has no more.
    fn stale_callers(&self, reshaped: &HashSet<String>) -> Vec<(String, String)> {
        let mut stale = Vec::new();
        if reshaped.is_empty() {
            return stale;
        }
        for (name, definition) in &self.definitions {
            let module = &definition.unit.module;
            let function = &module.functions[definition.index as usize];
            for (_, op) in function.ops().map_while(Result::ok) {
                let callee = match op {
                    Op::Call { function, .. } | Op::TailCall { function } => function.0,
                    Op::Closure { function, .. } => function.0,
                    _ => continue,
                };
                let Some(known) = module.functions.get(callee as usize) else {
                    continue;
                };
                let is_stale = reshaped.contains(&known.name)
                    && self.function(&known.name).is_some_and(|now| {
                        (now.signature, now.captures) != (known.signature, known.captures)
                    });
                let pair = (name.clone(), known.name.clone());
                if is_stale && !stale.contains(&pair) {
                    stale.push(pair);
                }
            }
        }
        stale
    }

    /// Files that have changed since they were loaded, each named once.
    pub(crate) fn changed_files(&mut self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for file in &mut self.files {
            let modified = std::fs::metadata(&file.path).and_then(|one| one.modified());
            let is_changed = modified.is_ok_and(|now| Some(now) != file.modified);
            if is_changed && !file.is_noted {
                changed.push(file.path.clone());
            }
            file.is_noted = is_changed;
        }
        changed
    }

    /// The files that were loaded, in order.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Links what can be reached from these places.
    pub(crate) fn link(&self, roots: &[Place<'_>]) -> Result<Module, LinkError> {
        link(roots, |name| self.place(name))
    }

    /// All functions as one module.
    pub(crate) fn link_all(&self) -> Result<Module, String> {
        let entry = self.entry.as_deref().filter(|name| {
            let known = self.function(name);
            known.is_some_and(|one| one.signature == Signature::default())
        });
        let Some(entry) = entry else {
            return Err(
                "a .bc file starts with a function without parameters: define `main` first".into(),
            );
        };
        let mut roots: Vec<Place<'_>> = self.place(entry).into_iter().collect();
        roots.extend(self.definitions.keys().filter_map(|name| self.place(name)));
        self.link(&roots).map_err(|error| error.to_string())
    }

    /// The text of a file of line tables, when it was typed or can be read.
    pub(crate) fn text_of(&self, function: &str, file: &str) -> Option<String> {
        let typed = self.unit(function).and_then(|unit| unit.text.as_ref());
        match typed {
            Some((name, text)) if name == file => Some(text.clone()),
            _ => std::fs::read_to_string(file).ok(),
        }
    }
}

/// What a function of a module takes and gives.
pub(crate) fn classes_of(module: &Module, index: u32) -> Classes {
    let Some(function) = module.functions.get(index as usize) else {
        return Classes::of(Signature::default());
    };
    let key = format!("{SIGNATURE_KEY}{}", function.name);
    let told = module.metadata.iter().find(|(known, _)| *known == key);
    let told = told.and_then(|(_, text)| Classes::parse(text));
    // Metadata is free text: it counts only where it agrees with the function.
    told.filter(|told| told.signature() == function.signature)
        .unwrap_or_else(|| Classes::of(function.signature))
}

/// Functions are found by their names here, so those of a file must differ.
fn with_unique_names(mut module: Module) -> Module {
    let mut seen = HashSet::new();
    for function in &mut module.functions {
        let mut name = function.name.clone();
        let mut number = 2;
        while !seen.insert(name.clone()) {
            name = format!("{}#{number}", function.name);
            number += 1;
        }
        function.name = name;
    }
    module
}
