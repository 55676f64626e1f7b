//! Compares the packets at the interface with the measurement's own counts.
//!
//! Datagrams and echoes are compared one by one, connections by their handshakes, streams by octets: a segment is no
//! message. Where a number is missing on either side nothing is claimed, and it is said why.

use std::net::SocketAddr;

use super::finding::{CaptureFacts, Check, Subject, Verdict, Wire, WireTimes, WireWay};
use super::observer::{Flow, Handshakes, Observed};
use super::total::Total;
use crate::statistics::quantile::{needed, rank};
use crate::unit::{Nanos, grouped};

/// Counts of a measurement, and the flows that were its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// Our ends of its flows, where they are known one by one; else all are its own but those `apart`.
    pub flows: Option<Vec<SocketAddr>>,
    /// Our ends of flows to the same port that were not measured: a control connection.
    pub apart: Vec<SocketAddr>,
    /// Flows that it had at most; more are of somebody else. Absent: any number.
    pub most_flows: Option<usize>,
    /// Numbers that it claims.
    pub claims: Vec<Claim>,
    /// True where replies were accepted by their content; absent where they have none.
    pub data_echoed: Option<bool>,
    /// End of the warm-up: earlier times are not of the measurement, nanoseconds since 1970.
    pub began_ns: u64,
    /// True where it measured handshakes.
    pub of_handshakes: bool,
    /// Median and 99th percentile of the round trips it measured.
    pub application: (Option<Nanos>, Option<Nanos>),
    /// Median from driver to receive stamp.
    pub kernel_p50: Option<Nanos>,
}

/// One number that a measurement claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Quantity that is claimed.
    pub subject: Subject,
    /// Its number; or the reason why that is not known.
    pub counted: Result<u64, String>,
}

/// Place and means of the capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Name of the interface.
    pub interface: String,
    /// Its largest packet, bytes of IP.
    pub mtu_bytes: Option<u32>,
    /// Names of other interfaces, by index.
    pub others: Vec<(u32, String)>,
    /// The capture.
    pub capture: CaptureFacts,
}

/// Judges the counts of a measurement by the wire.
pub fn judge(observed: &Observed, counted: &Counted, place: Place) -> Wire {
    let own: Vec<usize> = (0..observed.flows.len()).filter(|flow| is_own(&observed.flows[*flow], counted)).collect();
    let flows = || own.iter().map(|flow| &observed.flows[*flow]);
    let sent = flows().fold(Total::default(), |sum, flow| sum.and(&flow.out));
    let received = flows().fold(Total::default(), |sum, flow| sum.and(&flow.back));
    let handshakes = flows().fold(Handshakes::default(), |sum, flow| sum.and(&flow.handshakes));
    let strangers = counted.most_flows.filter(|most| flows().filter(|flow| flow.out.packets > 0).count() > *most);
    let scene = Scene { sent, received, handshakes, place: &place, beyond: observed.beyond, strangers };
    let checks = counted.claims.iter().map(|claim| scene.check(claim)).collect();
    let of_connections = handshakes.asked > 0;
    Wire {
        checks,
        data_echoed: counted.data_echoed,
        sent: way(&sent),
        received: way(&received),
        syns_repeated: of_connections.then_some(handshakes.asked_again),
        times: times(observed, counted, &own),
        interface: place.interface,
        mtu_bytes: place.mtu_bytes,
        capture: place.capture,
    }
}

fn is_own(flow: &Flow, counted: &Counted) -> bool {
    let named = counted.flows.as_ref().is_none_or(|flows| flows.contains(&flow.local));
    named && !counted.apart.contains(&flow.local)
}

fn way(total: &Total) -> WireWay {
    WireWay {
        packets: total.packets,
        repeated_segments: total.octets.repeated_segments,
        repeated_bytes: total.octets.repeated_bytes,
        late_segments: total.octets.late_segments,
        missing_bytes: total.octets.missing,
        merged: total.merged,
        longest_bytes: total.longest_bytes,
        fragments: total.fragments,
        elsewhere: total.elsewhere.map_or(0, |(_, count)| count),
    }
}

struct Scene<'a> {
    sent: Total,
    received: Total,
    handshakes: Handshakes,
    place: &'a Place,
    beyond: u64,
    strangers: Option<usize>,
}

impl Scene<'_> {
    fn check(&self, claim: &Claim) -> Check {
        let subject = claim.subject;
        let (seen, way) = match subject {
            Subject::ConnectionsAsked => (self.handshakes.asked, &self.sent),
            Subject::Handshakes => (self.handshakes.made, &self.received),
            Subject::Answers => (self.handshakes.answered + self.handshakes.refused, &self.received),
            Subject::Requests => (self.sent.datagrams, &self.sent),
            Subject::Replies => (self.received.datagrams, &self.received),
            Subject::OctetsSent => (self.sent.octets.distinct, &self.sent),
            Subject::OctetsReceived => (self.received.octets.distinct, &self.received),
        };
        let counted = match &claim.counted {
            Ok(counted) => *counted,
            Err(reason) => {
                let (verdict, reason) = (Verdict::NotEstablished, Some(reason.clone()));
                return Check { subject, verdict, counted: None, seen: Some(seen), reason };
            }
        };
        let (verdict, reason) = if counted == seen {
            (Verdict::Verified, None)
        } else if let Some(reason) = self.excuse(counted, seen) {
            (Verdict::NotEstablished, Some(reason))
        } else {
            (Verdict::Contradicted, self.explanation(subject, counted, seen, way))
        };
        Check { subject, verdict, counted: Some(counted), seen: Some(seen), reason }
    }

    /// Returns the reason why a difference says nothing of the measurement.
    fn excuse(&self, counted: u64, seen: u64) -> Option<String> {
        let dropped = self.place.capture.dropped;
        if let Some(most) = self.strangers {
            return Some(format!("other traffic with this peer was captured too: more than {most} flows"));
        }
        if self.beyond > 0 {
            let beyond = grouped(self.beyond);
            return Some(format!("{beyond} packets belong to more flows than the capture can tell apart"));
        }
        (dropped > 0 && seen < counted).then(|| format!("the capture itself dropped {} packets", grouped(dropped)))
    }

    fn explanation(&self, subject: Subject, counted: u64, seen: u64, way: &Total) -> Option<String> {
        if let Some((index, count)) = way.elsewhere.filter(|_| seen < counted) {
            let known = self.place.others.iter().find(|(other, _)| *other == index);
            let name = known.map_or_else(|| format!("interface {index}"), |(_, name)| name.clone());
            return Some(format!("{} packets passed {name} instead", grouped(count)));
        }
        let text = match (subject, seen < counted) {
            (Subject::Requests | Subject::OctetsSent | Subject::ConnectionsAsked, true) => {
                "the missing packets did not leave by this interface: a rule or a queue of this host took them"
            }
            (Subject::Replies | Subject::Answers | Subject::OctetsReceived, false) => {
                "more arrived at this host than the program received: too late, twice, or no room in its socket"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}

fn times(observed: &Observed, counted: &Counted, own: &[usize]) -> Option<WireTimes> {
    let wanted = observed.times.iter().filter(|time| {
        time.of_handshake == counted.of_handshakes
            && time.at_ns >= counted.began_ns
            && own.binary_search(&(time.flow as usize)).is_ok()
    });
    let mut took: Vec<i64> = wanted.map(|time| time.took_ns).collect();
    took.sort_unstable();
    let count = took.len() as u64;
    let at = |q: f64| Some(took[rank(q, count)? as usize - 1]);
    let p99 = at(0.99).filter(|_| needed(0.99).is_some_and(|needed| count >= needed));
    let p50 = at(0.5)?;
    let less = |ours: Option<Nanos>, wire: Option<i64>| Some(ours?.0.cast_signed() - wire?);
    Some(WireTimes {
        of_handshakes: counted.of_handshakes,
        count,
        min_ns: *took.first()?,
        p50_ns: p50,
        p99_ns: p99,
        application_less_p50_ns: less(counted.application.0, Some(p50)),
        application_less_p99_ns: less(counted.application.1, p99),
        kernel_less_p50_ns: less(counted.kernel_p50, Some(p50)),
    })
}
