//! The hops of some connections: a row each, columns by group or by way, and what may be said of them.

use std::collections::BTreeSet;

use logbook::record::Record;
use measure::outcome::hops::{Answering, Hop, Hops, Narrower, Parting, PathMtu, Probing, Side};
use measure::unit::Nanos;

use super::flows;
use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::number;
use crate::text::column::LABEL;

/// Addresses of one hop that are listed; the record has all.
const MOST: usize = 4;

/// The hops that `record` has; nothing where none were traced.
pub(super) fn tell(page: &mut Page, record: &Record) {
    let Some(hops) = record.outcome.as_ref().and_then(|outcome| outcome.hops.as_ref()) else { return };
    let say = |page: &mut Page, label: &str, tone, text: String| {
        page.paragraph(INDENT, &Piece::new(label, tone), LABEL, &text);
    };
    let method = method(hops.protocol, hops.each.len(), record.target.address.is_ipv6());
    say(page, "hops", Tone::Faint, format!("{method}, {}", number::count(hops.rounds.into(), "round", "rounds")));
    page.table(&rows(hops));
    let answers = record.outcome.as_ref().is_some_and(|outcome| outcome.counts.answered > 0);
    for (label, text) in remarks(hops, answers) {
        say(page, label, if label == "loss" { Tone::Alarm } else { Tone::Faint }, text);
    }
}

/// `8 connections traced by TCP SYNs from their ports`.
pub fn method(protocol: Probing, flows: usize, ipv6: bool) -> String {
    let by = match protocol {
        Probing::Tcp => "TCP SYNs",
        Probing::Udp => "datagrams",
        Probing::Icmp => "ICMP echo",
    };
    // Routers may choose by the label.
    let label = match (ipv6, protocol) {
        (true, Probing::Icmp) => " and with flow label 0",
        (true, _) => " and with the flow label of each",
        (false, _) => "",
    };
    let from = match (protocol, flows) {
        (Probing::Icmp, 1) => "with one identifier",
        (Probing::Icmp, _) => "with an identifier each",
        (_, 1) => "from its port",
        _ => "from their ports",
    };
    format!("{} traced by {by} {from}{label}", number::count(flows as u64, "connection", "connections"))
}

/// A trace while it goes on, under the line `head`: a hop a line, with the time of its last answer.
pub fn screen(head: &str, hops: &[(Hop, Option<Nanos>)], style: &Style) -> String {
    let mut page = Page::new(Style { colour: false, ..*style });
    page.line(INDENT, &[head.into()]);
    let mut rows: Vec<Vec<Piece>> = Vec::new();
    for (hop, last) in hops {
        let mut addresses = listed(hop, None).into_iter();
        let time = |time: Option<Nanos>| Piece::from(time.map_or_else(String::new, number::measured));
        let first = addresses.next().unwrap_or_default();
        let head = [hop.ttl.to_string(), first, hop.sent.to_string()].map(Piece::from);
        let times = [*last, hop.p50_ns, hop.min_ns, hop.max_ns].map(time);
        rows.push(head.into_iter().chain(times).chain([unanswered(hop).into()]).collect());
        rows.extend(addresses.map(|address| vec![Piece::default(), address.into()]));
    }
    if !rows.is_empty() {
        let names = ["hop", "address", "sent", "last", "p50", "best", "worst", "unanswered"];
        rows.insert(0, names.map(Piece::from).to_vec());
    }
    page.table(&rows);
    page.finish()
}

/// Loss where it is shown. Silence of a hop is none: it limits its answers, or sends none. Of a few missing ones it is not known which.
fn unanswered(hop: &Hop) -> String {
    match (hop.lost, hop.sent.saturating_sub(hop.answered)) {
        (Some(lost), _) => format!("loss ≥ {}", number::percent(lost)),
        (None, 0) => "0".to_owned(),
        (None, missing) if hop.peer => missing.to_string(),
        // In full this would not fit beside an address of fifteen letters.
        (None, _) if hop.answered == 0 => "silent".to_owned(),
        (None, missing) => format!("{missing}, limited?"),
    }
}

fn rows(hops: &Hops) -> Vec<Vec<Piece>> {
    let last = hops.sides.iter().map(|side| side.hops.len()).max().unwrap_or(0);
    let mut head = vec!["  hop".to_owned()];
    for place in 0..hops.sides.len() {
        head.extend([if is_alone(hops) { "address".to_owned() } else { name(hops, place) }, "p50".to_owned()]);
    }
    head.extend(["best", "worst"].map(str::to_owned).into_iter().filter(|_| is_alone(hops)));
    head.push("answered".to_owned());
    let faint = |texts: Vec<String>| texts.into_iter().map(|text| Piece::new(text, Tone::Faint)).collect();
    let mut rows: Vec<Vec<Piece>> = if last > 0 { vec![faint(head)] } else { Vec::new() };
    for place in 0..last {
        rows.extend(of_hop(hops, place).into_iter().map(|row| row.into_iter().map(Piece::from).collect()));
    }
    rows
}

/// True where there is one column, which has room for more.
fn is_alone(hops: &Hops) -> bool {
    matches!(&hops.sides[..], [side] if side.group.is_none())
}

/// The rows of one hop: more than one where it has several addresses.
fn of_hop(hops: &Hops, place: usize) -> Vec<Vec<String>> {
    let at = |side: &Side| side.hops.get(place).cloned();
    let first = hops.sides.first().and_then(at);
    let cells: Vec<Vec<String>> = hops
        .sides
        .iter()
        .enumerate()
        .map(|(number, side)| at(side).map_or_else(Vec::new, |hop| listed(&hop, first.as_ref().filter(|_| number > 0))))
        .collect();
    let count = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let all: Vec<Hop> = hops.sides.iter().filter_map(at).collect();
    let (answered, sent) = all.iter().fold((0, 0), |(answered, sent), hop| {
        (u64::saturating_add(answered, hop.answered), u64::saturating_add(sent, hop.sent))
    });
    let row = |line: usize| {
        let mut row = vec![if line == 0 { format!("  {}", place + 1) } else { String::new() }];
        for (side, cells) in hops.sides.iter().zip(&cells) {
            let p50 = at(side).and_then(|hop| hop.p50_ns).filter(|_| line == 0);
            row.extend([cells.get(line).cloned().unwrap_or_default(), p50.map_or_else(String::new, number::measured)]);
        }
        if is_alone(hops) {
            let ends = all.first().filter(|_| line == 0).map_or([None; 2], |hop| [hop.min_ns, hop.max_ns]);
            row.extend(ends.map(|time| time.map_or_else(String::new, number::measured)));
        }
        row.push(if line == 0 { format!("{answered} of {sent}") } else { String::new() });
        row
    };
    (0..count).map(row).collect()
}

/// The addresses of a hop; `the same` where they are those of `first`.
fn listed(hop: &Hop, first: Option<&Hop>) -> Vec<String> {
    let set = |hop: &Hop| {
        let mut all: Vec<_> = hop.addresses.iter().map(|answering| answering.address).collect();
        all.sort_unstable();
        all
    };
    if hop.addresses.is_empty() {
        return vec!["silent".to_owned()];
    }
    if first.is_some_and(|first| set(first) == set(hop)) {
        return vec!["the same".to_owned()];
    }
    let shown = |answering: &Answering| answering.address.to_string();
    let mut cells: Vec<String> = hop.addresses.iter().take(MOST).map(shown).collect();
    if hop.addresses.len() > MOST {
        cells.push(format!("and {} more", hop.addresses.len() - MOST));
    }
    cells
}

/// `A`, `way 2`, `A way 2` where its group takes several.
fn name(hops: &Hops, place: usize) -> String {
    let Some(side) = hops.sides.get(place) else { return String::new() };
    let alone = hops.sides.iter().filter(|other| other.group == side.group).count() == 1;
    let way = side.way.map_or_else(|| "unclear".to_owned(), |way| format!("way {}", way + 1));
    match side.group.map(|group| flows::name(group as usize)) {
        Some(group) if alone => group,
        Some(group) => format!("{group} {way}"),
        None => way,
    }
}

/// `A`, or nothing where there is one side alone: what a sentence begins with.
fn subject(hops: &Hops, place: usize) -> String {
    if hops.sides.len() > 1 { format!("{}: ", name(hops, place)) } else { String::new() }
}

/// Remarks beside the rows: label and text.
/// Remarks beside the table. `answers`: the peer answers requests.
fn remarks(hops: &Hops, answers: bool) -> Vec<(&'static str, String)> {
    let mut remarks = Vec::new();
    let groups: BTreeSet<u32> = hops.sides.iter().filter_map(|side| side.group).collect();
    if hops.sides.len() > groups.len().max(1) {
        remarks.push(("ways", shares(hops)));
    }
    for (place, side) in hops.sides.iter().enumerate() {
        if let Some(parting) = side.parting {
            remarks.push(("part", parted(&format!("{} and {}", name(hops, 0), name(hops, place)), parting)));
        }
    }
    for (place, side) in hops.sides.iter().enumerate() {
        let subject = subject(hops, place);
        if let Some(hop) = side.hops.iter().find(|hop| hop.lost.is_some()) {
            let share = number::percent(hop.lost.unwrap_or_default());
            remarks.push(("loss", format!("{subject}from hop {} on at least {share} of the probes are lost", hop.ttl)));
        }
        remarks.extend(ended(side, answers).map(|text| ("end", format!("{subject}{text}"))));
        remarks.extend(several(side).map(|text| ("several", format!("{subject}{text}"))));
    }
    for (place, side) in hops.sides.iter().enumerate() {
        let found = hops.mtu.iter().find(|mtu| side.flows.contains(&mtu.flow));
        remarks.extend(found.map(|found| ("mtu", format!("{}{}", subject(hops, place), largest(found, side)))));
    }
    if let Some(text) = quiet(hops) {
        remarks.push(("quiet", text));
    }
    for returned in &hops.returns {
        let ttls: Vec<String> = returned.reply_ttls.iter().map(u8::to_string).collect();
        let text = format!(
            "answers of {} came back with TTL {}: their ways back differ in length",
            returned.address,
            ttls.join(" and ")
        );
        remarks.push(("return", text));
    }
    if hops.each.iter().any(|flow| flow.circles) {
        let text = "an address answers again behind another one: packets go round, or hops share it";
        remarks.push(("circle", text.to_owned()));
    }
    if let Some(reason) = hops.each.iter().find_map(|flow| flow.failed.as_ref()) {
        let count = hops.each.iter().filter(|flow| flow.failed.is_some()).count();
        remarks.push(("stopped", format!("{count} of {} connections: {reason}", hops.each.len())));
    }
    remarks
}

/// `way 1: 5 of 8 connections, way 2: 3`.
fn shares(hops: &Hops) -> String {
    let all = hops.each.len();
    let side = |place: usize| match hops.sides[place].flows.len() {
        some if place == 0 => format!("{}: {some} of {all} connections", name(hops, place)),
        some => format!("{}: {some}", name(hops, place)),
    };
    (0..hops.sides.len()).map(side).collect::<Vec<_>>().join(", ")
}

fn parted(both: &str, parting: Parting) -> String {
    let common = match parting.last_common {
        0 => "this host".to_owned(),
        ttl => format!("hop {ttl}"),
    };
    match parting.first_apart {
        Some(1) => format!("{both} part at this host: no address at hop 1 is of both"),
        Some(apart) if apart == parting.last_common + 1 => {
            format!("{both} part at {common}: no address at hop {apart} is of both")
        }
        Some(apart) => format!(
            "{both} part between {common} and hop {apart}; which hop it is, is not established: hops between do not tell"
        ),
        None if parting.gaps => {
            format!("no hop is known to differ between {both}; hops that answer too little may differ")
        }
        None => format!("no hop differs between {both}"),
    }
}

/// The end of the way, where that was not the peer. A peer that answers requests was reached: its silence is of the probes alone.
fn ended(side: &Side, answers: bool) -> Option<String> {
    if side.hops.is_empty() || side.hops.iter().any(|hop| hop.peer) {
        return None;
    }
    let refusal = side.hops.iter().find_map(|hop| {
        let answering = hop.addresses.iter().find(|answering| answering.unreachable.is_some())?;
        Some((hop.ttl, answering.address, answering.unreachable?))
    });
    let told = if answers { "the peer answers requests, but not these probes" } else { "the peer was not reached" };
    Some(match refusal {
        Some((ttl, address, (kind, code))) => {
            format!("{told}: {address} at hop {ttl} says {}", unreachable(kind, code))
        }
        None => match side.hops.iter().rev().find(|hop| hop.answered > 0) {
            Some(hop) if usize::from(hop.ttl) == side.hops.len() => format!("{told} within {} hops", hop.ttl),
            Some(hop) => format!("{told}: nothing answers behind hop {}", hop.ttl),
            None => format!("{told}: nothing answers at all"),
        },
    })
}

/// An ICMP error in words, as RFC 792, RFC 1812 and RFC 4443 have it; types of IPv4 are 3, of IPv6 1.
fn unreachable(kind: u8, code: u8) -> String {
    match (kind, code) {
        (3 | 1, 0) => "network unreachable".to_owned(),
        (3, 1) | (1, 3) => "host unreachable".to_owned(),
        (3, 2) => "protocol unreachable".to_owned(),
        (3, 3) | (1, 4) => "port unreachable".to_owned(),
        (3, 9 | 10 | 13) | (1, 1) => "administratively prohibited".to_owned(),
        _ => format!("unreachable (ICMP type {kind}, code {code})"),
    }
}

/// Hops at which one flow met several addresses.
fn several(side: &Side) -> Option<String> {
    let by_packet: Vec<u8> = side.hops.iter().filter(|hop| hop.per_packet).map(|hop| hop.ttl).collect();
    (!by_packet.is_empty()).then(|| {
        format!("at {} one connection meets several addresses in turn: balanced per packet", numbers(&by_packet))
    })
}

/// `1500 B, 1400 B from hop 3 on (said by 10.60.2.2)`.
fn largest(mtu: &PathMtu, side: &Side) -> String {
    if mtu.shown_to == 0 {
        return format!("{} B at this host; no hop answers datagrams of any size", mtu.interface_bytes);
    }
    let step = |Narrower { ttl, bytes, by, vanishing_bytes }: &Narrower| match (by, vanishing_bytes) {
        (_, Some(_)) => format!("; from hop {ttl} on larger than {bytes} B: no answer"),
        (Some(by), None) => format!(", {bytes} B from hop {ttl} on (said by {by})"),
        (None, None) => format!(", {bytes} B from hop {ttl} on"),
    };
    let last = side.hops.iter().rev().find(|hop| hop.answered > 0).map_or(0, |hop| hop.ttl);
    let open = (mtu.shown_to < last).then(|| format!("; behind hop {} not established", mtu.shown_to));
    let steps: String = mtu.narrower.iter().map(step).chain(open).collect();
    format!("{} B{steps}", mtu.interface_bytes)
}

/// Hops that leave probes unanswered without a loss being shown: those that never answer, and those that answer less.
///
/// A hop that limits its answers and one where a few probes were lost look alike until enough probes were sent.
fn quiet(hops: &Hops) -> Option<String> {
    let last_answered = |side: &Side| side.hops.iter().rev().find(|hop| hop.answered > 0).map_or(0, |hop| hop.ttl);
    let of = |never: bool| {
        let quiet: BTreeSet<u8> = hops
            .sides
            .iter()
            .flat_map(|side| side.hops.iter().filter(|hop| hop.ttl <= last_answered(side) && !hop.peer))
            .filter(|hop| hop.answered < hop.sent && hop.lost.is_none() && (hop.answered == 0) == never)
            .map(|hop| hop.ttl)
            .collect();
        numbers(&quiet.into_iter().collect::<Vec<_>>())
    };
    let (silent, fewer) = (of(true), of(false));
    let silent = (!silent.is_empty()).then(|| format!("{silent}: silent"));
    let fewer = (!fewer.is_empty()).then(|| format!("{fewer}: fewer answers, by a limit or by losses too few to show"));
    let told: Vec<String> = silent.into_iter().chain(fewer).collect();
    (!told.is_empty()).then(|| told.join(" · "))
}

/// `hop 1`, `hops 1, 2 and 5`.
fn numbers(ttls: &[u8]) -> String {
    let words: Vec<String> = ttls.iter().map(u8::to_string).collect();
    match words.split_last() {
        Some((last, [])) => format!("hop {last}"),
        Some((last, others)) => format!("hops {} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use measure::hops::{Answer, Manner, Probe, Says, Walk, judge, so_far};

    use super::*;
    use crate::fixture;
    use crate::text::render;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 9, 9));

    fn answer(from: &str, says: Says, micros: u64) -> Option<Answer> {
        let from = from.parse().ok()?;
        Some(Answer { from, says, time: Nanos::micros(micros), stamped: true, ttl: Some(64) })
    }

    fn told(groups: &[&[u32]], meets: impl Fn(u32, u32, u8) -> Option<Answer>, last: u8) -> String {
        told_with(groups, &[], meets, last)
    }

    fn told_with(
        groups: &[&[u32]],
        mtu: &[PathMtu],
        meets: impl Fn(u32, u32, u8) -> Option<Answer>,
        last: u8,
    ) -> String {
        hops_told(&traced(groups, mtu, meets, last))
    }

    fn traced(groups: &[&[u32]], mtu: &[PathMtu], meets: impl Fn(u32, u32, u8) -> Option<Answer>, last: u8) -> Record {
        let walk = |flow: u32| Walk {
            flow,
            probes: (0..5)
                .flat_map(|round| (1..=last).map(move |ttl| (round, ttl)))
                .map(|(round, ttl)| Probe { ttl, answer: meets(flow, round, ttl) })
                .collect(),
            failed: None,
        };
        let manner = Manner { protocol: Probing::Tcp, rounds: 5, max_hops: 32, timeout: Nanos::millis(900) };
        let mut record = fixture::closed();
        let mut hops = judge((0..8).map(walk).collect(), groups, PEER, manner);
        hops.mtu = mtu.to_vec();
        record.outcome.as_mut().unwrap().hops = Some(hops);
        record
    }

    fn hops_told(record: &Record) -> String {
        let text = render(record, &Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let from = text.find("  hops ").expect("hops");
        text[from..].split("  method").next().unwrap().to_owned()
    }

    #[test]
    fn groups_stand_beside_each_other() {
        insta::assert_snapshot!(told(
            &[&[0, 1, 2, 3], &[4, 5, 6, 7]],
            |flow, round, ttl| match ttl {
                1 if round > 1 => None,
                1 => answer("10.50.1.2", Says::Passed, 94),
                2 if flow < 4 => answer("10.9.1.2", Says::Passed, 110),
                2 => answer("10.181.8.2", Says::Passed, 421),
                _ => answer("10.9.9.9", Says::Reached, if flow < 4 { 48 } else { 390 }),
            },
            3
        ));
    }

    #[test]
    fn ways_of_one_group_are_numbered_and_a_silent_hop_is_no_loss() {
        insta::assert_snapshot!(told(
            &[],
            |flow, _, ttl| match ttl {
                1 => answer("10.50.1.2", Says::Passed, 94),
                2 => None,
                3 if flow < 5 => answer("10.9.1.2", Says::Passed, 110),
                3 => answer("10.181.8.2", Says::Passed, 111),
                _ => answer("10.9.9.9", Says::Reached, 120),
            },
            4
        ));
    }

    #[test]
    fn the_largest_packets_are_told_by_side() {
        let narrower = |ttl, bytes, by: Option<&str>| Narrower {
            ttl,
            bytes,
            by: by.map(|by| by.parse().unwrap()),
            vanishing_bytes: by.is_none().then_some(bytes + 1),
        };
        let side = |flow, narrower, shown_to| PathMtu { flow, interface_bytes: 1500, narrower, shown_to };
        let told_by = vec![narrower(2, 1400, Some("10.50.1.2")), narrower(3, 1_300, None)];
        insta::assert_snapshot!(told_with(
            &[&[0, 1, 2, 3], &[4, 5, 6, 7]],
            &[side(0, told_by, 3), side(4, Vec::new(), 2)],
            |flow, _, ttl| match ttl {
                1 => answer("10.50.1.2", Says::Passed, 94),
                2 if flow < 4 => answer("10.9.1.2", Says::Passed, 110),
                2 => answer("10.181.8.2", Says::Passed, 421),
                _ => answer("10.9.9.9", Says::Reached, 48),
            },
            3
        ));
    }

    /// A hop that answers once in a while, one that never does, two that take turns, and a peer beyond a lossy link.
    #[test]
    fn a_screen_has_a_line_for_each_hop_and_calls_no_silence_loss() {
        let meets = |round: u32, ttl: u8| match ttl {
            1 if round.is_multiple_of(4) => answer("10.50.1.2", Says::Passed, 94),
            1 | 2 => None,
            3 => answer(
                if round.is_multiple_of(2) { "10.9.1.2" } else { "10.9.1.3" },
                Says::Passed,
                110 + u64::from(round),
            ),
            _ if !round.is_multiple_of(3) => answer("10.9.9.9", Says::Reached, 120 + u64::from(round)),
            _ => None,
        };
        let of_round = |round| (1..=4).map(move |ttl| Probe { ttl, answer: meets(round, ttl) });
        let walk = Walk { flow: 0, probes: (0..40).flat_map(of_round).collect(), failed: None };
        let text = screen("10.9.9.9: 1 connection, round 41", &so_far(&[&walk], PEER), &Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_way_that_is_refused_says_by_whom() {
        let refused = |_, round, ttl| match ttl {
            1 => answer(if round % 2 == 0 { "10.50.1.2" } else { "10.50.1.3" }, Says::Passed, 94),
            _ => answer("10.9.1.2", Says::Unreachable(3, 13), 110),
        };
        insta::assert_snapshot!(told(&[], refused, 2));
    }

    #[test]
    fn a_peer_that_answers_requests_was_reached() {
        let of = |ttl| ttl == 1;
        let mut record = traced(&[], &[], |_, _, ttl| answer("10.50.1.2", Says::Passed, 94).filter(|_| of(ttl)), 6);
        let text = hops_told(&record).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("answers requests, but not these probes: nothing answers behind hop 1"), "{text}");
        record.outcome.as_mut().unwrap().counts.answered = 0;
        let text = hops_told(&record).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("the peer was not reached: nothing answers behind hop 1"), "{text}");
    }
}
