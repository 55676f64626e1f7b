//! Filters on the way: dropped, refused by ICMP of each kind and by resets.

use test_case::test_case;

use crate::reach::scene::{address, each_check, forwarding, nft, target};

/// Ports that the filter looks at, and one that it lets through to the far host, where nobody listens.
const PORTS: &str = "8080,8081";

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn what_is_dropped_is_silence(six: bool) {
    let rule = "tcp dport 8080 drop; udp dport 8080 drop";
    let Some(chain) = forwarding("a filter that drops", rule) else { return };
    each_check(&chain, &[&target(&chain, six, PORTS)], |found| {
        assert_eq!(found.told("tcp 8080"), ["filtered", "silence", "", ""]);
        assert_eq!(found.told("udp 8080"), ["open-or-filtered", "silence", "", ""]);
        assert_eq!(found.told("tcp 8081"), ["refused", "reset", "", ""]);
        assert_eq!(found.told("udp 8081"), ["refused", "error", "port-unreachable", "host"]);
        assert_eq!((found.status, &found.address["echo"]["seen"]), (1, &"answer".into()));
    });
}

#[test_case(false, "port-unreachable", ["refused", "error", "port-unreachable", "hop"]; "no port v4")]
#[test_case(true, "port-unreachable", ["refused", "error", "port-unreachable", "hop"]; "no port v6")]
#[test_case(false, "admin-prohibited", ["filtered", "error", "prohibited", "hop"]; "forbidden v4")]
#[test_case(true, "admin-prohibited", ["filtered", "error", "prohibited", "hop"]; "forbidden v6")]
#[test_case(false, "host-unreachable", ["unreachable", "error", "host-unreachable", "hop"]; "no host v4")]
#[test_case(true, "host-unreachable", ["unreachable", "error", "host-unreachable", "hop"]; "no host v6")]
#[test_case(false, "no-route", ["unreachable", "error", "network-unreachable", "hop"]; "no network v4")]
#[test_case(true, "no-route", ["unreachable", "error", "network-unreachable", "hop"]; "no network v6")]
fn who_refuses_by_icmp_is_named_with_what_it_says(six: bool, kind: &str, told: [&str; 4]) {
    let rule = format!("tcp dport 8080 reject with icmpx {kind}; udp dport 8080 reject with icmpx {kind}");
    let Some(chain) = forwarding("a filter that refuses by ICMP", &rule) else { return };
    each_check(&chain, &[&target(&chain, six, PORTS)], |found| {
        for port in ["tcp 8080", "udp 8080"] {
            assert_eq!(found.told(port), told, "{port}");
            assert_eq!(found.port(port)["seen"]["from"], address(chain.middle(), six), "{port}");
        }
        assert_eq!(found.told("tcp 8081"), ["refused", "reset", "", ""]);
    });
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_reset_is_a_refusal_and_nobody_is_named_for_it(six: bool) {
    let rule = "tcp dport 8080 reject with tcp reset";
    let Some(chain) = forwarding("a filter that resets", rule) else { return };
    each_check(&chain, &[&target(&chain, six, PORTS)], |found| {
        assert_eq!(found.told("tcp 8080"), ["refused", "reset", "", ""]);
        assert!(found.port("tcp 8080")["seen"]["from"].is_null());
    });
}

#[test]
fn what_our_own_filter_forbids_is_not_laid_at_others() {
    let Some(chain) = forwarding("a filter of this machine", "accept") else { return };
    nft(chain.near(), "output", "udp dport 8080 drop; tcp dport 8080 reject with icmpx admin-prohibited");
    each_check(&chain, &[&target(&chain, false, PORTS)], |found| {
        assert_eq!(found.told("udp 8080"), ["not-asked", "not-asked", "", ""]);
        let [verdict, seen, _, by] = found.told("tcp 8080");
        assert!(by == "ourselves" || seen == "not-asked", "{verdict} {seen} {by}");
        assert_eq!(found.told("udp 8081"), ["refused", "error", "port-unreachable", "host"]);
    });
}
