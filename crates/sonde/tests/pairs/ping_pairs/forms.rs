//! The same command line for both: the same lines by form, the same counts, the same status.

use test_case::test_case;
use testbed::form::differences;

use crate::ping_pairs::scene::{PING, Scene};
use testbed::process::Ended;

/// Times have more digits the shorter they are, and on a busy host a reply may come when the next request has left: neither
/// is a matter of form.
pub fn settled(text: &str) -> String {
    let line = |line: &str| {
        let line = match (line.split_once(" time="), line.split_once(" ms")) {
            (Some((before, time)), Some((_, behind))) if line.contains("icmp_seq") => {
                let digits = time.split(' ').next().unwrap_or_default();
                assert!(digits.parse::<f64>().is_ok_and(|time| time >= 0.0), "{line}");
                format!("{before} time=T ms{behind}")
            }
            _ => line.to_owned(),
        };
        let line = match line.split_once(", pipe ") {
            Some((before, behind)) => format!("{before}{}", behind.trim_start_matches(|c: char| c.is_ascii_digit())),
            None => line,
        };
        let line = line.replace('\t', " ");
        // Values that are glued together are no values to who compares.
        match line.as_bytes() {
            [b'r', b't', b't', ..] => line.replace('/', " / "),
            [b'[', ..] => line.replacen('[', "[ ", 1).replacen(']', " ]", 1),
            _ if line.contains("packets transmitted") => line.replace("ms\n", " ms\n"),
            _ => line,
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

pub fn assert_same(line: &str, ours: &Ended, theirs: &Ended) {
    let both = format!("{line}\n--- ours: {}\n--- theirs: {}", ours.told(), theirs.told());
    assert_eq!(ours.code, theirs.code, "{both}");
    let stdout = differences(&settled(&theirs.stdout), &settled(&ours.stdout));
    assert!(stdout.is_empty(), "{}\n{both}", stdout[0]);
    let stderr = differences(&theirs.stderr, &ours.stderr);
    assert!(stderr.is_empty(), "{}\n{both}", stderr[0]);
    assert_eq!(counts(ours), counts(theirs), "{both}");
}

/// Sent, received, and what else stands in that line in front of the time.
fn counts(ended: &Ended) -> Option<&str> {
    ended.stdout.lines().find(|line| line.contains("packets transmitted"))?.split(", time").next()
}

#[test_case("-c 4 -i 0.2 D"; "four")]
#[test_case("-4 -n D -c 5 -i 0.1"; "options behind")]
#[test_case("-c 3 -i 0.2 D6"; "ipv6")]
#[test_case("-q -c 3 -i 0.2 D"; "quiet")]
#[test_case("-D -c 2 -i 0.2 D"; "with the time of day")]
#[test_case("-a -c 2 -i 0.2 D"; "a bell")]
#[test_case("-s 0 -c 2 -i 0.2 D"; "no payload")]
#[test_case("-s 0 -c 2 -i 0.2 D6"; "no payload over ipv6")]
#[test_case("-s 15 -c 2 -i 0.2 D"; "no room for a stamp")]
#[test_case("-s 1400 -c 2 -i 0.2 D"; "large")]
#[test_case("-s 65507 -c 2 -i 0.2 D"; "as large as can be")]
#[test_case("-I IF -c 2 -i 0.2 D"; "an interface")]
#[test_case("-I S -c 2 -i 0.2 D"; "a source")]
#[test_case("-B -c 2 -i 0.2 D"; "a source that stays")]
#[test_case("-I IF -c 2 -i 0.2 D6"; "an interface of ipv6")]
#[test_case("-M do -s 2000 -c 2 -i 0.2 D"; "too large for the link")]
#[test_case("-M do -s 2000 -c 2 -i 0.2 D6"; "too large for the link of ipv6")]
#[test_case("-M dont -s 2000 -c 2 -i 0.2 D"; "cut up")]
#[test_case("-Q 0x10 -c 2 -i 0.2 D"; "type of service")]
#[test_case("-R -c 3 -i 0.2 D"; "the route")]
#[test_case("-T tsonly -c 1 D"; "times")]
#[test_case("-T tsandaddr -c 1 D"; "times and addresses")]
#[test_case("-p ff -c 2 -i 0.2 D"; "a pattern")]
#[test_case("-U -c 2 -i 0.2 D"; "times of the program")]
#[test_case("-C -c 2 -i 0.2 D"; "connected")]
#[test_case("-r -c 2 -i 0.2 D"; "the link alone")]
#[test_case("-w 2 -i 1.4 D"; "a deadline")]
#[test_case("-w 9 -c 3 -i 0.2 D"; "a deadline and a count")]
#[test_case("-W 1 -c 2 -i 0.2 -I IF 192.0.2.1"; "an interface without a neighbour")]
#[test_case("-c 2 127.0.0.1 -i 0.2"; "this host")]
#[test_case("-c 1 ::1"; "this host over ipv6")]
#[test_case("-c 1 0"; "nobodys address is this host")]
#[test_case("-c 1 ::"; "nobodys address over ipv6")]
#[test_case("-c 1 127.1"; "an address in two parts")]
#[test_case("-c 2 -i 0.2 localhost -4"; "by name")]
#[test_case("-c 1 N"; "no such neighbour")]
#[test_case("-c 1 B"; "a broadcast address")]
#[test_case("-b -W 0.3 -c 1 B"; "a broadcast address that is meant")]
#[test_case("-W 0.3 -c 1 224.0.0.1 -I IF"; "a group")]
#[test_case("-c 1 -I 192.0.2.1 D"; "no address of ours")]
#[test_case("-t 0 -c 1 D"; "no time to live")]
#[test_case("-c 1 198.51.100.1"; "no route")]
#[test_case("-c 1 2001:db8::1"; "no route of ipv6")]
#[test_case("-c 1 -6 D"; "the other version")]
#[test_case("-c 1 nosuch.invalid"; "no such name")]
fn both_print_the_same(line: &str) {
    let Some(scene) = Scene::new("ping beside the original", &[PING]) else { return };
    let (ours, theirs) = scene.both(line);
    assert_same(line, &ours, &theirs);
}

/// Two at once would hear each other's replies: both are the same to a raw socket.
#[test]
fn an_identifier_is_asked_for() {
    let line = "-e 4711 -v -c 2 -i 0.2 D";
    let Some(scene) = Scene::new("an identifier", &[PING]) else { return };
    let (ours, theirs) = scene.in_turn(line);
    let told = |ended: &Ended| ended.stdout.matches(" ident=4711 ttl=64 time=").count();
    assert_eq!((told(&ours), told(&theirs)), (2, 2), "{}{}", ours.told(), theirs.told());
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let Some(scene) = Scene::new("no such interface", &[PING]) else { return };
    let (ours, theirs) = scene.both("-c 1 -I nosuch0 D");
    assert_eq!((ours.code, theirs.code), (Some(2), Some(2)), "{}", ours.told());
    // The next step stands behind it.
    assert!(ours.stdout.is_empty() && ours.stderr.starts_with(&theirs.stderr), "{}", ours.told());
}

#[test_case("-f -c 50 D", 50)]
#[test_case("-f -c 50 D6", 50)]
#[test_case("-A -c 50 -q D", 50)]
#[test_case("-l 3 -c 6 -i 0.1 -q D", 6)]
#[test_case("-f -l 5 -c 50 D", 50)]
#[test_case("-i 0 -c 50 -q D", 50)]
fn what_replies_pace_is_answered_and_summed_up_alike(line: &str, count: u64) {
    let Some(scene) = Scene::new("ping beside the original", &[PING]) else { return };
    let (ours, theirs) = scene.both(line);
    let told = format!("{line}\n--- ours: {}\n--- theirs: {}", ours.told(), theirs.told());
    let summary =
        |ended: &Ended| ended.stdout.split_once("\n--- ").map(|(_, summary)| settled(summary)).expect("a summary");
    assert_eq!(differences(&summary(&theirs), &summary(&ours)), [], "{told}");
    assert!(
        ours.stdout.contains(&format!("\n{count} packets transmitted, {count} received, 0% packet loss")),
        "{told}"
    );
    let dots = |ended: &Ended| ended.stdout.lines().nth(1).is_some_and(|line| line.contains('.'));
    assert_eq!(dots(&ours), dots(&theirs), "{told}");
}

/// The original can do no less than a millisecond; here an interval is one down to the microsecond.
#[test]
fn microseconds_are_an_interval() {
    let Some(scene) = Scene::new("a short interval", &[]) else { return };
    let ours = scene.end("-i 0.0005 -c 2000 -q D");
    assert!(ours.stdout.contains("2000 packets transmitted, 2000 received, 0% packet loss"), "{}", ours.told());
    let time = ours.stdout.split_once(", time ").and_then(|(_, rest)| rest.split_once("ms")).expect("a time").0;
    // 1,999 gaps of half a millisecond from the instant at which the first was due. A busy host sends that one late, and those after it
    // when they are due: so the time is shorter by as much, which is not half of it.
    assert!(time.parse::<u64>().is_ok_and(|time| time >= 500), "{}", ours.told());
}

#[test]
fn what_the_firewall_drops_is_lost_on_both_sides_alike() {
    let what = "a lost request";
    let Some(scene) = Scene::new(what, &[PING]) else { return };
    let Some(()) = scene.filter(what, "input", "icmp type echo-request icmp sequence 2 drop") else { return };
    for line in ["-c 4 -i 0.2 D", "-O -c 4 -i 0.2 D", "-q -W 2 -c 4 -i 0.2 D", "-f -q -c 4 D", "-A -q -c 4 D"] {
        let (ours, theirs) = scene.both(line);
        assert_same(line, &ours, &theirs);
        assert!(ours.stdout.contains("4 packets transmitted, 3 received, 25% packet loss"), "{}", ours.told());
    }
}

#[test]
fn silence_is_told_while_it_lasts() {
    let what = "an unanswered ping";
    let Some(scene) = Scene::new(what, &[PING]) else { return };
    let Some(()) = scene.filter(what, "input", "icmp type echo-request drop") else { return };
    for line in ["-O -c 3 -i 0.2 -W 1 D", "-c 2 -i 0.2 -W 0.5 D", "-f -c 5 -W 0.5 D", "-w 2 -i 1.4 D"] {
        let (ours, theirs) = scene.both(line);
        assert_same(line, &ours, &theirs);
    }
}
