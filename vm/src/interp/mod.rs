//! The interpreter: handlers that jump from one to the next over threaded code.
//!
//! | module | what it holds |
//! |---|---|
//! | `handlers` | the handlers, by topic |
//! | `slow` | cold handlers, which go by way of a safepoint |
//! | `ways` | the ways on from a handler |
//!
//! The interpreter never asks whether a profile is taken: the loader writes other handlers.

pub(crate) mod handlers;
pub(crate) mod slow;
mod ways;
