//! Figures as text.

use std::fmt;

use crate::report::with_commas;
use crate::sampling::Estimate;

/// Which figures of an estimate are shown.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cells {
    Bytes,
    Objects,
}

impl Cells {
    /// The figure and its interval. No sample is `-`, unless every word was sampled. What rests on
    /// fewer than 10 samples is marked.
    pub(super) fn pair(self, estimate: &Estimate, is_exact: bool) -> [String; 2] {
        if estimate.n_blocks == 0 {
            let none = if is_exact { "0" } else { "-" };
            return [none.to_owned(), String::new()];
        }
        let (sum, ends) = match self {
            Cells::Bytes => (estimate.bytes, estimate.bytes_interval95()),
            Cells::Objects => (estimate.objects, estimate.objects_interval95()),
        };
        let mark = if estimate.is_reliable() { "" } else { "~" };
        let number = if ends.0 == ends.1 {
            whole(sum)
        } else {
            rounded(sum)
        };
        [format!("{mark}{number}"), margins(sum, ends)]
    }
}

impl fmt::Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Cells::Bytes => "bytes",
            Cells::Objects => "objects",
        })
    }
}

/// The nearest whole number, with commas.
pub fn whole(number: f64) -> String {
    if number.is_infinite() {
        return "infinitely many".to_owned();
    }
    with_commas(number.round() as u64)
}

/// A sampling rate, with an exponent rather than many zeros.
pub(super) fn rate(rate: f64) -> String {
    if (1e-4..=1.0).contains(&rate) {
        rate.to_string()
    } else {
        format!("{rate:e}")
    }
}

/// Four digits that count, and zeros: more would pretend to be known.
pub fn rounded(number: f64) -> String {
    if number.is_infinite() {
        return whole(number);
    }
    // No number above this has another text.
    let number = number.min(1e19);
    let mut unit = 1.0;
    while number / unit >= 10_000.0 {
        unit *= 10.0;
    }
    whole((number / unit).round() * unit)
}

/// How far the interval reaches, in percent of the figure; nothing if the figure is exact.
fn margins(sum: f64, (low, high): (f64, f64)) -> String {
    if low == high || sum <= 0.0 {
        return String::new();
    }
    let [below, above] = [sum - low, high - sum].map(|margin| percent(margin / sum));
    if below == above {
        format!("+-{below}")
    } else {
        format!("-{below} +{above}")
    }
}

/// A share as a percentage, with a decimal if it is small.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 9.95 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

/// The label of the row for those that are not shown one by one.
pub(super) fn others(n: usize) -> String {
    match n {
        1 => "(1 other)".to_owned(),
        _ => format!("({n} others)"),
    }
}

/// The text with no control characters, which a terminal might obey.
pub(super) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_digits_than_are_known() {
        assert_eq!(rounded(9_999.4), "9,999");
        assert_eq!(rounded(10_004.0), "10,000");
        assert_eq!(rounded(123_456.0), "123,500");
        assert_eq!(rounded(f64::MAX), "10,000,000,000,000,000,000");
        assert_eq!(whole(123_456.4), "123,456");
        assert_eq!(whole(f64::INFINITY), "infinitely many");
    }

    #[test]
    fn rates_are_short() {
        let rates = [1.0, 0.25, 1e-4, 2.5e-5, 1e-300].map(rate);
        assert_eq!(rates, ["1", "0.25", "0.0001", "2.5e-5", "1e-300"]);
    }

    #[test]
    fn margins_may_differ() {
        assert_eq!(margins(100.0, (90.0, 110.0)), "+-10%");
        assert_eq!(margins(100.0, (98.0, 102.0)), "+-2.0%");
        assert_eq!(margins(10.0, (0.253, 55.7)), "-97% +457%");
        assert_eq!(margins(10.0, (10.0, 10.0)), "");
        assert_eq!(margins(0.0, (0.0, 1.0)), "");
    }

    #[test]
    fn a_terminal_obeys_no_name() {
        assert_eq!(printable("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(printable("für λ"), "für λ");
    }
}
