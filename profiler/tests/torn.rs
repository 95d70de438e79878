//! A profile file is the old one or the new one at every moment, also when the writer is killed.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, hint};

use profiler::mlmon::Mlmon;
use profiler::{Kind, ProfileData, SourceId, SourceMap, SourceMapBuilder, SourceSeqId};

/// Tells a copy of this test program to be the writer, and where to write.
const WRITER: &str = "TALLY_TEST_WRITER";

/// What the writer prints after each file.
const WRITTEN: &str = "written";

fn sources() -> SourceMap {
    let mut builder = SourceMapBuilder::new();
    for line in 1..5_000 {
        let name = builder.add_name(&SourceMap::name_text("f", "f.asm", line));
        builder.add_source(name, SourceSeqId::EMPTY);
    }
    builder.finish(7).unwrap()
}

/// Writes files whose rows are all the same number, one file after the other, for ever. It runs
/// in a copy of this program; as a test of its own it does nothing.
#[test]
fn writer() {
    let Some(path) = env::var_os(WRITER) else {
        return;
    };
    let map = sources();
    let data = ProfileData::new(map.sources.len());
    loop {
        for node in data.nodes().iter().skip(SourceId::MAIN.index()) {
            node.count_call();
        }
        data.write(Kind::Count, &map, Path::new(&path)).unwrap();
        // The parent hears the first lines only; nobody minds that the pipe is closed then.
        let _ = writeln!(io::stdout(), "\n{WRITTEN}");
    }
}

/// Keeps this thread busy for a while that depends on nothing but the machine's speed.
fn spin(rounds: u64) {
    (0..rounds).for_each(|round| {
        hint::black_box(round);
    });
}

#[test]
fn a_killed_writer_leaves_a_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mlmon.out");
    let map = sources();
    for round in 0..40 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "writer", "--nocapture"])
            .env(WRITER, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let n_written = lines.filter(|line| line.as_ref().is_ok_and(|line| line == WRITTEN));
        assert_eq!(n_written.take(2).count(), 2, "the writer ended by itself");
        // A different moment each time, in steps that no write keeps pace with.
        spin(round * 27_700);
        child.kill().unwrap();
        child.wait().unwrap();
        let file = Mlmon::read_file(&path).unwrap();
        let count = file.sources[SourceId::MAIN.index()].current;
        assert_eq!(file.sources.len(), map.sources.len());
        assert_eq!(file.totals.total, count * (map.sources.len() as u64 - 2));
    }
    let data = ProfileData::new(map.sources.len());
    data.write(Kind::Count, &map, &path).unwrap();
    let n_files = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(n_files, 1, "killed writers have left temporary files");
}
