//! `vm mem`: shows memory profiles.

use std::process::ExitCode;

use profiler::memory::report::{self, MemoryReportOptions};
use profiler::memory::{Measure, MemoryFile};

use super::{fail, print};
use crate::cli::{MeasureArg, MemArgs, exit};

/// Shows a memory profile, or several of the same program added up.
pub(crate) fn run(args: &MemArgs) -> ExitCode {
    let mut merged: Option<MemoryFile> = None;
    for path in &args.files {
        let file = match MemoryFile::read_file(path) {
            Ok(file) => file,
            Err(error) => return fail(&error.to_string(), exit::FAILED),
        };
        let result = match &mut merged {
            Some(sum) => sum.absorb(&file),
            None => {
                merged = Some(file);
                Ok(())
            }
        };
        if let Err(error) = result {
            return fail(&format!("{}: {error}", path.display()), exit::FAILED);
        }
    }
    let Some(file) = merged else {
        return fail("no file is given", exit::USAGE);
    };
    let options = MemoryReportOptions {
        by: args.by.into(),
        top: args.top,
        stacks: args.stacks,
        objects: args.objects,
    };
    let mut text = Vec::new();
    match report::run(&file, &options, &mut text) {
        Ok(()) => print(&text),
        Err(error) => fail(&error.to_string(), exit::FAILED),
    }
}

impl From<MeasureArg> for Measure {
    fn from(arg: MeasureArg) -> Self {
        match arg {
            MeasureArg::Live => Self::Live,
            MeasureArg::Allocated => Self::Allocated,
            MeasureArg::Peak => Self::Peak,
            MeasureArg::Promoted => Self::Promoted,
            MeasureArg::ShortLived => Self::ShortLived,
        }
    }
}
