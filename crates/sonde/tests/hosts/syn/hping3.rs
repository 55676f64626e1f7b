//! The original and ours towards the same host: the same lines but for times and random numbers, the same counts.

use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

use test_case::test_case;

use crate::syn::scene::{Scene, counts, installed, sonde_in};

/// Each of these values is another one in each run.
const VARYING: [&str; 7] = ["rtt=", "hoprtt=", "ack=", "sum=", "tcpts=", "id=", "port="];

/// The text with what varies taken out; of a verbose reply also TCP's own number.
fn form(text: &str) -> String {
    let line = |line: &str| {
        let words = line.split(' ').map(|word| match VARYING.iter().find(|name| word.starts_with(*name)) {
            Some(name) => (*name).to_owned(),
            None if line.starts_with("seq=") && word.starts_with("seq=") => "seq=".to_owned(),
            None => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().filter(|line| !line.starts_with("round-trip")).map(line).collect::<Vec<_>>().join("\n")
}

fn text(output: &Output) -> (String, String, Option<i32>) {
    let form = |octets: &[u8]| form(&String::from_utf8_lossy(octets));
    (form(&output.stdout), form(&output.stderr), output.status.code())
}

const FIREWALL: &str = "table inet truth { chain input { type filter hook input priority 0; \
    tcp dport 81 drop; \
    tcp dport 82 reject with icmpx port-unreachable; \
    tcp dport 83 reject with icmpx admin-prohibited; \
    tcp dport 84 reject with icmpx host-unreachable; \
    udp dport 81 drop; \
    udp dport 83 reject with icmpx admin-prohibited; \
    ip daddr 10.181.9.2 icmp type echo-request ip dscp 8 drop; }; }";

/// The original leaves an interval behind its last packet, answered or not: short ones would lose answers on a busy machine.
const INTERVAL: &str = "u300000";

#[test_case(&["-c 4 -p 11111", "-S -p 7663 -c 3", "-S -p 81 -c 2"]; "the line of the articles, open, dropped")]
#[test_case(&["-S -p 11111 -c 3", "-A -p 7663 -c 2", "-F -p 11111 -c 2", "-R -p 11111 -c 2"]; "other flags")]
#[test_case(&["-U -P -p 11111 -c 2", "-S -X -Y -p 7663 -c 2", "-S -w 1000 -y -s 5000 -p 7663 -c 2"]; "odd headers")]
#[test_case(&["-S -V -p 7663 -c 2", "-V -p 11111 -c 2", "-S -q -p 7663 -c 2", "-S -r -p 7663 -c 3", "-S -Q -q -V -p 11111 -c 2"]; "more and less words")]
#[test_case(&["-S -d 64 -p 11111 -c 2", "-S --tcp-timestamp -p 7663 -c 2", "-S -b -p 7663 -c 2"]; "payload, options, checksum")]
#[test_case(&["-S -n -T -p 7663 -c 3", "-S -n -t 1 -p 7663 -c 2", "-S -p ++7662 -c 3"]; "hops and ports")]
#[test_case(&["-1 -c 3", "-1 -V -c 2", "-1 -d 56 -c 2", "-1 -r -c 3", "-1 -o 20 -c 2"]; "echo requests")]
#[test_case(&["-1 -n -T -c 3", "-1 -n -t 1 -c 2", "-1 --beep -y -c 2"]; "echo requests and hops")]
#[test_case(&["-2 -n -p 11111 -c 3", "-2 -n -V -s 5000 -p 11111 -c 2", "-2 -p 81 -c 2", "-2 -n -p 83 -c 2"]; "datagrams to nobody")]
#[test_case(&["-2 -n -T -p 11111 -c 3", "-2 -n -t 1 -p 11111 -c 2", "-2 -n -p ++11111 -c 2"]; "datagrams and hops")]
#[test_case(&["-S -n -p 82 -c 2", "-S -n -p 83 -c 2", "-S -n -p 84 -c 2"]; "ICMP errors")]
fn ours_tells_what_the_original_tells(lines: &[&str]) {
    let what = "ours beside hping3";
    if !installed("hping3", "hping3", what) {
        return;
    }
    let Some(scene) = Scene::with_rules(what, Scene::far, FIREWALL) else { return };
    let host = scene.far().v4().to_string();
    for line in lines {
        let words: Vec<&str> = line.split(' ').chain(["-i", INTERVAL, &host]).collect();
        let original = scene.near().command("hping3").args(&words).output().expect("started");
        let ours = sonde_in(scene.near()).arg("hping3").args(&words).output().expect("started");
        assert_eq!(text(&ours), text(&original), "{line}");
    }
}

/// The lines of a scan in the order of their ports, and what was said beside them. Identifications are another one in each run.
fn scan_form(output: &Output) -> (Vec<String>, Vec<String>, Option<i32>) {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let line = |line: &str| match line.split_once(": ") {
        Some((name, rest)) if !line.starts_with("Not") && !line.starts_with("using") => {
            let [flags, ttl, _id, window, length] = rest.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("no line of a scan: {line}")
            };
            format!("{name} {flags} {ttl} {window} {length}")
        }
        _ => line.to_owned(),
    };
    let mut lines: Vec<String> = text(&output.stdout).lines().map(line).collect();
    // Its second process prints what the first one had not yet.
    lines.sort_unstable();
    lines.dedup();
    (lines, text(&output.stderr).lines().map(str::to_owned).collect(), output.status.code())
}

#[test_case("--scan 7660-7665,11111 -S"; "open ones alone are told of")]
#[test_case("--scan 7663,11111 -S -V"; "closed ones too")]
#[test_case("--scan 80-81,7663,!80 -S"; "dropped ones")]
#[test_case("--scan 22,7663 -A -V"; "by another flag")]
fn a_scan_finds_what_the_originals_finds(line: &str) {
    let what = "a scan beside hping3's";
    if !installed("hping3", "hping3", what) {
        return;
    }
    let Some(scene) = Scene::with_rules(what, Scene::far, FIREWALL) else { return };
    let host = scene.far().v4().to_string();
    let words: Vec<&str> = line.split(' ').chain([&*host]).collect();
    let original = scene.near().command("hping3").args(&words).output().expect("started");
    let ours = sonde_in(scene.near()).arg("hping3").args(&words).output().expect("started");
    assert_eq!(scan_form(&ours), scan_form(&original), "{line}");
}

/// The original of Debian aborts at an ICMP error (3.0.0-alpha-2, seen).
#[test]
fn a_scan_tells_of_icmp_errors_and_goes_on() {
    let Some(scene) = Scene::with_rules("a scan and ICMP errors", Scene::far, FIREWALL) else { return };
    let host = scene.far().v4().to_string();
    let ours = sonde_in(scene.near()).args(["hping3", "--scan", "81-83,7663", "-S", &host]).output().expect("started");
    let (lines, code) = (String::from_utf8_lossy(&ours.stdout).into_owned(), ours.status.code());
    assert!(
        code == Some(0)
            && lines.contains(&format!("   82:                        -     -     -   (ICMP   3   3 from {host})\n")),
        "{lines}"
    );
    assert!(lines.contains(" 7663 ") && lines.ends_with("Not responding ports: (81 ) \n"), "{lines}");
}

/// A service on `host` that gives each datagram back; ended when it goes out of scope.
struct Echo(std::process::Child);

impl Echo {
    const PROGRAM: &str = "import socket\n\
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n\
        s.bind(('::', 7))\n\
        print('ready', flush=True)\n\
        while True: s.sendto(*s.recvfrom(65536))\n";

    fn start(host: &lab::namespace::Namespace, what: &str) -> Option<Self> {
        if !installed("python3", "python3", what) {
            return None;
        }
        let mut command = host.command("python3");
        command.args(["-c", Self::PROGRAM]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        Some(Self(child))
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _killed = self.0.kill();
        let _waited = self.0.wait();
    }
}

#[test]
fn datagrams_that_come_back_are_told_as_the_original_tells_them() {
    let what = "datagrams that come back, beside hping3";
    if !installed("hping3", "hping3", what) {
        return;
    }
    let Some(scene) = Scene::new(what) else { return };
    let Some(_echo) = Echo::start(scene.far(), what) else { return };
    let host = scene.far().v4().to_string();
    for line in
        ["-2 -p 7 -c 3", "-2 -V -d 64 -p 7 -c 2", "-2 -s 5000 -p 7 -c 2", "-2 -b -p 7 -c 2", "-2 -n -p ++6 -c 2"]
    {
        let words: Vec<&str> = line.split(' ').chain(["-i", INTERVAL, &host]).collect();
        let original = scene.near().command("hping3").args(&words).output().expect("started");
        let ours = sonde_in(scene.near()).arg("hping3").args(&words).output().expect("started");
        assert_eq!(text(&ours), text(&original), "{line}");
    }
}

/// Each kind of packet over either version leaves a record whose answers are told apart.
#[test]
fn echoes_and_datagrams_are_recorded() {
    let what = "records of echo requests and datagrams";
    let Some(scene) = Scene::new(what) else { return };
    let Some(_echo) = Echo::start(scene.far(), what) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("record.json");
    let (four, six) = (scene.far().v4().to_string(), scene.far().v6().to_string());
    let expected = [
        ("-1", &four, "icmp", "echo"),
        ("-1", &six, "icmp", "echo"),
        ("-2", &four, "udp", "datagram"),
        ("-2", &six, "udp", "datagram"),
    ];
    for (mode, host, carrier, class) in expected {
        let mut command = sonde_in(scene.near());
        command.args(["hping3", mode, "-q", "-p", "7", "-d", "20", "-c", "30", "-i", "u1000", "--record"]).arg(&file);
        let output = command.arg(host).output().expect("started");
        assert!(output.status.success(), "{mode} {host}: {}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(&file).expect("a record");
        let record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        jsonschema::validate(&logbook::schema::json_schema(), &record).expect("a sound record");
        let fates = counts(&record);
        assert_eq!((fates.answered, fates.scheduled, record["method"]["carrier"].as_str()), (30, 30, Some(carrier)));
        let kinds = &record["probes"]["kinds"];
        assert_eq!(
            (&kinds[0]["count"], kinds[0]["class"].as_str(), &kinds[0]["ttl"]),
            (&30.into(), Some(class), &63.into())
        );
        assert!(record["peer"]["kind"] != "native", "{}", record["peer"]);
    }
}

#[test]
fn by_its_name_it_is_hping3() {
    let Some(scene) = Scene::new("hping3 by its name") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("hping3");
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("sonde"), &link).expect("a link");
    let host = scene.far().v4().to_string();
    let output = scene.near().command(&link).args(["-S", "-p", "7663", "-c", "2", "-i", "u1000", &host]).output();
    let output = output.expect("started");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && printed.starts_with(&format!("HPING {host} (near {host}): S set")), "{printed}");
}

#[test]
fn a_signal_ends_it_with_the_summary() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, kill_process};

    let Some(scene) = Scene::new("hping3 interrupted") else { return };
    let mut command = sonde_in(scene.near());
    command.args(["hping3", "-S", "-p", "7663", "-i", "u100000", &scene.far().v4().to_string()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    for _ in 0..3 {
        line.clear();
        stdout.read_line(&mut line).expect("a line");
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("sent");
    drop(stdout);
    let output = child.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("hping statistic ---") && said.contains("packets transmitted"), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
}
