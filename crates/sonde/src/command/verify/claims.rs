//! The numbers that a measurement claims to have sent and received, in the units in which the wire can be asked. No I/O.

use std::net::SocketAddr;

use endpoint::rtt::{Ending, Finding};
use endpoint::throughput::Finding as Streams;
use endpoint::wire::Watched;
use measure::event::Counts;
use measure::method::{Carrier, Method, Traffic};
use measure::outcome::{Distribution, Outcome, SocketFacts, Standing};
use measure::throughput::Carried;
use measure::throughput::meter::Metered;
use measure::unit::Nanos;
use measure::wire::finding::Subject;
use measure::wire::judge::{Claim, Counted};
use protocol::native::header::LENGTH;
use protocol::native::preamble::DATA_LENGTH;

use crate::command::spoken::Spoken;

/// The greeting of a data connection before the first message, octets.
const PREAMBLE: u64 = DATA_LENGTH as u64;
/// The answer to it, which also lets a source of a stream go, octets.
const WORD: u64 = 1;

/// The reason why connections of a foreign test are not compared.
const ONE_MORE: &str = "a netserver may be told of the end by a further connection, which is not counted";

type Number = Result<u64, String>;

/// The claims of exchanges.
pub fn of_exchanges(
    outcome: &Outcome,
    method: &Method,
    spoken: Spoken,
    finding: &Finding,
    watched: &Watched,
) -> Counted {
    let shape = Exchanges::of(outcome, finding);
    let native = spoken == Spoken::Native;
    // Only our own protocol says anything on a data connection but requests and replies, and marks its warm-up.
    let (preamble, word) = if native { (PREAMBLE, WORD) } else { (0, 0) };
    let unmarked = if native { (0, 0) } else { (shape.tried + watched.before.0, shape.warm + watched.before.1) };
    let claims = match (method.traffic.carrier(), &method.traffic) {
        (Carrier::Udp, _) => vec![
            claim(Subject::Requests, shape.whole(shape.sent + unmarked.0)),
            claim(Subject::Replies, shape.whole(shape.came + unmarked.1)),
        ],
        (Carrier::Icmp, _) => vec![
            claim(Subject::Requests, shape.whole(shape.sent + shape.tried)),
            claim(Subject::Replies, shape.whole(shape.came + shape.warm)),
        ],
        (Carrier::TcpSyn, _) => vec![
            claim(Subject::ConnectionsAsked, shape.whole(shape.sent)),
            claim(Subject::Answers, shape.whole(shape.in_time_or_late)),
        ],
        (Carrier::TcpConnect, _) => vec![
            claim(Subject::ConnectionsAsked, shape.whole(shape.sent + shape.tried)),
            claim(Subject::Handshakes, shape.whole(shape.in_time_or_late + shape.warm)),
        ],
        (Carrier::Tcp, Traffic::ConnectExchange { .. }) => {
            let all = shape.sent + shape.tried;
            let connections = |number: Number| if native { number } else { Err(ONE_MORE.to_owned()) };
            vec![
                claim(Subject::ConnectionsAsked, connections(shape.whole(all))),
                claim(Subject::Handshakes, connections(shape.unbroken(all))),
                claim(
                    Subject::OctetsSent,
                    shape.unbroken(all).map(|all| all * (preamble + method.traffic.request_bytes().0)),
                ),
                claim(
                    Subject::OctetsReceived,
                    shape.unbroken(all).map(|all| all * (word + method.traffic.response_bytes().0)),
                ),
            ]
        }
        (Carrier::Tcp, _) => {
            let connections = u64::from(method.spread.connections);
            let requests = shape
                .whole(shape.sent + shape.tried)
                .map(|all| connections * preamble + all * method.traffic.request_bytes().0);
            let replies = shape.whole(shape.came + shape.warm);
            vec![
                claim(Subject::Handshakes, Ok(connections)),
                claim(Subject::OctetsSent, requests),
                claim(
                    Subject::OctetsReceived,
                    replies.map(|all| connections * word + all * method.traffic.response_bytes().0),
                ),
            ]
        }
    };
    // A connection of its own for each exchange comes from any port; echoes have none.
    let anew = method.traffic.connects();
    let ports = !anew && method.traffic.carrier() != Carrier::Icmp;
    let own = watched.own.as_ref().map(|ends| ends.iter().copied().map(bare).collect());
    let times = outcome.service.as_ref().unwrap_or(&outcome.response);
    Counted {
        flows: own.or_else(|| ports.then(|| local_ends(&outcome.sockets))),
        apart: watched.apart.iter().copied().map(bare).collect(),
        most_flows: (method.traffic.carrier() == Carrier::Icmp).then_some(method.spread.connections as usize),
        claims,
        data_echoed: echoes(method, spoken).then_some(outcome.counts.answered > 0),
        began_ns: watched.began_ns,
        of_handshakes: anew || method.traffic.carrier() == Carrier::TcpSyn,
        // Where a handshake is a part of what is measured, the two are no comparison.
        application: if matches!(method.traffic, Traffic::ConnectExchange { .. }) {
            (None, None)
        } else {
            (quantile(times, 0.5), quantile(times, 0.99))
        },
        kernel_p50: outcome.split.as_ref().and_then(|split| split.outside_ns),
    }
}

/// True where a reply carries what tells whose it is.
fn echoes(method: &Method, spoken: Spoken) -> bool {
    match method.traffic.carrier() {
        Carrier::Icmp => true,
        Carrier::Udp => matches!(spoken, Spoken::Native | Spoken::Foreign { marks: true, .. }),
        Carrier::Tcp if spoken != Spoken::Native => false,
        Carrier::Tcp => {
            method.traffic.response_bytes().0 >= LENGTH as u64 && method.traffic.request_bytes().0 >= LENGTH as u64
        }
        Carrier::TcpConnect | Carrier::TcpSyn => false,
    }
}

/// The sums of the exchanges by status.
struct Exchanges {
    counts: Counts,
    complete: bool,
    /// Recorded messages that left.
    sent: u64,
    /// Recorded messages that came.
    came: u64,
    in_time_or_late: u64,
    /// Requests of the warm-up …
    tried: u64,
    /// … and its replies.
    warm: u64,
}

impl Exchanges {
    fn of(outcome: &Outcome, finding: &Finding) -> Self {
        let counts = outcome.counts;
        let in_time_or_late = counts.answered + counts.late;
        Self {
            counts,
            complete: finding.ended == Ending::Complete,
            sent: counts.scheduled - counts.send_failed + counts.one_way,
            came: in_time_or_late + counts.corrupt + counts.duplicated + counts.strays,
            in_time_or_late,
            tried: finding.warmed.tried,
            warm: finding.warmed.answered,
        }
    }

    /// A number that holds only where the run came to its end.
    fn whole(&self, number: u64) -> Number {
        if self.complete {
            return Ok(number);
        }
        Err("the run was cut short: what was on its way then is not counted".to_owned())
    }

    /// A number that holds only where every exchange came to its end.
    fn unbroken(&self, number: u64) -> Number {
        let Counts { scheduled, answered, .. } = self.counts;
        if scheduled == answered && self.tried == self.warm {
            return self.whole(number);
        }
        Err("of exchanges that failed it is not counted how far they came".to_owned())
    }
}

/// The claims of streams.
pub fn of_streams(found: &Streams, method: &Method, watched: &Watched) -> Counted {
    let whole = found.ended == Ending::Complete && found.undrained == 0;
    let number = |number: u64| {
        let cut = || "the run was cut short, or not all was taken: what was on its way is not counted".to_owned();
        if whole { Ok(number) } else { Err(cut()) }
    };
    let (sent, received) = (carried(found.sent.as_ref()), carried(found.received.as_ref()));
    let (all, sources) =
        (found.threads.len() as u64, found.threads.iter().filter(|thread| !thread.sent).count() as u64);
    let claims = if method.traffic.carrier() == Carrier::Udp {
        let datagrams = found.threads.iter().filter_map(|thread| thread.sent_datagrams).sum();
        let sends = found.sent.is_some().then(|| claim(Subject::Requests, number(datagrams)));
        let receives = found.received.is_some().then(|| claim(Subject::Replies, number(received.calls)));
        sends.into_iter().chain(receives).collect()
    } else {
        vec![
            claim(Subject::Handshakes, Ok(all)),
            claim(Subject::OctetsSent, number(all * PREAMBLE + sources * WORD + sent.bytes.0)),
            claim(Subject::OctetsReceived, number(all * WORD + received.bytes.0)),
        ]
    };
    Counted {
        flows: Some(local_ends(&found.sockets)),
        apart: watched.apart.iter().copied().map(bare).collect(),
        claims,
        ..Counted::default()
    }
}

/// The bytes of our calls from their start, warm-up included.
fn carried(metered: Option<&Metered>) -> Carried {
    let mut all = metered.map(|metered| metered.carried).unwrap_or_default();
    for stream in metered.iter().flat_map(|metered| &metered.streams) {
        all.add(&stream.omitted);
    }
    all
}

fn claim(subject: Subject, counted: Number) -> Claim {
    Claim { subject, counted }
}

fn local_ends(sockets: &[SocketFacts]) -> Vec<SocketAddr> {
    sockets.iter().filter_map(|socket| socket.local.parse().ok()).map(bare).collect()
}

/// Without the interface that an address of a link has beside it: packets do not carry it.
fn bare(end: SocketAddr) -> SocketAddr {
    SocketAddr::new(end.ip().to_canonical(), end.port())
}

fn quantile(times: &Distribution, q: f64) -> Option<Nanos> {
    let found = times.quantiles.iter().find(|quantile| quantile.q == q && quantile.standing != Standing::TooFew)?;
    found.value_ns
}
