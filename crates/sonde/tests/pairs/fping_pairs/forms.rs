//! The same lines, times apart.

use test_case::test_case;

use super::scene::{Scene, form};

fn alike(program: &str, package: &str, line: &str) {
    let Some(scene) = Scene::new(program, package) else { return };
    let (ours, theirs) = scene.both(program, line);
    assert_eq!(form(&ours.stdout), form(&theirs.stdout), "{line}\n{}\n{}", ours.told(), theirs.told());
    assert_eq!(form(&ours.stderr), form(&theirs.stderr), "{line}\n{}\n{}", ours.told(), theirs.told());
    assert_eq!(ours.code, theirs.code, "{line}");
}

#[test_case("F F6"; "alive")]
#[test_case("-r 0 -t 2000 F L"; "one is not")]
#[test_case("-a -r 0 -t 2000 F L"; "the living")]
#[test_case("-u -r 0 -t 2000 F L"; "the others")]
#[test_case("-e F"; "with times")]
#[test_case("-c 2 -p 100 -t 2000 F L F6"; "a count")]
#[test_case("-C 3 -q -B1 -r1 -i10 -p 100 -t 2000 F L F6"; "as smokeping asks")]
#[test_case("-C 2 -p 100 -t 2000 F"; "lines and each time")]
#[test_case("-c 2 -o -q -p 100 -t 2000 F L"; "outage")]
#[test_case("-x 2 -r 0 -t 2000 F L"; "not enough")]
#[test_case("-H 1 -c 1 -t 2000 F"; "a short life")]
#[test_case("-c 1 -t 2000 U"; "refused by a router")]
#[test_case("-D -c 1 -t 2000 -b 1 F"; "a small one with the time")]
#[test_case("-g 198.51.100.4/31 -r 0 -t 300"; "a network")]
#[test_case("-M -b 2000 -c 1 F"; "too long")]
#[test_case("-S 192.0.2.77 F"; "not our address")]
#[test_case("-I nosuch F"; "no such interface")]
#[test_case("-4 ::1"; "another family")]
#[test_case("-f /nosuch"; "no file")]
#[test_case("-l -c 1 F"; "two courses")]
#[test_case("-Z"; "no option")]
fn fping_prints_the_same(line: &str) {
    alike("fping", "fping", line);
}

// Each `-w` has it wait as long: by default a probe that comes back three times as late as another of its hop is a `*`, which on a
// machine with other work happens to both.
#[test_case("-n -w 5 F"; "udp")]
#[test_case("-n -w 5 -q 1 F6"; "udp over ipv6")]
#[test_case("-n -w 5 -I F"; "icmp")]
#[test_case("-n -w 5,0,0 -T -p 80 F"; "tcp")]
#[test_case("-n -w 5/0/0 -T -q 1 F6"; "tcp over ipv6")]
#[test_case("-n -q 1 -w 0.5 -m 4 L"; "silence")]
#[test_case("-n -q 1 U"; "refused by a router")]
#[test_case("-n -w 5 -f 2 -N 1 F 100"; "one by one from the second")]
#[test_case("-q 11 F"; "too many probes")]
#[test_case("-X"; "no option")]
#[test_case("-w x F"; "no wait")]
fn traceroute_prints_the_same(line: &str) {
    alike("traceroute", "traceroute", line);
}

#[test_case("-r -n -c 1 -G 1 F"; "text")]
#[test_case("-r -w -n -c 1 -G 1 F"; "wide")]
#[test_case("-r -n -c 2 -i 0.5 -G 1 F6"; "ipv6")]
#[test_case("-r -n -u -c 1 -G 1 F"; "udp")]
#[test_case("-r -n -T -P 80 -c 1 -G 1 F"; "tcp")]
#[test_case("-j -n -c 1 -G 1 F"; "json")]
#[test_case("-x -n -c 1 -G 1 F"; "xml")]
#[test_case("-r -n -c 1 -m 4 -G 1 L"; "silence")]
fn mtr_prints_the_same(line: &str) {
    let Some(scene) = Scene::new("mtr", "mtr-tiny") else { return };
    let (ours, theirs) = scene.both("mtr", line);
    // The moment is another.
    let without_start =
        |text: &str| -> Vec<String> { form(text).into_iter().filter(|line| !line.starts_with("Start: ")).collect() };
    assert_eq!(
        without_start(&ours.stdout),
        without_start(&theirs.stdout),
        "{line}\n{}\n{}",
        ours.told(),
        theirs.told()
    );
    assert_eq!((ours.stderr, ours.code), (theirs.stderr, theirs.code), "{line}");
}
