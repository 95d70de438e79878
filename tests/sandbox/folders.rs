//! What a policy lets be done to names: files removed and moved, folders made, listed and removed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use vm::host::{Denied, OpenMode, Policy};

use crate::Layout;

/// What is done to a path, without what it gives.
type Deed = fn(&Policy, &Path) -> Result<io::Result<()>, Denied>;

/// Everything that writes.
const WRITING: [(&str, Deed); 7] = [
    ("remove_file", |policy, path| policy.remove_file(path)),
    ("remove_folder", |policy, path| policy.remove_folder(path)),
    ("make_folder", |policy, path| policy.make_folder(path)),
    ("rename from", |policy, path| {
        policy.rename(path, &path.with_file_name("other"))
    }),
    ("make_temporary", |policy, path| {
        Ok(policy.make_temporary(path)?.map(drop))
    }),
    ("append", |policy, path| {
        Ok(policy.open(path, OpenMode::Append)?.map(drop))
    }),
    ("update", |policy, path| {
        Ok(policy.open(path, OpenMode::Update)?.map(drop))
    }),
];

/// Everything that reads.
const READING: [(&str, Deed); 5] = [
    ("resolve", |policy, path| {
        Ok(policy.resolve(path)?.map(drop))
    }),
    ("info", |policy, path| Ok(policy.info(path)?.map(drop))),
    ("list", |policy, path| Ok(policy.list(path)?.map(drop))),
    ("open", |policy, path| {
        Ok(policy.open(path, OpenMode::Read)?.map(drop))
    }),
    ("update", |policy, path| {
        Ok(policy.open(path, OpenMode::Update)?.map(drop))
    }),
];

fn readable(layout: &Layout) -> Policy {
    let policy = Policy::nothing().with_read(&layout.path("in"));
    policy.expect("a folder")
}

#[test]
fn nothing_outside_is_touched() {
    let paths = [
        "out",
        "out/file",
        "out/new",
        "in/../out/file",
        "in/out/file",
        "in/out/new",
        "in/sub/../../out/file",
        "inner",
        "in/loop/file",
        "/etc/passwd",
    ];
    for path in paths {
        let layout = Layout::new();
        for (name, deed) in WRITING {
            let denied = deed(&layout.policy("in"), &layout.path(path));
            assert!(denied.is_err(), "{name} {path}: {denied:?}");
        }
        for (name, deed) in READING {
            let denied = deed(&readable(&layout), &layout.path(path));
            assert!(denied.is_err(), "{name} {path}: {denied:?}");
        }
        let text = fs::read_to_string(layout.path("out/file")).expect("the file is there");
        assert_eq!(text, "out/file");
    }
}

#[test]
fn reading_does_not_allow_writing_nor_writing_reading() {
    let layout = Layout::new();
    let path = layout.path("in/file");
    for (name, deed) in WRITING {
        let denied = deed(&readable(&layout), &path);
        assert_eq!(denied.err(), Some(Denied::Write(path.clone())), "{name}");
    }
    for (name, deed) in READING {
        let denied = deed(&layout.policy("in"), &path);
        assert_eq!(denied.err(), Some(Denied::Read(path.clone())), "{name}");
    }
    let both = layout.policy("in").with_read(&layout.path("in"));
    let both = both.expect("a folder");
    let opened = both
        .open(&path, OpenMode::Update)
        .expect("both are allowed");
    opened.expect("the file is there");
}

#[test]
fn a_move_needs_both_names() {
    let layout = Layout::new();
    let policy = layout.policy("in");
    for (from, to, denied) in [
        ("in/file", "out/new", "out/new"),
        ("out/file", "in/new", "out/file"),
        ("in/file", "in/out/new", "in/out/new"),
    ] {
        let result = policy.rename(&layout.path(from), &layout.path(to));
        let expected = Denied::Write(layout.path(denied));
        assert_eq!(result.err(), Some(expected), "{from} to {to}");
    }
    let moved = policy.rename(&layout.path("in/file"), &layout.path("in/sub/moved"));
    moved.expect("allowed").expect("it can be moved");
    let text = fs::read_to_string(layout.path("in/sub/moved")).expect("it is there");
    assert_eq!(text, "in/file");
}

/// A link in the folder is the program's to remove and to move, wherever it leads.
#[test]
fn a_link_is_removed_and_moved_itself() {
    let layout = Layout::new();
    let policy = layout.policy("in");
    let removed = policy.remove_file(&layout.path("in/out-file"));
    removed.expect("allowed").expect("it can be removed");
    let moved = policy.rename(&layout.path("in/to-file"), &layout.path("in/moved"));
    moved.expect("allowed").expect("it can be moved");
    let target = fs::read_link(layout.path("in/moved")).expect("it is a link");
    assert_eq!(target, Path::new("sub/file"));
    for file in ["out/file", "in/sub/file"] {
        let text = fs::read_to_string(layout.path(file)).expect("the file is there");
        assert_eq!(text, file);
    }
}

#[test]
fn the_folder_that_is_allowed_stays() {
    let layout = Layout::new();
    let policy = layout.policy("in");
    let path = layout.path("in");
    for deed in [
        policy.remove_file(&path),
        policy.remove_folder(&path),
        policy.make_folder(&path),
        policy.rename(&path, &layout.path("in/sub/in")),
    ] {
        assert!(deed.expect("it is in itself").is_err());
    }
    assert!(layout.path("in/file").exists());
}

#[test]
fn allowed_folders_are_looked_at_made_and_removed() {
    let layout = Layout::new();
    let policy = layout.policy("in").with_read(&layout.path("in"));
    let policy = policy.expect("a folder");
    let names = |path: &str| {
        let names = policy.list(&layout.path(path)).expect("allowed");
        let names: io::Result<Vec<OsString>> = names.expect("a folder").collect();
        let mut names = names.expect("names");
        names.sort();
        names
    };
    assert_eq!(names("in/sub"), ["file"]);
    assert_eq!(names("in/to-sub"), ["file"], "by a link that stays inside");
    assert_eq!(names("in").len(), 10);
    for path in ["in", "in/sub", "in/to-sub"] {
        let info = policy.info(&layout.path(path)).expect("allowed");
        assert!(info.expect("it is there").is_dir(), "{path}");
    }
    let info = policy.info(&layout.path("in/to-file")).expect("allowed");
    assert_eq!(info.expect("it is there").len(), 11);
    let missing = policy.info(&layout.path("in/missing")).expect("allowed");
    let error = missing.expect_err("nothing is there");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);

    let new = layout.path("in/new");
    policy.make_folder(&new).expect("allowed").expect("made");
    let (path, _) = policy.make_temporary(&new).expect("allowed").expect("made");
    assert_eq!(path.parent(), Some(&*new));
    assert_eq!(names("in/new").len(), 1);
    policy
        .remove_file(&path)
        .expect("allowed")
        .expect("removed");
    policy
        .remove_folder(&new)
        .expect("allowed")
        .expect("removed");
    assert!(!new.exists());
}

/// Somebody else swaps a folder and a link all the time: what is done is done inside.
#[test]
fn no_swap_of_folders_and_links_leads_out() {
    let layout = Layout::new();
    let policy = layout.policy("in").with_read(&layout.path("in"));
    let policy = policy.expect("a folder");
    let (sub, kept) = (layout.path("in/sub"), layout.path("in/kept"));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                fs::rename(&sub, &kept).expect("a new name");
                symlink("../out", &sub).expect("a link");
                fs::remove_file(&sub).expect("the link is there");
                fs::rename(&kept, &sub).expect("the old name");
            }
        });
        for number in 0..2000 {
            let _ = policy.remove_file(&sub.join("file"));
            let _ = policy.rename(&sub.join("file"), &sub.join("moved"));
            let _ = policy.make_folder(&sub.join(number.to_string()));
            let _ = policy.make_temporary(&sub);
            if let Ok(Ok(names)) = policy.list(&sub) {
                assert!(!names.flatten().any(|name| name == "back"), "out is listed");
            }
        }
        is_over.store(true, Relaxed);
    });
    let mut names: Vec<OsString> = fs::read_dir(layout.path("out"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["back", "file"]);
}

/// The folder is the one that was allowed, also when a link has taken its place since.
#[test]
fn nothing_is_done_behind_a_link_that_has_taken_a_folders_place() {
    let layout = Layout::new();
    let policy = layout.policy("in").with_read(&layout.path("in"));
    let policy = policy.expect("a folder");
    fs::rename(layout.path("in"), layout.path("moved")).expect("a new name");
    symlink("out", layout.path("in")).expect("a link");
    for (name, deed) in WRITING.into_iter().chain(READING) {
        let done = deed(&policy, &layout.path("in/file"));
        assert!(!matches!(done, Ok(Ok(()))), "{name}");
    }
    let text = fs::read_to_string(layout.path("out/file")).expect("the file is there");
    assert_eq!(text, "out/file");
}
