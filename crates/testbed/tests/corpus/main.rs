//! Replays the committed inputs of the fuzzer through the functions the fuzz targets run, without the fuzzer.

use std::fs;
use std::path::{Path, PathBuf};

use testbed::drive;

/// How many inputs there were when they were last counted. The fuzzer finds more, and none is thrown away.
const INPUTS: usize = 6_188;
/// A tar archive is made of blocks of this many octets.
const BLOCK: usize = 512;

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

/// The files of a tar archive as `make/fuzz` packs it, each with its name; none where it is cut off.
fn files(mut archive: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut files = Vec::new();
    loop {
        let (head, rest) = archive.split_at_checked(BLOCK)?;
        if head.iter().all(|octet| *octet == 0) {
            return Some(files);
        }
        let name = str::from_utf8(&head[..100]).ok()?.trim_end_matches('\0');
        let size = usize::from_str_radix(str::from_utf8(&head[124..135]).ok()?, 8).ok()?;
        if head[156] == b'0' {
            files.push((name, rest.get(..size)?));
        }
        archive = rest.get(size.next_multiple_of(BLOCK)..)?;
    }
}
