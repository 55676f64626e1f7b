//! Parts of a lab, as its hosts see them.

use std::process::Command;

use endpoint::stop::Stop;
use logbook::host::Reach;

use crate::lab::scene::{Lab, PATIENCE, User, left, name, put, said, sonde};

/// The shortest round trip of three echoes or more, in milliseconds: that of the way, however busy the machine is.
fn echo(lab: &Lab<'_>, from: &str, to: &str) -> f64 {
    // Without a deadline ping waits for two round trips after its last request, whatever -W says.
    let output = lab.on(from, &["ping", "-n", "-c", "3", "-i", "0.05", "-w", "10", to]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // With a deadline it goes on sending until so many have come.
    assert!(text.matches("bytes from").count() >= 3, "{from} to {to}: {text}");
    text.rsplit('/').nth(3).and_then(|text| text.rsplit(' ').next()).unwrap().parse().unwrap()
}

fn has_ping() -> bool {
    let there = Command::new("ping").arg("-V").output().is_ok();
    if !there {
        testbed::skip::aloud("echoes between the hosts of a lab: no ping (iputils-ping)");
    }
    there
}

#[test]
fn hosts_are_listed_as_a_plan_wants_them_and_reach_each_other_at_once() {
    let Some(user) = User::new("a lab") else { return };
    let lab = user.up(&["--hosts", "5", "--zones", "2"]);
    let names: Vec<_> = lab.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["h1", "h2", "h3", "h4", "h5"]);
    let zones: Vec<_> = lab.hosts.iter().map(|host| host.label("zone").unwrap()).collect();
    assert_eq!(zones, ["z1", "z2", "z1", "z2", "z1"]);
    let machines: std::collections::BTreeSet<_> = lab.hosts.iter().map(|host| host.machine.clone()).collect();
    assert!(machines.len() == 1 && !machines.contains(&None), "hosts of one machine say so");
    if has_ping() {
        echo(&lab, "h1", "10.182.0.5");
        echo(&lab, "h5", "fd00:50de:b6::2");
    }
    lab.down();
    assert_eq!(user.noted(), [""; 0]);
}

#[test]
fn the_program_runs_in_a_namespace() {
    let Some(user) = User::new("the way into a namespace") else { return };
    let lab = user.up(&["--hosts", "1"]);
    let way = lab.way(&lab.hosts[0]);
    let program = put(way.as_ref(), &sonde()).unwrap();
    let output = way.command(&[program, "--version".into()]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("sonde {}\n", env!("CARGO_PKG_VERSION")));
    let output = way.command(&["ip".into(), "-o".into(), "address".into()]).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("10.182.0.1/24"));
    way.clean(PATIENCE, &Stop::default()).unwrap();
    lab.down();
    let failure = put(way.as_ref(), &sonde()).unwrap_err();
    assert!(failure.hint.unwrap().contains("sonde lab"), "{}", failure.what);
}

#[test]
fn two_labs_of_the_same_addresses_do_not_meet() {
    let Some(user) = User::new("two labs") else { return };
    let [one, two] = [(); 2].map(|()| user.up(&["--hosts", "2"]));
    assert_eq!(one.hosts[1].internal, two.hosts[1].internal);
    if has_ping() {
        echo(&one, "h1", "10.182.0.2");
        two.down();
        echo(&one, "h1", "10.182.0.2");
    }
}

#[test]
fn a_way_is_worse_between_its_ends_alone() {
    let Some(user) = User::new("a worse way") else { return };
    if !has_ping() {
        return;
    }
    let lab = user.up(&["--hosts", "4", "--zones", "2", "--worse", "z1,z2", "--delay", "30ms"]);
    let (near, far) = (echo(&lab, "h1", "10.182.1.3"), echo(&lab, "h1", "10.182.2.2"));
    assert!(far >= 60.0 && near < 30.0, "{near} {far}");
    assert!(echo(&lab, "h2", "fd00:50de:b6:1::3") >= 60.0, "the other way, and IPv6");
    assert!(echo(&lab, "switch", "10.182.2.4") < 30.0, "control passes beside it");
    lab.down();
    let lab = user.up(&["--hosts", "3", "--worse", "h3", "--delay", "30ms"]);
    let (near, far) = (echo(&lab, "h1", "10.182.0.2"), echo(&lab, "h1", "10.182.200.3"));
    assert!(far >= 60.0 && near < 30.0, "{near} {far}");
}

#[test]
fn a_worse_way_whose_forwarder_is_gone_is_shut_and_not_better() {
    let Some(user) = User::new("a worse way without its forwarder") else { return };
    if !has_ping() {
        return;
    }
    let lab = user.up(&["--hosts", "2", "--worse", "h2", "--delay", "1ms"]);
    echo(&lab, "h1", "10.182.200.2");
    let note: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(lab.files().with_extension("json")).unwrap()).unwrap();
    let pid = note["processes"][0]["pid"].as_i64().unwrap() as i32;
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // Its interfaces go with it, a moment later.
    while lab.on("switch", &["ip", "link", "show", "link0"]).output().unwrap().status.success() {}
    let output = lab.on("h1", &["ping", "-n", "-c", "1", "-W", "5", "10.182.200.2"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success() && text.contains("nreachable"), "{text}");
}

#[test]
fn each_cable_is_bounded_each_way() {
    let Some(user) = User::new("cables with a rate") else { return };
    let lab = user.up(&["--hosts", "2", "--rate", "50M"]);
    for (namespace, interface) in [("h1", "eth0"), ("h2", "eth0"), ("switch", "h1"), ("switch", "h2")] {
        let output = lab.on(namespace, &["tc", "qdisc", "show", "dev", interface]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("tbf") && text.contains("rate 50Mbit"), "{namespace} {interface}: {text}");
    }
}

#[test]
fn the_machines_own_network_is_as_it_was() {
    let Some(user) = User::new("the machine's network beside a lab") else { return };
    let seen = || {
        let words = [&["-o", "link"][..], &["-o", "address"], &["route", "show", "table", "all"], &["rule"]];
        words.map(|words| {
            let output = Command::new("ip").args(words).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            // Lifetimes count down by themselves.
            text.lines().map(|line| line.split("valid_lft").next().unwrap().to_owned()).collect::<Vec<_>>()
        })
    };
    let before = seen();
    let lab = user.up(&["--hosts", "3", "--worse", "h1", "--delay", "1ms"]);
    assert_eq!(seen(), before);
    lab.down();
    assert_eq!(seen(), before);
}

#[test]
fn a_process_that_runs_on_a_host_ends_with_the_lab() {
    let Some(user) = User::new("a process on a host") else { return };
    let lab = user.up(&["--hosts", "1"]);
    let mut process = lab.on("h1", &["sleep", "600"]).spawn().unwrap();
    // It is on the host when what it was started by has become it.
    while std::fs::read(format!("/proc/{}/cmdline", process.id())).unwrap() != b"sleep\x00600\x00" {}
    lab.down();
    assert!(!process.wait().unwrap().success());
}

#[test]
fn a_name_is_given_once() {
    let Some(user) = User::new("a lab's name") else { return };
    let lab = user.up(&["--hosts", "1"]);
    let output = user.lab(&["up", "--hosts", "1", "--name", &lab.id]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("is there already"), "{}", said(&output));
    // Another user's notes know nothing of it, but its namespaces are there.
    let other = User::new("another user").unwrap();
    let output = other.lab(&["up", "--hosts", "1", "--name", &lab.id]).output().unwrap();
    assert!(said(&output).contains("a network namespace sondelab-"), "{}", said(&output));
    assert_eq!(other.noted(), [""; 0]);
    assert!(!left(&lab.id).namespaces.is_empty(), "it stands as it did");
    let output = other.lab(&["down", &lab.id]).output().unwrap();
    assert!(said(&output).contains("there is none of this name"), "{}", said(&output));
}

#[test]
fn a_hundred_hosts_are_made_and_removed() {
    let Some(user) = User::new("a hundred hosts") else { return };
    let lab = user.up(&["--hosts", "100"]);
    assert_eq!((lab.hosts.len(), left(&lab.id).namespaces.len()), (100, 101));
    if has_ping() {
        echo(&lab, "h1", "10.182.0.100");
    }
    lab.down();
}

#[test]
fn a_list_that_cannot_be_written_leaves_no_lab() {
    let Some(user) = User::new("a list that cannot be written") else { return };
    let id = name();
    let output = user.lab(&["up", "--hosts", "2", "--name", &id, "-o", "/proc/hosts.toml"]).output().unwrap();
    assert!(!output.status.success() && said(&output).contains("/proc/hosts.toml"), "{}", said(&output));
    assert_eq!((left(&id), user.noted()), (crate::lab::scene::Left::default(), vec![]));
    let lab = user.up(&["--hosts", "1"]);
    assert!(matches!(&lab.hosts[0].reach, Reach::Namespace(name) if name.ends_with("-h1")));
}
