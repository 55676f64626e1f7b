//! Replays the committed inputs of the fuzzer through the functions the fuzz targets run, without the fuzzer.

use std::fs;
use std::path::{Path, PathBuf};

use testbed::corpus::{BLOCK, files};
use testbed::drive;

/// Number of inputs when they were last counted. The fuzzer finds more, and none is thrown away.
const INPUTS: usize = 6_205;
/// Targets that drive what stands above this crate, and replay their inputs there.
const ELSEWHERE: [&str; 1] = ["report_text"];

#[test]
fn every_input_that_taught_the_fuzzer_something_still_passes() {
    let mut all = 0;
    for (target, drive) in drive::ALL {
        let path = fuzz().join(format!("inputs/{target}.tar"));
        let archive = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let inputs = files(&archive).unwrap_or_else(|| panic!("{}: damaged", path.display()));
        assert!(!inputs.is_empty(), "{}: no inputs", path.display());
        all += inputs.len();
        for (name, octets) in inputs {
            assert!(std::panic::catch_unwind(|| drive(octets)).is_ok(), "{name} breaks an invariant");
        }
    }
    assert!(all >= INPUTS, "{} of {INPUTS} inputs are lost", INPUTS - all);
}

#[test]
fn a_damaged_archive_is_not_a_shorter_one() {
    let archive = fs::read(fuzz().join("inputs/inquiry.tar")).expect("the archive of a target");
    let inputs = files(&archive).expect("a whole archive");
    assert_eq!(inputs[0], ("inquiry/echo", &b"\xff"[..]));
    for length in 0..archive.len() - BLOCK {
        assert_eq!(files(&archive[..length]), None, "cut at {length}");
    }
}

#[test]
fn every_target_is_in_the_fuzz_crate_and_the_other_way_round() {
    let mut driven: Vec<_> = drive::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    driven.extend(ELSEWHERE.map(str::to_owned));
    driven.sort();
    assert_eq!(stems("fuzz_targets"), driven);
    assert_eq!(stems("inputs"), driven);
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Names of the files in a folder of the fuzz crate, without what they end in.
fn stems(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(fuzz().join(folder)).expect("a folder of the fuzz crate");
    let stem = |path: PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut stems: Vec<_> = entries.map(|entry| stem(entry.expect("a readable folder").path())).collect();
    stems.sort();
    stems
}
