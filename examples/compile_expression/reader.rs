//! Texts of words and parentheses.

use std::error::Error;
use std::iter::Peekable;
use std::vec::IntoIter;

/// What stands in a text: a word, or a list in parentheses, whose word is empty.
pub(crate) struct Node {
    /// The line, counted from 1.
    pub(crate) line: u32,
    /// The word.
    pub(crate) word: String,
    /// What the list holds.
    pub(crate) parts: Vec<Node>,
}

/// Reads a text.
///
/// # Errors
/// When parentheses do not match.
pub(crate) fn read(text: &str) -> Result<Vec<Node>, Box<dyn Error>> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let lines = (1..).zip(spaced.lines());
    let words = lines.flat_map(|(line, text)| text.split_whitespace().map(move |w| (line, w)));
    let mut words = words.collect::<Vec<_>>().into_iter().peekable();
    let nodes = read_list(&mut words)?;
    match words.next() {
        Some((line, _)) => Err(format!("line {line}: a parenthesis closes nothing").into()),
        None => Ok(nodes),
    }
}

/// Reads nodes up to the end, or up to the parenthesis that closes their list.
fn read_list(words: &mut Peekable<IntoIter<(u32, &str)>>) -> Result<Vec<Node>, Box<dyn Error>> {
    let mut nodes = Vec::new();
    while let Some((line, word)) = words.next_if(|&(_, word)| word != ")") {
        let (mut word, mut parts) = (word.to_owned(), Vec::new());
        if word == "(" {
            word.clear();
            parts = read_list(words)?;
            let closing = words.next();
            closing.ok_or_else(|| format!("line {line}: a parenthesis is never closed"))?;
        }
        nodes.push(Node { line, word, parts });
    }
    Ok(nodes)
}

/// Whether a name stands anywhere in a node.
pub(crate) fn mentions(node: &Node, name: &str) -> bool {
    node.word == name || node.parts.iter().any(|part| mentions(part, name))
}
