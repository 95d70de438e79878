//! Columns of text, aligned.

use std::io::{self, Write};

/// Writes a table. Column heads are centred and underlined; the first column is aligned to the
/// left and the others to the right. Every row must have as many cells as there are heads. Widths
/// are in bytes, as upstream's are.
pub(crate) fn write(out: &mut dyn Write, heads: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let mut widths: Vec<usize> = heads.iter().map(|head| head.len()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let centred = heads.iter().zip(&widths).map(|(head, width)| {
        let left = (width - head.len()) / 2;
        let right = width - head.len() - left;
        format!("{}{head}{}", spaces(left), spaces(right))
    });
    line(out, centred)?;
    line(out, widths.iter().map(|&width| "-".repeat(width)))?;
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                let gap = spaces(width - cell.len());
                if column == 0 {
                    format!("{cell}{gap}")
                } else {
                    format!("{gap}{cell}")
                }
            });
        line(out, cells)?;
    }
    Ok(())
}

fn line(out: &mut dyn Write, cells: impl Iterator<Item = String>) -> io::Result<()> {
    writeln!(out, "{}", cells.collect::<Vec<_>>().join(" "))
}

fn spaces(n: usize) -> String {
    " ".repeat(n)
}
