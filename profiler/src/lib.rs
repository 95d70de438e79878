//! Placeholder line.
