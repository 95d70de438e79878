//! What a program may touch of the world: files, the environment, the clock.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fmt, io};

use super::beneath::{Beneath, Folder};

/// How many symbolic links a path may lead through, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// What the programs of a machine may touch besides their arguments and standard streams, which
/// every program has. The default allows nothing.
///
/// ```
/// use vm::host::{Denied, Policy};
///
/// let policy = Policy::nothing().with_clock();
/// assert_eq!(policy.check_clock(), Ok(()));
/// assert_eq!(policy.check_environment(), Err(Denied::Environment));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Policy {
    read: Files,
    write: Files,
    has_environment: bool,
    has_clock: bool,
}

/// Which files a program may reach in one of the two ways.
#[derive(Clone, Debug)]
enum Files {
    /// All that the process may.
    Anywhere,
    /// Those in these folders, and in folders of theirs.
    Inside(Vec<Grant>),
}

impl Default for Files {
    fn default() -> Self {
        Self::Inside(Vec::new())
    }
}

/// A folder that a program may use.
#[derive(Clone, Debug)]
struct Grant {
    folder: Arc<Folder>,
    /// Its path without symbolic links.
    path: PathBuf,
    /// All that a path to the folder leads through, as it was asked for or as it is: a program may
    /// pass there.
    on_the_way: Arc<BTreeSet<PathBuf>>,
}

impl Grant {
    /// Opens a folder that is to be allowed.
    fn open(folder: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(folder)?;
        let mut on_the_way: BTreeSet<_> = path.ancestors().map(Path::to_owned).collect();
        // From the root, as a program may name it.
        resolve(&env::current_dir()?.join(folder), |step| {
            on_the_way.insert(step.to_owned());
            true
        });
        Ok(Self {
            folder: Arc::new(Folder::open(&path)?),
            path,
            on_the_way: Arc::new(on_the_way),
        })
    }
}

/// What a policy does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// To read this file, as the program named it.
    Read(PathBuf),
    /// To write this file, as the program named it.
    Write(PathBuf),
    /// To look at the environment's variables.
    Environment,
    /// To know what time it is, or how much has passed.
    Clock,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path) => write!(f, "reading {path:?} is outside of what is allowed"),
            Self::Write(path) => write!(f, "writing {path:?} is outside of what is allowed"),
            Self::Environment => f.write_str("the environment is outside of what is allowed"),
            Self::Clock => f.write_str("the clock is outside of what is allowed"),
        }
    }
}

impl std::error::Error for Denied {}

/// What an open file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// To be read.
    Read,
    /// To be written from its start; made, or emptied.
    Write,
    /// To be written behind what is there; made if it is not there.
    Append,
    /// To be read and written; made if it is not there, and not emptied.
    Update,
}

/// Where a path that is allowed leads.
pub(super) enum Place {
    /// Wherever the operating system says.
    Anywhere,
    /// Into a folder that is allowed, and not out of it.
    Inside(Beneath),
}

impl Policy {
    /// Allows nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Allows all that the process may do.
    pub fn everything() -> Self {
        Self {
            read: Files::Anywhere,
            write: Files::Anywhere,
            has_environment: true,
            has_clock: true,
        }
    }

    /// Allows reading files in this folder, and in folders of its, besides what is allowed already.
    /// The folder is the one that the path leads to now, whatever stands there later.
    ///
    /// # Errors
    /// When there is no such folder, or it cannot be opened.
    pub fn with_read(mut self, folder: &Path) -> io::Result<Self> {
        self.read.add(folder)?;
        Ok(self)
    }

    /// Allows writing files in this folder, as [`Policy::with_read`] allows reading them. Neither
    /// allows the other.
    ///
    /// # Errors
    /// As for [`Policy::with_read`].
    pub fn with_write(mut self, folder: &Path) -> io::Result<Self> {
        self.write.add(folder)?;
        Ok(self)
    }

    /// Allows the environment's variables.
    pub fn with_environment(mut self) -> Self {
        self.has_environment = true;
        self
    }

    /// Allows clocks.
    pub fn with_clock(mut self) -> Self {
        self.has_clock = true;
        self
    }

    /// Where a file is that may be read: its path without symbolic links if folders are allowed,
    /// the same path if everything is. The file need not be there. Who opens the file by this path
    /// trusts that nobody has put a symbolic link there since; [`Policy::open`] need not.
    ///
    /// # Errors
    /// When that is not allowed. Nothing outside of what is allowed is looked at for it, so the
    /// answer does not tell what is there.
    pub fn check_read(&self, path: &Path) -> Result<PathBuf, Denied> {
        Ok(self.place_to_read(path)?.path(path))
    }

    /// Where a file is that may be written, as for [`Policy::check_read`].
    ///
    /// # Errors
    /// As for [`Policy::check_read`].
    pub fn check_write(&self, path: &Path) -> Result<PathBuf, Denied> {
        Ok(self.place_to_write(path)?.path(path))
    }

    /// Opens a file, if that is allowed. The file is one in a folder that is allowed even if
    /// somebody changes folders and links at the same time: the path is followed from the folder on
    /// step by step, and no step is a symbolic link by then.
    ///
    /// # Errors
    /// When that is not allowed. What the operating system does not do is an error inside.
    pub fn open(&self, path: &Path, mode: OpenMode) -> Result<io::Result<File>, Denied> {
        Ok(self.check_open(path, mode)?.open(0))
    }

    /// What is to be opened, if that is allowed.
    pub(super) fn check_open<'a>(
        &self,
        path: &'a Path,
        mode: OpenMode,
    ) -> Result<Opening<'a>, Denied> {
        let place = match mode {
            OpenMode::Read => self.place_to_read(path)?,
            OpenMode::Write | OpenMode::Append => self.place_to_write(path)?,
            OpenMode::Update => {
                self.place_to_read(path)?;
                self.place_to_write(path)?
            }
        };
        Ok(Opening { place, path, mode })
    }

    /// Whether the environment's variables may be looked at.
    ///
    /// # Errors
    /// When that is not allowed.
    pub fn check_environment(&self) -> Result<(), Denied> {
        self.has_environment
            .then_some(())
            .ok_or(Denied::Environment)
    }

    /// Whether clocks may be looked at.
    ///
    /// # Errors
    /// When that is not allowed.
    pub fn check_clock(&self) -> Result<(), Denied> {
        self.has_clock.then_some(()).ok_or(Denied::Clock)
    }

    /// Where a path leads that is to be read.
    pub(super) fn place_to_read(&self, path: &Path) -> Result<Place, Denied> {
        let place = self.read.place(path);
        place.ok_or_else(|| Denied::Read(path.to_owned()))
    }

    /// Where a path leads to what is to be removed or to get another name: a symbolic link at its
    /// end is meant itself.
    pub(super) fn place_of_entry(&self, path: &Path) -> Result<Place, Denied> {
        let place = match path.file_name() {
            Some(name) => self.write.place_in(path.parent(), name),
            // It ends in `..`, where no link can stand.
            None => self.write.place(path),
        };
        place.ok_or_else(|| Denied::Write(path.to_owned()))
    }

    /// Where a path leads that is to be written.
    pub(super) fn place_to_write(&self, path: &Path) -> Result<Place, Denied> {
        let place = self.write.place(path);
        place.ok_or_else(|| Denied::Write(path.to_owned()))
    }
}

impl Files {
    /// Adds a folder; to everything there is nothing to add.
    fn add(&mut self, folder: &Path) -> io::Result<()> {
        let grant = Grant::open(folder)?;
        if let Self::Inside(grants) = self {
            grants.push(grant);
        }
        Ok(())
    }

    /// Where a path leads, if that is allowed.
    fn place(&self, path: &Path) -> Option<Place> {
        let Self::Inside(grants) = self else {
            return Some(Place::Anywhere);
        };
        find_place(grants, resolve(path, |step| may_look(grants, step))?)
    }

    /// Where a name is in the folder to which a path leads; what has the name is not looked at.
    fn place_in(&self, folder: Option<&Path>, name: &OsStr) -> Option<Place> {
        let Self::Inside(grants) = self else {
            return Some(Place::Anywhere);
        };
        if name.as_bytes().contains(&0) {
            return None;
        }
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let folder = resolve(folder, |step| may_look(grants, step))?;
        find_place(grants, folder.join(name))
    }
}

/// Whether a step is in an allowed folder, or on the way to one.
fn may_look(grants: &[Grant], step: &Path) -> bool {
    let is_there = |one: &Grant| step.starts_with(&one.path);
    grants
        .iter()
        .any(|one| is_there(one) || one.on_the_way.contains(step))
}

/// The place of a path without links, if it is in an allowed folder.
fn find_place(grants: &[Grant], path: PathBuf) -> Option<Place> {
    let place = grants.iter().find_map(|one| {
        let inside = path.strip_prefix(&one.path).ok()?.to_owned();
        Some((one.folder.clone(), inside))
    });
    let (folder, inside) = place?;
    Some(Place::Inside(Beneath {
        folder,
        inside,
        path,
    }))
}

/// A file that may be opened.
pub(super) struct Opening<'a> {
    place: Place,
    path: &'a Path,
    mode: OpenMode,
}

impl Opening<'_> {
    /// Opens it, with these flags of the system besides those of the mode.
    pub(super) fn open(self, flags: i32) -> io::Result<File> {
        let Place::Inside(beneath) = self.place else {
            let mut options = File::options();
            match self.mode {
                OpenMode::Read => options.read(true),
                OpenMode::Write => options.write(true).create(true).truncate(true),
                OpenMode::Append => options.append(true).create(true),
                OpenMode::Update => options.read(true).write(true).create(true),
            };
            return options.custom_flags(flags).open(self.path);
        };
        beneath.open(self.mode, flags)
    }
}

impl Place {
    /// The place's path, when a program has asked for this one.
    fn path(self, asked: &Path) -> PathBuf {
        match self {
            Self::Anywhere => asked.to_owned(),
            Self::Inside(beneath) => beneath.path,
        }
    }
}

/// Follows a path to where it leads, without symbolic links and `..`. What is not there is taken
/// for a file or a folder to be made. `may_look` is asked before a step is looked at; `None` if it
/// says no, when the path is none, or leads through too many links.
fn resolve(path: &Path, mut may_look: impl FnMut(&Path) -> bool) -> Option<PathBuf> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() || bytes.contains(&0) {
        return None;
    }
    // A path from the root says so in its first step.
    let mut at = if path.is_absolute() {
        PathBuf::new()
    } else {
        env::current_dir().ok()?
    };
    let steps_of = |path: &Path| -> Vec<OsString> {
        let steps = path.components().rev();
        steps.map(|step| step.as_os_str().to_owned()).collect()
    };
    let mut steps = steps_of(path);
    let mut n_links = 0;
    while let Some(step) = steps.pop() {
        match step.as_bytes() {
            b"/" => at = PathBuf::from("/"),
            b"." => {}
            b".." => {
                at.pop();
            }
            _ => {
                at.push(&step);
                if !may_look(&at) {
                    return None;
                }
                // What cannot be read as a link is none, or cannot be opened later either.
                if let Ok(target) = fs::read_link(&at) {
                    n_links += 1;
                    if n_links > MAX_LINKS {
                        return None;
                    }
                    at.pop();
                    steps.extend(steps_of(&target));
                }
            }
        }
    }
    Some(at)
}
