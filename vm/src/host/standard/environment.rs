//! The environment, and random numbers.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::coded::Refused;
use super::{HostCall, HostError};

pub(super) fn variable(call: &mut HostCall) -> Result<(), HostError> {
    let value = env::var_os(OsStr::from_bytes(call.text(0)?));
    call.set_int(0, value.is_some() as i64);
    call.set_text(0, value.unwrap_or_default().as_bytes())
}

pub(super) fn current_folder(call: &mut HostCall) -> Result<(), Refused> {
    let path = env::current_dir()?;
    Ok(call.set_text(0, path.as_os_str().as_bytes())?)
}

pub(super) fn program_name(call: &mut HostCall) -> Result<(), HostError> {
    let name = call.io().program_name.clone();
    call.set_text(0, &name)
}
