//! Modules to canonical text: what assembles to the same bytes again, whatever made the module.
//!
//! Profiling ops, registers and line tables are written out. Where the text would say by itself
//! what the module holds (constants by their first use, files by theirs, the edges between
//! sources) it is left to do so; otherwise the tables are written down as numbers.

mod constants;
mod ops;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use profiler::SourceMap;
use vm::module::{Function, Module};
use vm::verify::{VerifiedModule, verify};

use crate::emit::source_map;
use crate::ir::{FIRST_OWN_SOURCE, SourceName};
use crate::lexer::is_plain_name;
use crate::successors::fill_successors_of;

/// The canonical text of a module.
///
/// Of a module that verifies, assembling the text gives the same bytes again. Other modules are
/// printed as far as they can be read.
pub fn print(module: &Module) -> String {
    match verify(module.clone()) {
        Ok(verified) => print_verified(&verified),
        Err(_) => print_all(module, false),
    }
}

/// The canonical text of a module that has been verified; see [`print()`].
pub fn print_verified(module: &VerifiedModule) -> String {
    print_all(module, sources_follow(module))
}

fn print_all(module: &Module, names_sources: bool) -> String {
    let mut printer = Printer::new(module);
    printer.names_sources = names_sources;
    printer.header();
    for function in &module.functions {
        printer.out.push('\n');
        printer.function(function, true);
    }
    printer.out
}

/// One function's text without its line table: the head, then a line for each op, label and
/// handler, as in [`print()`].
pub fn print_ops(module: &Module, function: &Function) -> String {
    let mut printer = Printer::new(module);
    let verified = verify(module.clone());
    printer.names_sources = verified.is_ok_and(|verified| sources_follow(&verified));
    printer.function(function, false);
    printer.out
}

struct Printer<'a> {
    module: &'a Module,
    out: String,
    /// Whether constants stand where they are used.
    inlines_constants: bool,
    /// Whether the text declares sources one by one; otherwise they are tables.
    names_sources: bool,
    /// Whether the text names files where lines change; otherwise they are a table.
    names_files: bool,
    function_names: HashSet<&'a str>,
    /// How many hosts have a name.
    host_counts: HashMap<&'a str, usize>,
    /// How many globals have a name.
    global_counts: HashMap<&'a str, usize>,
    /// The file that the text has named last outside of functions.
    file: Option<u32>,
}

impl<'a> Printer<'a> {
    fn new(module: &'a Module) -> Self {
        let ints = module.globals.ints.iter().map(|one| one.name.as_str());
        let refs = module.globals.refs.iter().map(|one| one.name.as_str());
        Self {
            module,
            out: String::new(),
            inlines_constants: constants::stand_in_order(module),
            names_sources: false,
            names_files: files_follow(module),
            function_names: module
                .functions
                .iter()
                .map(|one| one.name.as_str())
                .collect(),
            host_counts: counts(module.hosts.iter().map(|host| host.name.as_str())),
            global_counts: counts(ints.chain(refs)),
            file: None,
        }
    }

    fn header(&mut self) {
        self.out.push_str(".instrumented\n");
        for (key, value) in &self.module.metadata {
            let (key, value) = (quote(key.as_bytes()), quote(value.as_bytes()));
            let _ = writeln!(self.out, ".metadata {key}, {value}");
        }
        let entry = self.module.functions.get(self.module.entry as usize);
        if entry.is_none_or(|entry| entry.name != "main") {
            let _ = writeln!(self.out, ".entry @{}", self.module.entry);
        }
        for host in &self.module.hosts {
            let _ = writeln!(
                self.out,
                "host {}{}",
                name(&host.name),
                host_signature(host)
            );
        }
        if !self.inlines_constants {
            for (index, constant) in self.module.constants.iter().enumerate() {
                let text = constants::text(constant, |id| self.function_name("", id));
                let _ = writeln!(self.out, "data k{index} = {text}");
            }
        }
        self.globals();
        self.sources();
        if !self.names_files {
            let files: Vec<String> = self
                .module
                .files
                .iter()
                .map(|file| quote(file.as_bytes()))
                .collect();
            let _ = writeln!(self.out, ".files [{}]", files.join(", "));
        }
    }

    fn globals(&mut self) {
        let globals = &self.module.globals;
        for global in &globals.ints {
            let _ = writeln!(
                self.out,
                "global {}: i = {}",
                name(&global.name),
                global.value
            );
        }
        for global in &globals.refs {
            let value = constants::reference(global.value);
            let _ = writeln!(self.out, "global {}: r = {value}", name(&global.name));
        }
    }

    fn sources(&mut self) {
        let map = &self.module.sources;
        if self.names_sources {
            let own = map
                .sources
                .iter()
                .enumerate()
                .skip(FIRST_OWN_SOURCE as usize);
            for (index, source) in own {
                let text = map
                    .names
                    .get(source.name.index())
                    .map_or("", String::as_str);
                let _ = writeln!(self.out, "source s{index} = {}", source_text(text));
            }
            return;
        }
        let names: Vec<String> = map
            .names
            .iter()
            .map(|name| quote(name.as_bytes()))
            .collect();
        let list = |items: &mut dyn Iterator<Item = u32>| {
            let items: Vec<String> = items.map(|item| item.to_string()).collect();
            format!("[{}]", items.join(", "))
        };
        let sequences: Vec<String> = map
            .sequences
            .iter()
            .map(|ids| list(&mut ids.iter().map(|id| id.0)))
            .collect();
        let sources: Vec<String> = map
            .sources
            .iter()
            .map(|source| list(&mut [source.name.0, source.successors.0].into_iter()))
            .collect();
        let _ = writeln!(
            self.out,
            ".sources [{}], [{}], [{}]",
            names.join(", "),
            sequences.join(", "),
            sources.join(", ")
        );
    }

    fn function(&mut self, function: &Function, with_lines: bool) {
        let lines = Lines::of(function, with_lines);
        let first = function
            .lines
            .first()
            .filter(|_| lines == Lines::AtOps && self.names_files);
        if let Some(entry) = first.filter(|entry| self.file != Some(entry.file)) {
            self.file_directive(entry.file, "");
            self.file = Some(entry.file);
        }
        if function.is_exported {
            self.out.push_str("export ");
        }
        if function.captures.is_some() {
            self.out.push_str("closure ");
        }
        let _ = write!(self.out, "fun {}", name(&function.name));
        if let Some(captures) = function.captures {
            let _ = write!(self.out, "{{{}}}", classes(captures.ints, captures.refs));
        }
        let _ = writeln!(self.out, "{} {{", signature(function.signature));
        if lines == Lines::AsNumbers {
            let numbers: Vec<String> = function
                .lines
                .iter()
                .map(|entry| format!("{}, {}, {}", entry.offset, entry.file, entry.line))
                .collect();
            let _ = writeln!(self.out, "    .lines [{}]", numbers.join(", "));
        }
        self.body(function, lines);
        self.out.push_str("}\n");
    }

    fn file_directive(&mut self, file: u32, indent: &str) {
        let file = self
            .module
            .files
            .get(file as usize)
            .map_or("", String::as_str);
        let _ = writeln!(self.out, "{indent}.file {}", quote(file.as_bytes()));
    }
}

/// How a function's line table is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    Left,
    AtOps,
    AsNumbers,
}

impl Lines {
    fn of(function: &Function, with_lines: bool) -> Self {
        match with_lines {
            false => Self::Left,
            true if lines_stand_at_ops(function) => Self::AtOps,
            true => Self::AsNumbers,
        }
    }
}

/// Whether all entries of a line table can be printed in front of ops.
fn lines_stand_at_ops(function: &Function) -> bool {
    let mut offsets: Vec<u32> = function
        .ops()
        .map_while(Result::ok)
        .map(|(at, _)| at)
        .collect();
    offsets.push(function.code.len() as u32);
    function.lines.is_sorted_by_key(|entry| entry.offset)
        && function
            .lines
            .iter()
            .all(|entry| offsets.binary_search(&entry.offset).is_ok())
}

/// Whether the file table is the files of all lines in the order of their first use.
fn files_follow(module: &Module) -> bool {
    let mut used: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for entry in module.functions.iter().flat_map(|function| &function.lines) {
        let Some(file) = module.files.get(entry.file as usize) else {
            return false;
        };
        if seen.insert(file.as_str()) {
            used.push(file);
        }
    }
    used == module.files && module.functions.iter().all(lines_stand_at_ops)
}

/// Whether the map of sources is what the assembler makes of their names and of the code.
fn sources_follow(module: &VerifiedModule) -> bool {
    let own = module
        .sources
        .sources
        .iter()
        .skip(FIRST_OWN_SOURCE as usize);
    let names: Option<Vec<SourceName>> = own
        .map(|source| {
            module
                .sources
                .names
                .get(source.name.index())
                .cloned()
                .map(SourceName)
        })
        .collect();
    let Some(names) = names else { return false };
    let named = source_map(&names);
    if named.validate().is_err() || named.sources.len() != module.sources.sources.len() {
        return false;
    }
    let followed = fill_successors_of(module, &named);
    followed
        == SourceMap {
            magic: followed.magic,
            ..module.sources.clone()
        }
}

/// `"label" "file" line` when that gives the text, and the text itself otherwise.
fn source_text(text: &str) -> String {
    let parts = text.split_once('\t').and_then(|(label, place)| {
        let (file, line) = place.rsplit_once(": ")?;
        let line: u32 = line.parse().ok()?;
        (SourceName::at(label, file, line).0 == text).then_some((label, file, line))
    });
    match parts {
        Some((label, file, line)) => {
            format!(
                "{} {} {line}",
                quote(label.as_bytes()),
                quote(file.as_bytes())
            )
        }
        None => quote(text.as_bytes()),
    }
}

/// How often each name occurs.
fn counts<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<&'a str, usize> {
    let mut counts = HashMap::new();
    for name in names {
        *counts.entry(name).or_insert(0) += 1;
    }
    counts
}

/// A name, in quotes when it is no plain one.
fn name(name: &str) -> String {
    if is_plain_name(name) {
        name.to_owned()
    } else {
        quote(name.as_bytes())
    }
}

fn classes(ints: u8, refs: u8) -> String {
    let ints = std::iter::repeat_n("i", ints as usize);
    let all: Vec<&str> = ints
        .chain(std::iter::repeat_n("r", refs as usize))
        .collect();
    all.join(", ")
}

/// `(i, r) -> i`.
fn signature(signature: vm::isa::Signature) -> String {
    let params = classes(signature.int_params, signature.ref_params);
    let results = classes(signature.int_results, signature.ref_results);
    let n_results = signature.int_results as usize + signature.ref_results as usize;
    declared(&params, &results, n_results)
}

/// As [`signature`], with `f` where a standard host function means a double.
fn host_signature(host: &vm::module::HostImport) -> String {
    let standard = vm::host::standard_function(&host.name);
    let Some(known) = standard.filter(|known| known.signature == host.signature) else {
        return signature(host.signature);
    };
    let letters = |values: &[vm::host::HostValue]| {
        let letters: Vec<&str> = values.iter().map(|one| one.kind.letter()).collect();
        letters.join(", ")
    };
    let (params, results) = (letters(known.params), letters(known.results));
    declared(&params, &results, known.results.len())
}

fn declared(params: &str, results: &str, n_results: usize) -> String {
    match n_results {
        0 => format!("({params})"),
        1 => format!("({params}) -> {results}"),
        _ => format!("({params}) -> ({results})"),
    }
}

/// Bytes as a string literal.
fn quote(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                c if c.is_ascii_control() => {
                    let _ = write!(out, "\\x{:02x}", c as u32);
                }
                c if c.is_control() => {
                    let _ = write!(out, "\\u{{{:x}}}", c as u32);
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}
