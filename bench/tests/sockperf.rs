//! The rows against sockperf can be run: the original serves and measures in every way, and its figures are found.

use bench::ladder::Rung;
use bench::process::Priority;
use bench::row::{Carrier, Waiting};
use bench::sockperf::{Setting, Sockperf};

#[test]
fn the_original_floods_and_exchanges() {
    let here = std::process::Command::new("sockperf").arg("--version").output().is_ok();
    if !here {
        return testbed::skip::aloud("the bench's rows against sockperf: it is not installed");
    }
    let original = Sockperf::Original;
    for setting in [Setting { roams: false, polls: false }, Setting { roams: true, polls: true }] {
        let flood = original.flood(&original, setting, Rung::Rate(2_000), Priority::Normal).unwrap();
        assert!((0.5..3.0).contains(&flood.seconds) && flood.sent > 100.0, "{flood:?}");
        // The server counts what the client sent after its last count, too.
        assert!(flood.received > 0.0 && flood.received <= flood.sent + 1.0, "{flood:?}");
    }
    for carrier in [Carrier::Udp, Carrier::Tcp] {
        for waiting in [Waiting::Block, Waiting::Spin] {
            assert!(original.exchanges(carrier, waiting, Priority::Normal).unwrap() > 10.0);
        }
    }
}
