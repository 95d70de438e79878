//! Writing `mlmon.out`, in full or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{CountRow, HEADER, Mlmon};
use crate::Style;

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
        let is_device = path.starts_with("/dev") || path.starts_with("/proc");
        match fs::metadata(path) {
            Ok(found) if is_device || !found.is_file() => {
                let mut out = BufWriter::new(File::options().append(true).open(path)?);
                self.write(&mut out)?;
                out.flush()
            }
            Ok(_) => self.replace_file(&fs::canonicalize(path)?),
            Err(error) if is_device => Err(error),
            // It does not exist yet; any other trouble will show when it is made.
            Err(_) => self.replace_file(path),
        }
    }

    fn replace_file(&self, path: &Path) -> io::Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".mlmon-");
        set_permissions(&mut builder);
        let mut out = BufWriter::new(builder.tempfile_in(folder)?);
        self.write(&mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        sync_folder(folder)
    }
}

/// The file is made with the permissions that the umask allows, as `fopen` would, not with the
/// narrow ones of a temporary file.
#[cfg(unix)]
fn set_permissions(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn set_permissions(_builder: &mut tempfile::Builder<'_, '_>) {}

/// The rename itself survives a crash only once the folder is synced. A file system that cannot
/// sync a folder still has the new file, so that is not an error.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
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
