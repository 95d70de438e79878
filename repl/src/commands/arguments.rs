//! What stands behind a command's name.

use profiler::Kind;
use profiler::memory::Measure;

use super::memory::measure;
use crate::runs::Run;
use crate::session::Session;

/// Words, numbers of runs and options.
#[derive(Debug, Default)]
pub(super) struct Arguments<'a> {
    pub(super) words: Vec<&'a str>,
    pub(super) runs: Vec<u32>,
    pub(super) kind: Option<Kind>,
    pub(super) by: Option<Measure>,
    /// Percent.
    pub(super) thresh: Option<f64>,
    /// Percent.
    pub(super) fail_over: Option<f64>,
}

impl<'a> Arguments<'a> {
    /// Reads `WORD`, `#n`, `--kind KIND`, `--by MEASURE`, `--thresh X` and `--fail-over X` in any
    /// order.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let mut arguments = Self::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            if let Some(number) = word.strip_prefix('#') {
                let number = number.parse();
                let number = number.map_err(|_| format!("`{word}` is no run: runs are #1, #2, .."));
                arguments.runs.push(number?);
                continue;
            }
            if !word.starts_with("--") {
                arguments.words.push(word);
                continue;
            }
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word, None),
            };
            let is_known = ["--kind", "--by", "--thresh", "--fail-over"].contains(&option);
            if !is_known {
                return Err(format!(
                    "no option is called `{option}`; there are --kind, --by, --thresh and \
                     --fail-over"
                ));
            }
            let value = value.or_else(|| words.next());
            let value = value.ok_or_else(|| format!("`{option}` wants a value"))?;
            match option {
                "--kind" => arguments.kind = Some(kind(value)?),
                "--by" => arguments.by = Some(measure(value)?),
                "--thresh" => arguments.thresh = Some(percent(value)?),
                _ => arguments.fail_over = Some(percent(value)?),
            }
        }
        Ok(arguments)
    }

    /// The run that is named, or the last one.
    pub(super) fn run<'s>(&self, session: &'s Session) -> Result<(u32, &'s Run), String> {
        let number = match self.runs.as_slice() {
            [] => session
                .runs
                .last()
                .ok_or("no run is kept; `:prof count EXPR` makes one")?,
            [number] => *number,
            _ => return Err("one run is wanted".into()),
        };
        run(session, number).map(|run| (number, run))
    }

    /// The kind that is named, or the first one of the run.
    pub(super) fn kind_of(&self, run: &Run) -> Result<Kind, String> {
        match self.kind {
            Some(kind) if run.of_kind(kind).is_none() => {
                Err(format!("the run has no {kind} profile"))
            }
            Some(kind) => Ok(kind),
            None => Session::first_kind(run).ok_or_else(|| "the run is empty".into()),
        }
    }
}

/// A kept run.
pub(super) fn run(session: &Session, number: u32) -> Result<&Run, String> {
    let run = session.runs.get(number);
    run.ok_or_else(|| format!("no run #{number} is kept; `:prof list` lists them"))
}

fn kind(word: &str) -> Result<Kind, String> {
    word.parse()
        .map_err(|error: profiler::UnknownWord| error.to_string())
}

fn percent(word: &str) -> Result<f64, String> {
    let number = word.strip_suffix('%').unwrap_or(word).parse::<f64>();
    match number {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err(format!("`{word}` is no percentage, as 5%")),
    }
}

/// A number of bytes: digits, then perhaps K, M or G for powers of 1024.
pub(super) fn size(word: &str) -> Result<usize, String> {
    let wrong = || format!("`{word}` is no number of bytes, as 64M");
    let digits = word.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let shift = match &word[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return Err(wrong()),
    };
    let number: usize = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// Words as a shell has them: white space separates, quotes of either kind and backslashes join.
pub(super) fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            char if char.is_whitespace() => words.extend(word.take()),
            quote @ ('\'' | '"') => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some(char) if char == quote => break,
                        Some(char) => word.push(char),
                        None => return Err("a quote is not closed".into()),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Ok(words)
}

/// No argument at all.
pub(super) fn none(text: &str, command: &str) -> Result<(), String> {
    match text {
        "" => Ok(()),
        _ => Err(format!("`{command}` takes no arguments")),
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_are_those_of_a_shell() {
        let split = |text| words(text).map(|words| words.join("|"));
        assert_eq!(split(" a  b "), Ok("a|b".into()));
        assert_eq!(
            split(r#"a\ b 'c d'"e f" '' g\"#),
            Ok("a b|c de f||g".into())
        );
        assert_eq!(split("'a"), Err("a quote is not closed".into()));
    }
}
