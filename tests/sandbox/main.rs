//! What a program may touch: a machine's policy, and `vm --sandbox`.

#[path = "../support/mod.rs"]
mod support;

mod command;
mod folders;
mod paths;
mod policy;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tempfile::TempDir;
use vm::host::Policy;

/// Folders and links around a folder `in` that is allowed; `out` is not.
pub(crate) struct Layout {
    folder: TempDir,
}

impl Layout {
    pub(crate) fn new() -> Self {
        let layout = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        for folder in ["in", "in/sub", "inner", "out"] {
            fs::create_dir(layout.path(folder)).expect("a folder");
        }
        for file in ["in/file", "in/sub/file", "inner/file", "out/file"] {
            fs::write(layout.path(file), file).expect("a file");
        }
        for (link, target) in [
            ("in/out", "../out"),
            ("in/out-file", "../out/file"),
            ("in/new-out-file", "../out/new"),
            ("in/loop", "loop"),
            ("in/to-sub", "sub"),
            ("in/to-file", "sub/file"),
            ("in/to-new", "sub/new"),
            ("in/to-to-file", "../link/to-file"),
            ("link", "in"),
            ("out/back", "../in"),
        ] {
            symlink(target, layout.path(link)).expect("a link");
        }
        layout
    }

    /// A path of the layout, which itself has no links.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let folder = fs::canonicalize(self.folder.path()).expect("the folder is there");
        folder.join(name)
    }

    /// Allows writing in a folder.
    pub(crate) fn policy(&self, folder: &str) -> Policy {
        let policy = Policy::nothing().with_write(&self.path(folder));
        policy.expect("a folder")
    }

    /// Where a path leads that may be written.
    pub(crate) fn written(&self, policy: &Policy, name: &str) -> Option<PathBuf> {
        policy.check_write(&self.path(name)).ok()
    }
}
