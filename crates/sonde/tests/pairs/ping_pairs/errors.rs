//! Errors in place of replies, and replies that are not as they should be.

use test_case::test_case;

use crate::ping_pairs::forms::assert_same;
use crate::ping_pairs::scene::{PING, Scene, run};

#[test_case("port-unreachable", "Destination Port Unreachable")]
#[test_case("host-unreachable", "Destination Host Unreachable")]
#[test_case("net-unreachable", "Destination Net Unreachable")]
#[test_case("prot-unreachable", "Destination Protocol Unreachable")]
#[test_case("admin-prohibited", "Packet filtered")]
#[test_case("host-prohibited", "Destination Host Prohibited")]
fn a_rejection_says_which(kind: &str, words: &str) {
    let Some(scene) = Scene::new("rejections", &[PING]) else { return };
    run(scene.far(), "sysctl -qw net.ipv4.icmp_ratelimit=0");
    let rule = format!("icmp type echo-request reject with icmp type {kind}");
    let Some(()) = scene.filter("rejections", "input", &rule) else { return };
    let line = "-c 2 -i 0.2 D";
    let (ours, theirs) = scene.both(line);
    assert_same(line, &ours, &theirs);
    let told = format!("From {} icmp_seq=2 {words}\n", scene.far().v4());
    assert!(ours.stdout.contains(&told), "{}", ours.told());
    assert!(ours.stdout.contains("2 packets transmitted, 0 received, +2 errors, 100% packet loss"), "{}", ours.told());
}

#[test_case("no-route", "Destination unreachable: No route")]
#[test_case("admin-prohibited", "Destination unreachable: Administratively prohibited")]
#[test_case("port-unreachable", "Destination unreachable: Port unreachable")]
fn a_rejection_of_ipv6_says_which(kind: &str, words: &str) {
    let Some(scene) = Scene::new("rejections over IPv6", &[PING]) else { return };
    run(scene.far(), "sysctl -qw net.ipv6.icmp.ratelimit=0");
    let rule = format!("icmpv6 type echo-request reject with icmpv6 type {kind}");
    let Some(()) = scene.filter("rejections over IPv6", "input", &rule) else { return };
    let line = "-c 2 -i 0.2 D6";
    let (ours, theirs) = scene.both(line);
    assert_same(line, &ours, &theirs);
    assert!(ours.stdout.contains(&format!("icmp_seq=2 {words}\n")), "{}", ours.told());
}

/// The far host as a router to a network behind it.
fn router(scene: &Scene) {
    for line in [
        "ip link add behind type veth peer name beside",
        "ip link set beside mtu 1000 up",
        "ip link set behind mtu 1000 up",
        "ip address add 10.182.0.1/24 dev behind",
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.icmp_ratelimit=0",
    ] {
        run(scene.far(), line);
    }
    run(scene.near(), &format!("ip route add 10.182.0.0/24 via {}", scene.far().v4()));
}

#[test]
fn a_ttl_that_runs_out_is_told_by_the_router() {
    let Some(scene) = Scene::new("a router", &[PING]) else { return };
    router(&scene);
    let line = "-t 1 -c 3 -i 0.2 10.182.0.2";
    let (ours, theirs) = scene.both(line);
    assert_same(line, &ours, &theirs);
    assert!(ours.stdout.contains(&format!("From {} icmp_seq=3 Time to live exceeded\n", scene.far().v4())));
}

#[test]
fn a_link_on_the_way_that_is_too_small_is_told_and_the_run_goes_on() {
    let Some(scene) = Scene::new("a router", &[]) else { return };
    router(&scene);
    let ours = scene.end("-M do -s 1200 -c 3 -i 0.2 10.182.0.2");
    let told = format!("From {} icmp_seq=1 Frag needed and DF set (mtu = 1000)\n", scene.far().v4());
    assert!(ours.stdout.contains(&told), "{}", ours.told());
    assert_eq!(ours.stderr, "ping: local error: message too long, mtu=1000\n".repeat(2), "{}", ours.told());
    assert!(ours.stdout.contains("3 packets transmitted, 0 received, +3 errors, 100% packet loss"), "{}", ours.told());
    assert_eq!(ours.code, Some(1));
}

#[test]
fn an_answer_from_another_address_is_told() {
    let what = "answers from another address";
    let Some(scene) = Scene::new(what, &[PING]) else { return };
    let [a, b, c, _] = scene.far().v4().octets();
    let rule = format!("icmp type echo-reply ip saddr set {a}.{b}.{c}.99");
    let Some(()) = scene.filter(what, "output", &rule) else { return };
    let line = "-c 2 -i 0.2 D";
    let (ours, theirs) = scene.both(line);
    assert_same(line, &ours, &theirs);
    assert!(ours.stdout.contains(" (DIFFERENT ADDRESS!)\n"), "{}", ours.told());
}

#[test]
fn the_ttl_is_the_reply_s() {
    let Some(scene) = Scene::new("the TTL of replies", &[PING]) else { return };
    let Some(()) = scene.filter("the TTL of replies", "output", "icmp type echo-reply ip ttl set 33") else { return };
    let (ours, theirs) = scene.both("-c 1 D");
    for ended in [ours, theirs] {
        assert!(ended.stdout.contains(" ttl=33 "), "{}", ended.told());
    }
}
