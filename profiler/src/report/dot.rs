//! The call graph in the language of Graphviz.

use std::io::{self, Write};

use super::graph::KeptGraph;

/// How a node is drawn.
pub(super) struct Box {
    /// The lines of text in it.
    pub(super) lines: Vec<String>,
    /// The name of its colour.
    pub(super) color: String,
}

/// Writes the graph, the last node first, and with no newline after the last line, as `mlprof`
/// does. The title is escaped in both of its places; upstream forgets the first one.
pub(super) fn write(
    out: &mut dyn Write,
    title: &str,
    graph: &KeptGraph,
    boxes: &[Box],
) -> io::Result<()> {
    let title = escape(title);
    writeln!(out, "digraph \"{title}\" {{\nlabel = \"{title}\"")?;
    // Nodes are numbered as they are met, as sources or as targets of edges.
    let mut numbers = vec![None; graph.len()];
    let mut n_numbered = 0;
    let mut number = |node: usize| {
        *numbers[node].get_or_insert_with(|| {
            n_numbered += 1;
            n_numbered - 1
        })
    };
    for (node, Box { lines, color }) in boxes.iter().enumerate().rev() {
        let from: usize = number(node);
        let label: String = lines.iter().map(|line| escape(line) + "\\n").collect();
        let options = format!("shape = \"box\", label = \"{label}\", color = \"{color}\"");
        writeln!(out, "n{from} [{options}]")?;
        for edge in graph.edges(node) {
            let style = if edge.dashed {
                "style = \"dashed\""
            } else {
                ""
            };
            writeln!(out, "n{from} -> n{} [{style}]", number(edge.to))?;
        }
    }
    write!(out, "}}")
}

/// Escapes a text for a quoted string. A backslash and what cannot be printed come out as four
/// backslashes, so that the escape, not the character, is what is drawn.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'"' => escaped.push_str("\\\""),
            b'\\' => escaped.push_str(r"\\\\"),
            b' '..=b'~' => escaped.push(char::from(byte)),
            b'\n' => escaped.push_str(r"\\\\n"),
            b'\t' => escaped.push_str(r"\\\\t"),
            _ => escaped.push_str(&format!(r"\\\\{byte:o}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn escapes() {
        let cases = [
            ("plain <gc>", "plain <gc>"),
            ("a \"b\"", "a \\\"b\\\""),
            ("\\", r"\\\\"),
            ("\n\t\u{1}", r"\\\\n\\\\t\\\\1"),
            ("é", r"\\\\303\\\\251"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape(text), expected);
        }
    }
}
