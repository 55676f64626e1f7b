//! Links of a smaller MTU behind the middle: told by it, as it must, or not.

use lab::chain::Chain;
use serde_json::json;
use test_case::test_case;

use crate::reach::scene::{address, chain, checks, each_check, nft, run, set};

/// The middle's interface to the far host.
const BEYOND: &str = "middle-far";

fn narrow(what: &str) -> Option<Chain> {
    let chain = chain(what)?;
    run(chain.middle(), &["ip", "link", "set", BEYOND, "mtu", "1300"]);
    run(chain.far(), &["ip", "link", "set", chain.far().interface(), "mtu", "1300"]);
    Some(chain)
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn an_honest_hop_is_believed_and_named(six: bool) {
    let Some(chain) = narrow("a small MTU that is told") else { return };
    // Both kinds of socket that echo requests leave by.
    for group in ["1 0", "0 2147483647"] {
        set(chain.near(), "ipv4/ping_group_range", group);
        each_check(&chain, &[&address(chain.far(), six), "--udp", "9"], |found| {
            let told = json!({"found": "told", "bytes": 1_300, "by": address(chain.middle(), six)});
            assert_eq!(found.address["mtu"], told);
        });
    }
}

/// A raw socket is told of all errors between two hosts, also of those that another program's requests met with.
#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn errors_about_anothers_echo_requests_are_none_of_ours(six: bool) {
    let Some(chain) = narrow("errors about another's echo requests") else { return };
    set(chain.near(), "ipv4/ping_group_range", "1 0");
    checks(&chain, 24, &[&address(chain.far(), six)], |found| {
        let told = json!({"found": "told", "bytes": 1_300, "by": address(chain.middle(), six)});
        assert_eq!((&found.address["mtu"], &found.address["echo"]["seen"]), (&told, &"answer".into()));
    });
}

#[test_case(false, "ipv4/icmp_echo_ignore_all"; "v4")]
#[test_case(true, "ipv6/icmp/echo_ignore_all"; "v6")]
fn without_echo_datagrams_that_are_refused_find_it(six: bool, setting: &str) {
    let Some(chain) = narrow("a small MTU without echo") else { return };
    set(chain.far(), setting, "1");
    each_check(&chain, &[&address(chain.far(), six), "--tcp", "9"], |found| {
        let told = json!({"found": "told", "bytes": 1_300, "by": address(chain.middle(), six)});
        assert_eq!((&found.address["mtu"], &found.address["mtu_by"]), (&told, &"refused-datagram".into()));
    });
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_hole_is_told_with_its_edge(six: bool) {
    let Some(chain) = narrow("a hole of the MTU") else { return };
    nft(chain.middle(), "output", "icmp type destination-unreachable drop; icmpv6 type packet-too-big drop");
    each_check(&chain, &[&address(chain.far(), six)], |found| {
        assert_eq!(found.address["mtu"], json!({"found": "hole", "bytes": 1_300, "vanishing_bytes": 1_301}));
        assert_eq!(found.status, 1, "connections hang there");
    });
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_path_of_the_interfaces_own_is_whole(six: bool) {
    let Some(chain) = chain("a path without a narrow link") else { return };
    each_check(&chain, &[&address(chain.far(), six)], |found| {
        assert_eq!(found.address["mtu"], json!({"found": "whole", "bytes": 1_500}));
        assert_eq!((found.status, &found.address["route"]["mtu_bytes"]), (0, &1_500.into()));
        assert_eq!(found.address["route"]["next_hop"], address(chain.middle(), six));
        assert_eq!(found.address["route"]["interface"], chain.near().interface());
        assert_eq!(found.address["route"]["source"], address(chain.near(), six));
    });
}

/// The way back alone is narrow, and the router cuts replies, which may be cut.
#[test]
fn a_way_back_that_takes_replies_in_pieces_is_told() {
    let Some(chain) = chain("a narrow way back") else { return };
    let dev = chain.middle().interface();
    run(chain.middle(), &["ip", "route", "replace", "10.181.8.0/24", "dev", dev, "mtu", "lock", "1300"]);
    // Both kinds of socket that echo requests leave by.
    for group in ["1 0", "0 2147483647"] {
        set(chain.near(), "ipv4/ping_group_range", group);
        each_check(&chain, &[&address(chain.far(), false)], |found| {
            assert_eq!(found.address["mtu"], json!({"found": "whole", "bytes": 1_500}));
            assert_eq!(found.address["mtu_back_bytes"], 1_300);
        });
    }
}
