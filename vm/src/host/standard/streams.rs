//! The standard streams, the program's arguments, and its end.

use super::{HostCall, HostError, files};
use crate::host::HostIo;
use crate::interp::handlers::text::format_float;

/// Writes a short text to the output.
fn write(call: &mut HostCall, text: &str) -> Result<(), HostError> {
    let written = call.io().write(text.as_bytes());
    written.map_err(|error| call.output_failed(&error))
}

pub(super) fn print(call: &mut HostCall) -> Result<(), HostError> {
    call.write_text(0, HostIo::write)
}

pub(super) fn print_line(call: &mut HostCall) -> Result<(), HostError> {
    call.write_text(0, HostIo::write)?;
    write(call, "\n")
}

pub(super) fn print_int(call: &mut HostCall) -> Result<(), HostError> {
    let text = call.int(0).to_string();
    write(call, &text)
}

pub(super) fn print_float(call: &mut HostCall) -> Result<(), HostError> {
    let text = format_float(call.float(0));
    write(call, &text)
}

pub(super) fn eprint(call: &mut HostCall) -> Result<(), HostError> {
    call.write_text(0, HostIo::write_error)
}

pub(super) fn read_line(call: &mut HostCall) -> Result<(), HostError> {
    let line = files::input_line(call)?;
    call.set_int(0, !line.is_empty() as i64);
    call.set_text(0, &line)
}

pub(super) fn argument_count(call: &mut HostCall) -> Result<(), HostError> {
    let count = call.io().arguments.len();
    call.set_int(0, count as i64);
    Ok(())
}

pub(super) fn argument(call: &mut HostCall) -> Result<(), HostError> {
    let index = call.int(0) as u64 as usize;
    let argument = call.io().arguments.get(index).cloned();
    call.set_text(0, &argument.ok_or(HostError::Failed)?)
}

pub(super) fn exit(call: &mut HostCall) -> Result<(), HostError> {
    Err(HostError::Exit(call.int(0) as u8))
}
