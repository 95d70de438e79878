//! A generator of programs: valid, ending, and doing as much as possible of what is hard.
//!
//! Programs are text in a tree, so that parts can be taken out when one fails. They end because
//! loops count down counters that nothing else writes, and because every function that can call
//! in circles first takes one from a budget.
//!
//! Every function gets `w`, an array of integers (0: the checksum, 1: the budget), and `g`, a
//! record that all share. Variables have kinds, so that most ops get what they want; those of
//! kind `Any` hold anything, and ops on them fault often.

mod blocks;
mod calls;
mod functions;
mod lines;
mod shapes;
mod values;

use crate::support::Random;

/// A program in parts.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Declarations, then functions.
    items: Vec<Node>,
}

/// A part that may be taken out as a whole.
#[derive(Clone, Debug)]
pub(super) struct Node(Vec<Item>);

/// A line, or a list of parts.
#[derive(Clone, Debug)]
enum Item {
    Line(String),
    Body(Vec<Node>),
}

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An integer.
    Int,
    /// A double.
    Float,
    /// A record of two references, the second one such a record again, and two integers.
    Record,
    /// Any reference.
    Any,
    /// A string.
    Text,
    /// An array of at least eight integers, doubles, bytes, or records.
    Ints,
    Floats,
    Bytes,
    Records,
}

impl Kind {
    /// The class, as assembly writes it.
    fn class(self) -> &'static str {
        match self {
            Self::Int => "i",
            Self::Float => "f",
            _ => "r",
        }
    }
}

/// What is known of a function before its body is made.
#[derive(Clone, Debug)]
struct Callee {
    name: String,
    params: Vec<Kind>,
    results: Vec<Kind>,
    /// What it captures, when it is a closure's function.
    captures: Option<Vec<Kind>>,
}

impl Node {
    /// A part of one line or several.
    fn lines(text: &str) -> Self {
        let lines = text.lines().map(|line| Item::Line(line.trim().to_owned()));
        Self(
            lines
                .filter(|item| !matches!(item, Item::Line(line) if line.is_empty()))
                .collect(),
        )
    }

    /// Lines around a body: `(before, body, after)` and so on.
    fn around(before: &str, body: Vec<Node>, after: &str) -> Self {
        let mut node = Self::lines(before);
        node.push(body, after);
        node
    }

    fn push(&mut self, body: Vec<Node>, after: &str) {
        self.0.push(Item::Body(body));
        self.0.extend(Self::lines(after).0);
    }

    fn write(&self, text: &mut String) {
        for item in &self.0 {
            match item {
                Item::Line(line) => {
                    text.push_str(line);
                    text.push('\n');
                }
                Item::Body(nodes) => nodes.iter().for_each(|node| node.write(text)),
            }
        }
    }
}

impl Program {
    /// The program of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut items = vec![Node::lines(shapes::DECLARATIONS)];
        items.extend(shapes::HELPERS.map(Node::lines));
        let callees = shapes::callees(&mut random);
        for (index, callee) in callees.iter().enumerate() {
            items.push(functions::function(&mut random, &callees, index, callee));
        }
        items.push(functions::main(&mut random, &callees));
        Self { items }
    }

    /// The program as assembly.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.items.iter().for_each(|node| node.write(&mut text));
        text
    }

    /// A smaller program of which `fails` still holds: parts are taken out, the largest first, as
    /// long as that works or until there have been `attempts`.
    pub(crate) fn shrunk(self, mut attempts: usize, fails: impl Fn(&Self) -> bool) -> Self {
        let mut best = self;
        let (mut position, mut has_shrunk) = (0, false);
        while attempts > 0 {
            let mut smaller = best.clone();
            let mut left = position;
            if !take_out(&mut smaller.items, &mut left) {
                // What could not go before may be able to now.
                if !std::mem::take(&mut has_shrunk) {
                    break;
                }
                position = 0;
                continue;
            }
            attempts -= 1;
            if fails(&smaller) {
                best = smaller;
                has_shrunk = true;
            } else {
                position += 1;
            }
        }
        best
    }
}

/// Takes out the part at a position, counted from the outside in; `false` when there is none.
fn take_out(nodes: &mut Vec<Node>, position: &mut usize) -> bool {
    if *position < nodes.len() {
        nodes.remove(*position);
        return true;
    }
    *position -= nodes.len();
    nodes.iter_mut().any(|node| {
        node.0.iter_mut().any(|item| match item {
            Item::Line(_) => false,
            Item::Body(body) => take_out(body, position),
        })
    })
}

/// One of several.
fn pick<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len())]
}
