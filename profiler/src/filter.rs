//! Which sources are profiled: MLton's `-profile-include` and `-profile-exclude`.

use std::fmt;

use regex::Regex;

use crate::FIXED_NAMES;

/// Chooses sources by their names and files.
#[derive(Clone, Debug, Default)]
pub struct SourceFilter {
    /// Only sources that one of these matches are kept, if there are any.
    pub include: Vec<Regex>,
    /// Sources that one of these matches are not kept, even if `include` matches them too.
    pub exclude: Vec<Regex>,
}

impl SourceFilter {
    /// A filter of regular expressions, in the syntax of the `regex` crate.
    ///
    /// # Errors
    /// If one of them is not a regular expression, or would need too much memory.
    pub fn parse<T: AsRef<str>>(include: &[T], exclude: &[T]) -> Result<SourceFilter, FilterError> {
        let parse = |text: &T| {
            let text = text.as_ref();
            Regex::new(text).map_err(|error| FilterError::new(text, &error))
        };
        Ok(SourceFilter {
            include: include.iter().map(parse).collect::<Result<_, _>>()?,
            exclude: exclude.iter().map(parse).collect::<Result<_, _>>()?,
        })
    }

    /// Whether the source called `name` is kept. `name` is an entry of
    /// [`SourceMap::names`](crate::SourceMap::names). An expression matches it if it matches any
    /// part of the label, or of the file without the line. `<main>`, `<gc>` and `<unknown>` are
    /// always kept: what is not kept must go somewhere.
    pub fn keeps(&self, name: &str) -> bool {
        if FIXED_NAMES.contains(&name) {
            return true;
        }
        let (label, position) = name.split_once('\t').unwrap_or((name, ""));
        let file = position
            .rsplit_once(": ")
            .map_or(position, |(file, _)| file);
        let matches =
            |regex: &Regex| regex.is_match(label) || (!file.is_empty() && regex.is_match(file));
        let is_included = self.include.is_empty() || self.include.iter().any(matches);
        is_included && !self.exclude.iter().any(matches)
    }
}

/// A text that is not a regular expression. Its message says why and shows one that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    text: String,
    problem: String,
}

impl FilterError {
    fn new(text: &str, error: &regex::Error) -> FilterError {
        // The crate draws the place over several lines; the last one says what is wrong.
        let drawn = error.to_string();
        let last = drawn.lines().last().unwrap_or_default();
        FilterError {
            text: text.to_owned(),
            problem: last.trim_start_matches("error: ").to_owned(),
        }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FilterError { text, problem } = self;
        write!(
            f,
            "invalid regexp {text:?}: {problem}; write one that matches a function or a file, \
             like '^List[.]' or 'lib/.*[.]sml$'"
        )
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(include: &[&str], exclude: &[&str]) -> SourceFilter {
        SourceFilter::parse(include, exclude).unwrap()
    }

    #[test]
    fn a_filter_of_nothing_keeps_everything() {
        assert!(SourceFilter::default().keeps("<main>"));
        assert!(filter(&[], &[]).keeps(""));
    }

    #[test]
    fn functions_and_files_are_matched_apart() {
        let name = "List.rev\tlib/list.sml: 12";
        for matching in ["^List", "rev$", "^lib/", "[.]sml$"] {
            assert!(filter(&[matching], &[]).keeps(name), "{matching}");
            assert!(!filter(&[], &[matching]).keeps(name), "{matching}");
        }
        for other in ["^rev", "12", "rev.*sml", "^$"] {
            assert!(!filter(&[other], &[]).keeps(name), "{other}");
        }
        assert!(!filter(&["^$"], &[]).keeps("rev"), "it has no file");
    }

    #[test]
    fn exclusion_wins() {
        let filter = filter(&["^List"], &["rev"]);
        assert!(filter.keeps("List.map\tlist.sml: 1"));
        assert!(!filter.keeps("List.rev\tlist.sml: 2"));
        assert!(!filter.keeps("Array.map\tarray.sml: 1"));
    }

    #[test]
    fn one_of_several_expressions_is_enough() {
        let filter = filter(&["^List", "^Array"], &["rev", "map"]);
        assert!(filter.keeps("List.fold") && filter.keeps("Array.sub"));
        assert!(!filter.keeps("Array.map") && !filter.keeps("List.rev") && !filter.keeps("f"));
    }

    #[test]
    fn the_fixed_sources_are_kept() {
        let filter = filter(&["List"], &["."]);
        assert!(FIXED_NAMES.iter().all(|name| filter.keeps(name)));
    }

    #[test]
    fn a_mistake_is_explained_in_one_line() {
        let error = SourceFilter::parse(&[], &["List("]).unwrap_err();
        let text = r#"invalid regexp "List(": unclosed group; "#;
        assert!(error.to_string().starts_with(text), "{error}");
        let error = SourceFilter::parse(&["(a{1000}){1000}"], &[]).unwrap_err();
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}
