//! Chooses how the interpreter goes from one handler to the next.
//!
//! Handlers end in a call of the next handler. Where the optimiser makes tail calls, that call is a
//! jump, and the interpreter uses no native stack (`cfg(tail_dispatch)`). At opt-levels 0 and 1 it
//! would be a call, so there a loop calls one handler after the other; the handlers are the same.
//! Debug assertions say nothing about the optimiser, which is why they are not asked.

use std::env;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(tail_dispatch)");
    println!("cargo::rerun-if-changed=build.rs");
    let opt_level = env::var("OPT_LEVEL").unwrap_or_default();
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    // Architectures on which LLVM turns sibling calls of these signatures into jumps.
    let jumps = ["x86_64", "aarch64"].contains(&arch.as_str());
    if !["0", "1"].contains(&opt_level.as_str()) && jumps {
        println!("cargo::rustc-cfg=tail_dispatch");
    }
}
