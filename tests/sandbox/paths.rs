//! Which paths a policy allows, and where they are opened.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use vm::host::{Denied, OpenMode, Policy};

use crate::Layout;

#[test]
fn paths_that_stay_in_an_allowed_folder_are_followed_to_where_they_lead() {
    let layout = Layout::new();
    let policy = layout.policy("in");
    for (path, leads_to) in [
        ("in/file", "in/file"),
        ("in/new", "in/new"),
        ("in/sub/new", "in/sub/new"),
        ("in/sub/../new", "in/new"),
        ("in/./sub//file", "in/sub/file"),
        ("in/../in/file", "in/file"),
        ("in/to-sub/file", "in/sub/file"),
        ("in/to-sub/../file", "in/file"),
        ("in/to-file", "in/sub/file"),
        ("in/to-new", "in/sub/new"),
        ("in/missing/file", "in/missing/file"),
        ("in", "in"),
    ] {
        let leads_to = layout.path(leads_to);
        assert_eq!(layout.written(&policy, path), Some(leads_to), "{path}");
    }
}

#[test]
fn paths_that_leave_an_allowed_folder_are_denied() {
    let layout = Layout::new();
    let policy = layout.policy("in");
    for path in [
        "in/..",
        "in/../out/file",
        "in/../../file",
        "in/sub/../../out/file",
        "in/out/file",
        "in/out/new",
        "in/out-file",
        "in/new-out-file",
        "in/to-sub/../../out/file",
        "in/loop",
        "inner/file",
        "out/file",
        "/etc/passwd",
    ] {
        assert_eq!(layout.written(&policy, path), None, "{path}");
    }
}

/// A program must not learn from denials what there is elsewhere.
#[test]
fn a_path_that_comes_back_from_elsewhere_is_denied_whether_or_not_elsewhere_is_there() {
    let layout = Layout::new();
    let policy = layout.policy("in");
    for path in ["out/../in/file", "missing/../in/file", "out/back/file"] {
        assert_eq!(layout.written(&policy, path), None, "{path}");
    }
}

#[test]
fn a_folder_that_is_allowed_by_a_link_is_reached_by_the_link_and_without() {
    let layout = Layout::new();
    let policy = layout.policy("link");
    for path in ["link/file", "in/file", "in/to-to-file"] {
        assert!(layout.written(&policy, path).is_some(), "{path}");
    }
    assert_eq!(layout.written(&policy, "link/out/file"), None);
}

#[test]
fn several_folders_add_up() {
    let layout = Layout::new();
    let policy = layout.policy("in").with_write(&layout.path("out"));
    let policy = policy.expect("a folder");
    for path in ["in/file", "out/file", "in/out/file", "out/back/file"] {
        assert!(layout.written(&policy, path).is_some(), "{path}");
    }
    assert_eq!(layout.written(&policy, "inner/file"), None);
}

#[test]
fn what_is_no_path_is_denied() {
    let layout = Layout::new();
    let policy = layout.policy("in");
    for bytes in [&b""[..], b"\0", b"file\0", b"../file\0/in/file"] {
        let path = Path::new(OsStr::from_bytes(bytes));
        assert!(policy.check_write(path).is_err(), "{path:?}");
    }
}

#[test]
fn names_need_not_be_text() {
    let layout = Layout::new();
    let name = OsStr::from_bytes(b"\xff\xfe");
    let path = layout.path("in").join(name);
    assert_eq!(layout.policy("in").check_write(&path), Ok(path));
}

#[test]
fn only_a_folder_that_is_there_can_be_allowed() {
    let layout = Layout::new();
    for path in ["missing", "in/file", "in/loop"] {
        let path = layout.path(path);
        assert!(Policy::nothing().with_read(&path).is_err(), "{path:?}");
        assert!(Policy::nothing().with_write(&path).is_err(), "{path:?}");
    }
    assert!(Policy::nothing().with_read(Path::new("")).is_err());
}

#[test]
fn files_are_opened_where_the_policy_allows_it() {
    let layout = Layout::new();
    let policy = layout.policy("in").with_read(&layout.path("in/sub"));
    let policy = policy.expect("a folder");
    let open = |name: &str, mode| policy.open(&layout.path(name), mode);

    let mut file = open("in/to-new", OpenMode::Write).expect("allowed");
    let file = file.as_mut().expect("it can be made");
    file.write_all(b"one").expect("it can be written");
    let mut file = open("in/sub/new", OpenMode::Append).expect("allowed");
    let file = file.as_mut().expect("it is there");
    file.write_all(b", two").expect("it can be written");
    let mut file = open("in/sub/new", OpenMode::Read).expect("allowed");
    let file = file.as_mut().expect("it is there");
    let mut text = String::new();
    file.read_to_string(&mut text).expect("it can be read");
    assert_eq!(text, "one, two");
    for (name, mode, denied) in [
        ("in/file", OpenMode::Read, Denied::Read as fn(_) -> _),
        ("out/file", OpenMode::Read, Denied::Read),
        ("out/file", OpenMode::Write, Denied::Write),
        ("out/file", OpenMode::Append, Denied::Write),
    ] {
        let error = open(name, mode).expect_err("outside");
        assert_eq!(error, denied(layout.path(name)));
    }
    let missing = open("in/sub/missing", OpenMode::Read).expect("allowed");
    let error = missing.expect_err("it is not there");
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

/// The folder is the one that was allowed, also when a link has taken its place since.
#[test]
fn a_folder_that_is_replaced_by_a_link_leads_nowhere() {
    let layout = Layout::new();
    let policy = layout.policy("in");
    fs::rename(layout.path("in"), layout.path("moved")).expect("a new name");
    symlink("out", layout.path("in")).expect("a link");
    let opened = policy.open(&layout.path("in/file"), OpenMode::Write);
    assert!(!matches!(opened, Ok(Ok(_))), "{opened:?}");
    let text = fs::read_to_string(layout.path("out/file")).expect("the file is there");
    assert_eq!(text, "out/file");
}

/// Somebody else swaps a folder and a link all the time: whatever is opened is inside.
#[test]
fn no_swap_of_folders_and_links_leads_out() {
    let layout = Layout::new();
    let policy = layout.policy("in");
    let (sub, kept) = (layout.path("in/sub"), layout.path("in/kept"));
    let path = layout.path("in/sub/file");
    let is_over = AtomicBool::new(false);
    let n_opened = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                fs::rename(&sub, &kept).expect("a new name");
                symlink("../out", &sub).expect("a link");
                fs::remove_file(&sub).expect("the link is there");
                fs::rename(&kept, &sub).expect("the old name");
            }
        });
        let tries = (0..20_000).filter(|_| match policy.open(&path, OpenMode::Append) {
            Ok(Ok(mut file)) => file.write_all(b"!").is_ok(),
            _ => false,
        });
        let n_opened = tries.count();
        is_over.store(true, Relaxed);
        n_opened
    });
    let text = |name: &str| fs::read_to_string(layout.path(name)).expect("the file is there");
    assert_eq!(text("out/file"), "out/file");
    assert_eq!(text("in/sub/file").len(), "in/sub/file".len() + n_opened);
}
