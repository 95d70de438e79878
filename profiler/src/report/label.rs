//! How a master source is called in a report.

use super::{Options, ReportError};
use crate::SourceMap;

/// The name of a master source, in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) name: String,
    /// The file and line of a function. The fixed sources have none.
    pub(super) position: Option<String>,
}

impl Label {
    /// Reads a name of a source map. Without `long_name` only the part after the last dot is kept.
    pub(super) fn parse(text: &str, long_name: bool) -> Option<Label> {
        let mut parts = text.split('\t').filter(|part| !part.is_empty());
        let name = parts.next()?;
        let position = parts.next().map(str::to_owned);
        if parts.next().is_some() {
            return None;
        }
        let last = || name.split('.').rfind(|part| !part.is_empty());
        let short = if long_name || position.is_none() {
            None
        } else {
            last()
        };
        Some(Label {
            name: short.unwrap_or(name).to_owned(),
            position,
        })
    }

    /// The labels of all master sources, by name index.
    pub(super) fn all(sources: &SourceMap, options: &Options) -> Result<Vec<Label>, ReportError> {
        let label = |(index, text): (usize, &String)| {
            Label::parse(text, options.long_name).ok_or(ReportError::Name { index })
        };
        sources.names.iter().enumerate().map(label).collect()
    }

    /// The text that regular expressions are matched with.
    pub(super) fn full(&self) -> String {
        match &self.position {
            Some(position) => format!("{}  {position}", self.name),
            None => self.name.clone(),
        }
    }

    /// The text in the table.
    pub(super) fn row(&self, show_line: bool) -> String {
        if show_line {
            self.full()
        } else {
            self.name.clone()
        }
    }

    /// The lines in a node of the call graph.
    pub(super) fn lines(&self, show_line: bool) -> Vec<String> {
        let position = self.position.clone().filter(|_| show_line);
        std::iter::once(self.name.clone()).chain(position).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        let cases = [
            ("<gc>", true, Some("<gc>")),
            ("f\tf.sml: 1", true, Some("f  f.sml: 1")),
            ("A.b.f\ta.b: 1", false, Some("f  a.b: 1")),
            ("A.b", false, Some("A.b")),
            ("...\ta.sml: 1", false, Some("...  a.sml: 1")),
            ("a\t\tb", true, Some("a  b")),
            ("", true, None),
            ("a\tb\tc", true, None),
        ];
        for (text, long_name, expected) in cases {
            let label = Label::parse(text, long_name).map(|label| label.full());
            assert_eq!(label.as_deref(), expected, "{text}");
        }
    }
}
