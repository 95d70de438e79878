//! Files beneath a folder, opened so that no symbolic link can lead out of it, whatever others do
//! to its folders meanwhile: each step starts at the descriptor of the last and follows no link.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::policy::OpenMode;

/// A folder that is only passed through need not be readable where the system can say so.
#[cfg(target_os = "linux")]
const PASS: i32 = libc::O_PATH | libc::O_DIRECTORY;
#[cfg(not(target_os = "linux"))]
const PASS: i32 = libc::O_RDONLY | libc::O_DIRECTORY;

/// What is only looked at need not be readable, either.
#[cfg(target_os = "linux")]
const LOOK: i32 = libc::O_PATH;
#[cfg(not(target_os = "linux"))]
const LOOK: i32 = libc::O_RDONLY | libc::O_NONBLOCK;

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder at a path without symbolic links.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        open_at(libc::AT_FDCWD, path.as_os_str(), PASS).map(Self)
    }

    /// Opens what has this name in the folder.
    fn open_inside(&self, name: &OsStr, flags: i32) -> io::Result<OwnedFd> {
        open_at(self.0.as_raw_fd(), name, flags)
    }

    /// Makes an empty file with a name that nothing in the folder has.
    pub(super) fn make_temporary(&self, prefix: &str) -> io::Result<(OsString, File)> {
        loop {
            let name = temporary_name(prefix);
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
            match self.open_inside(&name, flags) {
                Ok(file) => return Ok((name, File::from(file))),
                // A process that has ended had the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Fails when what has this name is there and no regular file.
    fn check_replaceable(&self, name: &OsStr) -> io::Result<()> {
        let name = CString::new(name.as_bytes())?;
        let mut found = MaybeUninit::<libc::stat>::uninit();
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        // SAFETY: the descriptor is open, the name ends in NUL, and what is found has room.
        let result =
            unsafe { libc::fstatat(self.0.as_raw_fd(), name.as_ptr(), found.as_mut_ptr(), flags) };
        if result != 0 {
            // It is not there; any other trouble will show when the file is made.
            return Ok(());
        }
        // SAFETY: the call has succeeded, so it has filled it in.
        let mode = unsafe { found.assume_init() }.st_mode;
        if mode & libc::S_IFMT != libc::S_IFREG {
            let text = "only regular files are replaced";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(())
    }

    /// Gives what is in the folder a name in another one, in place of what has it.
    fn rename(&self, from: &OsStr, folder: &Self, to: &OsStr) -> io::Result<()> {
        let (old, new) = (self.0.as_raw_fd(), folder.0.as_raw_fd());
        let (from, to) = (CString::new(from.as_bytes())?, CString::new(to.as_bytes())?);
        // SAFETY: the descriptors are open, and the names end in NUL.
        succeeded(unsafe { libc::renameat(old, from.as_ptr(), new, to.as_ptr()) })
    }

    /// Removes a file of the folder, or with `AT_REMOVEDIR` an empty folder.
    fn remove(&self, name: &OsStr, flags: i32) -> io::Result<()> {
        let name = CString::new(name.as_bytes())?;
        // SAFETY: the descriptor is open, and the name ends in NUL.
        succeeded(unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), flags) })
    }

    /// Makes a folder in the folder.
    fn make_folder(&self, name: &OsStr) -> io::Result<()> {
        let name = CString::new(name.as_bytes())?;
        // SAFETY: the descriptor is open, and the name ends in NUL.
        succeeded(unsafe { libc::mkdirat(self.0.as_raw_fd(), name.as_ptr(), 0o777) })
    }

    /// The same folder, opened so that its names can be read.
    pub(super) fn open_to_list(&self) -> io::Result<OwnedFd> {
        self.open_inside(OsStr::new("."), libc::O_RDONLY | libc::O_DIRECTORY)
    }
}

/// A name for a temporary file that no machine of this process has taken.
pub(super) fn temporary_name(prefix: &str) -> OsString {
    static N_MADE: AtomicU64 = AtomicU64::new(0);
    let number = N_MADE.fetch_add(1, Ordering::Relaxed);
    OsString::from(format!("{prefix}{}-{number}", process::id()))
}

/// A file in a folder, or in one of its folders. It need not be there.
#[derive(Debug)]
pub(super) struct Beneath {
    pub(super) folder: Arc<Folder>,
    /// The way from there, names only.
    pub(super) inside: PathBuf,
    /// The whole path.
    pub(super) path: PathBuf,
}

impl Beneath {
    /// Opens the file, with these flags besides those of the mode.
    pub(super) fn open(&self, mode: OpenMode, flags: i32) -> io::Result<File> {
        let flags = flags
            | match mode {
                OpenMode::Read => libc::O_RDONLY,
                OpenMode::Write => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
                OpenMode::Append => libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND,
                OpenMode::Update => libc::O_RDWR | libc::O_CREAT,
            };
        let (folder, name) = self.folder_and_name()?;
        folder.open_inside(name, flags).map(File::from)
    }

    /// Removes the file, or with `AT_REMOVEDIR` the empty folder.
    pub(super) fn remove(&self, flags: i32) -> io::Result<()> {
        let (folder, name) = self.folder_and_name()?;
        folder.remove(name, flags)
    }

    /// Moves the file or folder, in place of what is there.
    pub(super) fn rename(&self, to: &Self) -> io::Result<()> {
        let (old, name) = self.folder_and_name()?;
        let (new, to) = to.folder_and_name()?;
        old.rename(name, &new, to)
    }

    /// Makes a folder.
    pub(super) fn make_folder(&self) -> io::Result<()> {
        let (folder, name) = self.folder_and_name()?;
        folder.make_folder(name)
    }

    /// What the system tells of the file or folder.
    pub(super) fn info(&self) -> io::Result<Metadata> {
        let found = match self.inside.file_name() {
            None => self.folder.open_inside(OsStr::new("."), LOOK)?,
            Some(_) => {
                let (folder, name) = self.folder_and_name()?;
                folder.open_inside(name, LOOK)?
            }
        };
        File::from(found).metadata()
    }

    /// The folder that is meant, not one around it.
    pub(super) fn as_folder(&self) -> io::Result<Arc<Folder>> {
        self.folder_at(&self.inside)
    }

    /// Writes the file. At every moment the old one is there or the new one: the text goes to a
    /// temporary file in the same folder, is synced and then renamed.
    pub(super) fn replace(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let (folder, name) = self.folder_and_name()?;
        folder.check_replaceable(name)?;
        let (temporary, file) = folder.make_temporary(".mlmon-")?;
        let mut out = BufWriter::new(file);
        let written = write(&mut out)
            .and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error))
            .and_then(|file| file.sync_all())
            .and_then(|()| folder.rename(&temporary, &folder, name));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = folder.remove(&temporary, 0);
        }
        written
    }

    /// The folder that the file is in, and its name there.
    fn folder_and_name(&self) -> io::Result<(Arc<Folder>, &OsStr)> {
        let Some(name) = self.inside.file_name() else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        };
        let parent = self.inside.parent().unwrap_or(Path::new(""));
        Ok((self.folder_at(parent)?, name))
    }

    /// The folder to which a way of names leads from the allowed one.
    fn folder_at(&self, way: &Path) -> io::Result<Arc<Folder>> {
        let mut folder = self.folder.clone();
        for step in way {
            folder = Arc::new(Folder(folder.open_inside(step, PASS)?));
        }
        Ok(folder)
    }
}

/// Opens what has this name in a folder, and follows no symbolic link at its end.
fn open_at(folder: i32, name: &OsStr, flags: i32) -> io::Result<OwnedFd> {
    let name = CString::new(name.as_bytes())?;
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let mode: libc::c_uint = 0o666;
    // SAFETY: the folder's descriptor is open while it is borrowed, the name ends in NUL, and the
    // permissions are there for flags that make a file.
    let descriptor = unsafe { libc::openat(folder, name.as_ptr(), flags, mode) };
    succeeded(descriptor.min(0))?;
    // SAFETY: the call has succeeded, and so nobody else owns the descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// What a system call says by its result.
fn succeeded(result: i32) -> io::Result<()> {
    if result == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::host::Policy;
    use crate::host::policy::Place;

    /// What is done to a place.
    type Deed = fn(&Beneath) -> io::Result<()>;

    /// All that is done to places.
    const DEEDS: [(&str, Deed); 12] = [
        ("read", |place| place.open(OpenMode::Read, 0).map(drop)),
        ("write", |place| place.open(OpenMode::Write, 0).map(drop)),
        ("append", |place| place.open(OpenMode::Append, 0).map(drop)),
        ("update", |place| place.open(OpenMode::Update, 0).map(drop)),
        ("remove", |place| place.remove(0)),
        ("remove a folder", |place| place.remove(libc::AT_REMOVEDIR)),
        ("rename", |place| place.rename(place)),
        ("make a folder", Beneath::make_folder),
        ("replace", |place| {
            place.replace(|out| out.write_all(b"new"))
        }),
        ("info", |place| place.info().map(drop)),
        ("a folder to make in", |place| {
            place.as_folder()?.make_temporary("new-").map(drop)
        }),
        ("a folder to list", |place| {
            place.as_folder()?.open_to_list().map(drop)
        }),
    ];

    /// A place was found to be inside, and before anything is done there, somebody puts a link that
    /// leads out where a folder was, or the file itself.
    #[test]
    fn a_link_that_has_come_since_is_not_followed() {
        for (name, deed) in DEEDS {
            for (asked, swapped, link) in [
                ("in/sub/file", "in/sub", "../out"),
                ("in/sub/new", "in/sub", "../out"),
                ("in/sub/folder", "in/sub", "../out"),
                ("in/sub/folder", "in/sub/folder", "../../out/folder"),
                ("in/sub/file", "in/sub/file", "../../out/file"),
                ("in/sub/new", "in/sub/new", "../../out/new"),
            ] {
                // These have the link itself for what they are about.
                let is_entry = matches!(name, "remove" | "rename" | "info" | "replace");
                if asked == swapped && is_entry {
                    continue;
                }
                let folder = tempfile::tempdir().expect("a folder");
                let path = fs::canonicalize(folder.path()).expect("it is there");
                for one in ["in/sub/folder", "out/folder"] {
                    fs::create_dir_all(path.join(one)).expect("a folder");
                }
                for one in ["in/sub/file", "out/file"] {
                    fs::write(path.join(one), one).expect("a file");
                }
                let policy = Policy::nothing().with_write(&path.join("in"));
                let policy = policy.expect("a folder");
                let Ok(Place::Inside(place)) = policy.place_to_write(&path.join(asked)) else {
                    panic!("{asked} is inside");
                };
                let _ = fs::rename(path.join(swapped), path.join("in/kept"));
                symlink(link, path.join(swapped)).expect("a link");

                assert!(deed(&place).is_err(), "{name}: {asked}");
                let text = fs::read_to_string(path.join("out/file")).expect("a file");
                assert_eq!(text, "out/file", "{name}: {asked}");
                let names = fs::read_dir(path.join("out")).expect("a folder");
                assert_eq!(names.count(), 2, "{name}: {asked}");
                let inside = fs::read_dir(path.join("out/folder")).expect("a folder");
                assert_eq!(inside.count(), 0, "{name}: {asked}");
            }
        }
    }
}
