//! Open files, and the standard streams as the handles 0, 1 and 2.

use std::io::{self, SeekFrom};
use std::ops::Range;

use super::coded::{Refused, count_of, look, path_of};
use super::{HostCall, HostError};
use crate::host::open_file::{Filled, N_STREAMS, OpenFile};
use crate::host::{BYTES_PER_FUEL, OpenMode};
use crate::safepoint::PART_BYTES;

const INPUT: i64 = 0;
const OUTPUT: i64 = 1;
const ERROR: i64 = 2;

/// How much is to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// As many bytes as are wanted, or to the end.
    Full,
    /// What there is, at least a byte if the end has not come.
    Some,
    /// To the end of a line.
    Line,
}

/// Opens the file whose path is the first argument; its handle is the second result.
pub(super) fn open(call: &mut HostCall, mode: OpenMode) -> Result<(), Refused> {
    let path = path_of(call, 0)?;
    // A pipe or device is opened without waiting; reads and writes look whether the run is to end.
    let opened = call.policy().check_open(&path, mode)?;
    if call.state().files.is_full() {
        return Err(Refused::Code(libc::EMFILE));
    }
    let file = opened.open(libc::O_NONBLOCK)?;
    if file.metadata()?.is_dir() {
        return Err(Refused::Code(libc::EISDIR));
    }
    let handle = call.state().files.keep(OpenFile::new(file, path, mode));
    call.set_int(1, handle);
    Ok(())
}

/// Makes a file in the folder that is the first argument, and opens it to be written.
pub(super) fn make_temporary(call: &mut HostCall) -> Result<(), Refused> {
    let folder = path_of(call, 0)?;
    call.policy().check_write(&folder)?;
    if call.state().files.is_full() {
        return Err(Refused::Code(libc::EMFILE));
    }
    let (path, file) = call.policy().make_temporary(&folder)??;
    let file = OpenFile::new(file, path.clone(), OpenMode::Write);
    let handle = call.state().files.keep(file);
    call.set_text(0, path.as_os_str().as_encoded_bytes())?;
    call.set_int(1, handle);
    Ok(())
}

pub(super) fn read(call: &mut HostCall) -> Result<(), Refused> {
    let limit = count_of(call, 1)?;
    read_until(call, limit, Until::Full)
}

pub(super) fn read_some(call: &mut HostCall) -> Result<(), Refused> {
    let limit = count_of(call, 1)?;
    read_until(call, limit, Until::Some)
}

pub(super) fn read_all(call: &mut HostCall) -> Result<(), Refused> {
    read_until(call, usize::MAX, Until::Full)
}

pub(super) fn read_line(call: &mut HostCall) -> Result<(), Refused> {
    read_until(call, usize::MAX, Until::Line)
}

/// Reads the whole file whose path is the first argument.
pub(super) fn read_file(call: &mut HostCall) -> Result<(), Refused> {
    let path = path_of(call, 0)?;
    let file = call.policy().check_open(&path, OpenMode::Read)?;
    let file = OpenFile::new(file.open(libc::O_NONBLOCK)?, path, OpenMode::Read);
    let handle = call.state().files.keep(file);
    let text = gather(call, handle, usize::MAX, Until::Full);
    call.state().files.close(handle);
    Ok(call.set_text(0, &text?)?)
}

/// Reads from the handle that is the first argument; the text is the result.
fn read_until(call: &mut HostCall, limit: usize, until: Until) -> Result<(), Refused> {
    let handle = call.int(0);
    if handle >= N_STREAMS {
        write_out(call, handle)?;
    }
    let text = gather(call, handle, limit, until)?;
    Ok(call.set_text(0, &text)?)
}

/// Reads a line of the input with its newline; nothing at its end.
pub(super) fn input_line(call: &mut HostCall) -> Result<Vec<u8>, HostError> {
    gather(call, INPUT, usize::MAX, Until::Line).map_err(|refused| match refused {
        Refused::Host(error) => error,
        Refused::Code(code) => {
            let error = io::Error::from_raw_os_error(code);
            HostError::Io(format!("cannot read the input: {error}"))
        }
    })
}

/// Reads at most `limit` bytes, in parts between which it looks whether the run is to end. What is
/// read is outside the heap until it is whole, so it is held to the heap's limit.
fn gather(
    call: &mut HostCall,
    handle: i64,
    limit: usize,
    until: Until,
) -> Result<Vec<u8>, Refused> {
    let mut text = Vec::new();
    loop {
        let unread = match handle {
            INPUT => call.io().unread(),
            _ => file(call, handle)?.unread(),
        };
        let most = unread.len().min(limit - text.len());
        let newline = match until {
            Until::Line => unread[..most].iter().position(|&byte| byte == b'\n'),
            Until::Full | Until::Some => None,
        };
        let count = newline.map_or(most, |at| at + 1);
        text.extend_from_slice(&unread[..count]);
        match handle {
            INPUT => call.io().take(count),
            _ => file(call, handle)?.take(count),
        }
        let is_enough = until == Until::Some && !text.is_empty();
        if newline.is_some() || is_enough || text.len() == limit {
            return Ok(text);
        }
        call.check_room(text.len())?;
        call.spend_fuel((count / BYTES_PER_FUEL) as u64)?;
        let filled = match handle {
            INPUT => call.io().fill()?,
            _ => file(call, handle)?.fill()?,
        };
        match filled {
            Filled::More => {}
            Filled::End => return Ok(text),
            Filled::NotYet => look(call)?,
        }
    }
}

/// The open file of a handle.
fn file(call: &mut HostCall, handle: i64) -> Result<&mut OpenFile, Refused> {
    let file = call.state().files.get(handle);
    file.ok_or(Refused::Code(libc::EBADF))
}

/// Writes all of the text.
pub(super) fn write(call: &mut HostCall) -> Result<(), Refused> {
    let end = call.text(0)?.len();
    write_range(call, 0..end)
}

/// Writes the part of the text that starts at the second `i` argument and has as many bytes as the
/// third says.
pub(super) fn write_part(call: &mut HostCall) -> Result<(), Refused> {
    let (start, count) = (count_of(call, 1)?, count_of(call, 2)?);
    let end = start.checked_add(count).ok_or(HostError::Failed)?;
    if end > call.text(0)?.len() {
        return Err(HostError::Failed.into());
    }
    write_range(call, start..end)
}

fn write_range(call: &mut HostCall, range: Range<usize>) -> Result<(), Refused> {
    let handle = call.int(0);
    let mut start = range.start;
    // Also when there is nothing to write, a handle that is none is noticed.
    loop {
        let end = range.end.min(start + PART_BYTES);
        let part = call.text(0)?[start..end].to_vec();
        match handle {
            OUTPUT => {
                let written = call.io().write(&part);
                written.map_err(|error| call.output_failed(&error))?;
            }
            ERROR => {
                let written = call.io().write_error(&part);
                written.map_err(|error| call.output_failed(&error))?;
            }
            _ => {
                while !file(call, handle)?.has_room() {
                    file(call, handle)?.write_some()?;
                    look(call)?;
                }
                file(call, handle)?.add(&part)?;
            }
        }
        call.spend_fuel((part.len() / BYTES_PER_FUEL) as u64)?;
        start = end;
        if start == range.end {
            return Ok(());
        }
    }
}

/// Writes out what waits to be written to a file, looking between two parts whether the run is to
/// end.
fn write_out(call: &mut HostCall, handle: i64) -> Result<(), Refused> {
    while !file(call, handle)?.write_some()? {
        look(call)?;
    }
    Ok(())
}

pub(super) fn flush(call: &mut HostCall) -> Result<(), Refused> {
    match call.int(0) {
        OUTPUT | ERROR => {
            let flushed = call.io().flush();
            Ok(flushed.map_err(|error| call.output_failed(&error))?)
        }
        handle => write_out(call, handle),
    }
}

/// Closes a file, also when what waits cannot be written. A standard stream stays open.
pub(super) fn close(call: &mut HostCall) -> Result<(), Refused> {
    let handle = call.int(0);
    match handle {
        INPUT => return Ok(()),
        OUTPUT | ERROR => return flush(call),
        _ => {}
    }
    let written = write_out(call, handle);
    if !matches!(written, Err(Refused::Host(_))) {
        call.state().files.close(handle);
    }
    written
}

pub(super) fn seek(call: &mut HostCall) -> Result<(), Refused> {
    let (handle, offset) = (call.int(0), call.int(1));
    let to = match call.int(2) {
        // The system refuses a negative place.
        0 => SeekFrom::Start(offset as u64),
        1 => SeekFrom::Current(offset),
        2 => SeekFrom::End(offset),
        _ => return Err(HostError::Failed.into()),
    };
    seek_to(call, handle, to)
}

pub(super) fn position(call: &mut HostCall) -> Result<(), Refused> {
    let handle = call.int(0);
    seek_to(call, handle, SeekFrom::Current(0))
}

fn seek_to(call: &mut HostCall, handle: i64, to: SeekFrom) -> Result<(), Refused> {
    if (0..N_STREAMS).contains(&handle) {
        return Err(Refused::Code(libc::ESPIPE));
    }
    write_out(call, handle)?;
    let place = file(call, handle)?.seek(to)?;
    call.set_int(1, place as i64);
    Ok(())
}

pub(super) fn size(call: &mut HostCall) -> Result<(), Refused> {
    let handle = call.int(0);
    if (0..N_STREAMS).contains(&handle) {
        return Err(Refused::Code(libc::ESPIPE));
    }
    write_out(call, handle)?;
    let bytes = file(call, handle)?.size()?;
    call.set_int(1, bytes as i64);
    Ok(())
}
