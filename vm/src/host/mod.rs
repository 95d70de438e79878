//! Host functions: what programs can ask of the world around the machine.

mod standard;

pub use standard::{STANDARD, standard_signature};
