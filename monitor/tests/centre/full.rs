//! A disk that is full under the centre, and a store that is none: told by all ways, held by the agents, and kept once when there is room again.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use testbed::process::ended;
use testbed::wait;

use super::{LIMIT, Stage, answer, earlier, orders};

/// A small disk in memory, gone when it goes out of scope.
struct Disk(PathBuf);

impl Disk {
    /// One at `place`; says aloud where none can be made.
    fn new(place: PathBuf) -> Option<Self> {
        fs::create_dir(&place).unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(&place).status();
        if mount.is_ok_and(|status| status.success()) {
            return Some(Self(place));
        }
        testbed::skip::aloud("a full disk under the monitor: no tmpfs can be mounted here (run as root)");
        None
    }

    /// Leaves no room on it.
    fn fill(&self) {
        let mut ballast = fs::File::create(self.0.join("ballast")).unwrap();
        while ballast.write_all(&[0; 4_096]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: whoever still has a file open on it does not keep it.
        let _ended = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_told_and_what_came_meanwhile_is_kept_once() {
    let mut stage = Stage::new("");
    let Some(disk) = Disk::new(stage.at("disk")) else { return };
    stage.store = "disk/monitor.db";
    let monitor = stage.start();
    disk.fill();
    let from = earlier(6);
    // Each answer takes another time, so that a minute takes room.
    let beats: Vec<_> = (0..200).map(|at| (from + at, answer(100_000 + at * 7_919 % 90_000))).collect();
    stage.tells(&beats);
    monitor.until("the log says it", |told| told.contains("history is not kept") && told.contains("the disk is full"));
    let fault = || stage.picture()["store_fault"].as_str().map(str::to_owned);
    wait::until("the page says it", || fault().is_some_and(|fault| fault.contains("the disk is full")));
    assert!(stage.get("/metrics", "").1.contains("sonde_monitor_store_up 0"));
    assert!(
        stage
            .get("/metrics", "")
            .1
            .contains("sonde_host_requests_total{host=\"a\",over=\"udp\",fate=\"answered\"} 200")
    );
    let kept = || orders(&stage.at("orders")).iter().filter(|order| order["do"] == "kept").count();
    assert_eq!(kept(), 0, "the agent is not told that it may forget");
    disk.make_room();
    monitor.until("the log says that it is over", |told| told.contains("history is kept again"));
    wait::until("all is kept", || stage.kept(from) == 200);
    wait::until("the page says that it is over", || fault().is_none());
    wait::until("the agent is told", || kept() > 0);
    assert!(stage.get("/metrics", "").1.contains("sonde_monitor_store_up 1"));
    monitor.signal(Signal::TERM);
    assert_eq!(monitor.end(LIMIT).code, Some(0));
}

#[test]
fn a_store_that_cannot_be_opened_is_said_with_what_to_try() {
    let stage = Stage::new("");
    fs::write(
        stage.at("monitor.db"),
        "this is a letter and no store, and it is long enough to be looked at\n".repeat(100),
    )
    .unwrap();
    let told = ended(&mut stage.command(), LIMIT);
    assert_eq!(told.code, Some(2));
    assert!(told.said("not a monitor store") && told.said("try:   name the store with --store"), "{}", told.told());
}
