//! Names of files and folders.

use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;

use super::HostCall;
use super::coded::{Refused, path_of};

/// How many names are read for one unit of fuel.
const NAMES_PER_FUEL: usize = 1 << 4;

pub(super) fn remove_file(call: &mut HostCall) -> Result<(), Refused> {
    let path = path_of(call, 0)?;
    Ok(call.policy().remove_file(&path)??)
}

pub(super) fn rename(call: &mut HostCall) -> Result<(), Refused> {
    let (from, to) = (path_of(call, 0)?, path_of(call, 1)?);
    Ok(call.policy().rename(&from, &to)??)
}

pub(super) fn make_folder(call: &mut HostCall) -> Result<(), Refused> {
    let path = path_of(call, 0)?;
    Ok(call.policy().make_folder(&path)??)
}

pub(super) fn remove_folder(call: &mut HostCall) -> Result<(), Refused> {
    let path = path_of(call, 0)?;
    Ok(call.policy().remove_folder(&path)??)
}

pub(super) fn info(call: &mut HostCall) -> Result<(), Refused> {
    let path = path_of(call, 0)?;
    let found = call.policy().info(&path)??;
    let modified = found.mtime().saturating_mul(1_000_000_000);
    call.set_int(1, kind_of(&found));
    call.set_int(2, found.len() as i64);
    call.set_int(3, modified.saturating_add(found.mtime_nsec()));
    Ok(())
}

pub(super) fn resolve(call: &mut HostCall) -> Result<(), Refused> {
    let path = path_of(call, 0)?;
    let found = call.policy().resolve(&path)??;
    Ok(call.set_text(0, found.as_os_str().as_bytes())?)
}

/// 1 for a file, 2 for a folder, 3 for anything else.
fn kind_of(found: &Metadata) -> i64 {
    match (found.is_file(), found.is_dir()) {
        (true, _) => 1,
        (_, true) => 2,
        _ => 3,
    }
}

/// The names in order, each with a zero byte behind it: no name has one.
pub(super) fn list(call: &mut HostCall) -> Result<(), Refused> {
    let path = path_of(call, 0)?;
    let mut names = Vec::new();
    let mut bytes = 0;
    for name in call.policy().list(&path)?? {
        let name = name?;
        bytes += name.as_bytes().len() + 1;
        names.push(name.into_vec());
        if names.len() % NAMES_PER_FUEL == 0 {
            call.spend_fuel(1)?;
            call.check_room(bytes)?;
        }
    }
    names.sort_unstable();
    let mut text = Vec::with_capacity(bytes);
    for name in names {
        text.extend(name);
        text.push(0);
    }
    Ok(call.set_text(0, &text)?)
}
