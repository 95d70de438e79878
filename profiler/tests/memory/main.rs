//! The file and the report of memory profiles. `BLESS=1` rewrites the golden texts.

mod file;
mod golden;
mod sample;
