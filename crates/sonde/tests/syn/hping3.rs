//! The original and ours towards the same host: the same lines but for times and random numbers, the same counts.

use std::process::Output;

use test_case::test_case;

use crate::scene::{Scene, installed, sonde_in};

/// Each of these values is another one in each run.
const VARYING: [&str; 6] = ["rtt=", "hoprtt=", "ack=", "sum=", "tcpts=", "id="];

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
    tcp dport 84 reject with icmpx host-unreachable; }; }";

/// The original leaves an interval behind its last packet, answered or not: short ones would lose answers on a busy machine.
const INTERVAL: &str = "u300000";

#[test_case(&["-c 4 -p 11111", "-S -p 7663 -c 3", "-S -p 81 -c 2"]; "the line of the articles, open, dropped")]
#[test_case(&["-S -p 11111 -c 3", "-A -p 7663 -c 2", "-F -p 11111 -c 2", "-R -p 11111 -c 2"]; "other flags")]
#[test_case(&["-U -P -p 11111 -c 2", "-S -X -Y -p 7663 -c 2", "-S -w 1000 -y -s 5000 -p 7663 -c 2"]; "odd headers")]
#[test_case(&["-S -V -p 7663 -c 2", "-V -p 11111 -c 2", "-S -q -p 7663 -c 2", "-S -r -p 7663 -c 3"]; "more and less words")]
#[test_case(&["-S -d 64 -p 11111 -c 2", "-S --tcp-timestamp -p 7663 -c 2", "-S -b -p 7663 -c 2"]; "payload, options, checksum")]
#[test_case(&["-S -n -T -p 7663 -c 3", "-S -n -t 1 -p 7663 -c 2", "-S -p ++7662 -c 3"]; "hops and ports")]
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
