//! Linking: one module of functions that come from several, found by their names.
//!
//! Each function keeps what it was assembled with: its constants, hosts, files and sources come
//! along. Only functions that can be reached from the roots are taken. That a name now means
//! another function than when the caller was assembled is the point: so a definition is replaced.

use std::collections::{HashMap, HashSet};
use std::fmt;

use profiler::{SourceId, SourceMapBuilder, SourceSeqId};
use vm::isa::{Op, Operand, Signature};
use vm::module::{ConstRef, Constant, Function, Global, HostImport, LineEntry, Module};
use vm::verify::{VerifiedModule, verify};

use crate::builder::constant_bits;
use crate::rewrite::rewrite;
use crate::successors::fill_successors;

/// The key of the metadata that tells a function's classes as its text has them, doubles
/// included, is this and the function's name.
pub const SIGNATURE_KEY: &str = "signature ";

/// The key of the metadata that says that a function is another module's is this and its name.
pub(crate) const EXTERN_KEY: &str = "extern ";

/// A function of a module, by index.
pub type Place<'a> = (&'a Module, u32);

/// Why modules cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// A function was assembled for a callee of another shape than the one of that name.
    OtherShape {
        /// The function that calls.
        caller: String,
        /// The function that it names.
        callee: String,
        /// What the caller takes it to be.
        expected: Signature,
        /// What it is.
        found: Signature,
    },
    /// A function that a module takes from others is in none of them.
    Missing {
        /// The function that calls.
        caller: String,
        /// The function that it names.
        callee: String,
    },
    /// The linked module does not verify.
    Invalid(String),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherShape {
                caller,
                callee,
                expected,
                found,
            } if expected != found => write!(
                f,
                "`{caller}` calls `{callee}` as {expected}, but `{callee}` is {found}: define \
                 `{caller}` again"
            ),
            Self::OtherShape { caller, callee, .. } => write!(
                f,
                "`{caller}` makes closures of `{callee}` with other captures than `{callee}` has: \
                 define `{caller}` again"
            ),
            Self::Missing { caller, callee } => {
                write!(f, "`{caller}` calls `{callee}`, which no module defines")
            }
            Self::Invalid(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for LinkError {}

/// Links the functions that can be reached from `roots`, the first of which is the entry. Other
/// functions are looked up by `resolve`; what it does not know is the caller's own.
///
/// # Errors
/// When a callee has another shape than its caller was assembled for, or is declared extern and
/// not resolved.
pub fn link<'a>(
    roots: &[Place<'a>],
    resolve: impl Fn(&str) -> Option<Place<'a>>,
) -> Result<Module, LinkError> {
    let mut linker = Linker {
        places: Vec::new(),
        ids: HashMap::new(),
        externs: HashMap::new(),
        module: Module::default(),
        constants: HashMap::new(),
        constant_ids: HashMap::new(),
        sources: SourceMapBuilder::new(),
        source_ids: HashMap::new(),
    };
    for &root in roots {
        linker.id_of(root);
    }
    while let Some(&place) = linker.places.get(linker.module.functions.len()) {
        linker.add(place, &resolve)?;
    }
    linker.module.sources = linker.sources.map().clone();
    if let Some((module, _)) = roots.first() {
        let own = module.metadata.iter();
        let own =
            own.filter(|(key, _)| !key.starts_with(SIGNATURE_KEY) && !key.starts_with(EXTERN_KEY));
        linker.module.metadata.extend(own.cloned());
    }
    Ok(linker.module)
}

/// Verifies a linked module.
///
/// # Errors
/// What the verifier says, with the functions' names.
pub fn verify_linked(module: Module) -> Result<VerifiedModule, LinkError> {
    let names: Vec<String> = module
        .functions
        .iter()
        .map(|one| one.name.clone())
        .collect();
    verify(module).map_err(|errors| {
        let describe = |error: &vm::verify::VerifyError| {
            let name = names.get(error.function as usize);
            let name = name.map_or("?", String::as_str);
            format!("{name} at {:#x}: {}", error.offset, error.kind)
        };
        LinkError::Invalid(errors.iter().map(describe).collect::<Vec<_>>().join("\n"))
    })
}

/// Verifies a linked module and says which of its sources may call which, for call graphs.
///
/// # Errors
/// As for [`verify_linked`].
pub fn with_call_graph(module: Module) -> Result<Module, LinkError> {
    let verified = verify_linked(module)?;
    let sources = fill_successors(&verified);
    Ok(Module {
        sources,
        ..verified.into_module()
    })
}

struct Linker<'a> {
    /// The functions by their new index; those from `module.functions.len()` on are still to do.
    places: Vec<Place<'a>>,
    ids: HashMap<(*const Module, u32), u32>,
    /// By module, the names of functions that others are to define.
    externs: HashMap<*const Module, HashSet<&'a str>>,
    module: Module,
    constants: HashMap<Vec<u8>, u32>,
    constant_ids: HashMap<(*const Module, u32), u32>,
    sources: SourceMapBuilder,
    source_ids: HashMap<(*const Module, u32), u32>,
}

impl<'a> Linker<'a> {
    fn id_of(&mut self, place: Place<'a>) -> u32 {
        let next = self.places.len() as u32;
        let key = (std::ptr::from_ref(place.0), place.1);
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.places.push(place);
        }
        id
    }

    fn add(
        &mut self,
        (module, index): Place<'a>,
        resolve: &impl Fn(&str) -> Option<Place<'a>>,
    ) -> Result<(), LinkError> {
        let Some(function) = module.functions.get(index as usize) else {
            let message = format!("no function has the index {index}");
            return Err(LinkError::Invalid(message));
        };
        let mut error = None;
        let rewritten = rewrite(function, |_, op, out| {
            let operands: Vec<Operand> = op
                .operands()
                .into_iter()
                .map(|operand| match operand {
                    Operand::FuncId(id) => match self.callee(module, function, id, resolve) {
                        Ok(id) => Operand::FuncId(id),
                        Err(wrong) => {
                            error.get_or_insert(wrong);
                            Operand::FuncId(id)
                        }
                    },
                    other => self.operand(module, other, resolve),
                })
                .collect();
            out.push(Op::from_operands(op.opcode(), &operands).unwrap_or(op));
        });
        if let Some(error) = error {
            return Err(error);
        }
        let lines = rewritten.function.lines.iter().map(|entry| LineEntry {
            file: self.file(module, entry.file),
            ..*entry
        });
        let lines = lines.collect();
        self.module.functions.push(Function {
            lines,
            ..rewritten.function
        });
        let key = format!("{SIGNATURE_KEY}{}", function.name);
        let pair = module.metadata.iter().find(|(known, _)| *known == key);
        self.module.metadata.extend(pair.cloned());
        Ok(())
    }

    fn is_extern(&mut self, module: &'a Module, name: &str) -> bool {
        let names = self.externs.entry(module).or_insert_with(|| {
            let keys = module.metadata.iter().map(|(key, _)| key.as_str());
            keys.filter_map(|key| key.strip_prefix(EXTERN_KEY))
                .collect()
        });
        names.contains(name)
    }

    /// The new index of a callee, which must have the shape that the caller was assembled for.
    fn callee(
        &mut self,
        module: &'a Module,
        caller: &Function,
        id: u32,
        resolve: &impl Fn(&str) -> Option<Place<'a>>,
    ) -> Result<u32, LinkError> {
        let Some(known) = module.functions.get(id as usize) else {
            let message = format!("`{}` calls a function that is not there", caller.name);
            return Err(LinkError::Invalid(message));
        };
        let place = match resolve(&known.name) {
            Some(place) => place,
            None if self.is_extern(module, &known.name) => {
                return Err(LinkError::Missing {
                    caller: caller.name.clone(),
                    callee: known.name.clone(),
                });
            }
            None => (module, id),
        };
        let found = &place.0.functions[place.1 as usize];
        if (found.signature, found.captures) != (known.signature, known.captures) {
            return Err(LinkError::OtherShape {
                caller: caller.name.clone(),
                callee: known.name.clone(),
                expected: known.signature,
                found: found.signature,
            });
        }
        Ok(self.id_of(place))
    }

    /// The operand with indices of the new module. Indices that name nothing stay as they are,
    /// beyond all tables, for the verifier to refuse.
    fn operand(
        &mut self,
        module: &'a Module,
        operand: Operand,
        resolve: &impl Fn(&str) -> Option<Place<'a>>,
    ) -> Operand {
        match operand {
            Operand::ConstId(id) => Operand::ConstId(self.constant(module, id, resolve)),
            Operand::IntGlobal(id) => Operand::IntGlobal(self.int_global(module, id)),
            Operand::RefGlobal(id) => Operand::RefGlobal(self.ref_global(module, id, resolve)),
            Operand::HostId(id) => Operand::HostId(match module.hosts.get(id as usize) {
                Some(host) => host_id(&mut self.module.hosts, host),
                None => u32::MAX,
            }),
            Operand::SourceRef(id) => Operand::SourceRef(self.source(module, id)),
            other => other,
        }
    }

    /// The new index of a constant, behind those that it refers to.
    fn constant(
        &mut self,
        module: &'a Module,
        id: u32,
        resolve: &impl Fn(&str) -> Option<Place<'a>>,
    ) -> u32 {
        let at = std::ptr::from_ref(module);
        let mut open = vec![id];
        while let Some(&id) = open.last() {
            // It may have been named before, or twice by one constant.
            if self.constant_ids.contains_key(&(at, id)) {
                open.pop();
                continue;
            }
            let Some(constant) = module.constants.get(id as usize) else {
                return u32::MAX;
            };
            let is_open = |one: &ConstRef| match *one {
                // Whoever refers to itself or ahead is left to the verifier.
                ConstRef::Constant(to) if to < id && !self.constant_ids.contains_key(&(at, to)) => {
                    Some(to)
                }
                _ => None,
            };
            let before: Vec<u32> = constant.refs().iter().filter_map(is_open).collect();
            if before.is_empty() {
                open.pop();
                let new = self.add_constant(module, constant.clone(), resolve);
                self.constant_ids.insert((at, id), new);
            }
            open.extend(before);
        }
        self.constant_ids[&(at, id)]
    }

    /// Adds a constant that refers to constants which are there already.
    fn add_constant(
        &mut self,
        module: &'a Module,
        mut constant: Constant,
        resolve: &impl Fn(&str) -> Option<Place<'a>>,
    ) -> u32 {
        for reference in constant.refs_mut() {
            if let ConstRef::Constant(index) = reference {
                let known = self.constant_ids.get(&(std::ptr::from_ref(module), *index));
                *index = known.copied().unwrap_or(u32::MAX);
            }
        }
        if let Constant::Closure { function, .. } = &mut constant {
            *function = match module.functions.get(*function as usize) {
                Some(found) => self.id_of(resolve(&found.name).unwrap_or((module, *function))),
                None => u32::MAX,
            };
        }
        let next = self.module.constants.len() as u32;
        let bits = constant_bits(&constant);
        let id = *self.constants.entry(bits).or_insert(next);
        if id == next {
            self.module.constants.push(constant);
        }
        id
    }

    /// The new index of a global: those of one name and class are one, in all modules.
    fn int_global(&mut self, module: &Module, id: u32) -> u32 {
        match module.globals.ints.get(id as usize) {
            Some(global) => global_id(&mut self.module.globals.ints, global.clone()),
            None => u32::MAX,
        }
    }

    fn ref_global(
        &mut self,
        module: &'a Module,
        id: u32,
        resolve: &impl Fn(&str) -> Option<Place<'a>>,
    ) -> u32 {
        let Some(global) = module.globals.refs.get(id as usize) else {
            return u32::MAX;
        };
        let mut global = global.clone();
        if let ConstRef::Constant(index) = &mut global.value {
            *index = self.constant(module, *index, resolve);
        }
        global_id(&mut self.module.globals.refs, global)
    }

    fn source(&mut self, module: &Module, id: u32) -> u32 {
        if id <= SourceId::MAIN.0 {
            return id;
        }
        let Some(name) = module.sources.name_of(SourceId(id)) else {
            return u32::MAX;
        };
        let key = (std::ptr::from_ref(module), id);
        *self.source_ids.entry(key).or_insert_with(|| {
            let name = self.sources.add_name(name);
            self.sources.add_source(name, SourceSeqId::EMPTY).0
        })
    }

    fn file(&mut self, module: &Module, id: u32) -> u32 {
        let name = module.files.get(id as usize).map_or("", String::as_str);
        let files = &mut self.module.files;
        let found = files.iter().position(|known| known == name);
        found.unwrap_or_else(|| {
            files.push(name.to_owned());
            files.len() - 1
        }) as u32
    }
}

fn global_id<T>(globals: &mut Vec<Global<T>>, global: Global<T>) -> u32 {
    let found = globals.iter().position(|known| known.name == global.name);
    found.unwrap_or_else(|| {
        globals.push(global);
        globals.len() - 1
    }) as u32
}

fn host_id(hosts: &mut Vec<HostImport>, host: &HostImport) -> u32 {
    let found = hosts.iter().position(|known| known == host);
    found.unwrap_or_else(|| {
        hosts.push(host.clone());
        hosts.len() - 1
    }) as u32
}
