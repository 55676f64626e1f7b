//! The forwarder: what it says it did to packets is what the hosts on both sides of it saw.

use std::io::Read;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use test_case::test_case;

use crate::scene::{Scene, counts, document, number, sonde_in};

/// `sonde forward --json` between the hosts of a scene.
struct Running(Child);

impl Running {
    fn start(scene: &Scene, link: &[&str]) -> Self {
        let mut command = sonde_in(scene.near());
        command.args(["forward", "-", scene.far().name(), "--json"]).args(link);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        let mut said = [0; 15];
        child.stderr.as_mut().expect("piped").read_exact(&mut said).expect("a line");
        assert_eq!(&said, b"sonde forward: ");
        Self(child)
    }

    /// Ends it: what it counted.
    fn counts(mut self) -> Value {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("running");
        let mut text = String::new();
        self.0.stdout.as_mut().expect("piped").read_to_string(&mut text).expect("text");
        assert!(self.0.wait().expect("ended").success());
        let counts: Value = serde_json::from_str(&text).expect("JSON");
        for way in ["there", "back"] {
            let of = |name: &str| number(&counts, &format!("/{way}/{name}"));
            let gone = of("lost") + of("dropped") + of("delivered") + of("refused") + of("held");
            assert_eq!(of("taken") + of("duplicated"), gone, "{counts}");
        }
        counts
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

/// The record of so many echoes, one a millisecond, over the forwarder. They are counted by nobody else: other packets of the
/// link are none of ICMP.
fn echoes(scene: &Scene, count: &str) -> Value {
    let words = [
        "rtt",
        "--json",
        "-q",
        "10.181.8.2",
        "--icmp",
        "-c",
        count,
        "--every",
        "1ms",
        "--timeout",
        "2s",
        "--warm-up",
        "0",
    ];
    document(&sonde_in(scene.near()).args(words).output().expect("started"))
}

#[test]
fn a_delay_is_added_each_way() {
    let Some(scene) = Scene::beside("a forwarder's delay") else { return };
    let running = Running::start(&scene, &["--delay", "20ms"]);
    let record = echoes(&scene, "200");
    assert_eq!(counts(&record).answered, 200);
    // None is early, and however busy the machine is, not all of them are late.
    let shortest = number(&record, "/outcome/response/min_ns");
    assert!((40_000_000..50_000_000).contains(&shortest), "{shortest}");
    let counts = running.counts();
    assert!(number(&counts, "/there/delivered") >= 200 && number(&counts, "/back/delivered") >= 200);
}

#[test_case("7"; "seven")]
#[test_case("8"; "eight")]
fn losses_are_those_that_it_counts(seed: &str) {
    let Some(scene) = Scene::beside("a forwarder's losses") else { return };
    let running = Running::start(&scene, &["--loss", "10%", "--seed", seed]);
    let fates = counts(&echoes(&scene, "1000"));
    let counts = running.counts();
    let lost = number(&counts, "/there/lost") + number(&counts, "/back/lost");
    assert_eq!((fates.scheduled, fates.lost), (1_000, lost), "{counts}");
    // 1000 packets there and 900 back at a tenth: 190 less six standard deviations.
    assert!((110..=270).contains(&lost), "{lost}");
}

#[test]
fn copies_are_those_that_it_counts() {
    let Some(scene) = Scene::beside("a forwarder's copies") else { return };
    let running = Running::start(&scene, &["--duplicate", "10%", "--one-way"]);
    let record = echoes(&scene, "500");
    let counts = running.counts();
    assert_eq!(number(&record, "/outcome/counts/duplicated"), number(&counts, "/there/duplicated"), "{counts}");
    assert_eq!(number(&counts, "/back/duplicated"), 0);
}

/// The way back loses nothing, so each request without a reply was lost on the way there, whatever copies the path makes.
#[test_case("rtt", &["-c", "1000", "--every", "1ms", "--timeout", "1s"]; "round trips")]
#[test_case("load", &["-t", "1s", "--rate", "2000", "--reply-every", "1", "--timeout", "1s"]; "a load that is answered")]
#[test_case("load", &["-t", "1s", "--rate", "2000", "--timeout", "1s"]; "a load")]
fn copies_are_no_requests(command: &str, method: &[&str]) {
    let Some(scene) = Scene::beside("losses beside copies") else { return };
    let _reflector = scene.reflector(&[]);
    let running = Running::start(&scene, &["--loss", "5%", "--duplicate", "5%", "--one-way", "--seed", "3"]);
    let words = [&[command, "--json", "-q", "10.181.8.2", "--udp", "--warm-up", "0"], method].concat();
    let record = document(&sonde_in(scene.near()).args(&words).output().expect("started"));
    let (fates, counts) = (counts(&record), running.counts());
    let [there, back] = ["forward", "reverse"].map(|way| number(&record, &format!("/outcome/loss/{way}")));
    assert_eq!(back, 0, "{record}");
    if fates.one_way == 0 {
        assert_eq!(there, fates.lost, "{fates:?}");
    }
    // A tenth more than chance has it, for those of the control connection.
    let lost = number(&counts, "/there/lost");
    assert!(there > 20 && there <= lost, "{there} of {counts}");
}

#[test]
fn copies_on_both_ways_leave_each_way_its_losses() {
    let Some(scene) = Scene::beside("losses beside copies on both ways") else { return };
    let _reflector = scene.reflector(&[]);
    let running = Running::start(&scene, &["--loss", "5%", "--duplicate", "10%", "--seed", "5"]);
    let words = ["rtt", "--json", "-q", "10.181.8.2", "--udp", "--warm-up", "0", "-c", "1000", "--every", "1ms"];
    let record = document(&sonde_in(scene.near()).args(words).output().expect("started"));
    let (fates, _) = (counts(&record), running.counts());
    let [there, back] = ["forward", "reverse"].map(|way| number(&record, &format!("/outcome/loss/{way}")));
    assert_eq!(there + back, fates.lost, "{fates:?}");
    // Each loses a twentieth, or less of what was doubled: 45 less six standard deviations.
    assert!(there > 10 && back > 10, "{there} there, {back} back");
}

/// Among the late ones are the last of a stream, which the word that it has ended overtakes.
#[test_case(&[]; "there")]
#[test_case(&["--reverse"]; "back")]
fn datagrams_that_only_come_late_are_not_lost(way: &[&str]) {
    let Some(scene) = Scene::beside("a stream of datagrams on a path of uneven delay") else { return };
    let _reflector = scene.reflector(&[]);
    let running = Running::start(&scene, &["--delay", "20ms", "--jitter", "15ms", "--seed", "9"]);
    let stream = ["throughput", "--json", "-q", "10.181.8.2", "--udp", "--rate", "4M", "-t", "1s", "--no-test"];
    let record = document(&sonde_in(scene.near()).args(stream).args(way).output().expect("started"));
    running.counts();
    let count = |name: &str| number(&record, &format!("/stream/detail/datagrams/{name}"));
    let (came, lost) = (count("received"), count("lost"));
    assert!(lost == 0 && came == count("expected") && came > 100 && count("out_of_order") > 10, "{came}, {lost} lost");
}

/// Both namespaces read the clock of one host.
#[test]
fn a_delay_of_one_way_is_told_as_such_where_the_clocks_are_said_to_agree() {
    let Some(scene) = Scene::beside("a delay of one way") else { return };
    let _reflector = scene.reflector(&["--stamp", "--stamp-port", "8620"]);
    let _running = Running::start(&scene, &["--delay", "5ms", "--one-way"]);
    let measured = |agreed: &[&str]| {
        let words =
            ["rtt", "--json", "-q", "10.181.8.2", "--peer", "stamp", "--port", "8620", "-c", "200", "--every", "2ms"];
        document(&sonde_in(scene.near()).args(words).args(agreed).output().expect("started"))
    };
    let one_way = "/outcome/one_way";
    let estimated = measured(&[]);
    assert!(number(&estimated, &format!("{one_way}/clock/bound_ns")) > 2_400_000, "half of the round trip");
    let agreed = measured(&["--clocks-agree", "1us"]);
    assert_eq!(agreed.pointer(&format!("{one_way}/agreement/holds")), Some(&Value::Bool(true)));
    let [there, back, bound] =
        ["forward/min_ns", "reverse/min_ns", "clock/bound_ns"].map(|of| number(&agreed, &format!("{one_way}/{of}")));
    assert!((5_000_000..8_000_000).contains(&there) && back < 1_000_000 && bound < 2_000, "{there} {back} {bound}");
}

#[test]
fn a_namespace_that_is_not_there_is_named_with_what_to_do() {
    let Some(scene) = Scene::beside("a forwarder without an end") else { return };
    let output = sonde_in(scene.near()).args(["forward", "-", "no-such-place"]).output().expect("started");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("/run/netns/no-such-place: cannot enter that network namespace"), "{said}");
    assert!(said.contains("ip netns list"), "{said}");
}
