//! Temporary files that become profiles, and those that dead runs have left.
//!
//! A writer holds the lock of its temporary file (`flock`) until it has renamed it. The system
//! lets go of the lock when the process ends, however that comes about, so a temporary file whose
//! lock is free belongs to nobody: the next writer of the same file removes it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// How often a new temporary file may be taken away by a writer that cleans up before it is locked.
const MAX_TRIES: u32 = 100;

/// Makes a locked temporary file beside `target`, which is in `folder`. The name begins with
/// `prefix` and says whose it is; see [`remove_dead`].
pub(super) fn create(folder: &Path, target: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    let start = name_start(target, prefix);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&start);
    set_permissions(&mut builder);
    for _ in 0..MAX_TRIES {
        let file = builder.tempfile_in(folder)?;
        match file.as_file().try_lock() {
            // Somebody else may have found the file before it was locked, and removed it.
            Ok(()) if has_name(file.as_file()) => return Ok(file),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            // A file system without locks. There nobody gets a lock, so nothing is removed.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
    Err(io::Error::other(
        "other writers keep on removing the temporary file",
    ))
}

/// Removes the temporary files beside `target` that were made for it by writers that are dead.
/// What cannot be looked at or removed stays: that is no reason to lose the profile.
pub(super) fn remove_dead(folder: &Path, target: &Path, prefix: &str) {
    let start = name_start(target, prefix);
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(start.as_bytes()) {
            remove_if_dead(&entry.path());
        }
    }
}

fn remove_if_dead(path: &Path) {
    let Ok(file) = open_regular(path) else {
        return;
    };
    if file.try_lock().is_ok() {
        // A writer that has ended meanwhile has renamed its file, and then the name is gone: the
        // new profile has another one.
        let _ = fs::remove_file(path);
    }
}

/// What the names of temporary files for `target` begin with: a checksum stands for the target's
/// name, which may be as long as names can be.
fn name_start(target: &Path, prefix: &str) -> String {
    let name = target.file_name().unwrap_or_default().as_encoded_bytes();
    // FNV-1a, which is the same in every build.
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{prefix}{hash:016x}-")
}

/// Opens a file for its lock. A link is not followed, and a pipe is not waited for.
#[cfg(unix)]
fn open_regular(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.read(true).write(true);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(not(unix))]
fn open_regular(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}

/// Whether a file still has a name.
#[cfg(unix)]
fn has_name(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|found| found.nlink() > 0)
}

#[cfg(not(unix))]
fn has_name(_file: &File) -> bool {
    true
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

#[cfg(all(test, unix))]
mod tests {
    use std::env;
    use std::io::{BufRead, BufReader, Write};
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::files;

    /// Tells a copy of this test program to be the writer, and where to write.
    const WRITER: &str = "TALLY_TEST_HALF_WRITER";

    /// Writes half of a file, says so, and waits until somebody sends a line. It runs in a copy of
    /// this program; as a test of its own it does nothing.
    #[test]
    fn half_writer() {
        let Some(path) = env::var_os(WRITER) else {
            return;
        };
        let written = files::write(Path::new(&path), ".mlmon-", |out| {
            out.write_all(b"one half, ")?;
            println!("\nhalf");
            io::stdin().read_line(&mut String::new())?;
            out.write_all(b"the other half")
        });
        written.unwrap();
    }

    /// A writer in a process of its own that has written half of `path`.
    fn start_writer(path: &Path) -> Child {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "files::temporary::tests::half_writer"])
            .arg("--nocapture")
            .env(WRITER, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "half"), "the writer ends");
        child
    }

    fn write(path: &Path, text: &str) {
        files::write(path, ".mlmon-", |out| out.write_all(text.as_bytes())).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mlmon.out");
        (folder, path)
    }

    #[test]
    fn the_next_writer_removes_what_killed_ones_have_left() {
        let (folder, path) = folder();
        for _ in 0..3 {
            let mut child = start_writer(&path);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // Each one was killed in the midst, and removed what the one before had left.
        assert_eq!(names(folder.path()).len(), 1);
        write(&path, "whole");
        assert_eq!(names(folder.path()), ["mlmon.out"]);
    }

    #[test]
    fn a_writer_that_is_alive_keeps_its_temporary_file() {
        let (folder, path) = folder();
        let mut child = start_writer(&path);
        write(&path, "whole");
        assert_eq!(names(folder.path()).len(), 2);
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(names(folder.path()), ["mlmon.out"]);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "one half, the other half");
    }

    #[test]
    fn what_a_dead_writer_of_another_file_has_left_stays() {
        let (folder, path) = folder();
        let mut child = start_writer(&folder.path().join("other.out"));
        child.kill().unwrap();
        child.wait().unwrap();
        write(&path, "whole");
        assert_eq!(names(folder.path()).len(), 2);
    }

    #[test]
    fn a_link_or_a_pipe_with_the_name_of_a_temporary_file_stays() {
        let (folder, path) = folder();
        let start = name_start(&path, ".mlmon-");
        let [target, link, pipe] = ["kept".into(), format!("{start}1"), format!("{start}2")]
            .map(|n| folder.path().join(n));
        write(&target, "kept");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let status = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(status.success());
        write(&path, "whole");
        assert_eq!(names(folder.path()).len(), 4);
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    }
}
