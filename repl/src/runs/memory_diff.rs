//! Two memory profiles compared, function by function.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use profiler::memory::report::{bytes_cells, interval, rounded, whole};
use profiler::memory::{HeapProfile, Measure, MemoryFile};
use profiler::sampling::Estimate;

use super::diff::Diff;
use crate::render;

/// Compares what two profiles say of a measure. Functions are told apart by their names alone, so
/// that one that was defined again is compared with itself. Rows that changed by less than `thresh`
/// percent of the larger total are left out. Exact figures are compared if both have them.
pub(crate) fn diff(
    before: &MemoryFile,
    after: &MemoryFile,
    by: Measure,
    thresh: f64,
) -> Result<Diff, String> {
    let (first, second) = match (&before.heap, &after.heap) {
        (Some(first), Some(second)) => (
            Figures::exact(before, first, by)?,
            Figures::exact(after, second, by)?,
        ),
        _ if before.header.rate > 0.0 && after.header.rate > 0.0 => {
            (Figures::sampled(before, by), Figures::sampled(after, by))
        }
        _ => return Err("one has exact figures and the other samples, or neither has any".into()),
    };
    let is_exact = first.is_exact() && second.is_exact();
    let smallest = thresh / 100.0 * first.total.bytes.max(second.total.bytes);
    let change = |name: &str| second.of(name).bytes - first.of(name).bytes;
    let names: BTreeSet<&String> = first.of.keys().chain(second.of.keys()).collect();
    let mut names: Vec<&String> = names.into_iter().collect();
    names.retain(|name| change(name).abs() >= smallest);
    // Changes are not negative zeros once they are absolute, so their bits are in their order.
    names.sort_by_key(|&name| (Reverse(change(name).abs().to_bits()), name));
    let heads: &[&str] = match is_exact {
        true => &["function", "before", "after", "change"],
        false => &[
            "function", "before", "+-95%", "after", "+-95%", "change", "noise",
        ],
    };
    let mut cells = vec![heads.iter().map(|&head| head.to_owned()).collect()];
    for name in names {
        let pair = (first.of(name), second.of(name));
        cells.push(row(name, (&first, &pair.0), (&second, &pair.1), is_exact));
    }
    let totals = ((&first, &first.total), (&second, &second.total));
    cells.push(row("total", totals.0, totals.1, is_exact));
    let how = if is_exact { "exact" } else { "sampled" };
    let mut text = format!("bytes {by}, {how}\n{}", render::columns(&cells));
    if !is_exact {
        text += "~ fewer than 10 samples; - no sample; noise: whether the 95 % intervals overlap\n";
    }
    let growth = match (first.total.bytes, second.total.bytes) {
        (before, after) if before > 0.0 => after / before - 1.0,
        (_, after) if after > 0.0 => f64::INFINITY,
        _ => 0.0,
    };
    Ok(Diff { text, growth })
}

/// What one profile says of a measure.
struct Figures {
    of: BTreeMap<String, Estimate>,
    total: Estimate,
    /// 1 if the figures are exact.
    rate: f64,
}

impl Figures {
    fn exact(file: &MemoryFile, heap: &HeapProfile, by: Measure) -> Result<Self, String> {
        let mut figures = Self::new(1.0);
        for (source, row) in file.sources.iter().zip(&heap.sources) {
            let bytes = match by {
                Measure::Live => row.live_bytes,
                Measure::Allocated => row.allocated_bytes,
                Measure::Peak => row.peak_bytes,
                Measure::Promoted => row.promoted_bytes,
                Measure::ShortLived => {
                    return Err("exact profiles do not tell what is short-lived".into());
                }
            };
            figures.add(&source.function, &known(bytes));
        }
        Ok(figures)
    }

    fn sampled(file: &MemoryFile, by: Measure) -> Self {
        let mut figures = Self::new(file.header.rate);
        for (call, row) in &file.rows {
            let site = file.site(*call);
            let source = site.and_then(|site| file.sources.get(site.source.index()));
            let name = source.map_or("(no function)", |source| &source.function);
            figures.add(name, row.get(by));
        }
        // This is counted, whatever is sampled.
        if by == Measure::Allocated {
            figures.total = known(file.header.allocated_bytes);
        }
        figures
    }

    fn new(rate: f64) -> Self {
        Self {
            of: BTreeMap::new(),
            total: Estimate::default(),
            rate,
        }
    }

    fn add(&mut self, name: &str, figure: &Estimate) {
        if figure.n_blocks > 0 {
            self.of.entry(name.to_owned()).or_default().add_all(figure);
            self.total.add_all(figure);
        }
    }

    fn of(&self, name: &str) -> Estimate {
        self.of.get(name).copied().unwrap_or_default()
    }

    fn is_exact(&self) -> bool {
        self.rate == 1.0
    }
}

/// An exact figure.
fn known(bytes: u64) -> Estimate {
    Estimate {
        bytes: bytes as f64,
        n_blocks: u64::from(bytes > 0),
        ..Estimate::default()
    }
}

type Figure<'a> = (&'a Figures, &'a Estimate);

fn row(name: &str, before: Figure<'_>, after: Figure<'_>, is_exact: bool) -> Vec<String> {
    let ends = |(figures, figure): Figure<'_>| interval(figure, figures.rate);
    let (first, second) = (ends(before), ends(after));
    let is_known = first.0 == first.1 && second.0 == second.1;
    let change = after.1.bytes - before.1.bytes;
    let sign = match change {
        change if change > 0.0 => "+",
        change if change < 0.0 => "-",
        _ => "",
    };
    let number = if is_known { whole } else { rounded };
    let change = format!("{sign}{}", number(change.abs()));
    let [[before, below], [after, above]] =
        [before, after].map(|(figures, figure)| bytes_cells(figure, figures.is_exact()));
    if is_exact {
        return vec![name.to_owned(), before, after, change];
    }
    let is_overlap = first.0 <= second.1 && second.0 <= first.1;
    let noise = match (is_known, is_overlap) {
        (true, _) => "exact",
        (false, true) => "within noise",
        (false, false) => "beyond noise",
    };
    let noise = noise.to_owned();
    vec![name.to_owned(), before, below, after, above, change, noise]
}

#[cfg(test)]
mod tests {
    use profiler::SourceMap;
    use profiler::memory::MemoryHeader;
    use profiler::memory::{MemoryProfile, MemorySite};
    use profiler::sampling::{CallTree, WordSampler};
    use profiler::{FIXED_NAMES, SourceId};

    use super::*;

    /// A profile of blocks of so many words in the main source.
    fn file(rate: f64, seed: u64, n_blocks: u64) -> MemoryFile {
        const WORDS: u64 = 3;
        let mut tree = CallTree::new();
        let call = tree.child(CallTree::ROOT, 0);
        let mut sampler = WordSampler::new(rate, seed, 0).unwrap();
        let mut profile = MemoryProfile::new(rate, seed);
        for block in 0..n_blocks {
            let n_samples = sampler.take(WORDS * block, WORDS * (block + 1));
            if n_samples > 0 {
                profile.allocated(call, WORDS, n_samples);
            }
        }
        let header = MemoryHeader {
            allocated_bytes: 8 * WORDS * n_blocks,
            ..MemoryHeader::default()
        };
        MemoryFile::new(header, &SourceMap::new()).with_samples(&profile, &tree, |_| MemorySite {
            source: SourceId::MAIN,
            line: 1,
        })
    }

    fn noise(before: &MemoryFile, after: &MemoryFile) -> String {
        let found = diff(before, after, Measure::Allocated, 0.0).unwrap();
        let main = FIXED_NAMES[SourceId::MAIN.index()];
        let line = found.text.lines().find(|line| line.starts_with(main));
        line.unwrap_or("no row").to_owned()
    }

    #[test]
    fn noise_is_told_from_a_change() {
        let (one, two) = (file(0.01, 1, 10_000), file(0.01, 2, 10_000));
        assert!(noise(&one, &two).ends_with("within noise"));
        let twice = file(0.01, 3, 20_000);
        assert!(noise(&one, &twice).ends_with("beyond noise"));
        // One block among many words that were not sampled may well be as many as before.
        assert!(noise(&file(1e-9, 1, 10), &one).ends_with("within noise"));
        let found = diff(&one, &twice, Measure::Allocated, 1.0).unwrap();
        let total = found.text.lines().find(|line| line.starts_with("total"));
        assert!(
            total.unwrap().ends_with("+240,000         exact"),
            "{}",
            found.text
        );
        assert_eq!(found.growth, 1.0);
    }

    #[test]
    fn rate_one_is_exact_and_rate_zero_nothing() {
        let (one, two) = (file(1.0, 1, 10), file(1.0, 1, 15));
        let found = diff(&one, &two, Measure::Live, 1.0).unwrap();
        assert_eq!(found.growth, 0.5);
        assert!(found.text.starts_with("bytes live, exact\n"));
        let line = noise(&one, &two);
        assert!(line.ends_with("240    360    +120"), "{line}");
        assert!(diff(&one, &file(0.0, 1, 10), Measure::Live, 1.0).is_err());
    }
}
