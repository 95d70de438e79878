//! Files that a program has opened. They are buffered, and no call of theirs waits for long: who
//! uses them looks between two calls whether the run is to end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use super::OpenMode;
use super::io::{POLL_MILLISECONDS, is_ready};

/// How much is read at once, and how much may wait to be written.
const BUFFER_BYTES: usize = 64 << 10;

/// How many files a machine may have open.
pub(super) const MAX_OPEN_FILES: usize = 256;

/// The handles of the standard streams, which are no files of this table.
pub(super) const N_STREAMS: i64 = 3;

/// What came of an attempt to read more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// There is more.
    More,
    /// There is no more.
    End,
    /// There is no more yet.
    NotYet,
}

/// An open file.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    /// What it was opened as, for messages.
    path: PathBuf,
    mode: OpenMode,
    /// What was read, and from where on it was not taken yet.
    read: Vec<u8>,
    taken_bytes: usize,
    /// What is still to be written. While there is some, nothing that was read is left.
    unwritten: Vec<u8>,
}

impl OpenFile {
    pub(super) fn new(file: File, path: PathBuf, mode: OpenMode) -> Self {
        Self {
            file,
            path,
            mode,
            read: Vec::new(),
            taken_bytes: 0,
            unwritten: Vec::new(),
        }
    }

    /// What was read and not taken.
    pub(super) fn unread(&self) -> &[u8] {
        &self.read[self.taken_bytes..]
    }

    /// Takes some of what was read.
    pub(super) fn take(&mut self, bytes: usize) {
        self.taken_bytes += bytes;
    }

    /// Reads more, when all was taken that had been read, and all was written.
    pub(super) fn fill(&mut self) -> io::Result<Filled> {
        if !is_ready(self.file.as_raw_fd(), libc::POLLIN, POLL_MILLISECONDS)? {
            return Ok(Filled::NotYet);
        }
        self.taken_bytes = 0;
        self.read.resize(BUFFER_BYTES, 0);
        let result = self.file.read(&mut self.read);
        self.read.truncate(*result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) => Ok(Filled::End),
            Ok(_) => Ok(Filled::More),
            Err(error) if is_no_error(&error) => Ok(Filled::NotYet),
            Err(error) => Err(error),
        }
    }

    /// Whether what is written may be added to what waits to be.
    pub(super) fn has_room(&self) -> bool {
        self.unwritten.len() < BUFFER_BYTES
    }

    /// Adds to what waits to be written.
    pub(super) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.mode == OpenMode::Read {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        if !self.unread().is_empty() {
            // What was read ahead of the program is not where it wants to write.
            self.seek(SeekFrom::Current(0))?;
        }
        self.unwritten.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes some of what waits; `true` when nothing is left.
    pub(super) fn write_some(&mut self) -> io::Result<bool> {
        if self.unwritten.is_empty() {
            return Ok(true);
        }
        if !is_ready(self.file.as_raw_fd(), libc::POLLOUT, POLL_MILLISECONDS)? {
            return Ok(false);
        }
        match self.file.write(&self.unwritten) {
            Ok(0) => Err(io::Error::from_raw_os_error(libc::EIO)),
            Ok(written) => {
                self.unwritten.drain(..written);
                Ok(self.unwritten.is_empty())
            }
            Err(error) if is_no_error(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Goes to another place, when all was written, and says where that is.
    pub(super) fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Current(bytes) => {
                let ahead = self.unread().len() as i64;
                let bytes = bytes.checked_sub(ahead);
                SeekFrom::Current(bytes.ok_or(io::ErrorKind::InvalidInput)?)
            }
            other => other,
        };
        let place = self.file.seek(to)?;
        self.read.clear();
        self.taken_bytes = 0;
        Ok(place)
    }

    /// How large the file is, when all was written.
    pub(super) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

/// Whether it is only not yet time, or a signal came.
fn is_no_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// The open files of a machine, by handle. A handle is never used again, so a stale one is noticed.
#[derive(Debug, Default)]
pub(super) struct OpenFiles {
    open: BTreeMap<i64, OpenFile>,
    n_opened: i64,
}

impl OpenFiles {
    pub(super) fn is_full(&self) -> bool {
        self.open.len() >= MAX_OPEN_FILES
    }

    /// Keeps a file, and gives its handle.
    pub(super) fn keep(&mut self, file: OpenFile) -> i64 {
        let handle = N_STREAMS + self.n_opened;
        self.n_opened += 1;
        self.open.insert(handle, file);
        handle
    }

    pub(super) fn get(&mut self, handle: i64) -> Option<&mut OpenFile> {
        self.open.get_mut(&handle)
    }

    /// Closes a file. What waits to be written is lost.
    pub(super) fn close(&mut self, handle: i64) {
        self.open.remove(&handle);
    }

    /// Writes what waits, of all files. A file that blocks is given up as soon as `may_wait` says
    /// no.
    ///
    /// # Errors
    /// What became of the first that failed; the rest of each that does is lost.
    pub(super) fn write_out(&mut self, may_wait: impl Fn() -> bool) -> Result<(), String> {
        let mut result = Ok(());
        for file in self.open.values_mut() {
            let error = loop {
                match file.write_some() {
                    Ok(true) => break None,
                    Ok(false) if may_wait() => {}
                    Ok(false) => break Some("interrupted while nobody reads".to_owned()),
                    Err(error) => break Some(error.to_string()),
                }
            };
            if let Some(error) = error {
                file.unwritten.clear();
                let message = format!("cannot write {}: {error}", file.path.display());
                result = result.and(Err(message));
            }
        }
        result
    }
}
