//! How many random inputs a test tries, and with which seed it begins.
//!
//! `TALLY_CAMPAIGN` is `short`, which is the default, or `long`, which the optimised part of
//! `.ci/run` asks for, or a number N for N times as much as `long`. `TALLY_SEED` is the first seed
//! of tests that number their inputs.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test program uses its own part"
)]

/// How much to do: `short` or `long`, as the environment asks.
pub fn size(short: u64, long: u64) -> u64 {
    match std::env::var("TALLY_CAMPAIGN").as_deref() {
        Err(_) | Ok("short") => short,
        Ok("long") => long,
        Ok(times) => match times.parse::<u64>() {
            Ok(times) => times * long,
            Err(_) => panic!("TALLY_CAMPAIGN is short, long or a number, not {times:?}"),
        },
    }
}

/// The first seed: `usual` unless the environment asks for another.
pub fn first_seed(usual: u64) -> u64 {
    let asked = std::env::var("TALLY_SEED").ok();
    asked.map_or(usual, |text| text.parse().expect("TALLY_SEED is a number"))
}
