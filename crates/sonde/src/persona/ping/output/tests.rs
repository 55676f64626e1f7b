//! Runs of the original, taken apart and put together again from their values: octet by octet the same.

use super::complaint::{self, Icmp};
use super::header::Header;
use super::hops::Hops;
use super::{line, summary};
use crate::persona::ping::options;
use crate::persona::ping::run::task;
use crate::persona::ping::statistics::Statistics;
use crate::persona::ping::transcript;
use test_case::test_case;
use testbed::console::Console;

/// Text between two texts.
fn between<'a>(text: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(behind).map_or(rest, |(found, _)| found))
}

fn number(text: &str, before: &str, behind: &str) -> Option<u64> {
    between(text, before, behind)?.replace('.', "").parse().ok()
}

/// Microseconds of a time as it is printed, rounded to its digits.
fn micros(printed: &str) -> u64 {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len() as u32);
    printed.replace('.', "").parse::<u64>().unwrap() * 10_u64.pow(3 - decimals)
}

/// A run, put together again.
struct Again {
    options: options::Options,
    statistics: Statistics,
    text: String,
}

impl Again {
    fn of(original: &Console) -> Self {
        let options = options::parse(original.arguments()).unwrap();
        let mut again = Self { options, statistics: Statistics::default(), text: String::new() };
        let transmitted = number(&original.stdout, "---\n", " packets transmitted").unwrap();
        let lasted = number(&original.stdout, ", time ", "ms").unwrap() * 1_000_000;
        let (lines, _) = original.stdout.split_once("\n\n---").unwrap();
        for line in lines.split_inclusive('\n').map(|line| line.trim_end_matches('\n')) {
            again.line(line, transmitted, lasted);
        }
        again.send(transmitted, transmitted, lasted);
        let summary = summary::Summary {
            host: &again.options.destination,
            statistics: &again.statistics,
            paced_by_replies: again.options.adaptive || task::interval_ms(&again.options) == 0,
        };
        again.text += &summary.text();
        again
    }

    /// Requests up to `until` of `all` leave, the first at once, the last at `lasted`.
    fn send(&mut self, until: u64, all: u64, lasted: u64) {
        for seq in self.statistics.transmitted..until {
            self.statistics.sent(seq, if seq + 1 == all { lasted } else { 0 });
        }
    }

    fn line(&mut self, text: &str, transmitted: u64, lasted: u64) {
        if text.starts_with("PING ") {
            self.text += &self.header(text).text();
            return;
        }
        let seq = number(text, "icmp_seq=", " ").unwrap() - 1;
        if text.starts_with("no answer yet") {
            self.send(seq + 2, transmitted, lasted);
            self.text += &line::outstanding((seq + 1) as u16);
            return;
        }
        self.send(seq + 1, transmitted, lasted);
        if let Some(from) = between(text, "From ", " ") {
            self.statistics.acknowledge(seq);
            self.statistics.errors += 1;
            let (_, words) = text.split_once(&format!("icmp_seq={} ", seq + 1)).unwrap();
            self.text += &complaint::line(from, (seq + 1) as u16, meant(words, text.contains("::")));
            return;
        }
        let time = between(text, " time=", " ms").map(micros);
        let left = if seq + 1 == transmitted { lasted } else { 0 };
        let at = left + time.unwrap_or(20) * 1_000;
        let received = self.statistics.received(seq, at, self.options.times(), true);
        let payload: Vec<u8> = (0..self.options.size as u8).collect();
        let stamp = between(text, "[", "]").map(|stamp| stamp.replace('.', "").parse::<u64>().unwrap() * 1_000);
        self.text += &stamp.map(line::timestamp).unwrap_or_default();
        self.text += &line::Reply {
            octets: octets(text),
            from: between(text, " from ", ": ").unwrap(),
            seq: (seq + 1) as u16,
            identifier: None,
            ttl: number(text, " ttl=", " ").map(|ttl| ttl as u8),
            truncated: text.contains("truncated"),
            micros: received.micros.and(time),
            again: received.again,
            bad_checksum: false,
            different_address: false,
            wrong: None,
            sent: &payload,
        }
        .text();
        self.text += if self.options.audible { "\u{7}\n" } else { "\n" };
    }

    fn header<'a>(&self, text: &'a str) -> Header<'a> {
        let from = between(text, " from ", ": ").map(|from| from.split_once(' ').unwrap());
        let some = |word: &'a str| Some(word).filter(|word| !word.is_empty());
        Header {
            host: between(text, "PING ", "(").unwrap().trim_end(),
            address: between(text, "(", ")").unwrap(),
            six: text.contains("::"),
            source: from.and_then(|(source, _)| some(source)),
            interface: from.and_then(|(_, interface)| some(interface)),
            size: self.options.size,
            options: 0,
            pattern: &[],
        }
    }
}

/// Number in front of " bytes".
fn octets(text: &str) -> u32 {
    let (before, _) = text.split_once(" bytes").unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

/// The numbers of an error, found by its words.
fn meant(words: &str, six: bool) -> Icmp {
    let info = number(words, "mtu = ", ")").or(number(words, "mtu=", " ")).unwrap_or(0) as u32;
    let all = (0..=255_u8).flat_map(|kind| (0..=20_u8).map(move |code| Icmp { six, kind, code, info }));
    all.into_iter().find(|icmp| icmp.to_string() == words).unwrap_or_else(|| panic!("nothing says {words:?}"))
}

#[test_case("count-100"; "the first article")]
#[test_case("count-1000-10ms"; "the first article, every 10 ms")]
#[test_case("count-4"; "the third article")]
#[test_case("count-5"; "the fifth article")]
#[test_case("timestamps"; "with the time of day")]
#[test_case("size-0"; "no payload")]
#[test_case("size-8"; "no room for a stamp")]
#[test_case("size-16"; "room for a stamp")]
#[test_case("size-1400"; "a large payload")]
#[test_case("size-65507"; "the largest payload")]
#[test_case("v6-count-4"; "over IPv6")]
#[test_case("ttl-1"; "a TTL that runs out")]
#[test_case("v6-ttl-1"; "a hop limit that runs out")]
#[test_case("host-unreachable"; "no such host")]
#[test_case("prohibited"; "a filter")]
#[test_case("reject-port-unreachable"; "rejected by a port")]
#[test_case("reject-net-unreachable"; "rejected by a network")]
#[test_case("reject-admin-prohibited"; "rejected by rule")]
#[test_case("v6-unreachable"; "no route")]
#[test_case("no-answer"; "silence")]
#[test_case("deadline-lost"; "silence until a deadline")]
#[test_case("dropped-O"; "silence that is told")]
#[test_case("lost-one"; "one of four")]
#[test_case("lost-one-O"; "one of four, told")]
#[test_case("interface"; "from an interface")]
#[test_case("source"; "from an address")]
#[test_case("two-I"; "from both")]
#[test_case("v6-interface"; "from an interface of IPv6")]
#[test_case("loopback"; "to this host")]
#[test_case("v6-loopback"; "to this host over IPv6")]
#[test_case("localhost"; "by name")]
#[test_case("audible"; "with a bell")]
#[test_case("neighbour-O"; "a neighbour that is not there")]
#[test_case("user-interval-2ms"; "a user's fastest")]
fn a_run_follows_from_its_values(name: &str) {
    let original = transcript::of(name);
    assert_eq!(Again::of(&original).text, original.stdout, "{name}");
}

#[test]
fn a_second_reply_is_told_and_counted() {
    // Its last second reply came when the run was over.
    let original = transcript::of("forged-dup");
    assert_eq!(Again::of(&original).text, original.stdout);
}

#[test]
fn a_wrong_payload_is_shown() {
    let original = transcript::of("forged-bad");
    let sent: Vec<u8> = (0..56).collect();
    let mut payload = sent.clone();
    payload[20] = 0xEB;
    let reply = line::Reply {
        octets: 64,
        from: "10.9.2.1",
        seq: 1,
        identifier: None,
        ttl: Some(63),
        truncated: false,
        micros: Some(224),
        again: false,
        bad_checksum: false,
        different_address: false,
        wrong: Some(&payload),
        sent: &sent,
    };
    assert!(original.stdout.contains(&format!("\n{}\n64 bytes", reply.text())), "{}", reply.text());
}

#[test_case("record-route")]
#[test_case("timestamp-addr")]
#[test_case("timestamp-only")]
fn what_hops_wrote_is_told(name: &str) {
    let original = transcript::of(name).stdout;
    let mut hops = Hops::default();
    let mut told = |options: &[u8]| hops.text(options, &mut |hop| hop.to_string());
    let address = |text: &str| text.parse::<std::net::Ipv4Addr>().unwrap().octets().to_vec();
    let route = ["10.9.1.1", "10.9.2.254", "10.9.2.1", "10.9.2.1", "10.9.1.254", "10.9.1.1"];
    let times = ["10.9.1.1", "10.9.1.254", "10.9.2.1", "10.9.2.1"];
    if name == "record-route" {
        let option = [vec![1, 7, 39, 28], route.map(address).concat(), vec![0; 12]].concat();
        assert!(original.contains(&format!("time=0.028 ms{}\n64 bytes", told(&option))));
        assert!(original.contains(&format!("time=0.021 ms{}\n\n---", told(&option))));
        return;
    }
    let with_addresses = name == "timestamp-addr";
    let first = original.split("TS: \t").nth(1).unwrap().trim_start_matches("10.9.1.1\t");
    let first: u32 = first.split(' ').next().unwrap().parse().unwrap();
    let each = |hop: &str| [if with_addresses { address(hop) } else { vec![] }, first.to_be_bytes().to_vec()].concat();
    let hops = if with_addresses { times.map(each).concat() } else { route.map(each).concat() };
    let head = if with_addresses { [68, 36, 37, 0x21] } else { [68, 40, 29, 0] };
    let padding = vec![0; usize::from(head[1]) - head.len() - hops.len()];
    let told = told(&[head.to_vec(), hops, padding].concat());
    assert!(original.contains(&format!("ms{told}\n64 bytes")), "{told}");
}

#[test]
fn whatever_hops_wrote_it_ends() {
    let mut hops = Hops::default();
    for option in [
        &[7][..],
        &[7, 0],
        &[7, 1, 4],
        &[7, 39, 200, 1, 2],
        &[68, 4, 255, 0xFF],
        &[68, 3, 9],
        &[1, 1, 1],
        &[9, 2, 7, 3, 0],
    ] {
        let text = hops.text(option, &mut |hop| hop.to_string());
        assert!(text.is_empty() || text.starts_with("\nTS: "), "{option:?}: {text:?}");
    }
}

#[test_case("adaptive")]
#[test_case("interval-0")]
fn a_run_that_replies_pace_tells_its_gaps(name: &str) {
    let original = transcript::of(name).stdout;
    let gap = micros(between(&original, "ipg/ewma ", "/").unwrap());
    let mut statistics = Statistics::default();
    let lines: Vec<&str> = original.lines().filter(|line| line.contains(" time=")).collect();
    for (seq, line) in (0..).zip(&lines) {
        let at = if seq + 1 == lines.len() as u64 { gap * seq * 1_000 } else { 0 };
        statistics.sent(seq, at);
        statistics.received(seq, at + micros(between(line, " time=", " ms").unwrap()) * 1_000, true, true);
    }
    let summary = summary::Summary { host: "10.9.2.1", statistics: &statistics, paced_by_replies: true }.text();
    let last = |text: &str| text.lines().last().unwrap().to_owned();
    assert_eq!(last(&summary), last(&original));
}

#[test]
fn a_signal_gets_the_figures_so_far() {
    let original = transcript::of("sigquit");
    let mut statistics = Statistics::default();
    for (seq, micros) in [(0, 16), (1, 8)] {
        statistics.sent(seq, 0);
        statistics.received(seq, micros * 1_000, true, true);
    }
    assert_eq!(summary::interim(&statistics).trim_start_matches('\r'), original.stderr.trim_start_matches('\r'));
    let lost = transcript::of("sigquit-lost");
    let mut statistics = Statistics::default();
    (0..2).for_each(|seq| statistics.sent(seq, 0));
    assert_eq!(summary::interim(&statistics).trim_start_matches('\r'), lost.stderr.trim_start_matches('\r'));
}

#[test]
fn local_errors_stand_on_standard_error() {
    let four = transcript::of("mtu-local").stderr;
    assert_eq!(complaint::local(false, "", Some(1_500)).repeat(2), four);
    assert_eq!(complaint::local(true, "", Some(1_500)), transcript::of("v6-mtu").stderr);
}

#[test]
fn the_last_line_gives_perfkit_benchmarker_its_four_numbers() {
    // Its expression is `[0-9]*\.[0-9]*` over the last line, which has to match four times.
    let decimals = |line: &str| {
        let word = |word: &&str| word.contains('.') && word.trim_matches(|c: char| c.is_ascii_digit()) == ".";
        line.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter(word).count()
    };
    let mut statistics = Statistics::default();
    for seq in 0..3 {
        statistics.sent(seq, seq * 1_000_000_000);
        statistics.received(seq, seq * 1_000_000_000 + 1_234_567, true, true);
    }
    let last = |paced_by_replies| {
        let text = summary::Summary { host: "h", statistics: &statistics, paced_by_replies }.text();
        assert!(text.ends_with(" ms\n"));
        text.lines().last().map(str::to_owned).unwrap()
    };
    assert_eq!((decimals(&last(false)), decimals(&last(true))), (4, 6), "a flood has the gaps too, as the original");
    assert_eq!(last(false), "rtt min/avg/max/mdev = 1.234/1.234/1.234/0.000 ms");
}
