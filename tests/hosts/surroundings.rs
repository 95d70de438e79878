//! What a process is given by whoever starts it: variables, the current folder, the time zone.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::Place;
use crate::support::{stdout, vm};

/// Runs the body of `main` by the command, with this variable.
fn run_with(place: &Place, body: &str, name: &str, value: &[u8]) -> Vec<u8> {
    let text = place.program(&format!("fun main() {{\n{body}\nret\n}}"));
    place.write("program.asm", &text);
    let mut command = vm(&place.path(""));
    command.env(name, OsStr::from_bytes(value));
    let output = command.arg("program.asm").output().expect("vm runs");
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn variables_are_given_as_they_are() {
    let place = Place::new();
    let body = "there, s = call environment_variable(\"TALLY_TEST\")\ncall say(there, s)";
    for value in [&b""[..], b"value", b"a=b", b"no text \xff\xfe"] {
        let printed = run_with(&place, body, "TALLY_TEST", value);
        assert_eq!(printed, [b"1 ", value, b"\n"].concat());
    }
    let printed = run_with(&place, body, "TALLY_OTHER", b"");
    assert_eq!(printed, b"0 \n");
}

#[test]
fn the_current_folder_and_the_programs_name_are_those_of_the_command() {
    let place = Place::new();
    let body = "
        c, s = call folder_current()
        call say(c, s)
        s = call program_name()
        call print_line(s)";
    let folder = place.path("");
    let folder = folder.to_str().expect("text").trim_end_matches('/');
    let printed = run_with(&place, body, "TALLY_TEST", b"");
    let expected = format!("0 {folder}\nprogram.asm\n");
    assert_eq!(String::from_utf8_lossy(&printed), expected);
    let output = vm(&place.path("")).arg("./program.asm").output();
    assert!(stdout(&output.expect("vm runs")).ends_with("\n./program.asm\n"));
}

/// New York's rule is in the variable, so that no files of time zones are needed.
#[test]
fn local_time_follows_the_time_zone() {
    let place = Place::new();
    for (seconds, expected) in [
        (0, "1969-12-31 19:0:0 3 364 -18000 0\n"),
        (1_720_000_000, "2024-7-3 5:46:40 3 184 -14400 0\n"),
        // The last second before clocks are put forward, and the next.
        (1_710_053_999, "2024-3-10 1:59:59 0 69 -18000 0\n"),
        (1_710_054_000, "2024-3-10 3:0:0 0 69 -14400 0\n"),
    ] {
        let body = format!(
            "y, mo, d, h, mi, s, w, yd, off = call date_local({seconds})
             call print_int(y)\ncall print(\"-\")\ncall print_int(mo)\ncall print(\"-\")
             call print_int(d)\ncall print(\" \")\ncall print_int(h)\ncall print(\":\")
             call print_int(mi)\ncall print(\":\")\ncall print_int(s)\ncall print(\" \")
             call print_int(w)\ncall print(\" \")\ncall print_int(yd)\ncall print(\" \")
             call print_int(off)\ncall print(\" \")
             same = call seconds_local(y, mo, d, h, mi, s)
             same = sub same, {seconds}
             call print_int(same)\ncall print(\"\\n\")"
        );
        let printed = run_with(&place, &body, "TZ", b"EST5EDT,M3.2.0,M11.1.0");
        assert_eq!(String::from_utf8_lossy(&printed), expected, "{seconds}");
    }
}
