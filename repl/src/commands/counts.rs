//! How often each op of a function is run, exactly: the run is done again with a source at each
//! op, in a count profile.

use std::collections::BTreeMap;
use std::rc::Rc;

use assembler::probe::count_ops;
use profiler::{Kind, Style};

use super::arguments::Arguments;
use crate::evaluate::{self, Asked, Prepared};
use crate::io::SessionIo;
use crate::render;
use crate::session::Session;

/// The counts of a function's ops, by offset.
struct Counts {
    of_ops: Vec<(u32, u64)>,
    /// Why the run did not come to its end, if it did not.
    failure: Option<String>,
}

fn count(session: &Session, prepared: &Prepared, name: &str) -> Result<Counts, String> {
    let index = prepared
        .module
        .function_named(name)
        .ok_or_else(|| format!("`{}` does not reach a function `{name}`", prepared.text))?;
    let counted = count_ops(&prepared.module, index);
    let probed = Prepared {
        text: prepared.text.clone(),
        module: counted.module,
        kinds: prepared.kinds.clone(),
        parcel: prepared.parcel.clone(),
        versions: Vec::new(),
    };
    let asked = Asked {
        profile: Some((Kind::Count.into(), Style::Current)),
        hz: session.settings.hz,
        ..Asked::default()
    };
    let io = SessionIo::silent(Vec::new());
    let limits = session.settings.limits;
    let (ran, _) = evaluate::run(&probed, io, limits, asked, &session.interrupt)?;
    let counts = ran
        .profile
        .map(|profile| profile.data().counts(Kind::Count));
    let sources = counts.map(|counts| counts.sources).unwrap_or_default();
    let of = |id: usize| sources.get(id).copied().unwrap_or(0);
    Ok(Counts {
        of_ops: counted
            .sources
            .iter()
            .map(|&(offset, source)| (offset, of(source.index())))
            .collect(),
        failure: ran.result.err().map(|failure| failure.text),
    })
}

/// What is run again: an expression, or else the run that is named, or else the last one.
fn prepared(session: &Session, text: &str) -> Result<Rc<Prepared>, String> {
    if !text.is_empty() && !text.starts_with('#') {
        let input = session.parse(text)?;
        return session.prepare(&input, text).map(Rc::new);
    }
    let (number, run) = Arguments::parse(text)?.run(session)?;
    run.prepared.clone().ok_or_else(|| {
        format!(
            "#{number} cannot be run again: it was loaded or merged, or its values were too \
                 many to keep"
        )
    })
}

/// A function's ops, each with how often it was run.
pub(super) fn dis(session: &mut Session, name: &str, text: &str) -> Result<String, String> {
    let prepared = prepared(session, text)?;
    let counts = count(session, &prepared, name)?;
    let module = &prepared.module;
    let index = module.function_named(name).unwrap_or_default();
    let function = &module.functions[index as usize];
    let of_ops: BTreeMap<u32, u64> = counts.of_ops.iter().copied().collect();
    let mut offsets = function
        .ops()
        .map_while(Result::ok)
        .map(|(offset, _)| offset);
    let width = of_ops
        .values()
        .max()
        .map_or(1, |most| render::count(*most).len());
    let mut answer = format!("counts of `{}`\n", prepared.text);
    for line in assembler::print_ops(module, function).lines() {
        let is_op = line.starts_with("    ") && !line.trim_start().starts_with('.');
        let offset = if is_op { offsets.next() } else { None };
        let count = offset.and_then(|offset| of_ops.get(&offset));
        let count = count.map(|&count| render::count(count)).unwrap_or_default();
        answer += format!("{count:>width$}  {line}").trim_end();
        answer.push('\n');
    }
    Ok(answer + &remark(&counts))
}

/// A function's lines, each with how often its first op was run.
pub(super) fn annotate(session: &mut Session, text: &str) -> Result<String, String> {
    let arguments = Arguments::parse(text)?;
    let [name] = arguments.words.as_slice() else {
        return Err("`:prof annotate` takes a function, and perhaps a run".into());
    };
    let run = match arguments.runs.as_slice() {
        [] => String::new(),
        [number, ..] => format!("#{number}"),
    };
    let prepared = prepared(session, &run)?;
    let counts = count(session, &prepared, name)?;
    let module = &prepared.module;
    let index = module.function_named(name).unwrap_or_default();
    let function = &module.functions[index as usize];
    let mut of_lines: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for &(offset, count) in &counts.of_ops {
        if let Some(line) = function.line_at(offset) {
            let most = of_lines.entry((line.file, line.line)).or_default();
            *most = count.max(*most);
        }
    }
    if of_lines.is_empty() {
        return Err(format!(
            "`{name}` has no line table; `:dis {name} --counts` counts its ops"
        ));
    }
    let mut answer = format!("counts of `{}`\n", prepared.text);
    let width = of_lines
        .values()
        .max()
        .map_or(1, |most| render::count(*most).len());
    let mut last_file = None;
    let mut text = None;
    for ((file, line), count) in of_lines {
        let file_name = module.files.get(file as usize).map_or("?", String::as_str);
        if last_file != Some(file) {
            answer += &format!("{file_name}\n");
            text = session.program.text_of(name, file_name);
            last_file = Some(file);
        }
        let lines = text
            .as_deref()
            .and_then(|text| text.lines().nth(line as usize - 1));
        let count = render::count(count);
        let shown = format!("{count:>width$}  {line:>4}  {}", lines.unwrap_or(""));
        answer += shown.trim_end();
        answer.push('\n');
    }
    Ok(answer + &remark(&counts))
}

fn remark(counts: &Counts) -> String {
    match &counts.failure {
        Some(failure) => format!(
            "the run did not come to its end: {}\n",
            failure.lines().next().unwrap_or_default()
        ),
        None => String::new(),
    }
}
