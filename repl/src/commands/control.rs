//! Running, limits, and stopping.

use super::{arguments, split_word};
use crate::debugger::Progress;
use crate::render;
use crate::session::{Session, describe_cost};

pub(super) fn run(session: &mut Session, text: &str) -> Result<String, String> {
    let arguments = text.split_whitespace();
    let arguments = arguments.map(|word| word.as_bytes().to_vec()).collect();
    let prepared = session.prepare_entry()?;
    let wanted = session.recorded();
    if wanted.is_nothing() && !session.debugger.breakpoints.is_empty() {
        return session.debug(prepared, &[]);
    }
    let evaluated = session.run_prepared(prepared, &[], arguments, wanted)?;
    session.record(evaluated.runs);
    let costs = match session.settings.shows_costs {
        true => describe_cost(&evaluated.cost),
        false => String::new(),
    };
    match evaluated.failure {
        None => Ok(evaluated.text + &costs),
        Some(failure) => Err(failure.text),
    }
}

pub(super) fn fuel(session: &mut Session, text: &str) -> Result<String, String> {
    let fuel = &mut session.settings.limits.fuel;
    match text {
        "" => {}
        "off" => *fuel = None,
        number => {
            let number = number.replace(['_', ','], "").parse::<u64>();
            let number = number.ok().filter(|&number| number > 0);
            let wrong = || format!("`{text}` is no number of ops, and not `off`");
            *fuel = Some(number.ok_or_else(wrong)?);
        }
    }
    Ok(match fuel {
        Some(fuel) => format!("each evaluation ends after {} ops\n", render::count(*fuel)),
        None => "evaluations may run as many ops as they like\n".into(),
    })
}

pub(super) fn limit(session: &mut Session, text: &str) -> Result<String, String> {
    let limits = &mut session.settings.limits;
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [] => {}
        ["heap", size] => limits.heap_bytes = arguments::size(size)?,
        ["stack", size] => limits.stack_bytes = arguments::size(size)?,
        _ => return Err("`:limit` takes `heap SIZE` or `stack SIZE`".into()),
    }
    Ok(format!(
        "heap {} bytes, stack {} bytes\n",
        render::count(limits.heap_bytes as u64),
        render::count(limits.stack_bytes as u64)
    ))
}

pub(super) fn break_at(session: &mut Session, text: &str) -> Result<String, String> {
    let breakpoints = &mut session.debugger.breakpoints;
    let (word, rest) = split_word(text);
    match (word, rest) {
        ("", _) => {}
        ("off", "") => breakpoints.clear(),
        ("off", name) => {
            if !breakpoints.remove(name) {
                return Err(format!("runs do not stop at `{name}`"));
            }
        }
        (name, "") if session.program.function(name).is_some() => {
            breakpoints.insert(name.to_owned());
        }
        (name, "") => {
            return Err(format!(
                "no function is named `{name}`; `:functions` lists them"
            ));
        }
        _ => return Err("`:break` takes one function, or `off` and perhaps a function".into()),
    }
    let names: Vec<&str> = breakpoints.iter().map(String::as_str).collect();
    Ok(match names.is_empty() {
        true => "runs do not stop\n".into(),
        false => format!("runs stop at {}\n", names.join(", ")),
    })
}

pub(super) fn step(session: &mut Session, text: &str) -> Result<String, String> {
    let n_steps = match text {
        "" => 1,
        number => {
            let number = number.parse::<u32>().ok().filter(|&number| number > 0);
            number.ok_or_else(|| format!("`{text}` is no number of ops from 1 on"))?
        }
    };
    for _ in 1..n_steps {
        let progress = session.debugger.step()?;
        if !matches!(progress, Progress::Stopped(_)) || session.interrupt.is_raised() {
            return session.progressed(progress);
        }
    }
    let progress = session.debugger.step()?;
    session.progressed(progress)
}

pub(super) fn resume(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":continue")?;
    let progress = session.debugger.resume()?;
    session.progressed(progress)
}

pub(super) fn abort(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":abort")?;
    session.debugger.abort()?;
    Ok("the run was ended\n".into())
}

pub(super) fn stack(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":stack")?;
    session.debugger.stack()
}

pub(super) fn registers(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":regs")?;
    session.debugger.registers(session.settings.shape)
}

pub(super) fn quit(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":quit")?;
    session.is_over = true;
    Ok(String::new())
}
