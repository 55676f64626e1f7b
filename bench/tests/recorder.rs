//! What the recorder costs, as the release build has it: instructions per exchange, and memory however long it runs.
//!
//! In a debug build these figures mean nothing, so the tests are ignored there: `cargo test --release -p bench`.

use std::path::Path;

use bench::callgrind;
use bench::row::{CLOSED_CEILING, Feed, GROWTH, MEMORY_MIB, OPEN_CEILING};
use bench::subject::{instructions_per_record, peak_mib};
use test_case::test_case;

#[test_case(Feed::Closed, CLOSED_CEILING; "closed loop")]
#[test_case(Feed::Open, OPEN_CEILING; "open loop")]
#[cfg_attr(debug_assertions, ignore = "counts the instructions of the release build")]
fn a_record_takes_no_more_instructions_than_its_ceiling(feed: Feed, ceiling: f64) {
    if !callgrind::is_here() {
        return testbed::skip::aloud("the recorder's instructions by callgrind: no valgrind");
    }
    let profiles = tempfile::tempdir().unwrap();
    let instructions =
        instructions_per_record(Path::new(env!("CARGO_BIN_EXE_record-loop")), feed, profiles.path()).unwrap();
    assert!(instructions > 10.0, "{instructions} instructions: the recorder did not run");
    assert!(instructions <= ceiling, "{instructions} instructions, at most {ceiling}");
}

#[test_case(Feed::Closed; "closed loop")]
#[test_case(Feed::Open; "open loop")]
#[cfg_attr(debug_assertions, ignore = "takes a minute in a debug build")]
fn a_hundred_million_exchanges_need_no_more_memory_than_a_million(feed: Feed) {
    let program = Path::new(env!("CARGO_BIN_EXE_record-loop"));
    let (few, many) = (peak_mib(program, feed, 1_000_000).unwrap(), peak_mib(program, feed, 100_000_000).unwrap());
    assert!(many <= few * GROWTH, "{many} MiB after 10^8, {few} MiB after 10^6");
    assert!(many <= MEMORY_MIB, "{many} MiB");
}
