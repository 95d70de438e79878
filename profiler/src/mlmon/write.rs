//! Writing `mlmon.out`, in full or not at all.

use std::io::{self, Write};
use std::path::Path;

use super::{CountRow, HEADER, Mlmon};
use crate::{Style, files};

impl Mlmon {
    /// Writes the file's text, byte for byte as MLton's runtime does.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        writeln!(
            out,
            "{HEADER}\n{}\n{}\n0x{:08x}",
            self.kind, self.style, self.magic
        )?;
        writeln!(out, "{} {}", self.totals.total, self.totals.total_gc)?;
        self.write_rows(out, &self.sources)?;
        self.write_rows(out, &self.names)
    }

    fn write_rows<W: Write + ?Sized>(&self, out: &mut W, rows: &[CountRow]) -> io::Result<()> {
        writeln!(out, "{}", rows.len())?;
        for CountRow {
            current,
            stack,
            stack_gc,
        } in rows
        {
            match self.style {
                Style::Current => writeln!(out, "{current}")?,
                Style::Stack => writeln!(out, "{current} {stack} {stack_gc}")?,
            }
        }
        Ok(())
    }

    /// Writes the file at `path`. At every moment, also after a crash, `path` holds the old file
    /// or the new one: the text goes to a temporary file in the same folder, is synced and then
    /// renamed. A symbolic link is followed. What is not a regular file (a pipe, a terminal) is
    /// written to directly, and so is everything below `/dev` and `/proc`, behind what is there:
    /// `/dev/stdout` may be a file that the program's own output goes to.
    ///
    /// # Errors
    /// Those of the file system. The temporary file is removed.
    pub fn write_file(&self, path: &Path) -> io::Result<()> {
        files::write(path, ".mlmon-", |out| self.write(out))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::mlmon::Totals;
    use crate::{Kind, SourceMap};

    fn sample(total: u64) -> Mlmon {
        let rows = vec![
            CountRow {
                current: total,
                stack: 2,
                stack_gc: 3
            };
            3
        ];
        Mlmon {
            kind: Kind::Alloc,
            style: Style::Stack,
            magic: 0xbeef,
            totals: Totals { total, total_gc: 1 },
            sources: rows.clone(),
            names: rows[..SourceMap::new().names.len() - 2].to_vec(),
        }
    }

    #[test]
    fn current_style_has_one_column() {
        let mut text = Vec::new();
        Mlmon {
            style: Style::Current,
            ..sample(9)
        }
        .write(&mut text)
        .unwrap();
        let expected = "MLton prof\nalloc\ncurrent\n0x0000beef\n9 1\n3\n9\n9\n9\n1\n9\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn stack_style_has_three_columns() {
        let mut text = Vec::new();
        sample(9).write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.ends_with("\n3\n9 2 3\n9 2 3\n9 2 3\n1\n9 2 3\n"),
            "{text}"
        );
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlmon.out");
        for total in [1, 2] {
            sample(total).write_file(&path).unwrap();
            assert_eq!(Mlmon::read_file(&path).unwrap(), sample(total));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_folder_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing").join("mlmon.out");
        assert!(sample(1).write_file(&missing).is_err());
        // A folder cannot be written to as a file.
        assert!(sample(1).write_file(folder.path()).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_and_a_device_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target.out");
        let link = folder.path().join("link.out");
        sample(1).write_file(&target).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        sample(2).write_file(&link).unwrap();
        assert_eq!(Mlmon::read_file(&target).unwrap(), sample(2));
        assert!(link.is_symlink());
        let null = folder.path().join("null.out");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        sample(3).write_file(&null).unwrap();
        assert!(null.is_symlink() && !null.is_file());
    }
}
