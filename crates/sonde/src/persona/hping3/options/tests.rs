//! The words, and what they ask for.

use test_case::test_case;

use super::*;

fn of(line: &str) -> Result<Asked, Answer> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&words)
}

#[test]
fn the_articles_line_asks_for_four_packets_a_second_apart() {
    let asked = of("-c 4 -p 11111 10.0.0.2").unwrap();
    assert_eq!((asked.count, asked.port, asked.flags), (Some(4), 11_111, Flags(0)));
    assert_eq!((asked.interval, asked.window, asked.host.as_str()), (Nanos::secs(1), 512, "10.0.0.2"));
}

#[test_case("", Mode::Tcp; "segments")]
#[test_case("-1", Mode::Icmp; "echo requests")]
#[test_case("--udp -p 53", Mode::Udp; "datagrams")]
fn modes(words: &str, mode: Mode) {
    assert_eq!(of(&format!("{words} db1")).unwrap().mode, mode);
}

#[test]
fn letters_stand_together_and_values_behind_them() {
    let asked = of("-SAFp80 db1 -iu250 --count=3").unwrap();
    assert_eq!(asked.flags, Flags::SYN.with(Flags::ACK).with(Flags::FIN));
    assert_eq!((asked.port, asked.interval, asked.count), (80, Nanos::micros(250), Some(3)));
}

#[test_case("-i 2", Nanos::secs(2); "seconds")]
#[test_case("-i u10", Nanos::micros(10); "microseconds")]
#[test_case("--fast", Nanos::millis(100); "fast")]
#[test_case("--faster", Nanos::micros(1); "faster")]
fn intervals(words: &str, interval: Nanos) {
    assert_eq!(of(&format!("{words} db1")).unwrap().interval, interval);
}

#[test_case("-p 80", (80, false); "one")]
#[test_case("-p +80", (80, true); "counting up")]
#[test_case("-p ++65535", (65_535, true); "from the last")]
#[test_case("", (0, false); "none")]
fn ports(words: &str, port: (u16, bool)) {
    let asked = of(&format!("{words} db1")).unwrap();
    assert_eq!((asked.port, asked.rising), port);
}

#[test_case("-p 65536", "goes from 0 to 65535"; "a port too large")]
#[test_case("-p +++80", "goes from 0 to 65535"; "too many signs")]
#[test_case("-i u0", "is no interval"; "no interval at all")]
#[test_case("-i x", "is no interval"; "an interval of letters")]
#[test_case("-i 99999999999999999999", "is no interval"; "an interval beyond all")]
#[test_case("-d 65536", "is no number from 0 to 65455"; "more than a packet")]
#[test_case("-t 256", "is no number from 0 to 255"; "more hops than there are")]
#[test_case("-o xy", "hexadecimal"; "no hexadecimal")]
#[test_case("-a 10.0.0.9", "an address of this host"; "another's address")]
#[test_case("--rand-source", "an address of this host"; "anybody's address")]
#[test_case("--flood", "add --force and an end"; "a flood")]
#[test_case("--flood --force", "needs an end"; "a flood without end")]
#[test_case("-1 -2", "are two modes"; "two modes")]
#[test_case("-0", "echo requests (-1)"; "raw IP")]
#[test_case("-1 -C 13", "echo requests (-1)"; "ICMP that is no echo")]
#[test_case("-O 4", "lie about their length"; "a header that lies")]
fn what_is_not_done_is_refused_in_a_sentence(words: &str, why: &str) {
    let answer = of(&format!("{words} db1")).unwrap_err();
    assert!(answer.status == 1 && answer.stderr.starts_with("hping3: ") && answer.stderr.contains(why), "{answer:?}");
}

#[test]
fn a_flood_that_is_let_go_has_an_end_and_a_bound() {
    let asked = of("-S --flood --force -c 1000 db1").unwrap();
    assert_eq!((asked.interval, asked.quiet, asked.count), (FLOOD, true, Some(1_000)));
}

#[test]
fn the_help_names_every_option_that_is_taken() {
    let answer = of("--help").unwrap_err();
    assert!(answer.status == 0 && answer.stdout.starts_with("usage: hping3 host [options]\n"));
    for name in ["--tcp-timestamp", "--baseport", "--traceroute", "--record"] {
        assert!(answer.stdout.contains(name), "{name}");
    }
}

#[test]
fn no_option_is_there_twice() {
    let letters: Vec<_> = ENTRIES.iter().flat_map(|entry| entry.letters.chars()).collect();
    let names: Vec<_> = ENTRIES.iter().map(table::Entry::name).collect();
    let unique = |count: usize, mut all: Vec<String>| {
        all.sort_unstable();
        all.dedup();
        all.len() == count
    };
    assert!(unique(letters.len(), letters.iter().map(char::to_string).collect()));
    assert!(unique(names.len(), names));
}

#[test]
fn what_has_no_effect_is_said() {
    assert_eq!(of("-z -S db1").unwrap().notes, ["--bind: has no effect: no key is bound to anything"]);
}

#[test_case("--scan 1-3 -S", Nanos::millis(1); "the usual pace")]
#[test_case("-8 1-3 -S -i u5000", Nanos::millis(5); "a pace that was asked for")]
fn a_scan_names_ports_and_has_a_pace(words: &str, interval: Nanos) {
    let asked = of(&format!("{words} db1")).unwrap();
    assert_eq!((asked.scan.unwrap().all(&[]), asked.interval), (vec![1, 2, 3], interval));
}

#[test_case("--scan ssh", "Ports syntax error for scan mode\n"; "no ports")]
#[test_case("--scan 80 -p 80", "hping3: --destport: does not go with --scan: each port is probed by segments here\n"; "one port more")]
#[test_case("--scan 80 -2", "hping3: --udp: does not go with --scan: each port is probed by segments here\n"; "datagrams")]
fn what_does_not_go_with_a_scan_is_refused(words: &str, expected: &str) {
    assert_eq!(of(&format!("{words} db1")).unwrap_err().stderr, expected);
}
