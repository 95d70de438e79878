//! Names of files and folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, UNIX_EPOCH};

use crate::{Place, make_pipe};

#[test]
fn what_is_there_is_told() {
    let place = Place::new();
    place.write("one", "12345");
    fs::create_dir(place.path("folder")).expect("a folder");
    make_pipe(&place.path("pipe"));
    symlink("one", place.path("link")).expect("a link");
    symlink("missing", place.path("dangling")).expect("a link");
    for (name, answer) in [
        ("one", "0 1\n"),
        ("folder", "0 2\n"),
        ("pipe", "0 3\n"),
        ("link", "0 1\n"),
        ("dangling", "2 0\n"),
        ("missing", "2 0\n"),
    ] {
        let printed = place.run(&format!(
            "c, k, n, m = call path_info(\"<{name}>\")\ncall num(c, k)"
        ));
        assert_eq!(printed, answer, "{name}");
    }
    let modified = UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    let file = fs::File::options().append(true).open(place.path("one"));
    file.and_then(|file| file.set_modified(modified))
        .expect("a time");
    let printed = place.run("c, k, n, m = call path_info(\"<one>\")\ncall num(n, m)");
    assert_eq!(printed, "5 1000000000123456789\n");
}

#[test]
fn paths_are_resolved_to_where_they_lead() {
    let place = Place::new();
    place.write("one", "");
    fs::create_dir(place.path("folder")).expect("a folder");
    symlink("../one", place.path("folder/link")).expect("a link");
    let printed = place.run(
        "c, s = call path_resolve(\"<folder/./link>\")
         call say(c, s)
         c, s = call path_resolve(\"<missing>\")
         call say(c, s)",
    );
    assert_eq!(printed, format!("0 {}\n2 \n", place.path("one").display()));
}

#[test]
fn files_are_moved_and_removed() {
    let place = Place::new();
    place.write("one", "1");
    place.write("two", "2");
    fs::create_dir(place.path("folder")).expect("a folder");
    symlink("two", place.path("link")).expect("a link");
    let printed = place.run(
        "c = call path_rename(\"<one>\", \"<folder/three>\")
         call num(c, 0)
         c = call path_rename(\"<one>\", \"<four>\")
         call num(c, 0)
         c = call file_remove(\"<link>\")
         call num(c, 0)
         c = call file_remove(\"<missing>\")
         call num(c, 0)
         c = call folder_remove(\"<folder>\")
         call num(c, 0)
         c = call file_remove(\"<folder/three>\")
         c = call folder_remove(\"<folder>\")
         call num(c, 0)",
    );
    let not_empty = libc::ENOTEMPTY;
    assert_eq!(printed, format!("0 0\n2 0\n0 0\n2 0\n{not_empty} 0\n0 0\n"));
    assert_eq!(
        place.text("two"),
        "2",
        "the link was removed, not what it leads to"
    );
    assert!(!place.path("folder").exists());
}

#[test]
fn folders_are_made_and_listed() {
    let place = Place::new();
    let printed = place.run(
        "c = call folder_make(\"<new>\")
         call num(c, 0)
         c = call folder_make(\"<new>\")
         call num(c, 0)
         c, s = call folder_list(\"<new>\")
         call say(c, s)
         c = call folder_make(\"<new/b>\")
         c, f = call file_create(\"<new/a>\")
         c, f = call file_create(\"<new/.c>\")
         c, s = call folder_list(\"<new>\")
         call say(c, s)
         c, s = call folder_list(\"<new/a>\")
         call say(c, s)",
    );
    let (exists, no_folder) = (libc::EEXIST, libc::ENOTDIR);
    assert_eq!(
        printed,
        format!("0 0\n{exists} 0\n0 \n0 .c\0a\0b\0\n{no_folder} \n")
    );
}

#[test]
fn temporary_files_are_new() {
    let place = Place::new();
    let printed = place.run(
        "c, f, p = call file_temporary(\"<>\")
         c = call file_write(f, \"one\")
         c, g, q = call file_temporary(\"<>\")
         c = call file_write(g, \"two\")
         c = call file_close(f)
         c = call file_close(g)
         c, s = call read_file(p)
         call say(c, s)
         c, s = call read_file(q)
         call say(c, s)",
    );
    assert_eq!(printed, "0 one\n0 two\n");
    let n_files = fs::read_dir(place.path("")).expect("the folder").count();
    assert_eq!(n_files, 2);
}
