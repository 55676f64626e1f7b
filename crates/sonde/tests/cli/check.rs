//! `sonde check`, as far as one machine shows it; what needs several hosts is in `reach`.

use std::net::TcpListener;

use predicates::str::contains;
use test_case::test_case;
use testbed::port;

use crate::{document, printed, sonde};

#[test_case(&["check", "db1:0"], "from 1 to 65535"; "port 0")]
#[test_case(&["check", "db1:65536"], "from 1 to 65535"; "port 65536")]
#[test_case(&["check", "db1:"], "from 1 to 65535"; "an empty list")]
#[test_case(&["check", "db1", "--tcp", ""], "PORTS"; "an empty list of TCP")]
#[test_case(&["check", "db1", "--udp", "1-70000"], "from 1 to 65535"; "a range beyond")]
#[test_case(&["check", "db1", "--tcp", "1-2000"], "1024"; "too many")]
#[test_case(&["check", "db1:80=apache"], "netserver"; "an unknown program")]
#[test_case(&["check"], "HOST"; "nobody")]
#[test_case(&["check", "127.0.0.1", "--tries", "0"], "1..=10"; "no tries")]
#[test_case(&["check", "127.0.0.1", "--timeout", "0s"], "10ms to 60s"; "no time")]
#[test_case(&["check", "127.0.0.1", "-4", "-6"], "cannot be used with"; "both families")]
#[test_case(&["check", "127.0.0.1", "-6"], "no IPv6 address"; "the other family")]
#[test_case(&["check", "no-such-host.invalid"], "cannot look up"; "an unknown name")]
#[test_case(&["check", "239.1.2.3"], "multicast"; "a group")]
#[test_case(&["check", "255.255.255.255:80"], "broadcast"; "everybody")]
#[test_case(&["check", "0.0.0.0"], "not a host address"; "nothing")]
#[test_case(&["check", "::"], "not a host address"; "nothing of v6")]
fn what_makes_no_sense_is_refused(words: &[&str], word: &str) {
    sonde(words).assert().code(2).stdout("").stderr(contains(word));
}

#[test]
fn a_port_that_is_open_holds_and_one_that_is_not_does_not() {
    // A number of our own for either transport: nobody else's socket answers at it over UDP.
    let open = port::free();
    let _listener = TcpListener::bind(("127.0.0.1", open)).unwrap();
    let text = printed(&mut sonde(&["check", &format!("127.0.0.1:{open}")]));
    assert!(text.contains(&format!("tcp {open}  open")) && text.contains(&format!("udp {open}  closed")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // Another one: a listener that is dropped goes on in a process that another test is just starting.
    let closed = sonde(&["check", "127.0.0.1", "--tcp", &port::free().to_string()]).assert().code(1);
    let text = String::from_utf8(closed.get_output().stdout.clone()).unwrap();
    assert!(text.contains("closed") && text.contains("RST"), "{text}");
}

#[test]
fn a_check_is_one_document() {
    let output = sonde(&["check", "127.0.0.1", "--json"]).assert().code(0);
    let found = document(&output.get_output().stdout);
    assert_eq!((&found["format"], &found["version"]), (&"sonde-check".into(), &1.into()));
    jsonschema::validate(&logbook::schema::check_schema(), &found).unwrap();
    assert_eq!((&found["holds"], &found["check"]["lookup"]["by"]), (&true.into(), &"given".into()));
    let faulty = document(&sonde(&["check", "224.0.0.1", "--json"]).assert().code(2).get_output().stdout);
    assert_eq!((&faulty["format"], &faulty["error"]["to_whom"]), (&"sonde-error".into(), &"224.0.0.1".into()));
}
