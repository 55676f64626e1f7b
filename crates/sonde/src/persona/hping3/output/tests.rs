//! Output against that of the original: every reply that it printed is read, and printed again.

use std::collections::BTreeMap;

use measure::answer::{Datagram, Options};
use measure::unit::Instant;

use super::*;
use crate::persona::hping3::options;
use crate::persona::hping3::transcript::{self, Run};

fn place() -> Place {
    Place { interface: "sya".to_owned(), local: [10, 91, 1, 1].into(), mtu: Some(1_500), remote: [10, 91, 2, 1].into() }
}

/// Runs of ours too: those that were told of replies.
fn runs() -> Vec<(Run, Asked)> {
    let all = transcript::all().into_iter();
    all.filter_map(|run| options::parse(&run.words).ok().map(|asked| (run, asked)))
        .filter(|(run, _)| run.stdout.contains("HPING "))
        .collect()
}

/// The replies of a run as it printed them.
fn replies(run: &Run) -> Vec<String> {
    let mut replies: Vec<String> = Vec::new();
    for line in
        run.stdout.split_inclusive('\n').filter(|line| !line.starts_with("using ") && !line.starts_with("HPING "))
    {
        let begins = ["len=", "DUP! len=", "\u{7}len="].iter().any(|start| line.starts_with(start))
            || line.contains(" from ip=");
        match replies.last_mut().filter(|_| !begins) {
            Some(reply) => *reply += line,
            None => replies.push(line.to_owned()),
        }
    }
    replies
}

/// `name=value` wherever it stands.
fn values(text: &str) -> BTreeMap<&str, &str> {
    text.split_whitespace().filter_map(|word| word.split_once('=')).fold(
        BTreeMap::new(),
        |mut values, (name, value)| {
            // The second `seq` of a verbose reply is TCP's.
            let name = if name == "seq" && values.contains_key("seq") { "number" } else { name };
            values.insert(name, value);
            values
        },
    )
}

fn number<T: std::str::FromStr + Default>(values: &BTreeMap<&str, &str>, name: &str) -> T {
    values.get(name).and_then(|value| value.parse().ok()).unwrap_or_default()
}

/// Reply that the original printed so.
fn read(text: &str, icmp_seq: u64) -> Reply {
    let text = text.trim_start_matches('\u{7}');
    let values = values(text);
    let from: IpAddr = values["ip"].parse().unwrap();
    let time = values.get("rtt").or(values.get("hoprtt")).map_or(0.0, |time| time.parse::<f64>().unwrap());
    let content = match (text.contains("len="), text.contains("sport=")) {
        (true, true) => segment(text, &values),
        (true, false) if text.contains("icmp_seq=") => Content::Echo(datagram(text, &values)),
        (true, false) => Content::Datagram(datagram(text, &values)),
        (false, _) => error(text, &values),
    };
    let seq = if values.contains_key("seq") { number(&values, "seq") } else { icmp_seq };
    Reply {
        answer: Answer { seq, at: Instant(0), from, content },
        round_trip: Nanos((time * 1e6).round() as u64),
        duplicate: text.starts_with("DUP! ") || text.contains("status=1 "),
        id_before: values.get("id").is_some_and(|id| id.starts_with('+')).then_some(0),
    }
}

fn segment(text: &str, values: &BTreeMap<&str, &str>) -> Content {
    let all = [('R', Flags::RST), ('S', Flags::SYN), ('A', Flags::ACK), ('F', Flags::FIN), ('X', Flags::ECE)];
    let set = all.into_iter().filter(|(letter, _)| values["flags"].contains(*letter));
    let mut options = Options::default();
    options.timestamps = values.get("tcpts").map(|clock| (clock.parse().unwrap(), 0));
    Content::Segment(Segment {
        length: number(values, "len"),
        ttl: number(values, "ttl"),
        tos: Some(0),
        ip_id: Some(number(values, "id")),
        dont_fragment: Some(text.contains(" DF ")),
        source_port: number(values, "sport"),
        destination_port: 0,
        seq: number(values, "number"),
        ack: number(values, "ack"),
        flags: set.fold(Flags(0), |flags, (_, flag)| flags.with(flag)),
        window: number(values, "win"),
        checksum: u16::from_str_radix(values.get("sum").unwrap_or(&"0"), 16).unwrap(),
        urgent: number(values, "urp"),
        options,
    })
}

fn datagram(text: &str, values: &BTreeMap<&str, &str>) -> Datagram {
    Datagram {
        length: number(values, "len"),
        ttl: number(values, "ttl"),
        tos: values.get("tos").map(|tos| u8::from_str_radix(tos, 16).unwrap()),
        ip_id: Some(number(values, "id")),
        dont_fragment: Some(text.contains(" DF ")),
        source: number(values, "icmp_seq"),
    }
}

/// The error whose words these are.
fn error(text: &str, values: &BTreeMap<&str, &str>) -> Content {
    let words = text
        .split(" from ")
        .next()
        .unwrap()
        .rsplit_once("hop=1 ")
        .map_or_else(|| text.split(" from ").next().unwrap().to_owned(), |(_, words)| words.to_owned());
    let codes = (0..16).map(|code| (3, code)).chain([(11, 0), (11, 1)]);
    let (kind, code) = codes.into_iter().find(|(kind, code)| told(false, *kind, *code) == words).unwrap();
    Content::Icmp { kind, code, info: 0, port: values.get("port").map(|port| port.parse().unwrap()) }
}

#[test]
fn every_reply_is_told_as_the_original_told_it() {
    let mut told = 0;
    for (run, asked) in runs() {
        for (place, text) in replies(&run).iter().enumerate() {
            assert_eq!(&reply(&asked, &read(text, place as u64)), text, "{}", run.file);
            told += 1;
        }
    }
    assert!(told > 160, "only {told} replies were compared");
}

#[test]
fn every_run_begins_as_the_original_s_began() {
    for (run, asked) in runs() {
        let remote = asked.host.parse().unwrap_or(place().remote);
        let heading = heading(&asked, &Place { remote, ..place() });
        assert!(run.stdout.starts_with(&heading), "{}: {heading}", run.file);
    }
}

#[test]
fn every_summary_is_the_original_s() {
    for (run, asked) in runs() {
        // A quiet run does not show what it counted.
        if asked.quiet {
            continue;
        }
        let mut summary = Summary::default();
        for (place, text) in replies(&run).iter().enumerate() {
            let reply = read(text, place as u64);
            let timed = text.contains("rtt=");
            summary.take(reply.round_trip, timed);
        }
        summary.sent = run.stderr.lines().nth(2).unwrap().split(' ').next().unwrap().parse().unwrap();
        let text = summary.text(&asked.host);
        // Times of a tenth of a millisecond average to others than those they were cut from.
        let counts = |text: &str| text.lines().take(3).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(counts(&text), counts(&run.stderr), "{}", run.file);
        // Those of unreachable ports count, and are not told.
        if run.stdout.contains("status=") {
            continue;
        }
        let ends = |text: &str| {
            let times = text.lines().nth(3).unwrap().split(" = ").nth(1).unwrap().to_owned();
            let times: Vec<String> = times.split(['/', ' ']).map(str::to_owned).collect();
            (times[0].clone(), times[2].clone())
        };
        assert_eq!(ends(&text), ends(&run.stderr), "{}", run.file);
    }
}

#[test]
fn what_stands_in_place_of_a_run_is_the_original_s() {
    let said = |name: &str| {
        let run = transcript::one(name);
        let answer = options::parse(&run.words).unwrap_err();
        (answer.stdout, answer.stderr, answer.status.to_string(), run)
    };
    for name in ["count-zero.txt", "no-host.txt", "unknown-option.txt"] {
        let (stdout, stderr, status, run) = said(name);
        assert_eq!((&stdout, &stderr, &status), (&run.stdout, &run.stderr, &run.status), "{name}");
    }
}

#[test]
fn nothing_came_is_a_whole_loss() {
    let summary = Summary { sent: 3, ..Summary::default() };
    assert_eq!(
        summary.text("db1"),
        "\n--- db1 hping statistic ---\n3 packets transmitted, 0 packets received, 100% packet loss\nround-trip min/avg/max = 0.0/0.0/0.0 ms\n"
    );
}

#[test]
fn a_sequence_number_has_its_step() {
    // As the original printed them, but for the last: it says one less around 2³².
    assert_eq!(sequence_number(0, 0), "         0 +0\n");
    assert_eq!(sequence_number(1_059_170_953, 0), "1059170953 +1059170953\n");
    assert_eq!(sequence_number(3_122_142_368, 1_059_170_953), "3122142368 +2062971415\n");
    assert_eq!(sequence_number(2_286_450_236, 3_122_142_368), "2286450236 +3459275164\n");
}
