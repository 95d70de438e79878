//! Programs: read from a file or standard input, told apart by content.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use assembler::{AssembleOptions, assemble_watched};
use vm::module::{self, Module};
use vm::verify::{VerifiedModule, verify};

use crate::cli::ALL_PASSES;

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

/// Reads a program: a `.bc` file, or assembly text, which is assembled. What these passes leave is
/// printed to standard error.
fn read_module(
    path: &Path,
    options: AssembleOptions,
    print_after: &[String],
) -> Result<Module, String> {
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
    let is_wanted = |name: &str| {
        print_after
            .iter()
            .any(|one| one == name || one == ALL_PASSES)
    };
    let assembled = assemble_watched(&text, &options, &mut |pass, print| {
        if is_wanted(pass.name) {
            // Without standard error there is nobody to look at it.
            let _ = write!(io::stderr(), "; behind {}\n{}\n", pass.name, print());
        }
    });
    assembled.map_err(|diagnostics| {
        let shown = diagnostics
            .iter()
            .map(|diagnostic| diagnostic.render(&name, &text));
        shown.collect::<Vec<_>>().join("\n")
    })
}

/// Reads a program and verifies it.
pub(crate) fn load(path: &Path, options: AssembleOptions) -> Result<VerifiedModule, String> {
    load_watched(path, options, &[])
}

/// As [`load`]; what these passes leave of a text is printed to standard error.
pub(crate) fn load_watched(
    path: &Path,
    options: AssembleOptions,
    print_after: &[String],
) -> Result<VerifiedModule, String> {
    let module = read_module(path, options, print_after)?;
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
