//! Requests that were not answered: how many, and where they ended as far as this host's kernel can tell.

use crate::environment::Environment;
use crate::event::Counts;
use crate::method::{Carrier, Method, Window};
use crate::outcome::dark::Dark;
use crate::outcome::replies::Down;
use crate::outcome::{Outcome, SocketFacts};
use crate::statistics::loss::sent;
use crate::unit::Bytes;
use crate::verdict::Warning;
use crate::verdict::judge::Context;
use crate::verdict::lost::LeavesBy;
use crate::verdict::order::SENT_AGAIN;
use crate::verdict::refused::RefusedBy;
use crate::verdict::threshold::{FEWEST_RETRANSMITTED, LARGE, RETRANSMITTED};

/// Least share of the requests without a reply that met one fate, from which that fate explains all of them.
const EXPLAINS: f64 = 0.9;
/// Share of the time from which waits for lost replies are reported.
const WAITED: f64 = 0.01;

/// Returns the warnings about the status of requests; `ours` is this host's environment, where it was read.
pub(super) fn fates(
    outcome: &Outcome,
    method: &Method,
    ours: Option<&Environment>,
) -> impl Iterator<Item = Warning> + use<> {
    let counts = &outcome.counts;
    let failed = (counts.send_failed > 0).then_some(Warning::SendFailed { count: counts.send_failed });
    let gone = counts.missing();
    let unacknowledged = unacknowledged(outcome, gone);
    // Its warm-up's are among them.
    let dropped_there = outcome.loss.peer_dropped.map(|dropped| dropped.min(gone)).filter(|dropped| *dropped > 0);
    let lost = (gone > 0 && !is_told_otherwise(outcome)).then_some(Warning::Lost {
        count: gone,
        sent: sent(counts),
        dropped_by_us: dropped(&outcome.sockets),
        dropped_by_peer: dropped_there.filter(|_| method.traffic.load().is_none()),
        late: counts.late,
        leaves_by: LeavesBy::of(method),
        waited_share: waited(outcome, method, gone),
        unacknowledged: unacknowledged.unwrap_or(0),
    });
    let dark = outcome.dark.map(|dark| Warning::Dark { dark });
    let again = SentAgain::by(&outcome.sockets);
    let explained = outcome.dark.is_some_and(|dark| again.segments <= backed_off(&dark, outcome.sockets.len()));
    // Of those that carried what was lost none has made a reply late.
    let explained = explained || unacknowledged.is_some() && again.segments <= gone;
    let again = retransmitted(again, counts.messages_sent()).filter(|_| !explained);
    let elsewhere = outcome.loss.peer_elsewhere.filter(|count| *count > 0);
    let rebound = elsewhere.map(|count| Warning::Rebound { count, sent: Some(counts.messages_sent()) });
    let strange = unasked(counts, method).or_else(|| altered(counts)).or_else(|| strange(counts, method));
    [rebound, dark, failed, refused(outcome, method, ours), lost, again, corrupt(outcome), strange]
        .into_iter()
        .flatten()
}

/// True where nearly all requests without a reply are told of by what became of them: nothing came back for a while, they came from another port
/// than their flow, or met a closed port, for hosts limit the errors that they send.
fn is_told_otherwise(outcome: &Outcome) -> bool {
    let nearly_all = |count: u64| count > 0 && count as f64 >= EXPLAINS * outcome.counts.missing() as f64;
    nearly_all(outcome.dark.map_or(0, |dark| dark.unanswered))
        || nearly_all(outcome.loss.peer_elsewhere.unwrap_or(0))
        || outcome.counts.refused > 0 && outcome.counts.answered == 0 && nothing_listens(outcome)
}

/// Warns where something came that is no reply to its request.
fn corrupt(outcome: &Outcome) -> Option<Warning> {
    let count = outcome.counts.corrupt;
    let seen = || outcome.replies.as_ref().and_then(|replies| replies.unread.clone());
    (count > 0).then(|| Warning::Corrupt { count, sent: sent(&outcome.counts), seen: seen() })
}

/// Warns where a program sent replies over TCP that nobody asked for: nobody else can have, and those without a number answer by their order.
fn unasked(counts: &Counts, method: &Method) -> Option<Warning> {
    let by_order = method.traffic.application().is_some() && method.traffic.carrier() == Carrier::Tcp;
    (by_order && counts.strays > 0).then_some(Warning::Unasked { count: counts.strays, over_udp: false })
}

/// Datagrams that answer no request, for one request, from which they are many; and the fewest that are.
const MANY_STRAYS: (f64, u64) = (0.01, 10);

/// Warns where many datagrams came to the port of a program's client and answer no request: a reply of DNS or NTP carries what its request had.
fn strange(counts: &Counts, method: &Method) -> Option<Warning> {
    let marked = method.traffic.application().is_some_and(|asked| ["dns", "ntp"].contains(&&*asked.protocol));
    let over_udp = marked && method.traffic.carrier() == Carrier::Udp;
    let (share, fewest) = MANY_STRAYS;
    let many = counts.strays >= fewest && counts.strays as f64 >= share * sent(counts) as f64;
    (over_udp && many).then_some(Warning::Unasked { count: counts.strays, over_udp: true })
}

/// Segments, at most, that so many connections send again while nothing comes back: a probe of the tail, and one after each wait, which
/// doubles. More of them were lost at other times, or have made that time.
fn backed_off(dark: &Dark, connections: usize) -> u64 {
    let waits = (dark.longest_to_ns.0.saturating_sub(dark.longest_from_ns.0) / SENT_AGAIN.0 + 1).ilog2() + 1;
    dark.spells.saturating_mul(connections as u64).saturating_mul(u64::from(waits) + 1)
}

/// Warns where nearly as many messages answer no request as replies are missing, none of them late: who counts losses may hold altered replies for them.
fn altered(counts: &Counts) -> Option<Warning> {
    let (lost, strays) = (counts.lost, counts.strays);
    let alike = counts.late == 0 && lost > 0 && strays >= lost.div_ceil(2) && strays / 2 <= lost;
    alike.then_some(Warning::Altered { strays, lost })
}

/// Returns the share of the time in which nothing was sent because a reply was awaited that did not come, with one
/// request at a time. The state of the path in that time is unknown: a link that is down for a fifth of a second costs
/// such a run one request, and a second.
fn waited(outcome: &Outcome, method: &Method, gone: u64) -> Option<f64> {
    let spread = &method.spread;
    let one_at_a_time =
        matches!(method.traffic.window(), Window::Closed(1)) && (spread.in_turn || spread.connections == 1);
    let waiting = gone as f64 * method.timeout_ns.0 as f64;
    // By a schedule the others leave when they are due, but for those that were skipped meanwhile.
    let skipped = outcome.offered_per_s.map(|rate| outcome.counts.ticks_missed as f64 / rate * 1e9);
    let waiting = if method.schedule.has_instants() { skipped.unwrap_or(0.0).min(waiting) } else { waiting };
    // No wait for one was what the others took: that for the last may have ended with the run, as by a reset.
    let answered = outcome.response.mean_ns.unwrap_or(0.0) * outcome.counts.answered as f64;
    let waiting = waiting.min(outcome.elapsed_ns.0 as f64 - answered);
    let share = waiting / outcome.elapsed_ns.0 as f64;
    (one_at_a_time && share.is_finite() && share >= WAITED).then_some(share.min(1.0))
}

/// Warns where large messages were not answered, while small packets were.
pub(super) fn size_unanswered(outcome: &Outcome, method: &Method, context: &Context) -> Option<Warning> {
    let (counts, traffic) = (&outcome.counts, &method.traffic);
    let replies = traffic.load().is_none_or(|load| load.reply_every > 0);
    let message_bytes = traffic.request_bytes().max(if replies { traffic.response_bytes() } else { Bytes(0) });
    // Where sizes vary, the small messages were not answered either.
    let least = traffic.sizes().range().map_or(message_bytes, |(smallest, _)| smallest);
    let sent = sent(counts);
    let all = sent > 0 && counts.answered == 0 && counts.missing() == sent;
    (all && context.connected && least > LARGE).then_some(Warning::SizeUnanswered { message_bytes, sent })
}

/// Segments that TCP sent again, counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentAgain {
    segments: u64,
    /// The part of them that the peer is known to have had already.
    had_already: u64,
}

impl SentAgain {
    /// By these sockets; those that did not tell are not counted.
    pub fn by(sockets: &[SocketFacts]) -> Self {
        let again = |socket: &SocketFacts| {
            Some(Self { segments: socket.retransmitted?, had_already: socket.had_already.unwrap_or(0) })
        };
        sockets.iter().filter_map(again).fold(Self::default(), Self::and)
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            segments: self.segments.saturating_add(other.segments),
            had_already: self.had_already.saturating_add(other.had_already),
        }
    }
}

/// Losses that TCP hides: so many `requests` are answered, and some late.
pub fn retransmitted(again: SentAgain, requests: u64) -> Option<Warning> {
    let SentAgain { segments, had_already } = again;
    let had_already = Some(had_already.min(segments)).filter(|had| *had > 0);
    (segments >= FEWEST_RETRANSMITTED && segments as f64 >= RETRANSMITTED * requests as f64)
        .then_some(Warning::Retransmitted { segments, had_already, requests })
}

/// Warns where messages of a load did not arrive at the peer; `there` is the peer's environment, where it was read.
pub(super) fn lost_on_the_way(outcome: &Outcome, method: &Method, there: Option<&Environment>) -> Option<Warning> {
    let count = outcome.loss.forward.and_then(|forward| u64::try_from(forward).ok()).filter(|count| *count > 0)?;
    let counted = |name: &str| there.and_then(|there| there.counters.get(name)).and_then(|n| u64::try_from(*n).ok());
    let of_host =
        || ["Udp.RcvbufErrors", "Udp6.RcvbufErrors"].into_iter().filter_map(counted).fold(0, u64::saturating_add);
    // The host's counters hold drops of other sockets too, so they explain no more than the losses.
    let full = outcome.loss.peer_dropped.unwrap_or_else(of_host);
    let dropped_by_peer = Some(full.min(count)).filter(|dropped| *dropped > 0);
    let sent = outcome.counts.messages_sent();
    // Messages leave in the dark as at any other time, and most of them ask for no reply.
    let in_the_dark = outcome
        .dark
        .is_some_and(|dark| (dark.unanswered as f64).max(dark.share * sent as f64) >= EXPLAINS * count as f64);
    (method.traffic.load().is_some() && !in_the_dark).then_some(Warning::LostOnTheWay { count, sent, dropped_by_peer })
}

/// Returns the segments that were sent again and never acknowledged, where most of the requests that are `gone` were lost in a row, as behind them;
/// `None` where there were none.
fn unacknowledged(outcome: &Outcome, gone: u64) -> Option<u64> {
    let again = outcome.sockets.iter().filter(|socket| socket.retransmitted.is_some_and(|again| again > 0));
    let segments = again.filter_map(|socket| socket.unacknowledged).fold(0, u64::saturating_add);
    let longest = outcome.loss.longest_period;
    (segments > 0 && longest >= SEVERAL && longest.saturating_mul(2) >= gone).then_some(segments)
}

/// Requests that are lost one after the other, from which that is no accident.
const SEVERAL: u64 = 2;

/// Returns the messages that our own sockets had no room for; `None` where there were none, or none was counted.
fn dropped(sockets: &[SocketFacts]) -> Option<u64> {
    let dropped = sockets.iter().filter_map(|socket| socket.dropped).fold(0_u64, u64::saturating_add);
    (dropped > 0).then_some(dropped)
}

fn refused(outcome: &Outcome, method: &Method, ours: Option<&Environment>) -> Option<Warning> {
    let count = outcome.counts.refused;
    let six = outcome.sockets.iter().any(|socket| socket.remote.starts_with('['));
    let at_work = method.traffic.application().is_some();
    let by = || {
        // A program that says that it lets no more in knows why it refuses some connections.
        if by_connection(outcome) && said(outcome) != Some(RefusedBy::Limited) {
            return RefusedBy::Connections;
        }
        if nothing_listens(outcome) {
            return RefusedBy::PortUnreachable;
        }
        said(outcome).unwrap_or_else(|| match refused_by(count, method.traffic.carrier(), six, ours) {
            // A program at work ends connections, or opens none, in other ways too.
            RefusedBy::Reset if at_work => ended(outcome),
            by => by,
        })
    };
    (count > 0).then(|| Warning::Refused {
        count,
        sent: sent(&outcome.counts),
        carrier: method.traffic.carrier(),
        by: by(),
    })
}

/// True where all refusals are those of connections of which each request was refused, while others were answered.
fn by_connection(outcome: &Outcome) -> bool {
    let Some(flows) = &outcome.flows else { return false };
    let out: Vec<_> = flows.losing.iter().filter_map(|flow| flows.each.get(*flow as usize)).collect();
    let refused: u64 = out.iter().filter(|of| of.answered == 0).map(|of| of.scheduled).sum();
    !out.is_empty() && refused == outcome.counts.refused
}

/// The way in which the connection of each refused request ended, where it is one.
fn ended(outcome: &Outcome) -> RefusedBy {
    let Down { closed, cut, reset } = outcome.replies.as_ref().and_then(|replies| replies.down).unwrap_or_default();
    let ways = [(closed, RefusedBy::Closed), (cut, RefusedBy::Cut), (reset, RefusedBy::ConnectionReset)];
    let of_all = ways.into_iter().find(|(count, _)| *count == outcome.counts.refused);
    of_all.map_or(RefusedBy::Ended, |(_, by)| by)
}

/// True where the peer's host itself answered each refused request by an ICMP error that says that nothing listens on the port; a filter of that
/// host may send the same.
fn nothing_listens(outcome: &Outcome) -> bool {
    let mut errors = outcome.sockets.iter().flat_map(|socket| &socket.icmp_errors).peekable();
    let any = errors.peek().is_some();
    let (by_port, others): (Vec<_>, Vec<_>) = errors.partition(|(what, _)| *what == "port unreachable");
    any && others.is_empty() && by_port.iter().map(|(_, count)| **count).sum::<u64>() >= outcome.counts.refused
}

/// The program, where its replies say as often as requests were refused that it did nothing. A late reply and a copy are counted among the
/// replies and are no refused request: with those it is not to be told who refused. `None`: no reply says so.
fn said(outcome: &Outcome) -> Option<RefusedBy> {
    let kinds = outcome.replies.iter().flat_map(|replies| &replies.kinds);
    let refusals: Vec<_> = kinds.filter(|(_, kind)| !kind.answers && kind.count > 0).collect();
    let said: u64 = refusals.iter().map(|(_, kind)| kind.count).sum();
    let counts = &outcome.counts;
    let program = RefusedBy::program(refusals.iter().map(|(name, _)| name.as_str()));
    let by = if said == counts.refused { program } else { RefusedBy::Unknown };
    let plain = counts.late == 0 && counts.duplicated == 0;
    (said > 0).then_some(if plain { by } else { RefusedBy::Unknown })
}

/// Each refusal that is no reset is an ICMP error, which the kernel counts; one that it sends to itself it counts
/// twice. It also counts packets without a route, as when the link is down: nothing was sent then. Over IPv6, `six`,
/// other programs of a host without a route to everywhere raise the counter as well, so that it shows nothing.
fn refused_by(count: u64, carrier: Carrier, six: bool, ours: Option<&Environment>) -> RefusedBy {
    // Some counter always changes: where there are none, they were not read.
    let Some(counters) = ours.map(|ours| &ours.counters).filter(|counters| !counters.is_empty()) else {
        return RefusedBy::Unknown;
    };
    let errors = |way: &str| {
        let of = |protocol: &str| counters.get(&format!("{protocol}.{way}DestUnreachs")).copied().unwrap_or(0);
        u64::try_from(of("Icmp") + of("Icmp6")).unwrap_or(0)
    };
    let exceeded = ["Icmp.InTimeExcds", "Icmp6.InTimeExcds"].iter().filter_map(|name| counters.get(*name)).sum::<i64>();
    let exceeded = u64::try_from(exceeded).unwrap_or(0);
    let unrouted = counters.get(if six { "Ip6.OutNoRoutes" } else { "Ip.OutNoRoutes" }).copied();
    let unrouted = unrouted.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    match (errors("In"), errors("Out")) {
        _ if !six && unrouted >= count => RefusedBy::OurKernel,
        (0, _) if exceeded >= count => RefusedBy::HopLimit,
        (0, _) if unrouted > 0 || exceeded > 0 => RefusedBy::Unknown,
        (0, _) if matches!(carrier, Carrier::Tcp | Carrier::TcpConnect) => RefusedBy::Reset,
        (received, _) if received < count => RefusedBy::Unknown,
        (received, own) if own >= received => RefusedBy::OurKernel,
        _ => RefusedBy::IcmpError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Counts;
    use crate::method::{Application, Asked, LoopKind, Pattern, Schedule};
    use crate::outcome::flows::{Flows, OfFlow};
    use crate::outcome::replies::Replies;
    use crate::recorder::Recorder;
    use crate::statistics::summary::{Extra, summarise};
    use crate::trace::{Departure, Trace};
    use crate::unit::{Instant, Nanos};
    use test_case::test_case;

    fn run(counts: Counts, carrier: Carrier) -> (Outcome, Method) {
        let method = Asked { carrier: Some(carrier), ..Asked::default() }.resolve().unwrap();
        let recording = Recorder::new(LoopKind::Closed, 2).finish(Instant(1_000));
        (Outcome { counts, ..summarise(&recording, &method, Extra::default()) }, method)
    }

    /// A link that is down for a fifth of each two seconds costs one request at a time three of 123,705, and half of the time.
    #[test]
    fn waits_for_what_one_request_at_a_time_lost_are_told() {
        let waited = |asked: Asked, seconds: u64| {
            let counts = Counts { scheduled: 123_705, answered: 123_702, lost: 3, ..Counts::default() };
            let (mut outcome, _) = run(counts, Carrier::Udp);
            outcome.elapsed_ns = Nanos::secs(seconds);
            let method =
                Asked { carrier: Some(Carrier::Udp), timeout_ns: Some(Nanos::secs(1)), ..asked }.resolve().unwrap();
            let lost = fates(&outcome, &method, None).find_map(|warning| match warning {
                Warning::Lost { waited_share, .. } => Some(waited_share),
                _ => None,
            });
            lost.expect("three")
        };
        let every = Some(Schedule::Every { interval_ns: Nanos::millis(1) });
        assert_eq!(waited(Asked::default(), 6), Some(0.5));
        assert_eq!(waited(Asked { connections: Some(8), in_turn: true, ..Asked::default() }, 6), Some(0.5));
        assert_eq!(waited(Asked::default(), 600), None, "hardly any of it");
        assert_eq!(
            waited(Asked { schedule: every, ..Asked::default() }, 6),
            None,
            "the others leave when they are due"
        );
    }

    /// A reset after 3.55 s ends the wait for the last request as it began.
    #[test_case(2.0, Some(0.5); "that was waited for")]
    #[test_case(3.9, None; "that was not")]
    fn the_time_that_replies_took_was_no_wait_for_others(mean_ms: f64, expected: Option<f64>) {
        let counts = Counts { scheduled: 1_001, answered: 1_000, lost: 1, ..Counts::default() };
        let (mut outcome, method) = run(counts, Carrier::Tcp);
        outcome.elapsed_ns = Nanos::millis(3_900 + 100 * u64::from(mean_ms < 3.0));
        outcome.response.mean_ns = Some(mean_ms * 1e6);
        let method = Method { timeout_ns: Nanos::secs(2), ..method };
        let share = fates(&outcome, &method, None).find_map(|warning| match warning {
            Warning::Lost { waited_share, .. } => waited_share,
            _ => None,
        });
        assert_eq!(share, expected);
    }

    /// A server that is stopped for 1.5 s of 6 costs a loop of one request at a time, each 10 ms, one late reply and 148 that were not sent.
    #[test]
    fn what_a_schedule_skipped_behind_one_that_got_no_reply_is_told() {
        let waited = |ticks_missed: u64, late: u64| {
            let counts = Counts { scheduled: 452, answered: 452 - late, late, ticks_missed, ..Counts::default() };
            let (mut outcome, _) = run(counts, Carrier::Tcp);
            (outcome.elapsed_ns, outcome.offered_per_s) = (Nanos::secs(6), Some(100.0));
            let schedule = Some(Schedule::Every { interval_ns: Nanos::millis(10) });
            let window = Some(1);
            let method = Asked { window, schedule, ..Asked::default() }.resolve().unwrap();
            fates(&outcome, &method, None).find_map(|warning| match warning {
                Warning::Lost { waited_share, .. } => waited_share,
                _ => None,
            })
        };
        assert!(waited(148, 1).is_some_and(|share| (share - 1.0 / 6.0).abs() < 1e-9), "{:?}", waited(148, 1));
        assert!(waited(30, 1).is_some_and(|share| (share - 0.05).abs() < 1e-9), "no more than was skipped");
        assert_eq!(waited(0, 1), None, "nothing was skipped");
    }

    #[test]
    fn fates_are_told_by_number() {
        let told = |counts| {
            let (outcome, method) = run(counts, Carrier::Tcp);
            fates(&outcome, &method, None).collect::<Vec<_>>()
        };
        assert_eq!(told(Counts::default()), []);
        let counts =
            Counts { scheduled: 113, answered: 90, lost: 8, late: 2, send_failed: 10, refused: 3, ..Counts::default() };
        let wanted = [
            Warning::SendFailed { count: 10 },
            Warning::Refused { count: 3, sent: 103, carrier: Carrier::Tcp, by: RefusedBy::Unknown },
            Warning::Lost {
                count: 10,
                sent: 103,
                dropped_by_us: None,
                dropped_by_peer: None,
                late: 2,
                leaves_by: LeavesBy::Reply,
                waited_share: Some(1.0),
                unacknowledged: 0,
            },
        ];
        assert_eq!(told(counts), wanted);
    }

    #[test_case(1_400, true, 0, true; "large, and none answered")]
    #[test_case(508, true, 0, false; "as small as any path carries")]
    #[test_case(1_400, false, 0, false; "nothing small was answered either")]
    #[test_case(1_400, true, 1, false; "one was answered")]
    fn large_messages_without_an_answer_are_told_as_that(size: u64, connected: bool, answered: u64, told: bool) {
        let counts = Counts { scheduled: 9, answered, lost: 9 - answered, ..Counts::default() };
        let (outcome, _) = run(counts, Carrier::Udp);
        let size = Some(Bytes(size));
        let method =
            Asked { carrier: Some(Carrier::Udp), request_bytes: size, response_bytes: size, ..Asked::default() };
        let method = method.resolve().unwrap();
        let context = Context { connected, ..Context::default() };
        assert_eq!(size_unanswered(&outcome, &method, &context).is_some(), told);
    }

    #[test]
    fn what_our_own_buffers_dropped_is_told_with_the_lost() {
        let (mut outcome, method) =
            run(Counts { scheduled: 9, answered: 4, lost: 5, ..Counts::default() }, Carrier::Udp);
        let socket = |dropped| SocketFacts { dropped, ..SocketFacts::default() };
        let told = |outcome: &Outcome| fates(outcome, &method, None).collect::<Vec<_>>();
        let lost = |dropped_by_us| {
            [Warning::Lost {
                count: 5,
                sent: 9,
                dropped_by_us,
                dropped_by_peer: None,
                late: 0,
                leaves_by: LeavesBy::Reply,
                waited_share: Some(1.0),
                unacknowledged: 0,
            }]
        };
        outcome.sockets = vec![socket(None), socket(Some(0))];
        assert_eq!(told(&outcome), lost(None));
        outcome.sockets = vec![socket(Some(2)), socket(None), socket(Some(3))];
        assert_eq!(told(&outcome), lost(Some(5)));
        for (dropped, dropped_by_peer) in [(0, None), (3, Some(3)), (9, Some(5))] {
            outcome.loss.peer_dropped = Some(dropped);
            let [Warning::Lost { dropped_by_peer: found, .. }] = told(&outcome)[..] else { panic!("told otherwise") };
            assert_eq!(found, dropped_by_peer);
        }
    }

    #[test]
    fn segments_sent_again_are_told_where_they_reach_what_is_printed() {
        let (mut outcome, method) =
            run(Counts { scheduled: 2_000, answered: 2_000, ..Counts::default() }, Carrier::Tcp);
        let socket = |retransmitted| SocketFacts { retransmitted, ..SocketFacts::default() };
        let mut told = |sockets: &[Option<u64>], answered| {
            outcome.sockets = sockets.iter().copied().map(socket).collect();
            (outcome.counts.scheduled, outcome.counts.answered) = (answered, answered);
            fates(&outcome, &method, None).collect::<Vec<_>>()
        };
        assert_eq!(told(&[None, Some(0)], 2_000), [], "nothing, or not known");
        assert_eq!(told(&[Some(1)], 10), [], "one probe of the tail");
        assert_eq!(told(&[Some(1), None, Some(1)], 2_001), [], "beyond the 99.9th percentile");
        let again = |requests| Warning::Retransmitted { segments: 2, had_already: None, requests };
        assert_eq!(told(&[Some(1), None, Some(1)], 2_000), [again(2_000)]);
    }

    #[test_case(Some(3), 6, 7, Some(3), false; "nothing acknowledged to the end")]
    #[test_case(Some(3), 40, 7, Some(3), true; "and more sent again than that")]
    #[test_case(None, 6, 7, Some(0), true; "all acknowledged")]
    #[test_case(Some(3), 0, 7, Some(0), false; "on their way when the run ended")]
    #[test_case(Some(1), 6, 3, Some(0), true; "lost one here and one there")]
    fn what_no_kernel_acknowledged_is_no_matter_of_the_program(
        unacknowledged: Option<u64>,
        again: u64,
        longest: u64,
        told: Option<u64>,
        is_late: bool,
    ) {
        let counts = Counts { scheduled: 8, answered: 1, lost: 7, ..Counts::default() };
        let (mut outcome, method) = run(counts, Carrier::Tcp);
        outcome.loss.longest_period = longest;
        outcome.sockets = vec![SocketFacts { unacknowledged, retransmitted: Some(again), ..SocketFacts::default() }];
        let found: Vec<Warning> = fates(&outcome, &method, None).collect();
        let lost = found.iter().find_map(|warning| match warning {
            Warning::Lost { unacknowledged, .. } => Some(*unacknowledged),
            _ => None,
        });
        assert_eq!(lost, told);
        assert_eq!(found.iter().any(|warning| warning.kind() == "retransmitted"), is_late, "{found:?}");
    }

    #[test]
    fn what_is_no_reply_is_told_and_shown() {
        let counts = Counts { scheduled: 20, answered: 17, corrupt: 3, ..Counts::default() };
        let (mut outcome, method) = run(counts, Carrier::Tcp);
        let told = |outcome: &Outcome| fates(outcome, &method, None).collect::<Vec<_>>();
        let corrupt = |seen| [Warning::Corrupt { count: 3, sent: 20, seen }];
        assert_eq!(told(&outcome), corrupt(None));
        let unread = Some("the reply is none of Redis: \"SSH-2.0\"".to_owned());
        outcome.replies = Some(Replies { unread: unread.clone(), ..Replies::default() });
        assert_eq!(told(&outcome), corrupt(unread));
    }

    #[test]
    fn replies_that_nobody_asked_for_are_told_of_a_program_over_tcp() {
        let told = |carrier, asked: &str, strays| {
            let counts = Counts { scheduled: 20, answered: 20, strays, ..Counts::default() };
            let (outcome, _) = run(counts, carrier);
            let application = Application { protocol: asked.into(), request: "GET /".into(), mix: None };
            let application = Some(application).filter(|_| !asked.is_empty());
            let method = Asked { carrier: Some(carrier), application, ..Asked::default() }.resolve().unwrap();
            fates(&outcome, &method, None).collect::<Vec<_>>()
        };
        assert_eq!(told(Carrier::Tcp, "http", 19), [Warning::Unasked { count: 19, over_udp: false }]);
        assert_eq!(told(Carrier::Tcp, "http", 0), []);
        assert_eq!(told(Carrier::Udp, "dns", 19), [Warning::Unasked { count: 19, over_udp: true }]);
        assert_eq!(told(Carrier::Udp, "dns", 9), [], "anybody may have sent some datagrams");
        assert_eq!(told(Carrier::Udp, "sip", 19), [], "provisional responses");
        assert_eq!(told(Carrier::Tcp, "", 19), []);
    }

    #[test_case(&[("port unreachable", 7)], RefusedBy::PortUnreachable; "each, and those of the warm-up")]
    #[test_case(&[("port unreachable", 4)], RefusedBy::OurKernel; "too few")]
    #[test_case(&[("port unreachable", 7), ("host unreachable", 1)], RefusedBy::OurKernel; "something else too")]
    #[test_case(&[("port unreachable from 10.0.0.1", 7)], RefusedBy::OurKernel; "from elsewhere")]
    #[test_case(&[], RefusedBy::OurKernel; "none that was kept")]
    fn a_port_on_which_nothing_listens_is_told(errors: &[(&str, u64)], by: RefusedBy) {
        let counts = Counts { scheduled: 5, refused: 5, ..Counts::default() };
        let (mut outcome, method) = run(counts, Carrier::Udp);
        let icmp_errors = errors.iter().map(|(what, count)| ((*what).to_owned(), *count)).collect();
        outcome.sockets = vec![SocketFacts { icmp_errors, ..SocketFacts::default() }];
        let counters = [("Icmp.InDestUnreachs", 5), ("Icmp.OutDestUnreachs", 5)];
        let counters = counters.map(|(name, count)| (name.to_owned(), count)).into();
        let ours = Environment { counters, ..Environment::default() };
        assert_eq!(
            refused(&outcome, &method, Some(&ours)),
            Some(Warning::Refused { count: 5, sent: 5, carrier: Carrier::Udp, by })
        );
    }

    #[test_case(&[1], RefusedBy::Connections; "each request of one connection")]
    #[test_case(&[0], RefusedBy::Unknown; "of one that was answered at times")]
    #[test_case(&[], RefusedBy::Unknown; "of any")]
    fn refusals_that_meet_the_same_connections_each_time_are_put_down_to_these(losing: &[u32], by: RefusedBy) {
        let counts = Counts { scheduled: 20, answered: 14, refused: 6, ..Counts::default() };
        let (mut outcome, method) = run(counts, Carrier::TcpConnect);
        let of =
            |scheduled, answered| OfFlow { scheduled, answered, p50_ns: None, p99_ns: None, histogram: String::new() };
        let each = vec![of(14, 14), of(6, 0)];
        outcome.flows = Some(Flows { each, groups: None, least_ns: 0.0, moved: Vec::new(), losing: losing.to_vec() });
        let told = refused(&outcome, &method, None);
        assert!(matches!(told, Some(Warning::Refused { by: told, .. }) if told == by), "{told:?}");
    }

    /// A host sends only some errors a second: what went without one met the same closed port, and no program has a log of it.
    #[test]
    fn requests_without_an_error_at_a_closed_port_are_not_told_apart() {
        let lost = |answered| {
            let counts = Counts { scheduled: 8 + answered, refused: 6, lost: 2, answered, ..Counts::default() };
            let (mut outcome, method) = run(counts, Carrier::Udp);
            let icmp_errors = [("port unreachable".to_owned(), 6)].into();
            outcome.sockets = vec![SocketFacts { icmp_errors, ..SocketFacts::default() }];
            fates(&outcome, &method, None).map(|warning| warning.kind()).collect::<Vec<_>>()
        };
        assert_eq!(lost(0), ["refused"]);
        assert_eq!(lost(9), ["refused", "lost"], "the program was there for a while");
    }

    #[test]
    fn an_outage_explains_the_few_segments_that_a_connection_sends_again_in_it() {
        let again = |segments| {
            let (mut outcome, method) =
                run(Counts { scheduled: 400, answered: 160, late: 240, ..Counts::default() }, Carrier::Tcp);
            outcome.sockets = vec![SocketFacts { retransmitted: Some(segments), ..SocketFacts::default() }];
            outcome.dark = Some(dark());
            fates(&outcome, &method, None).any(|warning| warning.kind() == "retransmitted")
        };
        // Within a second: a probe, and after 0.2 and 0.6 s.
        assert!(!again(3) && again(90));
    }

    #[test]
    fn messages_in_place_of_replies_are_told_beside_the_losses() {
        let told = |lost: u64, strays: u64, late: u64| {
            let counts = Counts { scheduled: 2_000, answered: 2_000 - lost, lost, strays, late, ..Counts::default() };
            let (outcome, method) = run(counts, Carrier::Tcp);
            fates(&outcome, &method, None).find(|warning| warning.kind() == "altered")
        };
        assert_eq!(told(40, 41, 0), Some(Warning::Altered { strays: 41, lost: 40 }));
        for [lost, strays, late] in [[40, 0, 0], [40, 3, 0], [40, 41, 2], [0, 41, 0], [40, 90, 0]] {
            assert_eq!(told(lost, strays, late), None, "{lost} lost, {strays} strays, {late} late");
        }
    }

    fn dark() -> Dark {
        Dark {
            spells: 1,
            total_ns: Nanos::secs(1),
            share: 0.5,
            longest_from_ns: Nanos::secs(1),
            longest_to_ns: Nanos::secs(2),
            to_the_end: true,
            unanswered: 2,
            refused_or_not_sent: 0,
            due: None,
        }
    }

    #[test_case(&Asked { pattern: Some(Pattern::Load), ..Asked::default() }, LeavesBy::Rate; "a load")]
    #[test_case(&trace(), LeavesBy::Trace; "a replay")]
    #[test_case(&Asked { carrier: Some(Carrier::TcpConnect), ..Asked::default() }, LeavesBy::Connection; "handshakes")]
    #[test_case(&Asked { pattern: Some(Pattern::ConnectExchange), ..Asked::default() }, LeavesBy::Connection; "a connection each")]
    #[test_case(&seldom(), LeavesBy::Reply; "handshakes that are seldom")]
    fn the_lost_tell_what_sent_them(asked: &Asked, by: LeavesBy) {
        let (mut outcome, _) = run(Counts { scheduled: 9, answered: 4, lost: 5, ..Counts::default() }, Carrier::Udp);
        outcome.sockets.clear();
        let found: Vec<Warning> = fates(&outcome, &asked.resolve().unwrap(), None).collect();
        let [Warning::Lost { count: 5, sent: 9, leaves_by, .. }] = found[..] else { panic!("{found:?}") };
        assert_eq!(leaves_by, by);
    }

    fn seldom() -> Asked {
        let schedule = Some(Schedule::Every { interval_ns: Nanos::millis(10) });
        Asked { carrier: Some(Carrier::TcpConnect), schedule, ..Asked::default() }
    }

    fn trace() -> Asked {
        let departures = [0, 1_000].map(|at| Departure { at: Nanos(at), bytes: 64 });
        let schedule = Trace::new(departures.to_vec()).unwrap().schedule();
        Asked { pattern: Some(Pattern::Load), schedule: Some(schedule), ..Asked::default() }
    }

    #[test]
    fn what_a_load_lost_on_the_way_there_is_told_with_what_the_peers_host_dropped() {
        let (mut outcome, exchange) = run(Counts { scheduled: 10, answered: 10, ..Counts::default() }, Carrier::Udp);
        outcome.counts.one_way = 990;
        let load = Asked { pattern: Some(Pattern::Load), ..Asked::default() }.resolve().unwrap();
        let host = |counters: &[(&str, i64)]| {
            let counters = counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            Environment { counters, ..Environment::default() }
        };
        let told = |outcome: &Outcome, counters| lost_on_the_way(outcome, &load, Some(&host(counters)));
        let lost = |dropped_by_peer| Some(Warning::LostOnTheWay { count: 7, sent: 1_000, dropped_by_peer });
        assert_eq!(told(&outcome, &[]), None, "the peer did not tell");
        for (forward, warning) in [(0, None), (-3, None), (7, lost(None))] {
            outcome.loss.forward = Some(forward);
            assert_eq!(told(&outcome, &[]), warning);
        }
        assert_eq!(told(&outcome, &[("Udp.RcvbufErrors", 4), ("Udp6.RcvbufErrors", 1)]), lost(Some(5)));
        assert_eq!(told(&outcome, &[("Udp.RcvbufErrors", 400)]), lost(Some(7)), "others drop too");
        assert_eq!(lost_on_the_way(&outcome, &load, None), lost(None));
        outcome.loss.peer_dropped = Some(6);
        assert_eq!(told(&outcome, &[("Udp.RcvbufErrors", 400)]), lost(Some(6)), "its sockets know better");
        outcome.loss.peer_dropped = None;
        outcome.dark = Some(Dark { share: 0.006, unanswered: 0, ..dark() });
        assert_eq!(told(&outcome, &[]), lost(None), "six messages leave in so short a time");
        outcome.dark = Some(Dark { share: 0.0065, unanswered: 0, ..dark() });
        assert_eq!(told(&outcome, &[]), None, "as many as are missing");
        outcome.dark = None;
        assert_eq!(lost_on_the_way(&outcome, &exchange, None), None, "an exchange that is lost is told as such");
    }

    #[test_case(Carrier::TcpConnect, &[("stat.interrupts", 9)], RefusedBy::Reset; "no ICMP error")]
    #[test_case(Carrier::TcpConnect, &[], RefusedBy::Unknown; "counters that were not read")]
    #[test_case(Carrier::TcpConnect, &[("Icmp.InDestUnreachs", 5)], RefusedBy::IcmpError; "from elsewhere")]
    #[test_case(Carrier::TcpConnect, &[("Icmp.InTimeExcds", 5)], RefusedBy::HopLimit; "packets that go round")]
    #[test_case(Carrier::TcpConnect, &[("Icmp.InTimeExcds", 2)], RefusedBy::Unknown; "some that went round, and something else")]
    #[test_case(Carrier::Udp, &[("Icmp6.InDestUnreachs", 6), ("Icmp6.OutDestUnreachs", 1)], RefusedBy::IcmpError; "IPv6")]
    #[test_case(Carrier::Icmp, &[("Icmp.InDestUnreachs", 6), ("Icmp.OutDestUnreachs", 6)], RefusedBy::OurKernel; "from ourselves")]
    #[test_case(Carrier::TcpConnect, &[("Icmp.InDestUnreachs", 4)], RefusedBy::Unknown; "too few for all")]
    #[test_case(Carrier::TcpConnect, &[("Ip.OutNoRoutes", 5)], RefusedBy::OurKernel; "no route")]
    #[test_case(Carrier::Udp, &[("Ip.OutNoRoutes", 5)], RefusedBy::OurKernel; "no route for datagrams")]
    #[test_case(Carrier::TcpConnect, &[("Ip6.OutNoRoutes", 9)], RefusedBy::Reset; "another family has no route")]
    #[test_case(Carrier::TcpConnect, &[("Ip.OutNoRoutes", 4)], RefusedBy::Unknown; "no route, and something else")]
    #[test_case(Carrier::Udp, &[("stat.interrupts", 9)], RefusedBy::Unknown; "UDP knows no resets")]
    fn who_refused_is_told_by_the_kernels_counters(carrier: Carrier, counters: &[(&str, i64)], by: RefusedBy) {
        let counters = counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let ours = Environment { counters, ..Environment::default() };
        assert_eq!(refused_by(5, carrier, false, Some(&ours)), by);
    }

    #[test_case(5, Counts { refused: 5, ..Counts::default() }, Some(RefusedBy::Unavailable); "each")]
    #[test_case(4, Counts { refused: 5, ..Counts::default() }, Some(RefusedBy::Unknown); "some, and something else")]
    #[test_case(5, Counts { refused: 5, late: 1, ..Counts::default() }, Some(RefusedBy::Unknown); "a late one may be among them")]
    #[test_case(5, Counts { refused: 5, duplicated: 1, ..Counts::default() }, Some(RefusedBy::Unknown); "a copy may be among them")]
    #[test_case(0, Counts { refused: 5, ..Counts::default() }, None; "none")]
    fn a_program_says_itself_that_it_refuses(said: u64, counts: Counts, by: Option<RefusedBy>) {
        let mut replies = Replies::default();
        replies.add("200".into(), true, 95);
        replies.add("503".into(), false, said);
        let (outcome, method) = run(counts, Carrier::Tcp);
        let outcome = Outcome { replies: Some(replies), ..outcome };
        assert_eq!(super::said(&outcome), by);
        let told = refused(&outcome, &method, None);
        assert!(matches!(told, Some(Warning::Refused { by: told, .. }) if told == by.unwrap_or(RefusedBy::Unknown)));
    }

    #[test]
    fn a_route_of_ipv6_that_is_not_there_may_be_another_program_s() {
        let counters = [("Ip6.OutNoRoutes".to_owned(), 9)].into();
        let ours = Environment { counters, ..Environment::default() };
        assert_eq!(refused_by(5, Carrier::TcpConnect, true, Some(&ours)), RefusedBy::Unknown);
    }
}
