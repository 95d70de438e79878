//! Programs and values: loading, saving, looking.

use std::path::Path;

use vm::module;

use super::{arguments, counts, split_word};
use crate::expression;
use crate::program::Defined;
use crate::render;
use crate::session::Session;

pub(super) fn load(session: &mut Session, text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("`:load` takes files, assembly or .bc".into());
    }
    let mut answer = String::new();
    for file in arguments::words(text)? {
        answer += &load_file(session, Path::new(&file))?;
    }
    Ok(answer)
}

pub(crate) fn load_file(session: &mut Session, path: &Path) -> Result<String, String> {
    let defined = session.program.load(path)?;
    Ok(describe_loaded(path, &defined))
}

fn describe_loaded(path: &Path, defined: &Defined) -> String {
    let n_again = defined.functions.iter().filter(|(_, again)| *again).count();
    let mut text = format!("{}: {} functions", path.display(), defined.functions.len());
    if n_again > 0 {
        text += &format!(", {n_again} of them redefined");
    }
    text.push('\n');
    for (caller, callee) in &defined.stale {
        text += &format!(
            "note: `{caller}` calls `{callee}` by its old signature; define `{caller}` again\n"
        );
    }
    text
}

pub(super) fn reload(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":reload")?;
    let files = session.program.files();
    if files.is_empty() {
        return Err("no file is loaded; `:load FILE` loads one".into());
    }
    let mut answer = String::new();
    for file in files {
        answer += &load_file(session, &file)?;
    }
    Ok(answer)
}

pub(super) fn save(session: &mut Session, text: &str) -> Result<String, String> {
    let words = arguments::words(text)?;
    let [file] = words.as_slice() else {
        return Err("`:save` takes the name of a .bc file".into());
    };
    let linked = session.program.link_all()?;
    let linked = assembler::link::with_call_graph(linked).map_err(|error| error.to_string())?;
    let bytes = module::write(&linked);
    std::fs::write(file, &bytes).map_err(|error| format!("{file}: {error}"))?;
    Ok(format!(
        "{file}: {} functions, {} bytes\n",
        linked.functions.len(),
        render::count(bytes.len() as u64)
    ))
}

pub(super) fn functions(session: &mut Session, text: &str) -> Result<String, String> {
    let mut answer = String::new();
    for name in session.program.names().filter(|name| name.contains(text)) {
        answer += &format!("{}\n", signature(session, name));
    }
    if answer.is_empty() {
        return Err(match text {
            "" => "no function is defined; `:load FILE`, or type one: `fun f() { ret }`".into(),
            part => format!("no function has `{part}` in its name"),
        });
    }
    Ok(answer)
}

/// A function's name with what it takes and gives.
pub(crate) fn signature(session: &Session, name: &str) -> String {
    let classes = session.program.classes(name);
    let captures = session.program.function(name).and_then(|one| one.captures);
    match captures {
        Some(captures) => {
            let ints = std::iter::repeat_n("i", captures.ints as usize);
            let refs = std::iter::repeat_n("r", captures.refs as usize);
            let list: Vec<&str> = ints.chain(refs).collect();
            format!("{name}{{{}}}{classes}", list.join(", "))
        }
        None => format!("{name}{classes}"),
    }
}

pub(super) fn type_of(session: &mut Session, text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("`:type` takes a function or an expression".into());
    }
    if session.program.function(text).is_some() {
        return Ok(format!("{}\n", signature(session, text)));
    }
    if let Some(host) = vm::host::standard_function(text) {
        return Ok(format!("{text}{}\n", host.declaration()));
    }
    let input = session.parse(text)?;
    let compiled = expression::compile(&input.expr, &session.program, &session.store, "<type>", 1)
        .map_err(|wrong| wrong.to_string())?;
    let kinds: Vec<String> = compiled
        .kinds
        .iter()
        .map(|kind| kind.letter().to_string())
        .collect();
    Ok(format!("({})\n", kinds.join(", ")))
}

pub(super) fn dis(session: &mut Session, text: &str) -> Result<String, String> {
    let (name, rest) = split_word(text);
    if name.is_empty() {
        return Err("`:dis` takes a function".into());
    }
    let (option, expression) = split_word(rest);
    match option {
        "" => {}
        "--counts" => return counts::dis(session, name, expression),
        other => return Err(format!("`:dis` has the option --counts, not `{other}`")),
    }
    let place = session.program.place(name);
    let (module, index) =
        place.ok_or_else(|| format!("no function is named `{name}`; `:functions` lists them"))?;
    let function = &module.functions[index as usize];
    Ok(assembler::print_ops(module, function))
}

pub(super) fn values(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":values")?;
    let mut answer = String::new();
    for (name, value) in session.store.names() {
        let shown = render::value(&session.store, value, session.settings.shape);
        answer += &format!("{name} = {shown}\n");
    }
    match answer.is_empty() {
        true => Err("nothing is bound; `let x = EXPR` binds a value".into()),
        false => Ok(answer),
    }
}

pub(super) fn forget(session: &mut Session, text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("`:forget` takes names of values".into());
    }
    for name in text.split_whitespace() {
        if !session.store.forget(name) {
            return Err(format!("no value is called `{name}`; `:values` lists them"));
        }
    }
    Ok(String::new())
}
