//! The examples in Rust print what the files beside them say; `BLESS=1` rewrites those.

mod support;

#[path = "../examples/embed.rs"]
mod embed;
#[path = "../examples/host_functions.rs"]
mod host_functions;
#[path = "../examples/profile_from_rust.rs"]
mod profile_from_rust;

use std::error::Error;

use support::{expect_file, root};

/// Compares what an example prints with its file.
fn check(name: &str, run: impl FnOnce(&mut Vec<u8>) -> Result<(), Box<dyn Error>>) {
    let mut output = Vec::new();
    run(&mut output).unwrap_or_else(|error| panic!("{name}: {error}"));
    let path = root().join("examples").join(name).with_extension("out");
    expect_file(&path, &String::from_utf8_lossy(&output));
}

#[test]
fn embed_prints_what_it_should() {
    check("embed", embed::run);
}

#[test]
fn host_functions_prints_what_it_should() {
    check("host_functions", host_functions::run);
}

#[test]
fn profile_from_rust_prints_what_it_should() {
    check("profile_from_rust", profile_from_rust::run);
}
