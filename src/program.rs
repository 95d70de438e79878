//! Programs: read from a file or standard input, told apart by content.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use assembler::{AssembleOptions, assemble};
use vm::module::{self, Module};
use vm::verify::{VerifiedModule, verify};

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let result = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    result.map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads a program: a `.bc` file, or assembly text, which is assembled.
pub(crate) fn read_module(path: &Path, options: AssembleOptions) -> Result<Module, String> {
    let bytes = read_bytes(path)?;
    let name = if path == Path::new("-") {
        "<stdin>".into()
    } else {
        path.display().to_string()
    };
    if module::strip_interpreter_line(&bytes).starts_with(&module::MAGIC) {
        return module::read(&bytes).map_err(|error| format!("{name}: {error}"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        format!("{name}: this is neither a .bc file nor text: offset {offset} is not UTF-8")
    })?;
    let options = AssembleOptions {
        file_name: name.clone(),
        ..options
    };
    assemble(&text, &options).map_err(|diagnostics| {
        let shown = diagnostics
            .iter()
            .map(|diagnostic| diagnostic.render(&name, &text));
        shown.collect::<Vec<_>>().join("\n")
    })
}

/// Reads a program and verifies it.
pub(crate) fn load(path: &Path, options: AssembleOptions) -> Result<VerifiedModule, String> {
    let module = read_module(path, options)?;
    let names: Vec<String> = module
        .functions
        .iter()
        .map(|one| one.name.clone())
        .collect();
    verify(module).map_err(|errors| {
        let describe = |error: &vm::verify::VerifyError| {
            let name = names
                .get(error.function as usize)
                .map_or("?", String::as_str);
            format!(
                "{}: {name} at {:#x}: {}",
                path.display(),
                error.offset,
                error.kind
            )
        };
        errors.iter().map(describe).collect::<Vec<_>>().join("\n")
    })
}
