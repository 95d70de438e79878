//! Profile files: read with bounds, and written in full or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::{fmt, str};

use crate::lines::LineError;

mod temporary;

/// The biggest file that is read, in bytes: room for several million sources.
pub const MAX_FILE_BYTES: u64 = 1 << 28;

/// Reads the file at `path` with a parser, at most [`MAX_FILE_BYTES`] of it. `file_type` is what
/// the file should be, with an article.
pub(crate) fn read<T>(
    path: &Path,
    file_type: &str,
    parse: impl FnOnce(&str) -> Result<T, LineError>,
) -> Result<T, ReadError> {
    let error = |cause| ReadError {
        path: path.to_owned(),
        cause,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| error(Cause::Io(e)))?;
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| error(Cause::Io(e)))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(error(Cause::TooBig));
    }
    let text =
        str::from_utf8(&bytes).map_err(|e| error(Cause::Line(not_text(&bytes, &e, file_type))))?;
    parse(text).map_err(|e| error(Cause::Line(e)))
}

fn not_text(bytes: &[u8], error: &str::Utf8Error, file_type: &str) -> LineError {
    let before = &bytes[..error.valid_up_to()];
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    LineError {
        line,
        problem: format!("this is not text, so not {file_type}"),
    }
}

/// Writes the file at `path`. At every moment, also after a crash, `path` holds the old file or the
/// new one: the text goes to a temporary file in the same folder, is synced and then renamed. A
/// symbolic link is followed. What is not a regular file (a pipe, a terminal) is written to
/// directly, and so is everything below `/dev` and `/proc`, behind what is there: `/dev/stdout` may
/// be a file that the program's own output goes to. The temporary file's name begins with `prefix`,
/// and the file is removed if anything fails; what a killed process leaves, the next one to write
/// the same file removes.
pub(crate) fn write(
    path: &Path,
    prefix: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let is_device = path.starts_with("/dev") || path.starts_with("/proc");
    match fs::metadata(path) {
        Ok(found) if is_device || !found.is_file() => {
            let mut out = BufWriter::new(File::options().append(true).open(path)?);
            write(&mut out)?;
            out.flush()
        }
        Ok(_) => replace(&fs::canonicalize(path)?, prefix, write),
        Err(error) if is_device => Err(error),
        // It does not exist yet; any other trouble will show when it is made.
        Err(_) => replace(path, prefix, write),
    }
}

fn replace(
    path: &Path,
    prefix: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    temporary::remove_dead(folder, path, prefix);
    let mut out = BufWriter::new(temporary::create(folder, path, prefix)?);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// The rename itself survives a crash only once the folder is synced. A file system that cannot
/// sync a folder still has the new file, so that is not an error.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(error),
        _ => Ok(()),
    }
}

/// A file that could not be read as what it should be.
#[derive(Debug)]
pub struct ReadError {
    path: PathBuf,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Io(io::Error),
    TooBig,
    Line(LineError),
}

impl ReadError {
    /// The file at fault.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The line at fault, from 1, if the file could be read.
    pub fn line(&self) -> Option<usize> {
        match &self.cause {
            Cause::Line(error) => Some(error.line),
            Cause::Io(_) | Cause::TooBig => None,
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.cause {
            Cause::Io(error) => write!(f, "{path}: {error}"),
            Cause::TooBig => write!(f, "{path}: bigger than {MAX_FILE_BYTES} bytes"),
            Cause::Line(LineError { line, problem }) => write!(f, "{path}:{line}: {problem}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Io(error) => Some(error),
            Cause::Line(error) => Some(error),
            Cause::TooBig => None,
        }
    }
}
