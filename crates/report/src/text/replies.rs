//! Replies of a program at work by kind, and the steps before the first request.

use logbook::moment::Moment;
use measure::outcome::replies::{Classes, Kind, OfClass, Phases, Replies, Stuck, Tls};
use measure::unit::grouped;

use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::LABEL;

/// `200 (950), 503 (50, refused), 150 B each`, and what was done for connections; of a run that `lost` so many requests.
pub(super) fn tell(page: &mut Page, replies: &Replies, lost: u64) {
    let mut said: Vec<String> = replies.ranked().into_iter().map(|(name, kind)| count(name, kind)).collect();
    if replies.others > 0 {
        said.push(format!("other kinds ({})", grouped(replies.others)));
    }
    said.extend(match (replies.shortest_bytes, replies.longest_bytes) {
        (Some(shortest), Some(longest)) if shortest == longest => Some(format!("{shortest} each")),
        (Some(shortest), Some(longest)) => Some(format!("{shortest} to {longest}")),
        _ => None,
    });
    let line = |page: &mut Page, label: &'static str, said: &[String]| {
        if !said.is_empty() {
            page.paragraph(INDENT, &Piece::new(label, Tone::Faint), LABEL, &said.join(", "));
        }
    };
    line(page, "replies", &said);
    line(page, "", &errors(replies).into_iter().collect::<Vec<_>>());
    let limit = replies
        .most_at_once
        .map(|most| format!("the server takes {} at once on a connection", number::count(most, "request", "requests")));
    line(page, "limit", &limit.into_iter().collect::<Vec<_>>());
    // The end of a run that is broken off leaves requests too, which nobody waited for.
    let stuck = replies.stuck.filter(|stuck| stuck.behind < lost).map(stuck_words);
    line(page, "stuck", &stuck.into_iter().collect::<Vec<_>>());
    if let Some(parts) = &replies.phases {
        phases(page, parts);
    }
    if let Some(of) = &replies.classes {
        classes(page, of);
    }
    // Where each request has a connection of its own, the first connection is one of many.
    let kept = replies.phases.is_none();
    let opened = replies.connect_ns.map(|time| format!("connect {time}"));
    let prologue = replies.prologue_ns.map(|time| format!("greeting {time}"));
    let trial = replies.trial_ns.map(|time| format!("first request {time}"));
    let renewals = (replies.renewals > 0).then(|| {
        let count = number::count(replies.renewals, "connection made anew", "connections made anew");
        let or = if replies.unread.is_some() { " or sent what is no reply" } else { "" };
        // Who sent a reset is not known; what ends otherwise is the server's end of it.
        let ended = match &replies.down {
            Some(down) if down.reset > 0 => "one was reset",
            _ => "the server ended one",
        };
        format!("{count} because {ended}{or}")
    });
    let secured = replies.tls_ns.map(|time| format!("TLS {time}"));
    let connections: Vec<String> = if kept {
        [opened, secured, prologue, trial, renewals].into_iter().flatten().collect()
    } else {
        trial.into_iter().collect()
    };
    line(page, "before", &connections);
    if let Some(Tls { version, cipher_suite, verified, valid_until_s }) = &replies.tls {
        let anybody = if *verified { "" } else { ". The certificate was not verified: anybody may have answered" };
        // That of QUIC has no phase of its own.
        let handshakes = |phases: &Phases| phases.tls.as_ref().unwrap_or(&phases.connect).count;
        let resumed =
            replies.phases.as_ref().and_then(|phases| phases.resumed.map(|resumed| (resumed, handshakes(phases))));
        let resumed = resumed.filter(|(resumed, _)| *resumed > 0).map_or_else(String::new, |(resumed, all)| {
            format!(", {} of {} handshakes resumed", grouped(resumed), grouped(all))
        });
        let suite = cipher_suite.as_ref().map_or_else(String::new, |suite| format!(", {suite}"));
        let until = valid_until_s.and_then(Moment::after_1970).map(|until| until.to_string());
        let until = until.as_deref().and_then(|until| until.split('T').next());
        let until = until.map_or_else(String::new, |date| format!(", certificate until {date}"));
        line(page, "TLS", &[format!("{version}{suite}{until}{resumed}{anybody}")]);
    }
}

/// `4 requests were asked behind one without a reply, which had begun, and replies come in order: a client that connects anew may get them`.
fn stuck_words(stuck: Stuck) -> String {
    let requests = number::count(stuck.behind, "request was", "requests were");
    let begun = if stuck.begun > 0 { ", which had begun" } else { "" };
    format!(
        "{requests} asked behind one without a reply{begun}, on a connection where replies come in order: they are lost \
         with it. A client that connects anew may be answered"
    )
}

/// The words for replies that all say that the request is in error, by a status of HTTP or SIP; `None` where there is another.
fn errors(replies: &Replies) -> Option<String> {
    let is_error = |name: &str| name.parse::<u16>().is_ok_and(|status| (400..600).contains(&status));
    if replies.wants_tls {
        return Some("this port speaks TLS, and the requests came in clear: ask by https://".to_owned());
    }
    // Where all are refusals, the answer says so.
    let any = replies.others == 0 && replies.kinds.values().any(|kind| kind.answers);
    let all = any && replies.kinds.keys().all(|name| is_error(name));
    all.then(|| "each is an error: the times are those of errors".to_owned())
}

/// The parts of requests with a connection each, one row a part; what has too few values is left empty.
fn phases(page: &mut Page, phases: &Phases) {
    let parts = [
        ("connect", Some(&phases.connect)),
        ("TLS", phases.tls.as_ref()),
        ("greeting", phases.greeting.as_ref()),
        ("wait", Some(&phases.wait)),
        ("receive", Some(&phases.receive)),
    ];
    let head = ["phase", "min", "p50", "p90", "p99", "max"].map(|name| Piece::new(name, Tone::Faint)).to_vec();
    let rows =
        parts.into_iter().filter_map(|(name, phase)| phase.filter(|phase| phase.count > 0).map(|phase| (name, phase)));
    let rows = rows.map(|(name, phase)| {
        let times = [phase.min_ns, phase.p50_ns, phase.p90_ns, phase.p99_ns, phase.max_ns];
        let times = times.map(|time| Piece::from(time.map(number::measured).unwrap_or_default()));
        [vec![Piece::from(name.to_owned())], times.to_vec()].concat()
    });
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    if rows.len() > 1 {
        page.gap();
        page.table(&rows);
        page.gap();
    }
}

/// Longest name of a class in its table, characters.
const LONGEST_NAME: usize = 20;

/// The classes of a mix, one row a class; a column of what never happened is left out, and what has too few values is left empty.
fn classes(page: &mut Page, classes: &Classes) {
    type Count = fn(&OfClass) -> u64;
    let counts: [(&str, Count); 5] = [
        ("requests", |class| class.scheduled),
        ("refused", |class| class.refused),
        ("lost", |class| class.unanswered),
        ("corrupt", |class| class.corrupt),
        ("not sent", |class| class.send_failed),
    ];
    let happened =
        |(name, count): &(&str, Count)| *name == "requests" || classes.each.iter().any(|class| count(class) > 0);
    let counts: Vec<_> = counts.into_iter().filter(happened).collect();
    let faint = |name: &str| Piece::new(name.to_owned(), Tone::Faint);
    let head =
        std::iter::once("request").chain(counts.iter().map(|(name, _)| *name)).chain(["p50", "p90", "p99", "max"]);
    let rows = classes.each.iter().map(|class| {
        let times = [class.times.p50_ns, class.times.p90_ns, class.times.p99_ns, class.times.max_ns];
        let times = times.map(|time| Piece::from(time.map(number::measured).unwrap_or_default()));
        let counted = counts.iter().map(|(_, count)| Piece::from(grouped(count(class))));
        std::iter::once(Piece::from(cut(&class.name))).chain(counted).chain(times).collect()
    });
    let rows: Vec<Vec<Piece>> = std::iter::once(head.map(faint).collect()).chain(rows).collect();
    page.gap();
    page.table(&rows);
    page.gap();
    if classes.untold > 0 {
        let count = number::count(classes.untold, "request", "requests");
        let said = format!("{count} ended too fast to be assigned to a class");
        page.paragraph(INDENT, &Piece::new("no class", Tone::Faint), LABEL, &said);
    }
}

/// A name that fits its column.
fn cut(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

fn count(name: &str, kind: Kind) -> String {
    let refused = if kind.answers { "" } else { ", refused" };
    format!("{name} ({}{refused})", grouped(kind.count))
}

/// `reply 200`, `reply 200, 404`: what the answer says of them in brackets; absent where none came.
pub(crate) fn named(replies: &Replies) -> Option<String> {
    const MOST: usize = 3;
    let ranked = replies.ranked();
    let names: Vec<&str> = ranked.iter().take(MOST).map(|(name, _)| *name).collect();
    let more = if ranked.len() > MOST || replies.others > 0 { ", …" } else { "" };
    (!names.is_empty()).then(|| format!("reply {}{more}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use measure::outcome::replies::Phase;
    use measure::unit::{Bytes, Nanos};

    use super::*;
    use crate::layout::Style;

    #[test]
    fn phases_are_a_table() {
        let phase = |time: u64| {
            let some = Some(Nanos(time));
            Phase { count: 100, min_ns: some, p50_ns: some, p90_ns: some, p99_ns: None, max_ns: Some(Nanos(2 * time)) }
        };
        let phases = Phases {
            connect: phase(100_000),
            resumed: None,
            tls: Some(phase(900_000)),
            greeting: None,
            wait: phase(300_000),
            receive: phase(7_000),
        };
        let replies = Replies { phases: Some(phases), connect_ns: Some(Nanos(1)), ..Replies::default() };
        let mut page = Page::new(Style { width: 80, ..Style::default() });
        tell(&mut page, &replies, 0);
        let text = page.finish();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let found: Vec<_> = text.lines().map(words).filter(|line| !line.is_empty()).collect();
        let expected = [
            "phase min p50 p90 p99 max",
            "connect 100 µs 100 µs 100 µs 200 µs",
            "TLS 900 µs 900 µs 900 µs 1.80 ms",
            "wait 300 µs 300 µs 300 µs 600 µs",
            "receive 7.00 µs 7.00 µs 7.00 µs 14.0 µs",
        ];
        assert_eq!(found, expected, "the time of the first connection is one of many, and not told beside them");
    }

    #[test]
    fn classes_are_a_table_of_what_happened() {
        let times =
            Phase { count: 900, p50_ns: Some(Nanos(61_000)), max_ns: Some(Nanos(2_000_000)), ..Phase::default() };
        let read = OfClass { name: "read".into(), scheduled: 1_900, answered: 1_900, times, ..OfClass::default() };
        let name = "POST /items/with/a/long/path".to_owned();
        let write = OfClass { name, scheduled: 100, refused: 100, ..OfClass::default() };
        let classes = Classes { each: vec![read, write], untold: 3 };
        let mut page = Page::new(Style { width: 80, ..Style::default() });
        tell(&mut page, &Replies { classes: Some(classes), ..Replies::default() }, 0);
        let text = page.finish();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let found: Vec<_> = text.lines().map(words).filter(|line| !line.is_empty()).collect();
        let expected = [
            "request requests refused p50 p90 p99 max",
            "read 1 900 0 61.0 µs 2.00 ms",
            "POST /items/with/a/… 100 100",
            "no class 3 requests ended too fast to be assigned to a class",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn replies_that_are_all_errors_are_told() {
        let told = |kinds: &[&str], wants_tls| {
            let mut replies = Replies { wants_tls, most_at_once: Some(4), ..Replies::default() };
            for kind in kinds {
                replies.add((*kind).to_owned(), true, 9);
            }
            let mut page = Page::new(Style { width: 80, ..Style::default() });
            tell(&mut page, &replies, 0);
            page.finish().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(told(&["404", "500"], false).contains("each is an error: the times are those of errors"));
        assert!(told(&["400"], true).contains("this port speaks TLS, and the requests came in clear"));
        assert!(!told(&["404", "200"], false).contains("error"));
        assert!(!told(&["NXDOMAIN"], false).contains("error"));
        assert!(told(&["200"], false).contains("limit the server takes 4 requests at once on a connection"));
    }

    #[test]
    fn what_was_left_behind_a_reply_is_told_where_it_was_waited_for() {
        let told = |begun, lost| {
            let replies = Replies { stuck: Some(Stuck { behind: 5, begun }), ..Replies::default() };
            let mut page = Page::new(Style { width: 80, ..Style::default() });
            tell(&mut page, &replies, lost);
            page.finish().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(
            told(1, 6).starts_with("stuck 5 requests were asked behind one without a reply, which had begun, on a")
        );
        assert!(told(0, 6).starts_with("stuck 5 requests were asked behind one without a reply, on a"));
        assert_eq!(told(1, 5), "", "the end of the run left them");
    }

    #[test]
    fn kinds_and_connections_are_told() {
        let tls = Tls {
            version: "TLS 1.3".into(),
            cipher_suite: Some("TLS_AES_256_GCM_SHA384".into()),
            verified: false,
            valid_until_s: Some(4_107_542_400),
        };
        let mut replies = Replies {
            renewals: 2,
            connect_ns: Some(Nanos(120_000)),
            tls_ns: Some(Nanos(900_000)),
            tls: Some(tls),
            ..Replies::default()
        };
        replies.add("200".into(), true, 950);
        replies.add("503".into(), false, 50);
        replies.stretch(Bytes(90), Bytes(150));
        let mut page = Page::new(Style { width: 80, ..Style::default() });
        tell(&mut page, &replies, 0);
        let text = page.finish();
        assert!(text.contains("200 (950), 503 (50, refused), 90 B to 150 B"), "{text}");
        assert!(text.contains("connect 120 µs, TLS 900 µs, 2 connections made anew because the server"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = "TLS 1.3, TLS_AES_256_GCM_SHA384, certificate until 2100-03-01. The certificate was not verified";
        assert!(words.contains(told), "{text}");
        assert_eq!(named(&replies).as_deref(), Some("reply 200, 503"));
        assert_eq!(named(&Replies::default()), None);
    }
}
