//! Replays the committed fuzz corpus through the functions the fuzz targets run, without the fuzzer.

use std::fs;
use std::path::Path;

use protocol::drive;

#[test]
fn every_input_that_taught_the_fuzzer_something_still_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (target, drive) in drive::ALL {
        let folder = corpus.join(target);
        let inputs: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.expect("a readable folder").path())
            .collect();
        assert!(!inputs.is_empty(), "{target}: no corpus");
        for input in inputs {
            let octets = fs::read(&input).expect("a readable input");
            assert!(std::panic::catch_unwind(|| drive(&octets)).is_ok(), "{} breaks an invariant", input.display());
        }
    }
}

#[test]
fn every_target_is_in_the_fuzz_crate_and_the_other_way_round() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let mut targets: Vec<_> = fs::read_dir(folder)
        .expect("the fuzz crate")
        .map(|entry| {
            entry.expect("a readable folder").path().file_stem().unwrap_or_default().to_string_lossy().into_owned()
        })
        .collect();
    let mut driven: Vec<_> = drive::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
    targets.sort();
    driven.sort();
    assert_eq!(targets, driven);
}
