//! `-keep`: which sources a report shows.

use std::fmt;
use std::str::FromStr;

use super::graph::CallGraph;
use super::regexp::Regexp;
use super::sexp::{self, Sexp};

/// A predicate on the nodes of the call graph. Its text form is an S-expression:
///
/// ```text
/// keep = all | "regexp" | (and keep ...) | (or keep ...) | (not keep)
///      | (from keep) | (to keep) | (pred keep) | (succ keep)
///      | (thresh x) | (thresh-stack x) | (thresh-gc x)              0.0 <= x <= 100.0
/// ```
#[derive(Clone, Debug, Default)]
pub enum Keep {
    /// Every node.
    #[default]
    All,
    /// The nodes that all predicates keep; every node if there is none.
    And(Vec<Keep>),
    /// The nodes that any predicate keeps; no node if there is none.
    Or(Vec<Keep>),
    /// The nodes that the predicate does not keep.
    Not(Box<Keep>),
    /// The nodes that can be reached from one that the predicate keeps, and that one.
    From(Box<Keep>),
    /// The nodes from which one that the predicate keeps can be reached, and that one.
    To(Box<Keep>),
    /// The nodes that the predicate keeps and their direct predecessors.
    Pred(Box<Keep>),
    /// The nodes that the predicate keeps and their direct successors.
    Succ(Box<Keep>),
    /// The nodes whose name and position (`append  list-rev.sml: 1`) the expression matches.
    Name(Regexp),
    /// The nodes whose count passes a threshold.
    Thresh(Column, f64),
}

/// The column of a report that a threshold looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The current count.
    Current,
    /// The stack count.
    Stack,
    /// The stack GC count.
    StackGc,
}

/// What a predicate needs to know of a node; nodes are given by split source.
pub(super) trait Nodes {
    fn matches(&self, node: usize, regexp: &Regexp) -> bool;
    fn percent(&self, node: usize, column: Column) -> f64;
}

impl Keep {
    /// Which nodes of `graph` the predicate keeps, by split source.
    pub(super) fn nodes(&self, graph: &CallGraph<'_>, nodes: &impl Nodes) -> Vec<bool> {
        let all = 0..graph.len();
        match self {
            Keep::All => vec![true; graph.len()],
            Keep::And(keeps) => keeps
                .iter()
                .fold(vec![true; graph.len()], |mut kept, keep| {
                    let other = keep.nodes(graph, nodes);
                    kept.iter_mut()
                        .zip(other)
                        .for_each(|(kept, other)| *kept &= other);
                    kept
                }),
            Keep::Or(keeps) => keeps
                .iter()
                .fold(vec![false; graph.len()], |mut kept, keep| {
                    let other = keep.nodes(graph, nodes);
                    kept.iter_mut()
                        .zip(other)
                        .for_each(|(kept, other)| *kept |= other);
                    kept
                }),
            Keep::Not(keep) => keep
                .nodes(graph, nodes)
                .into_iter()
                .map(|kept| !kept)
                .collect(),
            Keep::From(keep) => graph.reachable(keep.nodes(graph, nodes)),
            Keep::To(keep) => graph.reaching(keep.nodes(graph, nodes)),
            Keep::Pred(keep) => graph.with_predecessors(&keep.nodes(graph, nodes)),
            Keep::Succ(keep) => graph.with_successors(&keep.nodes(graph, nodes)),
            Keep::Name(regexp) => all.map(|node| nodes.matches(node, regexp)).collect(),
            Keep::Thresh(column, x) => all.map(|node| nodes.percent(node, *column) >= *x).collect(),
        }
    }
}

impl FromStr for Keep {
    type Err = KeepError;

    fn from_str(text: &str) -> Result<Keep, KeepError> {
        let error = |problem: String| KeepError {
            text: text.to_owned(),
            problem,
        };
        let sexp = sexp::parse(text).map_err(|problem| error(problem.to_owned()))?;
        build(&sexp).map_err(error)
    }
}

/// The nesting of `sexp` is bounded by its reader.
fn build(sexp: &Sexp) -> Result<Keep, String> {
    let list = match sexp {
        Sexp::Atom(atom) if atom == "all" => return Ok(Keep::All),
        Sexp::Atom(atom) => {
            return Err(format!(
                "{atom} is not a predicate: names are written \"{atom}\""
            ));
        }
        Sexp::Text(text) => {
            return Regexp::new(text)
                .map(Keep::Name)
                .map_err(|error| error.to_string());
        }
        Sexp::List(list) => list,
    };
    let Some((Sexp::Atom(head), rest)) = list.split_first() else {
        return Err("a list starts with a word such as and, or, not".to_owned());
    };
    let unary = |make: fn(Box<Keep>) -> Keep| match rest {
        [keep] => Ok(make(Box::new(build(keep)?))),
        _ => Err(format!("({head} ...) takes one predicate")),
    };
    let thresh = |column| match rest {
        [Sexp::Atom(x)] => percent(x).map(|x| Keep::Thresh(column, x)),
        _ => None,
    };
    let thresh = |column| {
        thresh(column).ok_or_else(|| format!("({head} x) takes a number from 0.0 to 100.0"))
    };
    match head.as_str() {
        "and" => rest
            .iter()
            .map(build)
            .collect::<Result<_, _>>()
            .map(Keep::And),
        "or" => rest
            .iter()
            .map(build)
            .collect::<Result<_, _>>()
            .map(Keep::Or),
        "not" => unary(Keep::Not),
        "from" => unary(Keep::From),
        "to" => unary(Keep::To),
        "pred" => unary(Keep::Pred),
        "succ" => unary(Keep::Succ),
        "thresh" => thresh(Column::Current),
        "thresh-stack" => thresh(Column::Stack),
        "thresh-gc" => thresh(Column::StackGc),
        _ => Err(format!(
            "no predicate is called {head}: choose from and, or, not, from, to, pred, succ, \
             thresh, thresh-stack, thresh-gc"
        )),
    }
}

/// Reads a percentage from 0.0 to 100.0.
pub(super) fn percent(text: &str) -> Option<f64> {
    text.parse().ok().filter(|x| (0.0..=100.0).contains(x))
}

/// A text that is not a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepError {
    text: String,
    problem: String,
}

impl fmt::Display for KeepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid predicate {}: {}", self.text, self.problem)
    }
}

impl std::error::Error for KeepError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NameId, Source, SourceId, SourceMap, SourceSeqId};

    struct Letters;

    impl Nodes for Letters {
        fn matches(&self, node: usize, regexp: &Regexp) -> bool {
            regexp.matches_prefix(&"abcde"[node..=node])
        }

        fn percent(&self, node: usize, column: Column) -> f64 {
            match column {
                Column::Current => node as f64 * 10.0,
                Column::Stack => 50.0,
                Column::StackGc => 0.0,
            }
        }
    }

    /// a -> b -> c, c -> b, d -> d, e alone.
    fn graph() -> SourceMap {
        let successors = [vec![1], vec![2], vec![1], vec![3], vec![]];
        SourceMap {
            names: vec![],
            sources: (0..5)
                .map(|i| Source {
                    name: NameId(0),
                    successors: SourceSeqId(i),
                })
                .collect(),
            sequences: successors
                .map(|ids| ids.into_iter().map(SourceId).collect())
                .to_vec(),
            magic: 0,
        }
    }

    #[test]
    fn predicates() {
        let cases = [
            ("all", "abcde"),
            ("\"[bd]\"", "bd"),
            ("(not \"a\")", "bcde"),
            ("(and)", "abcde"),
            ("(or)", ""),
            ("(and (thresh 20.0) (or \"a\" \"c\" \"d\"))", "cd"),
            ("(from \"b\")", "bc"),
            ("(to \"c\")", "abc"),
            ("(pred \"b\")", "abc"),
            ("(succ \"a\")", "ab"),
            ("(succ (succ \"a\"))", "abc"),
            ("(thresh-stack 50)", "abcde"),
            ("(thresh-gc 0.1)", ""),
            ("\"a\" ignored", "a"),
        ];
        let map = graph();
        for (text, expected) in cases {
            let kept = text
                .parse::<Keep>()
                .unwrap()
                .nodes(&CallGraph::new(&map), &Letters);
            let kept: String = "abcde"
                .chars()
                .zip(kept)
                .filter_map(|(c, kept)| kept.then_some(c))
                .collect();
            assert_eq!(kept, expected, "{text}");
        }
    }

    #[test]
    fn errors() {
        let cases = [
            ("", "nothing there"),
            ("rev", "rev is not a predicate: names are written \"rev\""),
            ("()", "a list starts with a word such as and, or, not"),
            ("(not)", "(not ...) takes one predicate"),
            (
                "(thresh 101)",
                "(thresh x) takes a number from 0.0 to 100.0",
            ),
            (
                "(thresh NaN)",
                "(thresh x) takes a number from 0.0 to 100.0",
            ),
            ("\"(\"", "invalid regexp \"(\": a ( is not closed at byte 1"),
            (
                "(nor)",
                "no predicate is called nor: choose from and, or, not, from, to, pred, succ, \
                 thresh, thresh-stack, thresh-gc",
            ),
        ];
        for (text, problem) in cases {
            let error = text.parse::<Keep>().map(|_| ()).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("invalid predicate {text}: {problem}")
            );
        }
    }
}
