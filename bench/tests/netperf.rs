//! The rows against netperf can be run: the original serves and measures over both paths, and its figures are found.

use std::sync::Arc;

use bench::netperf::Netperf;
use bench::process::Priority;
use bench::row::{Figure, NetperfTest, Path};
use lab::namespace::{NamespaceError, Pair};

#[test]
fn the_original_runs_over_both_paths() {
    let here = std::process::Command::new("netserver").arg("-V").output().is_ok_and(|output| output.status.success());
    if !here {
        return testbed::skip::aloud(
            "the bench's rows against netperf: it is not installed (Debian's non-free component)",
        );
    }
    let figures = [Figure::Rate, Figure::Least, Figure::Mean];
    let run = |path, pair: Option<&Arc<Pair>>| {
        let [rate, least, mean] =
            Netperf::Original.run(NetperfTest::UdpRr, path, pair, figures, Priority::Normal).unwrap();
        assert!(rate > 100.0 && least >= 1.0 && mean >= least, "{rate} {least} {mean}");
    };
    run(Path::Loopback, None);
    match Pair::new() {
        Ok(pair) => run(Path::Veth, Some(&Arc::new(pair))),
        Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
        Err(error) => testbed::skip::aloud(&format!("the bench's rows against netperf between namespaces: {error}")),
    }
}
