//! A run: a session by the engine that measures all else. At its end what was sent and what came becomes records, and these become text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use endpoint::clock::{Monotonic, wall, wall_offset};
use endpoint::error::{EndpointError, Step};
use endpoint::name;
use endpoint::peer::stamp::sender::{Each, Exchanged};
use endpoint::rtt::{self, Ending, Finding, Protocol, Target, Task};
use endpoint::stop::Stop;
use jiff::tz::TimeZone;
use measure::event::{Event, Fate, INTERVAL};
use measure::method::{self, Carrier, Far, Method, SocketOptions};
use measure::unit::{Bytes, Nanos};
use protocol::stamp::layout::{LIGHT_ANSWER, SHORTEST_ANSWER};
use protocol::stamp::time::{ErrorEstimate, Format};
use protocol::twamp;

use crate::command::spoken::Spoken;
use crate::exit::Exit;
use crate::output::{Output, plain};
use crate::persona::answer::Answer;
use crate::persona::process;
use crate::persona::record::{Keeping, inquiry};
use crate::persona::twping::options::{Asked, Mode, complaint};
use crate::persona::twping::output::{Part, Place, Session, announcement, head, line, machine, raw, summary};
use crate::persona::twping::statistics::{Figures, Record, Reply};
use crate::program::PROGRAM;
use crate::system::{drawn_seed, now};
use crate::words;

/// Answers that are kept for each packet, copies among them.
const COPIES: usize = 4;

/// A packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    /// Time at which it was due, nanoseconds since 1970.
    at: u64,
    /// Its end.
    fate: Fate,
}

/// Runs what was asked for.
///
/// # Errors
/// The answer in place of a result where there was no session.
pub fn run(asked: &Asked, command: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let stop = Stop::default();
    let interruption = process::heed(&stop).map_err(|error| complaint(&error.to_string()))?;
    let keeping = Keeping::of(asked.record.as_deref(), false)?;
    let (wanted, method) = method(asked)?;
    let address =
        name::look_up(&asked.host, asked.port, asked.family, &stop).map_err(|error| unreached(asked, &error))?;
    let target = Target { host: asked.host.clone(), address };
    let task = task(asked, &method, &target);
    stop.wait(Monotonic::now().after(asked.delay));
    let inquiry = inquiry(command, &wanted, &method, target, Spoken::from(&task.protocol), now());
    let mut each = Each { most: COPIES * asked.count as usize, ..Each::default() };
    let (offset, mut packets, mut unsent) = (wall_offset(), BTreeMap::new(), 0_u32);
    let found = rtt::run_each(&task, &mut each, &stop, &mut |event| match event {
        Event::Started { .. } if matches!(asked.form.mode, Mode::Text | Mode::Machine) => {
            output.result(&announcement(length(asked)));
        }
        Event::Exchange(exchange) if exchange.fate == Fate::SendFailed => unsent += 1,
        Event::Exchange(exchange) => {
            let at = exchange.intended.or(exchange.sent).map_or(0, |at| i128::from(at.0) + offset);
            let packet = Packet { at: u64::try_from(at).unwrap_or(0), fate: exchange.fate };
            packets.insert(exchange.seq as u32, packet);
        }
        _ => {}
    });
    let finding = found.map_err(|error| unreached(asked, &error))?;
    let session = session(asked, &finding, each.session);
    let until = (!session.is_finished).then(wall);
    let (records, untold) = records(&packets, &each.answers, asked.timeout, until);
    output.result(&text(asked, &session, &packets, &records));
    for (count, what) in [(unsent, "could not be sent"), (untold, "were answered at times that are not known")] {
        if count > 0 {
            output.note(&format!("twping: {count} packets {what}: they are in none of these figures\n"));
        }
    }
    let lost = match &finding.ended {
        Ending::PeerLost { reason } => Some(format!("twping: {}\n", plain(reason))),
        Ending::Complete | Ending::Stopped => None,
    };
    let signal = interruption.signal();
    keeping.deliver(|| Ok(inquiry.record(finding, signal, None)))?;
    lost.map_or(Ok(Exit::Done), |lost| Err(Answer::complaint(lost)))
}

/// No session: why, and in the original's words what that means.
fn unreached(asked: &Asked, error: &EndpointError) -> Answer {
    let is_control = !asked.light && matches!(error.step, Step::LookUp | Step::Connect | Step::Agree);
    let control =
        is_control.then(|| format!("twping: Unable to open control connection to {}.\n", plain(&asked.typed)));
    let advice = match error.step {
        Step::Connect => "twping: --stamp asks a reflector without a TWAMP server; owampd (port 861) is none\n",
        Step::FirstExchange if octets(asked) < SHORTEST_ANSWER as u64 => {
            "twping: not every reflector gives a packet as short an answer with all times: -s 24 or more\n"
        }
        _ => "",
    };
    Answer::complaint(format!("twping: {}\n{}{advice}", plain(&error.to_string()), control.unwrap_or_default()))
}

/// Octets of a packet.
fn octets(asked: &Asked) -> u64 {
    twamp::PACKET as u64 + u64::from(asked.padding)
}

fn method(asked: &Asked) -> Result<(method::Asked, Method), Answer> {
    let octets = octets(asked);
    let wanted = method::Asked {
        carrier: Some(Carrier::Udp),
        schedule: Some(asked.schedule),
        request_bytes: Some(Bytes(octets)),
        response_bytes: Some(Bytes(octets.max(LIGHT_ANSWER as u64))),
        warm_up_ns: Some(Nanos::ZERO),
        stop: method::Stop { count: Some(asked.count.into()), ..method::Stop::default() },
        timeout_ns: Some(asked.timeout),
        socket: SocketOptions {
            bind: asked.source,
            interface: asked.interface.clone(),
            tos: Some(asked.class << 2).filter(|tos| *tos > 0),
            source_ports: asked.ports,
            ..SocketOptions::default()
        },
        seed: Some(drawn_seed()),
        ..method::Asked::default()
    };
    let method = wanted.resolve_towards(Far::Foreign).map_err(|refusal| complaint(&words::refusal(&refusal)))?;
    Ok((wanted, method))
}

fn task(asked: &Asked, method: &Method, target: &Target) -> Task {
    let protocol = if asked.light {
        Protocol::Stamp { key: None, clocks_agree: None, parts: Vec::new() }
    } else {
        Protocol::Twamp { clocks_agree: None }
    };
    Task {
        method: method.clone(),
        trace: None,
        target: Some(target.clone()),
        protocol,
        key: None,
        one_will_do: false,
        samples: true,
        interval: INTERVAL,
        program: PROGRAM.to_owned(),
        verify: None,
    }
}

/// Seconds until all packets are answered or lost.
fn length(asked: &Asked) -> f64 {
    let gap = asked.schedule.mean_gap().unwrap_or_default();
    (gap.0 as f64 * f64::from(asked.count) + asked.timeout.0 as f64) / 1e9
}

fn session(asked: &Asked, finding: &Finding, id: Option<[u8; 16]>) -> Session {
    let ends = finding.sockets.first().map(|socket| (&*socket.local, &*socket.remote)).unwrap_or_default();
    let clock = finding.one_way.as_ref().map(|found| found.ours).unwrap_or_default();
    let error = clock.error_ns.map(|error| error.0);
    Session {
        from: place(ends.0, None),
        to: place(ends.1, Some(&asked.host)),
        id,
        ours: ErrorEstimate::new(clock.synchronised == Some(true), Format::Ntp, error),
        class: asked.class,
        timeout: asked.timeout,
        padding: asked.padding,
        count: asked.count,
        is_finished: finding.ended == Ending::Complete,
        zone: TimeZone::system(),
    }
}

fn place(address: &str, host: Option<&str>) -> Place {
    let (address, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let address = address.trim_matches(['[', ']']).to_owned();
    Place { host: host.map_or_else(|| address.clone(), plain), address, port: port.to_owned() }
}

/// The records of packets that left, in the order in which their ends were known, and the number of answers without times. A session
/// that was stopped at `until` has none of packets that might have been answered yet.
fn records(
    packets: &BTreeMap<u32, Packet>,
    answers: &[Exchanged],
    timeout: Nanos,
    until: Option<u64>,
) -> (Vec<Record>, u32) {
    let reply = |answer: &Exchanged| {
        let times = answer.times.filter(|times| times.came.saturating_sub(times.sent) <= timeout.0)?;
        let times_to_live = [answer.time_to_live, answer.answer_time_to_live];
        let reply = Reply { seq: answer.number, own: answer.own_number, times, theirs: answer.error?, times_to_live };
        Some((times.came, Record::Reply(reply)))
    };
    let known = answers.iter().filter(|answer| packets.contains_key(&answer.number));
    let mut records: Vec<(u64, Record)> = known.filter_map(reply).collect();
    let answered: BTreeSet<u32> = records.iter().map(|(_, record)| record.seq()).collect();
    let mut untold = 0;
    for (seq, packet) in packets.iter().filter(|(seq, _)| !answered.contains(seq)) {
        let known_at = packet.at.saturating_add(timeout.0);
        if packet.fate == Fate::Answered {
            untold += 1;
        } else if until.is_none_or(|until| known_at <= until) {
            records.push((known_at, Record::Lost { seq: *seq, at: packet.at }));
        }
    }
    records.sort_by_key(|(at, _)| *at);
    (records.into_iter().map(|(_, record)| record).collect(), untold)
}

fn text(asked: &Asked, session: &Session, packets: &BTreeMap<u32, Packet>, records: &[Record]) -> String {
    match asked.form.mode {
        Mode::Quiet => String::new(),
        Mode::Raw => records.iter().map(|record| raw(record, session.ours)).collect(),
        Mode::Text | Mode::Machine => {
            let step = asked.form.part.unwrap_or(asked.count).min(asked.count);
            let firsts = (0..asked.count).step_by(step as usize);
            firsts.filter_map(|first| part(asked, session, packets, records, (first, step))).collect()
        }
    }
}

/// The text of so many packets from the first on; `None`: none of them left.
fn part(
    asked: &Asked,
    session: &Session,
    packets: &BTreeMap<u32, Packet>,
    records: &[Record],
    (first, step): (u32, u32),
) -> Option<String> {
    let range = first..first.saturating_add(step).min(asked.count);
    let mut due = packets.range(range.clone()).map(|(_, packet)| packet.at);
    let begin = due.next()?;
    let (due, form) = ((begin, due.next_back().unwrap_or(begin)), &asked.form);
    let own: Vec<&Record> = records.iter().filter(|record| range.contains(&record.seq())).collect();
    let figures = Figures::of(own.iter().copied(), session.ours, form.bucket);
    let part = Part { packets: range.end - range.start, due, figures };
    if form.mode == Mode::Machine {
        return Some(machine(session, &part, form));
    }
    let shown = own.iter().take(form.lines as usize);
    let lines: String = shown.map(|record| line(record, form, session.ours)).collect();
    let above = if form.lines > 0 { head(session) } else { String::new() };
    Some(format!("{above}{lines}{}", summary(session, &part, form)))
}

#[cfg(test)]
mod tests {
    use measure::clock_offset::FourTimes;
    use protocol::stamp::part::Told;

    use super::*;

    const AT: u64 = 1_700_000_000_000_000_000;
    const TIMEOUT: Nanos = Nanos::secs(2);

    fn packet(seconds: u64, fate: Fate) -> Packet {
        Packet { at: AT + seconds * 1_000_000_000, fate }
    }

    /// An answer that came so many seconds after its packet, sent in second `number`.
    fn answer(number: u32, own_number: u32, after: u64) -> Exchanged {
        let sent = AT + u64::from(number) * 1_000_000_000;
        let came = sent + after * 1_000_000_000;
        Exchanged {
            number,
            own_number,
            times: Some(FourTimes { sent, received: sent, left: sent, came }),
            left_by_kernel: true,
            came_by_kernel: true,
            error: Some(ErrorEstimate::new(true, Format::Ntp, Some(1_000))),
            time_to_live: Some(255),
            answer_time_to_live: Some(255),
            left: None,
            told: Told::default(),
        }
    }

    /// `r` and `l` for a reply and a loss, each with its number.
    fn told(records: &[Record]) -> String {
        let told = |record: &Record| match record {
            Record::Reply(reply) => format!("r{}.{} ", reply.seq, reply.own),
            Record::Lost { seq, .. } => format!("l{seq} "),
        };
        records.iter().map(told).collect()
    }

    #[test]
    fn records_stand_where_their_end_was_known() {
        let fates = [Fate::Lost, Fate::Answered, Fate::Answered, Fate::Late, Fate::Answered];
        let packets: BTreeMap<_, _> = (0..).zip(fates).map(|(n, fate)| (n, packet(n.into(), fate))).collect();
        // The second is answered twice; the fourth too late; what was kept of the fifth is lost, and a sixth never left.
        let answers = [answer(2, 1, 0), answer(1, 0, 1), answer(1, 0, 2), answer(3, 2, 3), answer(5, 3, 0)];
        let (records, untold) = records(&packets, &answers, TIMEOUT, None);
        assert_eq!((&*told(&records), untold), ("r2.1 r1.0 l0 r1.0 l3 ", 1));
    }

    #[test]
    fn what_might_have_come_yet_is_not_lost() {
        let packets = BTreeMap::from([(0, packet(0, Fate::Lost)), (1, packet(1, Fate::Lost))]);
        let (records, _) = records(&packets, &[], TIMEOUT, Some(AT + 2_500_000_000));
        assert_eq!(told(&records), "l0 ");
    }

    #[test]
    fn ends_are_told_apart_in_either_version() {
        let of = |address, host| {
            let Place { host, address, port } = place(address, host);
            format!("{host} {address} {port}")
        };
        assert_eq!(of("192.0.2.1:8760", None), "192.0.2.1 192.0.2.1 8760");
        assert_eq!(of("[2001:db8::1]:862", Some("db1")), "db1 2001:db8::1 862");
    }
}
