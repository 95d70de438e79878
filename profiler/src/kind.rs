//! What a profile counts ([`Kind`]) and for whom it counts it ([`Style`]).

use std::fmt;
use std::str::FromStr;

/// What a profile counts. One `mlmon.out` holds one kind, as in MLton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Ticks of the CPU-time clock, 100 per second unless asked otherwise.
    Time,
    /// Bytes allocated, headers included.
    Alloc,
    /// Calls: how often each source was entered.
    Count,
}

impl Kind {
    /// Every kind, in the order in which reports and messages list them.
    pub const ALL: [Kind; 3] = [Kind::Time, Kind::Alloc, Kind::Count];

    /// The word that stands for the kind on the command line and in `mlmon.out`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Time => "time",
            Kind::Alloc => "alloc",
            Kind::Count => "count",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Kind, UnknownWord> {
        let found = Kind::ALL.into_iter().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| UnknownWord::new("profile kind", word, "time, alloc, count"))
    }
}

/// A set of kinds that one run profiles at once. Its text form is a comma list: `time,alloc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct KindSet(u8);

impl KindSet {
    /// The set with no kind: profiling is off.
    pub const EMPTY: KindSet = KindSet(0);

    /// Adds `kind`; adding it again changes nothing.
    pub fn insert(&mut self, kind: Kind) {
        self.0 |= kind.bit();
    }

    /// Whether `kind` is in the set.
    pub fn contains(self, kind: Kind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Whether no kind is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many kinds are in the set, from 0 to 3.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The kinds of the set, in the order of [`Kind::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL
            .into_iter()
            .filter(move |&kind| self.contains(kind))
    }
}

impl From<Kind> for KindSet {
    fn from(kind: Kind) -> KindSet {
        KindSet(kind.bit())
    }
}

impl FromIterator<Kind> for KindSet {
    fn from_iter<I: IntoIterator<Item = Kind>>(kinds: I) -> KindSet {
        KindSet(kinds.into_iter().fold(0, |bits, kind| bits | kind.bit()))
    }
}

impl fmt::Display for KindSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.iter().map(Kind::as_str).collect();
        f.pad(&words.join(","))
    }
}

impl FromStr for KindSet {
    type Err = UnknownWord;

    /// Reads a comma list of at least one kind. A kind may be named twice.
    fn from_str(list: &str) -> Result<KindSet, UnknownWord> {
        list.split(',').map(str::parse::<Kind>).collect()
    }
}

/// For whom a profile counts (MLton's `-profile-stack`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Style {
    /// Only for the source that was running: one column.
    #[default]
    Current,
    /// Also for every source on the stack, with and without GC: three columns.
    Stack,
}

impl Style {
    /// Both styles.
    pub const ALL: [Style; 2] = [Style::Current, Style::Stack];

    /// The word that stands for the style in `mlmon.out`.
    pub fn as_str(self) -> &'static str {
        match self {
            Style::Current => "current",
            Style::Stack => "stack",
        }
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Style {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Style, UnknownWord> {
        let found = Style::ALL.into_iter().find(|style| style.as_str() == word);
        found.ok_or_else(|| UnknownWord::new("profile style", word, "current, stack"))
    }
}

/// A word that names none of the choices. Its message lists the choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    what: &'static str,
    word: String,
    choices: &'static str,
}

impl UnknownWord {
    pub(crate) fn new(what: &'static str, word: &str, choices: &'static str) -> UnknownWord {
        UnknownWord {
            what,
            word: word.to_owned(),
            choices,
        }
    }
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no {} is called {:?}: choose from {}",
            self.what, self.word, self.choices
        )
    }
}

impl std::error::Error for UnknownWord {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for style in Style::ALL {
            assert_eq!(style.to_string().parse(), Ok(style));
        }
    }

    #[test]
    fn an_unknown_kind_lists_the_choices() {
        let error = "heap".parse::<Kind>().unwrap_err();
        let text = r#"no profile kind is called "heap": choose from time, alloc, count"#;
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_comma_list_is_a_set() {
        let set: KindSet = "count,time,count".parse().unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [Kind::Time, Kind::Count]);
        assert_eq!((set.len(), set.contains(Kind::Alloc)), (2, false));
        assert_eq!(set.to_string(), "time,count");
    }

    #[test]
    fn an_empty_list_is_refused() {
        assert!("".parse::<KindSet>().is_err());
        assert!("time,".parse::<KindSet>().is_err());
    }
}
