//! Open files: what they read and write, and errors as values.

use std::io::{self, Read};

use crate::Place;

#[test]
fn what_is_written_can_be_read() {
    let place = Place::new();
    let printed = place.run(
        "c, f = call file_create(\"<one>\")
         c = call file_write(f, \"first line\\nsecond line\\n\")
         c = call file_write_part(f, \"abcdef\", 2, 3)
         b = bytes [33, 10]
         c = call file_write(f, b)
         c = call file_close(f)
         call num(c, 0)
         c, s = call read_file(\"<one>\")
         call say(c, s)",
    );
    assert_eq!(printed, "0 0\n0 first line\nsecond line\ncde!\n\n");
    assert_eq!(place.text("one"), "first line\nsecond line\ncde!\n");
}

#[test]
fn files_are_read_by_bytes_lines_and_to_the_end() {
    let place = Place::new();
    place.write("one", "ab\ncd\nlast");
    let printed = place.run(
        "c, f = call file_open(\"<one>\")
         c, s = call file_read(f, 1)
         call say(c, s)
         c, s = call file_read_line(f)
         call say(c, s)
         c, n = call file_position(f)
         call num(c, n)
         c, s = call file_read_some(f, 2)
         call say(c, s)
         c, s = call file_read_all(f)
         call say(c, s)
         c, s = call file_read(f, 5)
         call say(c, s)
         c, s = call file_read_line(f)
         call say(c, s)
         c, n = call file_seek(f, -4, 2)
         call num(c, n)
         c, s = call file_read_line(f)
         call say(c, s)
         c, n = call file_size(f)
         call num(c, n)",
    );
    let expected = "0 a\n0 b\n\n0 3\n0 cd\n0 \nlast\n0 \n0 \n0 6\n0 last\n0 10\n";
    assert_eq!(printed, expected);
}

#[test]
fn files_are_appended_to() {
    let place = Place::new();
    place.write("one", "old");
    place.run(
        "c, f = call file_append(\"<one>\")
         c = call file_write(f, \" new\")
         c, f = call file_append(\"<two>\")
         c = call file_write(f, \"made\")",
    );
    assert_eq!(
        (place.text("one"), place.text("two")),
        ("old new".into(), "made".into())
    );
}

/// A write goes where the program is, not where the buffer has read to.
#[test]
fn an_update_writes_where_reading_has_stopped() {
    let place = Place::new();
    place.write("one", "0123456789");
    let printed = place.run(
        "c, f = call file_update(\"<one>\")
         c, s = call file_read(f, 3)
         c = call file_write(f, \"AB\")
         c, n = call file_position(f)
         call num(c, n)
         c, s = call file_read(f, 2)
         call say(c, s)
         c, n = call file_seek(f, -1, 1)
         c = call file_write(f, \"C\")
         c, n = call file_seek(f, 0, 0)
         c, s = call file_read_all(f)
         call say(c, s)",
    );
    assert_eq!(printed, "0 5\n0 56\n0 012AB5C789\n");
    assert_eq!(place.text("one"), "012AB5C789");
}

#[test]
fn much_is_read_and_written_in_parts() {
    let place = Place::new();
    let text: String = (0..100_000).map(|n| format!("{n}\n")).collect();
    place.write("one", &text);
    place.run(
        "c, s = call read_file(\"<one>\")
         c, f = call file_create(\"<two>\")
         c = call file_write(f, s)
         c, f = call file_create(\"<three>\")
         c, g = call file_open(\"<one>\")
     next:
         c, s = call file_read_line(g)
         n = len s
         jeq n, 0, done
         c = call file_write(f, s)
         jmp next
     done:",
    );
    assert!(place.text("two") == text, "as a whole");
    assert!(place.text("three") == text, "line by line");
}

/// Errors have the system's numbers; no row ends the run.
#[test]
fn what_the_world_refuses_is_a_code() {
    let place = Place::new();
    place.write("one", "text");
    for (body, code) in [
        ("c, f = call file_open(\"<missing>\")", libc::ENOENT),
        ("c, f = call file_open(\"<>\")", libc::EISDIR),
        ("c, f = call file_create(\"<>\")", libc::EISDIR),
        ("c, f = call file_create(\"<no/one>\")", libc::ENOENT),
        ("c, f = call file_open(\"<one/two>\")", libc::ENOTDIR),
        ("c, s = call read_file(\"<missing>\")", libc::ENOENT),
        ("c, s = call read_file(\"a\\0b\")", libc::EINVAL),
        ("c, s = call file_read(99, 1)", libc::EBADF),
        ("c, s = call file_read(-1, 1)", libc::EBADF),
        ("c, s = call file_read(1, 1)", libc::EBADF),
        ("c = call file_write(0, \"x\")", libc::EBADF),
        ("c = call file_write(99, \"\")", libc::EBADF),
        ("c = call file_close(99)", libc::EBADF),
        ("c, n = call file_seek(0, 0, 0)", libc::ESPIPE),
        ("c, n = call file_size(2)", libc::ESPIPE),
        (
            "c, f = call file_open(\"<one>\")\nc = call file_write(f, \"x\")",
            libc::EBADF,
        ),
        (
            "c, f = call file_append(\"<one>\")\nc, s = call file_read(f, 1)",
            libc::EBADF,
        ),
        (
            "c, f = call file_open(\"<one>\")\nc, n = call file_seek(f, -1, 0)",
            libc::EINVAL,
        ),
        (
            "c, f = call file_open(\"<one>\")\nc = call file_close(f)\nc = call file_close(f)",
            libc::EBADF,
        ),
        (
            "c, f = call file_create(\"/dev/full\")\nc = call file_write(f, \"x\")
             c = call file_close(f)",
            libc::ENOSPC,
        ),
    ] {
        let printed = place.run(&format!("{body}\ncall num(c, 0)"));
        assert_eq!(printed, format!("{code} 0\n"), "{body}");
    }
}

/// The registers of the results are those of arguments before: they must not keep them.
#[test]
fn results_beside_a_code_are_zero_and_empty() {
    let place = Place::new();
    let printed = place.run(
        "c, k, n, m = call path_info(\"<missing>\")
         call num(c, k)
         call num(n, m)
         c, s = call file_read(77, 88)
         call say(c, s)
         c, f, s = call file_temporary(\"<missing>\")
         call say(f, s)",
    );
    let (missing, bad) = (libc::ENOENT, libc::EBADF);
    assert_eq!(printed, format!("{missing} 0\n0 0\n{bad} \n0 \n"));
}

#[test]
fn what_makes_no_sense_is_a_fault() {
    let place = Place::new();
    for body in [
        "c, s = call file_read(0, -1)",
        "c = call file_write_part(1, \"abc\", 1, 3)",
        "c = call file_write_part(1, \"abc\", -1, 1)",
        "c = call file_write_part(1, \"abc\", 1, 9223372036854775807)",
        "c, n = call file_seek(0, 0, 3)",
        "c, s = call read_file(null)",
        "s = call error_message(9223372036854775807)",
    ] {
        let printed = place.run(&format!(
            "try failed(e) {{\n{body}\n}}\nret\nfailed:\nn = ld_i e, 0\ncall num(0, n)"
        ));
        assert_eq!(printed, "0 6\n", "{body}: a host function failed");
    }
}

#[test]
fn a_machine_has_a_limit_of_open_files() {
    let place = Place::new();
    place.write("one", "");
    let printed = place.run(
        "n = 0
     next:
         c, f = call file_open(\"<one>\")
         n = add n, 1
         jeq c, 0, next
         call num(c, n)
         c = call file_close(3)
         c, f = call file_open(\"<one>\")
         call num(c, f)",
    );
    // A handle is never used again: 256 were open, and the one that was closed was 3.
    assert_eq!(printed, format!("{} 257\n0 259\n", libc::EMFILE));
}

/// Gives one byte at each read, as a slow pipe may.
struct Slow(&'static [u8]);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.len().min(buffer.len()).min(1);
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[test]
fn standard_input_is_read_in_blocks_and_lines() {
    let place = Place::new();
    let body = "
        c, s = call file_read(0, 4)
        call say(c, s)
        there, s = call read_line()
        call say(there, s)
        c, s = call file_read_line(0)
        call say(c, s)
        c, s = call file_read_some(0, 100)
        n = len s
        jgt n, 0, more
        call print_line(\"nothing\")
    more:
        c, s = call file_read_all(0)
        c, s = call file_read(0, 1)
        call say(c, s)";
    let input = b"block, rest\nline\nand more\n";
    let expected = "0 bloc\n1 k, rest\n\n0 line\n\n0 \n";
    assert_eq!(place.run_with_input(body, &input[..]), expected);
    assert_eq!(place.run_with_input(body, Slow(input)), expected);
}

#[test]
fn output_by_handle_and_by_print_keeps_its_order() {
    let place = Place::new();
    let printed = place.run(
        "call print(\"a\")
         c = call file_write(1, \"b\")
         call print(\"c\")
         c = call file_flush(1)
         c = call file_close(1)
         call print(\"d\")",
    );
    assert_eq!(printed, "abcd");
}
