//! The answer that a record gives, in one sentence: the first line of its screen and the title of its page.
//!
//! A condition that changes the meaning of the number is part of the sentence: nobody else answered than this host, the rate was
//! not reached, nothing answered, the run ended early, a host was busy.

use std::fmt::Write as _;

use logbook::record::{Ended, Record};
use measure::answer::Class;
use measure::event::Counts;
use measure::interval::arrivals::Datagrams;
use measure::method::{Direction, LoopKind, Method};
use measure::origin::Verdict;
use measure::outcome::flows::FlowGroup;
use measure::outcome::{Distribution, Outcome};
use measure::probes::Probes;
use measure::throughput::Throughput;
use measure::throughput::limit::Limiter;
use measure::throughput::limit::reason::Reason;
use measure::unit::{Nanos, grouped};
use measure::verdict::Warning;
use measure::verdict::refused::RefusedBy;
use measure::verdict::threshold::MOSTLY_MISSED;

use crate::number;
use crate::text::replies;
use crate::words::{self, capitalised, target, warning};

/// The sentence for `record`.
pub fn of(record: &Record) -> String {
    let sentence = match (&record.stream, &record.outcome, &record.probes) {
        (Some(stream), ..) => streams(record, stream),
        (None, Some(outcome), Some(probes)) => {
            port(record, outcome, probes).unwrap_or_else(|| exchanges(record, outcome))
        }
        (None, Some(outcome), None) => exchanges(record, outcome),
        (None, None, _) => format!("No result: {}", subject(record)),
    };
    let caveats = caveats(record);
    match (caveats.as_slice(), sentence.ends_with('.')) {
        ([], _) => sentence,
        (caveats, true) => caveats.iter().fold(sentence, |text, caveat| format!("{text} {}.", capitalised(caveat))),
        (caveats, false) => format!("{sentence} ({})", caveats.join("; ")),
    }
}

/// Conditions under which the number has another meaning, and that the sentence itself does not name.
fn caveats(record: &Record) -> Vec<String> {
    let elapsed = record.elapsed().unwrap_or(Nanos::ZERO);
    let mut caveats = Vec::new();
    let has = |test: fn(&Warning) -> bool| record.warnings.iter().any(test);
    match &record.ended {
        Ended::Complete => {}
        Ended::Interrupted { signal } => caveats.push(format!("interrupted by {signal} after {elapsed}")),
        Ended::PeerLost { .. } if is_closed(record) => caveats.push(closed(record).to_owned()),
        Ended::PeerLost { .. } if has(|warning| matches!(warning, Warning::NoReport { .. })) => {
            caveats.push("the peer sent no report at the end".to_owned());
        }
        Ended::PeerLost { .. } if gone_in_warm_up(record) => {}
        Ended::PeerLost { .. } => caveats.push(format!("broke off after {elapsed}")),
    }
    if has(|warning| matches!(warning, Warning::WireContradicts { .. })) {
        caveats.push("the captured packets contradict the counts".to_owned());
    }
    if has(
        |warning| matches!(warning, Warning::TicksMissed { count, due } if *count as f64 >= MOSTLY_MISSED * *due as f64),
    ) {
        caveats.push("interval not kept".to_owned());
    }
    let stalls = record.outcome.as_ref().and_then(|outcome| outcome.stalls);
    caveats.extend(stalls.map(|stalls| format!("{} of the time in stalls", number::percent(stalls.share))));
    let busy = [true, false].map(|ours| warning::disturbed(&record.warnings, ours).is_some());
    let hosts = match busy {
        [true, true] => Some("busy hosts"),
        [true, false] => Some("this host was busy"),
        [false, true] => Some("the peer was busy"),
        [false, false] => None,
    };
    caveats.extend(hosts.map(str::to_owned));
    caveats
}

/// The peer answered, and went away before anything was recorded.
fn gone_in_warm_up(record: &Record) -> bool {
    let nothing = |outcome: &Outcome| outcome.counts.scheduled == 0 && outcome.first_ns.is_some();
    matches!(record.ended, Ended::PeerLost { .. }) && record.outcome.as_ref().is_some_and(nothing)
}

/// A closed port refused every request: the peer is not lost, it never took part.
pub(crate) fn is_closed(record: &Record) -> bool {
    let counts = record.outcome.as_ref().map(|outcome| &outcome.counts);
    counts.is_some_and(|counts| counts.scheduled > 0 && counts.refused == counts.scheduled)
}

/// The words of a reset, of which nobody knows whose it is.
fn closed(record: &Record) -> &'static str {
    let reset = |warning: &Warning| matches!(warning, Warning::Refused { by: RefusedBy::Reset, .. });
    if record.warnings.iter().any(reset) { "a closed port, or a middlebox that resets" } else { "the port is closed" }
}

/// `TCP to 10.0.0.2:7663`: the protocol and the peer.
fn subject(record: &Record) -> String {
    let replies = record.outcome.as_ref().and_then(|outcome| outcome.replies.as_ref());
    let said = replies.and_then(replies::named).map_or_else(String::new, |said| format!(" ({said})"));
    let protocol = format!("{}{said}", words::method::named(&record.method));
    if record.target.own_reflector {
        return format!("{protocol} over loopback, no host was given");
    }
    let address = target::address(&record.target);
    if is_same_host(record) {
        return format!("{protocol} to {address}, this host itself");
    }
    format!("{protocol} to {address}")
}

/// True where the peer is shown to be this host.
fn is_same_host(record: &Record) -> bool {
    record.warnings.iter().any(|warning| matches!(warning, Warning::SameHost { shown: true, .. }))
}

/// Times of requests and replies, and what became of the others.
fn exchanges(record: &Record, outcome: &Outcome) -> String {
    let (counts, subject) = (&outcome.counts, subject(record));
    let is_load = record.method.traffic.load().is_some();
    if counts.answered == 0 && counts.scheduled > 0 {
        return format!("{}: {subject}", no_reply(outcome));
    }
    if counts.messages_sent() == 0 && counts.unsent() == 0 {
        let what = if gone_in_warm_up(record) {
            "Nothing was measured, the connection ended in the warm-up"
        } else {
            "Nothing was sent"
        };
        return format!("{what}: {subject}");
    }
    if let Some(text) = rate_not_reached(record, outcome) {
        return text;
    }
    if !is_load {
        let times = times(outcome, &record.method).replacen("response", "Response", 1);
        let one_way = one_way(outcome).unwrap_or_default();
        return format!(
            "{}{times}, {}: {subject}{one_way}",
            dark(outcome),
            losses(record, outcome, losses_outside(outcome))
        );
    }
    let sent = match outcome.sent_per_s.and_then(per_second) {
        Some(rate) => format!("{rate} messages/s sent"),
        None => number::count(counts.messages_sent(), "message sent", "messages sent"),
    };
    let lost = format!("{}{}", load_losses(outcome, losses_outside(outcome)), retransmissions(record));
    let times =
        if outcome.response.count > 0 { format!(", {}", times(outcome, &record.method)) } else { String::new() };
    format!("{}{sent}, {lost}{times}: {subject}", dark(outcome))
}

/// `No reply for 3.01 s (60 % of the time), from 2 s to the end (8 of 90 lost). Otherwise: `, before what is said of the replies.
fn dark(outcome: &Outcome) -> String {
    let Some(dark) = &outcome.dark else { return String::new() };
    let gone = dark.unanswered.min(outcome.counts.missing());
    let lost = if gone > 0 {
        format!(" ({})", missing(&outcome.counts, gone, outcome.counts.scheduled))
    } else {
        String::new()
    };
    format!("{}{lost}. Otherwise: ", words::dark::seen(dark))
}

/// `30 of 90 lost`: so many of those that got no reply in time. Where some of all came late, it is not known of which kind these are.
fn missing(counts: &Counts, gone: u64, of: u64) -> String {
    let name = match (counts.lost, counts.late) {
        (_, 0) => "lost",
        (0, _) => "late",
        _ => "without a reply in time",
    };
    format!("{} of {} {name}", grouped(gone), grouped(of))
}

/// `40 of 700 lost (5.7 %)` of the requests that left while somebody answered; `None` of a run without a time in which nobody did.
fn losses_outside(outcome: &Outcome) -> Option<String> {
    let (dark, counts) = (outcome.dark.as_ref()?, &outcome.counts);
    let of = counts.scheduled.saturating_sub(dark.unanswered).saturating_sub(dark.refused_or_not_sent);
    let gone = counts.missing().saturating_sub(dark.unanswered);
    let share = number::percent(gone as f64 / of.max(1) as f64);
    Some(if gone > 0 { format!("{} ({share})", missing(counts, gone, of)) } else { NONE_LOST.to_owned() })
}

/// `. One way: 1.28 µs to the peer, 11.2 µs back (p50, each ± 5.21 µs).` `None` where the clocks do not tell.
fn one_way(outcome: &Outcome) -> Option<String> {
    let both = outcome.one_way.as_ref()?;
    let [there, back] = [both.forward?.p50_ns?, both.reverse?.p50_ns?].map(number::signed_time);
    let [there, back] = [&there, &back].map(|time| time.trim_start_matches('+'));
    Some(format!(". One way: {there} to the peer, {back} back (p50, each ± {}).", both.clock.as_ref()?.bound_ns))
}

/// `No reply to 8 requests (5 lost, 3 refused)`.
fn no_reply(outcome: &Outcome) -> String {
    let counts = &outcome.counts;
    let requests = number::count(counts.scheduled, "request", "requests");
    let kinds = outcome.replies.iter().flat_map(|replies| replies.kinds.values());
    let refusals: u64 = kinds.filter(|kind| !kind.answers).map(|kind| kind.count).fold(0, u64::saturating_add);
    if counts.refused == counts.scheduled && refusals >= counts.refused {
        return format!("No request was served: the program refused {} of {requests}", grouped(counts.refused));
    }
    if counts.refused == counts.scheduled {
        return format!("Refused: {} of {requests}", grouped(counts.refused));
    }
    let kinds = [
        (counts.lost, "lost"),
        (counts.late, "late"),
        (counts.refused, "refused"),
        (counts.corrupt, "corrupt"),
        (counts.send_failed, "not sent"),
    ];
    let kinds: Vec<String> = kinds
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{} {name}", grouped(count)))
        .collect();
    if counts.lost == counts.scheduled {
        return format!("No reply to {requests}");
    }
    format!("No reply to {requests} ({})", kinds.join(", "))
}

/// `Rate not reached: 148 365 of 500 000 messages/s sent. This host was too slow.`
fn rate_not_reached(record: &Record, outcome: &Outcome) -> Option<String> {
    let found = record.warnings.iter().find(|warning| matches!(warning, Warning::RateNotAchieved { .. }))?;
    let Warning::RateNotAchieved { offered_per_s: offered, sent_per_s: sent, .. } = *found else { return None };
    let what = if record.method.traffic.load().is_some() { "messages" } else { "requests" };
    let why = warning::held_back(found);
    let is_load = record.method.traffic.load().is_some();
    let lost = if is_load { load_losses(outcome, None) } else { losses(record, outcome, None) };
    let lost = if lost == NONE_LOST { String::new() } else { format!(" {}.", capitalised(&lost)) };
    let (sent, offered) = (per_second(sent)?, per_second(offered)?);
    // Packets that crossed no network have another meaning; otherwise the address they were sent to is given below.
    let no_network = record.target.own_reflector || is_same_host(record);
    let to = if no_network { format!(": {}", subject(record)) } else { String::new() };
    Some(format!("Rate not reached: {sent} of {offered} {what}/s sent{to}. {why}.{lost}"))
}

fn per_second(rate: f64) -> Option<String> {
    Some(number::rate(rate)?.trim_end_matches(" /s").to_owned())
}

/// `p50 15.5 µs, p99 83.2 µs`; of too few for a median the shortest and the longest.
fn times(outcome: &Outcome, method: &Method) -> String {
    let response = &outcome.response;
    let name = match outcome.loop_kind {
        LoopKind::Open if method.schedule.has_instants() => "response time ",
        _ => "",
    };
    if let Some(groups) =
        outcome.flows.as_ref().and_then(|flows| flows.groups.as_ref()).filter(|groups| groups.len() > 1)
    {
        return by_connection(groups, name);
    }
    if let Some(change) = &outcome.change {
        return format!("{name}{}", words::change::seen(change));
    }
    let at = |q: f64| quantile(response, q);
    match (at(0.5), at(0.99), response.min_ns, response.max_ns) {
        (Some(p50), Some(p99), ..) => format!("{name}p50 {p50}, p99 {p99}"),
        (Some(p50), None, ..) => format!("{name}p50 {p50}"),
        (None, _, Some(min), Some(max)) if response.count > 1 => {
            format!("{min} to {max} in {} round trips", grouped(response.count))
        }
        (None, _, Some(min), _) => format!("{min} in 1 round trip"),
        _ => "no time".to_owned(),
    }
}

/// `p50 13.9 µs over 35 connections, 358 µs over 29`: no one number where connections differ.
fn by_connection(groups: &[FlowGroup], name: &str) -> String {
    let time = |group: &FlowGroup| number::time(group.time?.value_ns);
    let mut parts = groups.iter().filter_map(|group| Some((time(group)?, group.flows.len() as u64)));
    let first =
        parts.next().map(|(time, flows)| format!("{time} over {}", number::count(flows, "connection", "connections")));
    let others = parts.map(|(time, flows)| format!("{time} over {}", grouped(flows)));
    format!("{name}p50 {}", first.into_iter().chain(others).collect::<Vec<_>>().join(", "))
}

fn quantile(distribution: &Distribution, q: f64) -> Option<String> {
    distribution.quantiles.iter().find(|quantile| quantile.q == q).and_then(number::quantile)
}

/// Said of a run that lost nothing.
const NONE_LOST: &str = "0 lost";

/// `0 lost`, `40 lost and 20 late of 10 000 (0.6 %)`, and requests with other results.
fn losses(record: &Record, outcome: &Outcome, outside: Option<String>) -> String {
    let counts = &outcome.counts;
    let mut text = outside.unwrap_or_else(|| losses_of_all(outcome));
    text.push_str(&retransmissions(record));
    for (count, name) in [(counts.refused, "refused"), (counts.corrupt, "corrupt"), (counts.send_failed, "not sent")] {
        if count > 0 {
            let _ = write!(text, ", {} {name}", grouped(count));
        }
    }
    text
}

/// `, 15 retransmissions`, where there are so many that "0 lost" would say too little of the path.
fn retransmissions(record: &Record) -> String {
    let told = record.warnings.iter().find_map(|warning| match warning {
        Warning::Retransmitted { segments, .. } => Some(*segments),
        _ => None,
    });
    told.map_or_else(String::new, |count| format!(", {}", number::count(count, "retransmission", "retransmissions")))
}

fn losses_of_all(outcome: &Outcome) -> String {
    let (counts, loss) = (&outcome.counts, &outcome.loss);
    let share = loss.ratio.map_or_else(String::new, |ratio| format!(" ({})", number::percent(ratio)));
    let (lost, late, of) = (grouped(counts.lost), grouped(counts.late), grouped(counts.scheduled));
    match (counts.lost, counts.late) {
        (0, 0) => NONE_LOST.to_owned(),
        (_, 0) => format!("{lost} of {of} lost{share}"),
        (0, _) => format!("{late} of {of} late{share}"),
        _ => format!("{lost} lost and {late} late of {of}{share}"),
    }
}

/// The same of a load: messages and replies apart, where the peer counted.
fn load_losses(outcome: &Outcome, outside: Option<String>) -> String {
    let (counts, loss) = (&outcome.counts, &outcome.loss);
    let missing = counts.missing();
    let share = |lost: u64, of: u64| number::percent(lost as f64 / of.max(1) as f64);
    let lost = |lost: Option<i64>| lost.and_then(|lost| u64::try_from(lost).ok()).filter(|lost| *lost > 0);
    let (sent, replied) = (counts.messages_sent(), loss.peer_replied.unwrap_or(0));
    let there = lost(loss.forward)
        .map(|lost| format!("{} of {} messages lost ({})", grouped(lost), grouped(sent), share(lost, sent)));
    let back = lost(loss.reverse).map(|lost| format!("{} of {} replies lost", grouped(lost), grouped(replied)));
    let mut parts: Vec<String> = there.into_iter().chain(back).collect();
    if let Some(outside) = outside {
        parts = vec![outside];
    } else if parts.is_empty() {
        let requests = grouped(counts.scheduled);
        parts.push(match (missing, loss.forward, counts.one_way) {
            (0, None, 1..) => format!("0 of {requests} replies lost"),
            (0, ..) => NONE_LOST.to_owned(),
            _ => format!("{} of {requests} requests without a reply in time", grouped(missing)),
        });
    }
    let failed = counts.unsent();
    parts.extend((counts.refused > 0).then(|| format!("{} refused", grouped(counts.refused))));
    parts.extend((counts.corrupt > 0).then(|| format!("{} corrupt", grouped(counts.corrupt))));
    parts.extend((failed > 0).then(|| format!("{} not sent", grouped(failed))));
    parts.join(", ")
}

/// `Port 7663 is open: 20 of 20 SYNs got SYN-ACK, p50 ~75.4 µs`; `None` where nothing came.
fn port(record: &Record, outcome: &Outcome, probes: &Probes) -> Option<String> {
    let port = record.target.port?;
    let count = |test: fn(Class) -> bool| {
        probes.kinds.iter().filter(|kind| test(kind.class)).map(|kind| kind.count).fold(0, u64::saturating_add)
    };
    let open: u64 = count(|class| class == Class::SynAck);
    let closed: u64 = count(|class| matches!(class, Class::Rst | Class::RstAck));
    let all: u64 = count(|_| true);
    let rest = all.saturating_sub(open).saturating_sub(closed).saturating_add(probes.others);
    if (all, probes.others, probes.unseen) == (0, 0, 0) {
        return None;
    }
    let sent = outcome.counts.scheduled.saturating_sub(outcome.counts.send_failed);
    let late = outcome.counts.late;
    let answered = grouped(outcome.counts.answered.saturating_add(late));
    let of = number::count(sent, "SYN", "SYNs");
    let of_host = if record.target.own_reflector || is_same_host(record) { " of this host itself" } else { "" };
    let times = quantile(&outcome.response, 0.5).map_or_else(String::new, |p50| format!(", p50 {p50}"));
    let times = if late > 0 { format!(", {} of them after the timeout{times}", grouped(late)) } else { times };
    Some(match (open, closed, rest.saturating_add(probes.unseen)) {
        (1.., 0, 0) => {
            let origin = probes.origin.as_ref().filter(|origin| origin.verdict == Verdict::AnotherHop);
            let other = origin.and_then(|origin| origin.compared_port);
            let sender =
                other.map_or_else(String::new, |other| format!(". Probably another box answers it than port {other}."));
            format!("Port {port}{of_host} is open: {answered} of {of} got SYN-ACK{times}{sender}")
        }
        (0, 1.., 0) => {
            let sender = match probes.origin.as_ref().map(|origin| origin.verdict) {
                Some(Verdict::AnotherHop) => "Probably another box than the host sent them.",
                _ => "RST sender not established.",
            };
            format!("Port {port}{of_host} is closed: {answered} of {of} got RST{times}. {sender}")
        }
        _ => {
            let kinds = [(open, "SYN-ACK"), (closed, "RST"), (rest, "other answers"), (probes.unseen, "not examined")];
            let kinds: Vec<String> = kinds
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, name)| format!("{} {name}", grouped(count)))
                .collect();
            format!("Port {port}{of_host}: {} to {of}{times}", kinds.join(", "))
        }
    })
}

/// `17.2 Gbit/s received over 1 TCP stream. Limited by the peer's CPU.`
fn streams(record: &Record, stream: &Throughput) -> String {
    let protocol = words::method::named(&record.method);
    let count = u64::from(record.method.spread.connections);
    let streams =
        format!("over {}", number::count(count, &format!("{protocol} stream"), &format!("{protocol} streams")));
    let place = if record.target.own_reflector {
        ", loopback only"
    } else if is_same_host(record) {
        ", within this host"
    } else {
        ""
    };
    match &stream.back {
        None => format!("{} {streams}{place}. {}", rate(stream), limit(stream)),
        Some(back) => {
            let way = |stream: &Throughput| {
                if stream.direction == Direction::Receive { "from the peer" } else { "to the peer" }
            };
            let (first, second) = (way(stream), way(back));
            let limits = if limit(stream) == limit(back) {
                limit(stream)
            } else {
                format!("{}: {} {}: {}", capitalised(first), limit(stream), capitalised(second), limit(back))
            };
            format!("{} {first}, {} {second}, {streams} each way{place}. {}", rate(stream), rate(back), limits)
        }
    }
}

fn rate(stream: &Throughput) -> String {
    let text = |rate: Option<f64>| rate.and_then(number::bit_rate);
    let lost = stream.detail.as_ref().and_then(|found| found.datagrams.as_ref());
    let lost = lost.filter(|datagrams| datagrams.lost > 0).and_then(Datagrams::loss);
    let lost = lost.map(|share| format!("{} lost", number::percent(share)));
    let silence = stream.detail.as_ref().and_then(|found| found.silence).as_ref().map(words::silence::beside);
    let parts: Vec<String> = lost.into_iter().chain(silence).collect();
    let beside = if parts.is_empty() { String::new() } else { format!(", {},", parts.join(", ")) };
    match (text(stream.received_bytes_per_s), text(stream.sent_bytes_per_s)) {
        (Some(_), _) if stream.received_bytes_per_s == Some(0.0) => "Nothing was received".to_owned(),
        (Some(received), _) => format!("{received} received{beside}"),
        (None, Some(sent)) => format!("{sent} sent (received rate not known){beside}"),
        (None, None) => "No rate known".to_owned(),
    }
}

fn limit(stream: &Throughput) -> String {
    if stream.received_bytes_per_s == Some(0.0) {
        return "Small packets pass, for the session was agreed on: the path may drop full ones (MTU black hole, filter)."
            .to_owned();
    }
    let (limiter, evidence) = stream
        .detail
        .as_ref()
        .map_or((Limiter::NotDetermined, None), |found| (found.limit.limiter, found.limit.evidence.first()));
    let sends = stream.direction != Direction::Receive;
    let host = if sends { "this host" } else { "the peer" };
    match (limiter, evidence) {
        (Limiter::SenderQueue, Some(Reason::Shaper { interface, qdisc, .. })) => {
            return format!("Limited by a shaper of {host} itself ({qdisc} on {interface}).");
        }
        (Limiter::SenderQueue, Some(Reason::InterfaceDropped { interface, .. })) => {
            return format!("Limited by {host} itself, whose interface {interface} drops packets.");
        }
        _ => {}
    }
    let by = match limiter {
        Limiter::Rate => "the requested rate",
        Limiter::SenderCpu if sends => "this host's CPU",
        Limiter::ReceiverCpu if !sends => "this host's CPU",
        Limiter::SenderCpu | Limiter::ReceiverCpu => "the peer's CPU",
        Limiter::ReceiveWindow => "the receiver's TCP window",
        Limiter::SendBuffer => "the send buffer",
        Limiter::SenderQueue if sends => "this host's own queue or firewall",
        Limiter::SenderQueue => "the peer's own queue or firewall",
        Limiter::Congestion => "a queue on the path, or the traffic that fills it",
        Limiter::Policer => "a policer, or a queue too short to see",
        Limiter::Loss => "losses on the path, at each rate tried",
        _ => return "Bottleneck not determined.".to_owned(),
    };
    format!("Limited by {by}.")
}

#[cfg(test)]
mod tests {
    use measure::method::Carrier;
    use measure::outcome::dark::Dark;
    use measure::outcome::replies::Replies;
    use measure::throughput::detail::Detail;
    use measure::throughput::limit::Limit;
    use measure::throughput::silence::Silence;
    use measure::unit::Bytes;

    use super::*;

    #[test]
    fn losses_of_an_outage_are_not_told_again_of_the_other_time() {
        let mut record = crate::fixture::closed();
        let outcome = record.outcome.as_mut().unwrap();
        outcome.counts = Counts { scheduled: 1_000, answered: 660, lost: 340, ..Counts::default() };
        outcome.loss.ratio = Some(0.34);
        let dark = Dark {
            spells: 1,
            total_ns: Nanos::secs(3),
            share: 0.3,
            longest_from_ns: Nanos::secs(2),
            longest_to_ns: Nanos::secs(5),
            to_the_end: false,
            unanswered: 300,
            refused_or_not_sent: 0,
            due: None,
        };
        outcome.dark = Some(dark);
        let told = of(&record);
        assert!(told.contains("from 2 s to 5 s (300 of 1 000 lost). Otherwise: "), "{told}");
        assert!(told.contains(", 40 of 700 lost (5.7 %)"), "{told}");
        record.outcome.as_mut().unwrap().counts.late = 1;
        let told = of(&record);
        assert!(told.contains("(300 of 1 000 without a reply in time)"), "{told}");
        assert!(told.contains(", 41 of 700 without a reply in time (5.9 %)"), "{told}");
        record.outcome.as_mut().unwrap().counts =
            Counts { scheduled: 1_000, answered: 700, lost: 300, ..Counts::default() };
        assert!(of(&record).contains(", 0 lost: "), "{}", of(&record));
    }

    #[test]
    fn a_program_that_refuses_all_serves_none() {
        let mut record = crate::fixture::closed();
        let outcome = record.outcome.as_mut().unwrap();
        outcome.counts = Counts { scheduled: 1_000, refused: 1_000, ..Counts::default() };
        assert!(of(&record).starts_with("Refused: 1 000 of 1 000 requests: "), "{}", of(&record));
        let mut replies = Replies::default();
        replies.add("502".into(), false, 1_000);
        record.outcome.as_mut().unwrap().replies = Some(replies);
        let told = of(&record);
        assert!(told.starts_with("No request was served: the program refused 1 000 of 1 000 requests: "), "{told}");
    }

    #[test]
    fn nobody_knows_whose_a_reset_is() {
        let mut record = crate::fixture::grouped();
        record.ended = Ended::PeerLost { reason: "refused".to_owned() };
        record.outcome.as_mut().unwrap().counts = Counts { scheduled: 20, refused: 20, ..Counts::default() };
        let refused = |by| Warning::Refused { count: 20, sent: 20, carrier: Carrier::TcpConnect, by };
        record.warnings = vec![refused(RefusedBy::Reset)];
        assert!(of(&record).contains("a closed port, or a middlebox that resets"), "{}", of(&record));
        record.warnings = vec![refused(RefusedBy::Unknown)];
        assert!(of(&record).contains("the port is closed"), "{}", of(&record));
    }

    #[test]
    fn a_peer_that_goes_away_in_the_warm_up_was_sent_requests() {
        let mut record = crate::fixture::grouped();
        record.ended = Ended::PeerLost { reason: "connection reset by peer".to_owned() };
        record.outcome.as_mut().unwrap().counts = Counts::default();
        let text = of(&record);
        assert!(text.starts_with("Nothing was measured, the connection ended in the warm-up: TCP to"), "{text}");
        assert!(!text.contains("broke off after"), "{text}");
        record.outcome.as_mut().unwrap().first_ns = None;
        assert!(of(&record).starts_with("Nothing was sent: TCP to"), "{}", of(&record));
    }

    #[test]
    fn a_sending_host_that_is_the_limit_itself_is_named_with_its_reason() {
        let said = |direction, reason| {
            let mut record = crate::fixture::stream();
            let stream = record.stream.as_mut().unwrap();
            stream.direction = direction;
            let limit = Limit { limiter: Limiter::SenderQueue, because: Vec::new(), evidence: vec![reason] };
            stream.detail = Some(Box::new(Detail::of(limit)));
            of(&record)
        };
        let shaper =
            Reason::Shaper { interface: "eth0".to_owned(), qdisc: "tbf".to_owned(), bytes_per_s: 6.25e6, share: 0.97 };
        let ours = said(Direction::Send, shaper.clone());
        assert!(ours.contains("Limited by a shaper of this host itself (tbf on eth0)."), "{ours}");
        let theirs = said(Direction::Receive, shaper);
        assert!(theirs.contains("Limited by a shaper of the peer itself (tbf on eth0)."), "{theirs}");
        let drops = || Reason::InterfaceDropped { interface: "tun0".to_owned(), packets: 30_020, lost: 30_020 };
        let (ours, theirs) = (said(Direction::Send, drops()), said(Direction::Receive, drops()));
        assert!(ours.contains("Limited by this host itself, whose interface tun0 drops packets."), "{ours}");
        assert!(theirs.contains("Limited by the peer itself, whose interface tun0 drops packets."), "{theirs}");
        let kept = said(Direction::Send, Reason::NotSent { share: 0.99 });
        assert!(kept.contains("Limited by this host's own queue or firewall."), "{kept}");
    }

    #[test]
    fn a_rate_with_silences_says_so() {
        let mut record = crate::fixture::stream();
        let stream = record.stream.as_mut().unwrap();
        let limit = Limit { limiter: Limiter::NotDetermined, because: Vec::new(), evidence: Vec::new() };
        let silence = Silence {
            times: 2,
            total_ns: Nanos::millis(2_500),
            share: 0.25,
            bytes: Bytes(0),
            longest_from_ns: Nanos::secs(3),
            longest_to_ns: Nanos::secs(5),
            to_the_end: false,
        };
        let lost = Datagrams { expected: 100, received: 70, lost: 30, ..Datagrams::default() };
        let detail = Detail { silence: Some(silence), ..Detail::of(limit) };
        stream.detail = Some(Box::new(detail.clone()));
        assert!(of(&record).contains(" received, nothing for 2.50 s (25 % of the time), over "), "{}", of(&record));
        let both = Detail { datagrams: Some(lost), ..detail };
        record.stream.as_mut().unwrap().detail = Some(Box::new(both));
        let told = of(&record);
        assert!(told.contains(" received, 30 % lost, nothing for 2.50 s (25 % of the time), over "), "{told}");
    }
}
