//! Folders and names, where a policy allows it: files are removed, moved and looked at, folders
//! made, listed and removed.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::beneath::temporary_name;
use super::policy::Place;
use super::{Denied, Policy};

impl Policy {
    /// Removes a file, or a symbolic link itself, if that is allowed.
    ///
    /// # Errors
    /// When it may not be written. What the operating system does not do is an error inside; so it
    /// is for the other functions here.
    pub fn remove_file(&self, path: &Path) -> Result<io::Result<()>, Denied> {
        Ok(match self.place_of_entry(path)? {
            Place::Anywhere => fs::remove_file(path),
            Place::Inside(beneath) => beneath.remove(0),
        })
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// As for [`Policy::remove_file`].
    pub fn remove_folder(&self, path: &Path) -> Result<io::Result<()>, Denied> {
        Ok(match self.place_of_entry(path)? {
            Place::Anywhere => fs::remove_dir(path),
            Place::Inside(beneath) => beneath.remove(libc::AT_REMOVEDIR),
        })
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// When it may not be written.
    pub fn make_folder(&self, path: &Path) -> Result<io::Result<()>, Denied> {
        Ok(match self.place_to_write(path)? {
            Place::Anywhere => fs::create_dir(path),
            Place::Inside(beneath) => beneath.make_folder(),
        })
    }

    /// Moves a file or folder, in place of what has the new name.
    ///
    /// # Errors
    /// When one of both may not be written.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<io::Result<()>, Denied> {
        let places = (self.place_of_entry(from)?, self.place_of_entry(to)?);
        Ok(match places {
            (Place::Inside(old), Place::Inside(new)) => old.rename(&new),
            // A policy allows all paths or those in folders, so both are of this kind.
            _ => fs::rename(from, to),
        })
    }

    /// What the system tells of a file or folder.
    ///
    /// # Errors
    /// When it may not be read.
    pub fn info(&self, path: &Path) -> Result<io::Result<Metadata>, Denied> {
        Ok(match self.place_to_read(path)? {
            Place::Anywhere => fs::metadata(path),
            Place::Inside(beneath) => beneath.info(),
        })
    }

    /// The path of a file or folder from the root, without links, `.` and `..`.
    ///
    /// # Errors
    /// When it may not be read.
    pub fn resolve(&self, path: &Path) -> Result<io::Result<PathBuf>, Denied> {
        Ok(match self.place_to_read(path)? {
            Place::Anywhere => fs::canonicalize(path),
            Place::Inside(beneath) => beneath.info().map(|_| beneath.path),
        })
    }

    /// The names in a folder, in no order.
    ///
    /// # Errors
    /// When the folder may not be read.
    pub fn list(&self, path: &Path) -> Result<io::Result<FolderNames>, Denied> {
        let opened = match self.place_to_read(path)? {
            Place::Anywhere => File::open(path).map(OwnedFd::from),
            Place::Inside(beneath) => beneath.as_folder().and_then(|folder| folder.open_to_list()),
        };
        Ok(opened.and_then(FolderNames::of))
    }

    /// Makes an empty file in a folder, with a name that nothing there has, and opens it to be
    /// written. Nobody removes it.
    ///
    /// # Errors
    /// When the folder may not be written.
    pub fn make_temporary(&self, folder: &Path) -> Result<io::Result<(PathBuf, File)>, Denied> {
        const PREFIX: &str = "tally-";
        Ok(match self.place_to_write(folder)? {
            Place::Inside(beneath) => beneath
                .as_folder()
                .and_then(|folder| folder.make_temporary(PREFIX))
                .map(|(name, file)| (folder.join(name), file)),
            Place::Anywhere => loop {
                let path = folder.join(temporary_name(PREFIX));
                match File::options().write(true).create_new(true).open(&path) {
                    Ok(file) => break Ok((path, file)),
                    // A process that has ended had the same number.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => break Err(error),
                }
            },
        })
    }
}

/// The names in an open folder, without `.` and `..`.
#[derive(Debug)]
pub struct FolderNames(*mut libc::DIR);

impl FolderNames {
    fn of(folder: OwnedFd) -> io::Result<Self> {
        // SAFETY: the descriptor is open.
        let stream = unsafe { libc::fdopendir(folder.as_raw_fd()) };
        if stream.is_null() {
            return Err(io::Error::last_os_error());
        }
        // The stream owns the descriptor from here on.
        let _ = folder.into_raw_fd();
        Ok(Self(stream))
    }
}

impl Iterator for FolderNames {
    type Item = io::Result<OsString>;

    fn next(&mut self) -> Option<io::Result<OsString>> {
        loop {
            // The end and an error are told apart by the error's number only.
            // SAFETY: the number is this thread's own.
            unsafe { *error_number() = 0 };
            // SAFETY: the stream is open while `self` lives, and nobody else reads it.
            let entry = unsafe { libc::readdir(self.0) };
            if entry.is_null() {
                let error = io::Error::last_os_error();
                return (error.raw_os_error() != Some(0)).then_some(Err(error));
            }
            // SAFETY: the entry is whole until the next call, and its name ends in NUL.
            let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
            if !matches!(name.to_bytes(), b"." | b"..") {
                return Some(Ok(OsStr::from_bytes(name.to_bytes()).to_owned()));
            }
        }
    }
}

impl Drop for FolderNames {
    fn drop(&mut self) {
        // SAFETY: the stream is open, and nobody uses it after this.
        unsafe { libc::closedir(self.0) };
    }
}

/// Where the system leaves the number of an error.
fn error_number() -> *mut i32 {
    #[cfg(target_os = "linux")]
    // SAFETY: the function has no conditions.
    return unsafe { libc::__errno_location() };
    #[cfg(not(target_os = "linux"))]
    // SAFETY: the function has no conditions.
    return unsafe { libc::__error() };
}
