//! The host functions that the `vm` command offers.

use crate::isa::Signature;

const fn sig(int_params: u8, ref_params: u8, int_results: u8, ref_results: u8) -> Signature {
    Signature {
        int_params,
        ref_params,
        int_results,
        ref_results,
    }
}

/// Name, signature and meaning of every standard host function.
pub static STANDARD: &[(&str, Signature, &str)] = &[
    (
        "print",
        sig(0, 1, 0, 0),
        "writes a string to standard output",
    ),
    (
        "print_int",
        sig(1, 0, 0, 0),
        "writes an integer in decimal to standard output",
    ),
    (
        "print_float",
        sig(1, 0, 0, 0),
        "writes a double in decimal to standard output",
    ),
    (
        "eprint",
        sig(0, 1, 0, 0),
        "writes a string to standard error",
    ),
    (
        "read_line",
        sig(0, 0, 1, 1),
        "reads a line with its newline: 1 and the line, or 0 at the end",
    ),
    (
        "arg_count",
        sig(0, 0, 1, 0),
        "the number of the program's arguments",
    ),
    (
        "arg",
        sig(1, 0, 0, 1),
        "the argument of this index, from 0; faults when there is none",
    ),
    (
        "clock",
        sig(0, 0, 1, 0),
        "nanoseconds of processor time since the start",
    ),
    (
        "time",
        sig(0, 0, 1, 0),
        "nanoseconds of real time since 1970",
    ),
    (
        "exit",
        sig(1, 0, 0, 0),
        "ends the run with this exit code, taken modulo 256",
    ),
    ("gc", sig(0, 0, 0, 0), "collects the whole heap"),
    ("sin", sig(1, 0, 1, 0), "the sine of a double"),
    ("cos", sig(1, 0, 1, 0), "the cosine of a double"),
    (
        "atan2",
        sig(2, 0, 1, 0),
        "the angle of the point (second, first)",
    ),
    ("exp", sig(1, 0, 1, 0), "e to the power of a double"),
    ("ln", sig(1, 0, 1, 0), "the natural logarithm of a double"),
    (
        "pow",
        sig(2, 0, 1, 0),
        "the first double to the power of the second",
    ),
];

/// The signature of the standard host function of this name.
pub fn standard_signature(name: &str) -> Option<Signature> {
    STANDARD
        .iter()
        .find(|(known, ..)| *known == name)
        .map(|(_, signature, _)| *signature)
}
