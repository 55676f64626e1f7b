//! Cost of the recorder in the optimised program: instructions per exchange, and memory however long it runs.
//!
//! No more of that program is built than the recorder with its loop.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use bench::callgrind;
use bench::row::{CLOSED_CEILING, Feed, GROWTH, MEMORY_MIB, OPEN_CEILING};
use bench::subject::{instructions_per_record, peak_mib};
use test_case::test_case;

/// `record-loop` as the profile `dist` has it, built by whoever asks first.
static RECORD_LOOP: LazyLock<PathBuf> = LazyLock::new(|| {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--locked", "--profile", "dist", "--package", "record-loop"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.unwrap().success(), "record-loop does not build");
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("dist").join("record-loop")
});

#[test_case(Feed::Closed, CLOSED_CEILING; "closed loop")]
#[test_case(Feed::Open, OPEN_CEILING; "open loop")]
fn a_record_takes_no_more_instructions_than_its_ceiling(feed: Feed, ceiling: f64) {
    if !callgrind::is_here() {
        return testbed::skip::aloud("the recorder's instructions by callgrind: no valgrind");
    }
    let profiles = tempfile::tempdir().unwrap();
    let instructions = instructions_per_record(&RECORD_LOOP, feed, profiles.path()).unwrap();
    assert!(instructions > 10.0, "{instructions} instructions: the recorder did not run");
    assert!(instructions <= ceiling, "{instructions} instructions, at most {ceiling}");
}

#[test_case(Feed::Closed; "closed loop")]
#[test_case(Feed::Open; "open loop")]
fn a_hundred_million_exchanges_need_no_more_memory_than_a_million(feed: Feed) {
    let (few, many) =
        (peak_mib(&RECORD_LOOP, feed, 1_000_000).unwrap(), peak_mib(&RECORD_LOOP, feed, 100_000_000).unwrap());
    assert!(many <= few * GROWTH, "{many} MiB after 10^8, {few} MiB after 10^6");
    assert!(many <= MEMORY_MIB, "{many} MiB");
}
