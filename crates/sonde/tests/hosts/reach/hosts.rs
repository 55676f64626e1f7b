//! Hosts that are off, mute, or no single host; and users who may not do everything.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::geteuid;
use test_case::test_case;
use testbed::process::copy_program;

use crate::reach::scene::{address, chain, check, each_check, run, set, sonde, target};

#[test_case("10.181.8.77"; "v4")]
#[test_case("fd00:50de:8::77"; "v6")]
fn a_host_that_is_off_is_told_by_the_link(host: &str) {
    let Some(chain) = chain("a host that is off") else { return };
    each_check(&chain, &[host, "--tcp", "80", "--udp", "9"], |found| {
        for port in ["tcp 80", "udp 9"] {
            let [verdict, _, says, by] = found.told(port);
            assert_eq!(verdict, "unreachable", "{port}");
            assert!([("", ""), ("host-unreachable", "ourselves")].contains(&(says, by)), "{says} {by}");
        }
        let neighbour = found.address["route"]["neighbour"].as_str().unwrap_or_default();
        assert!(["failed", "incomplete"].contains(&neighbour), "{neighbour}");
        assert_eq!(found.status, 1);
    });
    let output = sonde(chain.near()).args(["check", host, "--tcp", "80"]).output().expect("started");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains(&format!("No host on {} has {host}", chain.near().interface())), "{text}");
}

/// The middle finds out in 3 s that nobody is there, and says so.
#[test_case("10.181.9.77"; "v4")]
#[test_case("fd00:50de:9::77"; "v6")]
fn a_host_that_is_off_behind_a_hop_is_told_by_the_hop(host: &str) {
    let Some(chain) = chain("a host that is off behind a hop") else { return };
    let middle = address(chain.middle(), host.contains("::"));
    each_check(&chain, &[host, "--tcp", "80", "--udp", "9", "--timeout", "10s"], |found| {
        for port in ["tcp 80", "udp 9"] {
            assert_eq!(found.told(port), ["unreachable", "error", "host-unreachable", "hop"], "{port}");
            assert_eq!(found.port(port)["seen"]["from"], middle);
        }
        assert_eq!(found.address["echo"]["says"], "host-unreachable");
    });
}

#[test_case(false, "ipv4/icmp_echo_ignore_all"; "v4")]
#[test_case(true, "ipv6/icmp/echo_ignore_all"; "v6")]
fn a_host_that_answers_no_echo_is_not_dead(six: bool, setting: &str) {
    let Some(chain) = chain("a host without echo") else { return };
    set(chain.far(), setting, "1");
    each_check(&chain, &[&address(chain.far(), six), "--tcp", "80"], |found| {
        assert_eq!(found.address["echo"]["seen"], "silence");
        assert_eq!(
            (&found.address["mtu"]["bytes"], &found.address["mtu_by"]),
            (&1_500.into(), &"refused-datagram".into())
        );
        assert_eq!(found.told("tcp 80"), ["refused", "reset", "", ""]);
    });
    assert_eq!(check(&chain, &[&address(chain.far(), six)]).status, 0, "a refusal is a sign of life");
}

#[test_case("10.181.8.255", "broadcast address of a network"; "a network")]
#[test_case("255.255.255.255", "broadcast"; "all hosts")]
#[test_case("224.0.0.1", "multicast"; "a group")]
#[test_case("ff02::1%near", "multicast"; "a group of v6")]
fn more_than_one_host_is_refused(host: &str, word: &str) {
    let Some(chain) = chain("a check of many hosts") else { return };
    let output = sonde(chain.near()).args(["check", host]).output().expect("started");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(word) && output.stdout.is_empty(), "{said}");
}

#[test]
fn without_a_route_nothing_is_asked() {
    let Some(chain) = chain("a network without a route") else { return };
    run(chain.near(), &["ip", "route", "delete", "default"]);
    let found = check(&chain, &[&target(&chain, false, "80")]);
    assert_eq!((found.status, found.told("tcp 80")), (1, ["not-asked", "not-asked", "", ""]));
    assert!(found.address["no_route"].as_str().is_some_and(|why| why.contains("unreachable")), "{}", found.address);
}

/// The number of `nobody` on every Linux system.
const NOBODY: &str = "65534";

#[test]
fn without_a_privilege_all_but_echo_is_asked_and_the_rest_says_why_not() {
    let what = "a check without privileges";
    if !geteuid().is_root() {
        return testbed::skip::aloud(&format!("{what}: only root can be somebody else"));
    }
    let Some(chain) = chain(what) else { return };
    // Where anybody may run it: the folder it was built in may be closed to others.
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("sonde");
    copy_program(assert_cmd::cargo::cargo_bin!("sonde"), &copy);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open to all");
    let text = |target: &str| {
        let mut command = chain.near().command("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--bounding-set", "-all"]);
        let output = command.arg(&copy).args(["check", target]).current_dir("/").output().expect("started");
        String::from_utf8(output.stdout).expect("text").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for six in [false, true] {
        let target = target(&chain, six, "80");
        set(chain.near(), "ipv4/ping_group_range", "1 0");
        let closed = text(&target);
        for words in ["not sent", "ping_group_range", "CAP_NET_RAW", "tcp 80 closed", "udp 80 closed"] {
            assert!(closed.contains(words), "{words} in {closed}");
        }
        set(chain.near(), "ipv4/ping_group_range", "0 2147483647");
        let open = text(&target);
        assert!(open.contains("ICMP echo answered in") && open.contains("1500 B in both directions"), "{open}");
    }
}
