//! Functions that the world may refuse: what it says is a value, not a fault.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{HostCall, HostError};
use crate::host::Denied;

/// Why such a function did not do what was asked.
pub(super) enum Refused {
    /// The world refuses: the program gets this code.
    Code(i32),
    /// The call does not return as others do.
    Host(HostError),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        let code = error.raw_os_error().unwrap_or_else(|| match error.kind() {
            io::ErrorKind::InvalidInput => libc::EINVAL,
            io::ErrorKind::IsADirectory => libc::EISDIR,
            _ => libc::EIO,
        });
        Self::Code(code)
    }
}

impl From<HostError> for Refused {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<Denied> for Refused {
    fn from(denied: Denied) -> Self {
        Self::Host(HostError::Denied(denied))
    }
}

/// Does the work, which sets all results but the first. That is 0 then; when the world refuses it
/// is the code, and the other results are 0 and empty.
pub(super) fn coded(
    call: &mut HostCall,
    work: impl FnOnce(&mut HostCall) -> Result<(), Refused>,
) -> Result<(), HostError> {
    let code = match work(call) {
        Ok(()) => 0,
        Err(Refused::Host(error)) => return Err(error),
        Err(Refused::Code(code)) => {
            (1..call.signature.int_results).for_each(|index| call.set_int(index, 0));
            for index in 0..call.signature.ref_results {
                call.set_text(index, b"")?;
            }
            code
        }
    };
    call.set_int(0, code.into());
    Ok(())
}

/// The path that argument `index` of the `r` class is.
pub(super) fn path_of(call: &HostCall, index: u8) -> Result<PathBuf, HostError> {
    Ok(PathBuf::from(OsStr::from_bytes(call.text(index)?)))
}

/// An argument of the `i` class that counts or places something; a negative one fails.
pub(super) fn count_of(call: &HostCall, index: u8) -> Result<usize, HostError> {
    usize::try_from(call.int(index)).map_err(|_| HostError::Failed)
}

/// Looks whether the run is to end, while something is awaited.
pub(super) fn look(call: &mut HostCall) -> Result<(), HostError> {
    match call.interrupted() {
        Some(signal) => Err(HostError::Interrupted(signal)),
        None => Ok(()),
    }
}

/// What a code means.
pub(super) fn error_message(call: &mut HostCall) -> Result<(), HostError> {
    let code = i32::try_from(call.int(0)).map_err(|_| HostError::Failed)?;
    let text = match code {
        0 => "no error".to_owned(),
        code => io::Error::from_raw_os_error(code).to_string(),
    };
    // The number is what the program has already.
    let message = text.split(" (os error").next().unwrap_or_default();
    call.set_text(0, message.as_bytes())
}
