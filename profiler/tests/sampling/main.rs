//! Statistical tests of the sampler and of the estimates that cannot flake.
//!
//! Every seed is fixed, so a test passes always or never. Bounds hold with a probability of 1 -
//! 1e-9 for a right sampler, by inequalities that need no large numbers, so another seed or
//! generator passes as well. `mutants.rs` keeps wrong samplers, each of which must be caught.

mod bounds;
mod clock;
mod coverage;
mod mutants;
mod skips;
mod totals;
