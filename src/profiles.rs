//! What `--profile` asks for.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use profiler::{Kind, KindSet};

/// The profiles of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Profiles {
    /// MLton's kinds, each with a file of its own.
    pub(crate) kinds: KindSet,
    /// The rate at which allocated words are sampled, if they are.
    pub(crate) sampling_rate: Option<f64>,
    /// Whether the heap is counted exactly.
    pub(crate) heap: bool,
}

/// The rate of `mem` without one.
const DEFAULT_RATE: f64 = 1e-4;

impl Profiles {
    /// Whether there is a memory profile.
    pub(crate) fn has_memory(&self) -> bool {
        self.sampling_rate.is_some() || self.heap
    }

    /// Whether there is a profile at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty() && !self.has_memory()
    }

    /// The kinds that must be counted: exact counts of the heap need those of allocation.
    pub(crate) fn counted_kinds(&self) -> KindSet {
        let mut kinds = self.kinds;
        if self.heap {
            kinds.insert(Kind::Alloc);
        }
        kinds
    }

    /// Where the memory profile goes: to the file that was asked for, or `memory.out`; beside other
    /// profiles, with `mem` in the name that was asked for.
    pub(crate) fn memory_path(&self, asked: Option<&Path>) -> PathBuf {
        let Some(path) = asked else {
            return PathBuf::from("memory.out");
        };
        if self.kinds.is_empty() {
            return path.to_owned();
        }
        numbered(path, "mem")
    }
}

/// A file's name with a part put before its ending.
pub(crate) fn numbered(path: &Path, part: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{part}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

impl FromStr for Profiles {
    type Err = String;

    /// Reads a comma list of `time`, `alloc`, `count`, `mem`, `mem=RATE` and `heap`.
    fn from_str(list: &str) -> Result<Self, String> {
        let mut profiles = Self::default();
        for word in list.split(',') {
            match word.split_once('=') {
                None if word == "mem" => profiles.sampling_rate = Some(DEFAULT_RATE),
                None if word == "heap" => profiles.heap = true,
                Some(("mem", rate)) => profiles.sampling_rate = Some(parse_rate(rate)?),
                _ => profiles
                    .kinds
                    .insert(word.parse::<Kind>().map_err(|_| unknown(word))?),
            }
        }
        Ok(profiles)
    }
}

fn unknown(word: &str) -> String {
    format!("no profile is called {word:?}: choose from time, alloc, count, mem, mem=RATE, heap")
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok();
    rate.filter(|rate| (0.0..=1.0).contains(rate))
        .ok_or_else(|| format!("{text:?} is no sampling rate: a number from 0 to 1, as 1e-4"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_list_names_profiles() {
        let profiles: Profiles = "time,mem=0.01,heap".parse().expect("three profiles");
        assert_eq!(profiles.kinds, Kind::Time.into());
        assert_eq!(profiles.sampling_rate, Some(0.01));
        assert!(profiles.heap && profiles.counted_kinds().contains(Kind::Alloc));
        assert_eq!(
            "mem".parse::<Profiles>().expect("one").sampling_rate,
            Some(1e-4)
        );
    }

    #[test]
    fn a_wrong_word_lists_the_choices() {
        for text in ["", "tim", "mem=2", "mem=x", "heap=1", "time,"] {
            assert!(text.parse::<Profiles>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_memory_profile_has_a_file_of_its_own() {
        let path = |list: &str, asked: Option<&str>| {
            let profiles: Profiles = list.parse().expect("profiles");
            profiles.memory_path(asked.map(Path::new))
        };
        assert_eq!(path("mem", None), Path::new("memory.out"));
        assert_eq!(path("mem,time", None), Path::new("memory.out"));
        assert_eq!(path("mem", Some("a/b.out")), Path::new("a/b.out"));
        assert_eq!(path("mem,time", Some("a/b.out")), Path::new("a/b.mem.out"));
    }
}
