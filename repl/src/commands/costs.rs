//! What evaluations cost, and what the session holds.

use std::time::{Duration, Instant};

use vm::RunError;

use super::arguments;
use crate::evaluate::{self, Asked};
use crate::io::SessionIo;
use crate::render;
use crate::session::Session;

/// How long an expression is repeated.
const BUDGET: Duration = Duration::from_millis(500);
/// The fewest and the most repetitions; the fewest only as long as they end in time.
const MIN_RUNS: usize = 5;
const MAX_RUNS: usize = 100_000;
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn set(session: &mut Session, text: &str) -> Result<String, String> {
    let settings = &mut session.settings;
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str| {
        let number = word.parse::<usize>().ok().filter(|&number| number > 0);
        number.ok_or_else(|| format!("`{word}` is no number from 1 on"))
    };
    match words.as_slice() {
        [] => {}
        ["+s"] => settings.shows_costs = true,
        ["-s"] => settings.shows_costs = false,
        ["+l"] => settings.shape.lists = true,
        ["-l"] => settings.shape.lists = false,
        ["+f"] => settings.shape.floats = true,
        ["-f"] => settings.shape.floats = false,
        ["depth", word] => settings.shape.depth = number(word)?.min(100),
        ["length", word] => settings.shape.elements = number(word)?,
        ["hz", word] => {
            let hz = word.parse().ok().filter(|hz| (1..=1000).contains(hz));
            settings.hz = hz.ok_or_else(|| format!("`{word}` is no rate from 1 to 1000"))?;
        }
        _ => {
            return Err(format!(
                "`{text}` cannot be set; there are +s, -s, +l, -l, +f, -f, depth N, length N and \
                 hz N"
            ));
        }
    }
    let sign = |is_on| if is_on { '+' } else { '-' };
    Ok(match words.as_slice() {
        [] => format!(
            "{}s {}l {}f depth {} length {} hz {}\n",
            sign(settings.shows_costs),
            sign(settings.shape.lists),
            sign(settings.shape.floats),
            settings.shape.depth,
            settings.shape.elements,
            settings.hz
        ),
        _ => String::new(),
    })
}

pub(super) fn time(session: &mut Session, text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("`:time` takes an expression".into());
    }
    let input = session.parse(text)?;
    let prepared = session.prepare(&input, text)?;
    let limits = session.settings.limits;
    let asked = Asked {
        ops: true,
        objects: true,
        ..Asked::default()
    };
    let io = SessionIo::silent(Vec::new());
    let (counted, _) = evaluate::run(&prepared, io, limits, asked, &session.interrupt)?;
    if let Err(failure) = counted.result {
        return Err(failure.text);
    }
    let module = assembler::link::verify_linked(prepared.module.clone())
        .map_err(|error| error.to_string())?;
    let config = evaluate::config(limits, None, false);
    let io = SessionIo::silent(Vec::new());
    let mut vm = evaluate::machine(&prepared, module, io, config, &session.interrupt, |_| ())?;
    let before = vm.heap_stats().pause_total;
    let mut times = Vec::new();
    let mut total = Duration::ZERO;
    loop {
        let started = Instant::now();
        let result: Result<_, RunError> = vm.run();
        let elapsed = started.elapsed();
        if let Err(error) = result {
            return Err(evaluate::failure(&vm, &error).text);
        }
        times.push(elapsed.as_secs_f64());
        total += elapsed;
        let is_enough = total >= BUDGET && times.len() >= MIN_RUNS;
        if is_enough || total >= PATIENCE || times.len() >= MAX_RUNS {
            break;
        }
    }
    let gc = (vm.heap_stats().pause_total - before).as_secs_f64();
    let (median, error) = median_with_error(&mut times);
    let gc_share = 100.0 * (gc / total.as_secs_f64().max(1e-9)).min(1.0);
    Ok(format!(
        "{} ±{error:.1} % ({} runs)  ops {}  alloc {} B in {} objects  gc {gc_share:.1} %\n",
        render::seconds(median),
        times.len(),
        render::count(counted.cost.ops.unwrap_or(0)),
        render::count(counted.cost.heap.allocated_bytes),
        render::count(counted.cost.objects.unwrap_or(0)),
    ))
}

/// The median, and how far the ends of its 95 % interval lie from it, in percent. The interval is
/// that of order statistics: it supposes nothing of how times are spread.
fn median_with_error(times: &mut [f64]) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let n = times.len() as f64;
    let half = 1.96 * n.sqrt() / 2.0;
    let at = |rank: f64| times[(rank.max(0.0) as usize).min(times.len() - 1)];
    let median = (at((n - 1.0) / 2.0) + at(n / 2.0)) / 2.0;
    let (low, high) = (at((n / 2.0 - half).floor()), at((n / 2.0 + half).ceil()));
    let error = (median - low).max(high - median);
    (median, 100.0 * error / median.max(1e-12))
}

pub(super) fn heap(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":heap")?;
    let mut answer = format!(
        "values: {} objects, {} bytes\n",
        render::count(session.store.len() as u64),
        render::count(session.store.bytes() as u64)
    );
    answer += &match &session.last_heap {
        Some(stats) => format!("the last evaluation:\n{stats}"),
        None => "nothing has been evaluated yet\n".into(),
    };
    Ok(answer)
}

pub(super) fn gc(session: &mut Session, text: &str) -> Result<String, String> {
    arguments::none(text, ":gc")?;
    let before = session.store.len();
    session.store.tidy();
    Ok(format!(
        "{} objects dropped, {} kept\n",
        render::count((before - session.store.len()) as u64),
        render::count(session.store.len() as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_ranks() {
        let mut times: Vec<f64> = (1..=100).map(f64::from).collect();
        times.reverse();
        let (median, error) = median_with_error(&mut times);
        assert_eq!(median, 50.5);
        // Ranks 50 ± 9.8: from the 41st to the 61st time.
        assert!((error - 100.0 * 10.5 / 50.5).abs() < 1.0, "{error}");
        assert_eq!(median_with_error(&mut [2.0]), (2.0, 0.0));
    }
}
