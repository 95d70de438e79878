//! Units of profile data.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{HostCall, HostError};
use crate::units::Unit;

/// The unit that the first argument names.
fn unit_of(call: &HostCall) -> Result<Unit, HostError> {
    u32::try_from(call.int(0))
        .map(Unit)
        .map_err(|_| HostError::Failed)
}

pub(super) fn is_on(call: &mut HostCall) -> Result<(), HostError> {
    call.set_int(0, call.is_profiled() as i64);
    Ok(())
}

pub(super) fn new(call: &mut HostCall) -> Result<(), HostError> {
    let unit = call.new_unit();
    call.set_int(0, unit.0 as i64);
    Ok(())
}

pub(super) fn free(call: &mut HostCall) -> Result<(), HostError> {
    call.free_unit(unit_of(call)?)
}

pub(super) fn current(call: &mut HostCall) -> Result<(), HostError> {
    call.set_int(0, call.current_unit().0 as i64);
    Ok(())
}

pub(super) fn switch(call: &mut HostCall) -> Result<(), HostError> {
    let before = call.switch_unit(unit_of(call)?)?;
    call.set_int(0, before.0 as i64);
    Ok(())
}

pub(super) fn write(call: &mut HostCall) -> Result<(), HostError> {
    let path = PathBuf::from(OsStr::from_bytes(call.text(0)?));
    call.write_unit(unit_of(call)?, &path)
}
