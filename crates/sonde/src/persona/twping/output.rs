//! The text of twping, from plain values.

use std::collections::BTreeMap;
use std::fmt::Display;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use measure::clock_offset::FourTimes;
use measure::unit::Nanos;
use protocol::stamp::time::{ErrorEstimate, Format};

use crate::persona::number::general;
use crate::persona::twping::options::{Form, Unit};
use crate::persona::twping::statistics::{Delay, Figures, Record, Reply, error};

/// Time to live where none is known, as the original's lines of numbers have it.
const UNKNOWN: u8 = 255;

/// Facts of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// This end.
    pub from: Place,
    /// The far side.
    pub to: Place,
    /// Its identifier; absent where no server gave one.
    pub id: Option<[u8; 16]>,
    /// Error of this host's clock, as it says.
    pub ours: ErrorEstimate,
    /// Code point of packets.
    pub class: u8,
    /// A packet without an answer for so long is lost.
    pub timeout: Nanos,
    /// Octets behind those of a packet.
    pub padding: u32,
    /// Packets that were asked for.
    pub count: u32,
    /// True where it came to its end.
    pub is_finished: bool,
    /// Zone of the local time.
    pub zone: TimeZone,
}

/// One end of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name, as typed; of this end its address.
    pub host: String,
    /// Its address.
    pub address: String,
    /// Port of packets there.
    pub port: String,
}

/// A summary's part of the session.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Packets that belong to it.
    pub packets: u32,
    /// Times at which its first and its last packet were due, nanoseconds since 1970.
    pub due: (u64, u64),
    /// Its figures.
    pub figures: Figures,
}

/// The line before a session.
pub fn announcement(seconds: f64) -> String {
    format!("Approximately {seconds:.1} seconds until results available\n")
}

/// The lines in front of a summary, and of the lines of packets.
pub fn head(session: &Session) -> String {
    let Session { from, to, id, .. } = session;
    let id = id.map_or_else(String::new, |id| format!("SID:\t{}\n", digits(&id)));
    format!("\n--- twping statistics from [{}]:{} to [{}]:{} ---\n{id}", from.host, from.port, to.host, to.port)
}

fn digits(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().concat()
}

/// The line of a packet.
pub fn line(record: &Record, form: &Form, ours: ErrorEstimate) -> String {
    let reply = match record {
        Record::Lost { seq, .. } => return format!("seq_no={seq:<10} *LOST*\n"),
        Record::Reply(reply) => reply,
    };
    let off = reply.error(ours);
    let [path, there, back, held] = reply.delays();
    let [there, back] = [there, back].map(|delay| if off.is_some() { delay } else { f64::NAN });
    let scale = |delay: f64| delay * form.unit.of_a_second;
    let name = form.unit.name;
    let told =
        off.map_or_else(|| "(unsync)".to_owned(), |off| format!("(err={} {name})", general(scale(2.0 * off), 3)));
    let all = |number: fn(f64) -> String| {
        let [there, back, path, held] = [there, back, path, held].map(|delay| number(scale(delay)));
        format!("fwd_delay={there} {name} bck_delay={back} {name} delay={path} {name} proc_delay={held} {name}")
    };
    if !form.unix {
        return format!("seq_no={:<10} {}\t{told}\n", reply.seq, all(|value| general(value, 3)));
    }
    let FourTimes { sent, received, left, came } = reply.times;
    let [sent, received, left, came] = [sent, received, left, came].map(since_1970);
    let times = format!("sent={sent} recv={received} reflected={left} recv={came}");
    format!("seq_no={} {} {told} {times}\n", reply.seq, all(scientific))
}

/// `%e`.
fn scientific(value: f64) -> String {
    let text = format!("{value:.6e}").to_lowercase();
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{mantissa}e{sign}{exponent:0>2}")
}

fn since_1970(at: u64) -> String {
    format!("{}.{:06}", at / 1_000_000_000, at % 1_000_000_000 / 1_000)
}

/// The numbers of a packet: its times by both ends' clocks, each with its state and its error.
pub fn raw(record: &Record, ours: ErrorEstimate) -> String {
    let time =
        |at: String, end: ErrorEstimate| format!("{at} {} {}", u8::from(end.synchronised), general(error(end), 6));
    match *record {
        Record::Lost { seq, at } => {
            // As the original has it: due then, by a clock that is not kept and off by the least.
            let due = ErrorEstimate { synchronised: false, format: Format::Ntp, scale: 0, multiplier: 1 };
            let none = time(format!("{:020}", 0), ours);
            format!("{seq} {} {none} {UNKNOWN} 0 {none} {none} {UNKNOWN}\n", time(stamp(at), due))
        }
        Record::Reply(Reply { seq, own, times, theirs, times_to_live }) => {
            let FourTimes { sent, received, left, came } = times;
            let [there, here] = times_to_live.map(|left| left.unwrap_or(UNKNOWN));
            let [sent, came] = [sent, came].map(|at| time(stamp(at), ours));
            let [received, left] = [received, left].map(|at| time(stamp(at), theirs));
            format!("{seq} {sent} {received} {there} {own} {left} {came} {here}\n")
        }
    }
}

/// A time as a decimal number: seconds since 1900 in the upper 32 bits, their fraction in the lower.
fn stamp(at: u64) -> String {
    format!("{:020}", u64::from_be_bytes(Format::Ntp.encode(at)))
}

/// The summary for people.
pub fn summary(session: &Session, part: &Part, form: &Form) -> String {
    let Part { due, figures, .. } = part;
    let Figures { sent, lost, copies, .. } = figures;
    let share = if *sent > 0 { 100.0 * f64::from(*lost) / f64::from(*sent) } else { 0.0 };
    let warning = "\nDirectional delays may be inaccurate due to out of sync clocks!\n";
    let [first, last] = [due.0, due.1].map(|at| local(at, &session.zone));
    let mut lines = vec![
        format!("{}{}", if figures.contradicts { warning } else { "" }, head(session)),
        format!("first:\t{first}\nlast:\t{last}\n{sent} sent, {lost} lost ({share:.3}%), "),
        format!("{} send duplicates, {} reflect duplicates\n", copies[0], copies[1]),
    ];
    lines.extend(Delay::ALL.map(|delay| delays(figures, delay, form.unit)));
    lines.extend(Delay::OF_PATH.into_iter().zip(["two-way", "send", "reflect"]).map(|(delay, name)| {
        format!("{name} jitter = {} {} (P95-P50)\n", shown(figures.jitter(delay), form.unit), form.unit.name)
    }));
    lines.extend((!form.percentiles.is_empty()).then(|| "Percentiles:\n".to_owned()));
    lines.extend(form.percentiles.iter().map(|share| {
        let time = shown(figures.percentile(share / 100.0, Delay::RoundTrip), form.unit);
        format!("\t{share:.1}: {time} {}\n", form.unit.name)
    }));
    lines.extend(figures.times_to_live.iter().zip(["send", "reflect"]).map(|(counts, name)| hops(counts, name)));
    lines.concat() + "\n"
}

/// The hops of a direction: packets and answers leave with the largest time to live.
fn hops(counts: &BTreeMap<u8, u32>, name: &str) -> String {
    let (Some((left, _)), Some((most_left, _))) = (counts.first_key_value(), counts.last_key_value()) else {
        return format!("{name} TTL not reported\n");
    };
    let (most, least) = (u8::MAX - left, u8::MAX - most_left);
    match counts.len() {
        1 => format!("{name} hops = {least} (consistently)\n"),
        values => format!("{name} hops takes {values} values; min hops = {least}, max hops = {most}\n"),
    }
}

fn delays(figures: &Figures, delay: Delay, unit: Unit) -> String {
    let (least, most) = figures.extremes(delay).unzip();
    let [least, median, most] = [least, figures.percentile(0.5, delay), most].map(|time| shown(time, unit));
    let Unit { name, .. } = unit;
    let title = match delay {
        Delay::RoundTrip => "round-trip time",
        Delay::There => "send time",
        Delay::Back => "reflect time",
        Delay::Held => return format!("reflector processing time min/max = {least}/{most} {name}\n"),
    };
    let off = figures.errors.get(delay as usize).filter(|_| figures.synchronised);
    let off = off.map_or_else(|| "(unsync)".to_owned(), |off| format!("(err={} {name})", shown(Some(*off), unit)));
    format!("{title} min/median/max = {least}/{median}/{most} {name}, {off}\n")
}

fn shown(seconds: Option<f64>, unit: Unit) -> String {
    seconds.map_or_else(|| "nan".to_owned(), |seconds| general(seconds * unit.of_a_second, 3))
}

/// Local time to the millisecond.
fn local(at: u64, zone: &TimeZone) -> String {
    let millis = at.saturating_add(500_000) / 1_000_000;
    let moment = i64::try_from(millis).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    let moment = moment.map(|moment| moment.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S").to_string());
    format!("{}.{:03}", moment.unwrap_or_else(|| "XXX".to_owned()), millis % 1_000)
}

/// Lines, most of a name and a value.
#[derive(Default)]
struct Rows(Vec<String>);

impl Rows {
    fn add(&mut self, name: &str, value: impl Display) {
        self.0.push(format!("{name}\t{value}\n"));
    }

    /// A row of each delay that has a value, with six digits.
    fn delays(&mut self, name: &str, delays: &[Delay], value: impl Fn(Delay) -> Option<f64>) {
        for (delay, end) in delays.iter().zip(["", "_FWD", "_BCK", "_PROC"]) {
            if let Some(value) = value(*delay) {
                self.add(&format!("{name}{end}"), general(value, 6));
            }
        }
    }
}

/// The summary for programs.
pub fn machine(session: &Session, part: &Part, form: &Form) -> String {
    let (Part { packets, due, figures }, mut rows) = (part, Rows::default());
    rows.add("SUMMARY", "3.00");
    if let Some(id) = &session.id {
        rows.add("SID", digits(id));
    }
    for (end, place) in [("FROM", &session.from), ("TO", &session.to)] {
        rows.add(&format!("{end}_HOST"), &place.host);
        rows.add(&format!("{end}_ADDR"), &place.address);
        rows.add(&format!("{end}_PORT"), &place.port);
    }
    rows.add("START_TIME", stamp(due.0));
    rows.add("END_TIME", stamp(due.1));
    if form.unix {
        rows.add("UNIX_START_TIME", since_1970(due.0));
        rows.add("UNIX_END_TIME", since_1970(due.1));
    }
    rows.add("DSCP", format!("{:#04x}", session.class));
    rows.add("LOSS_TIMEOUT", (u128::from(session.timeout.0) << 32) / 1_000_000_000);
    rows.add("PACKET_PADDING", session.padding);
    rows.add("SESSION_PACKET_COUNT", session.count);
    rows.add("SAMPLE_PACKET_COUNT", packets);
    rows.add("BUCKET_WIDTH", general(figures.bucket, 6));
    rows.add("SESSION_FINISHED", u8::from(session.is_finished));
    rows.add("SENT", figures.sent);
    rows.add("SYNC", u8::from(figures.synchronised));
    let off = |delay: Delay| figures.errors.get(delay as usize).copied().filter(|_| figures.synchronised);
    rows.delays("MAXERR", &Delay::OF_PATH, off);
    rows.add("DUPS_FWD", figures.copies[0]);
    rows.add("DUPS_BCK", figures.copies[1]);
    rows.add("LOST", figures.lost);
    rows.delays("MIN", &Delay::ALL, |delay| figures.extremes(delay).map(|(least, _)| least));
    rows.delays("MEDIAN", &Delay::OF_PATH, |delay| figures.percentile(0.5, delay));
    rows.delays("MAX", &Delay::ALL, |delay| figures.extremes(delay).map(|(_, most)| most));
    rows.delays("PDV", &Delay::OF_PATH, |delay| figures.jitter(delay));
    buckets(&mut rows, figures);
    times_to_live(&mut rows, figures);
    rows.0.concat() + "\n"
}

fn buckets(rows: &mut Rows, figures: &Figures) {
    if figures.sent == figures.lost {
        return;
    }
    rows.0.push("<BUCKETS>\n".to_owned());
    for (bucket, counts) in &figures.histogram {
        let told = |delay: Delay| counts.get(delay as usize).copied().filter(|_| figures.tells(delay)).unwrap_or(0);
        let [path, there, back] = Delay::OF_PATH.map(told);
        if path + there + back > 0 {
            rows.add(&format!("\t{bucket}"), format!("{path}\t{there}\t{back}"));
        }
    }
    rows.0.push("</BUCKETS>\n".to_owned());
}

fn times_to_live(rows: &mut Rows, figures: &Figures) {
    let [there, back] = &figures.times_to_live;
    for (end, counts) in [("FWD", there), ("BCK", back)] {
        if let (Some((least, _)), Some((most, _))) = (counts.first_key_value(), counts.last_key_value()) {
            rows.add(&format!("MINTTL_{end}"), least);
            rows.add(&format!("MAXTTL_{end}"), most);
        }
    }
    if there.is_empty() && back.is_empty() {
        return;
    }
    rows.0.push("<TTLBUCKETS>\n".to_owned());
    for left in 0..=u8::MAX {
        let [there, back] = [there, back].map(|counts| counts.get(&left).copied().unwrap_or(0));
        if there + back > 0 {
            rows.add(&format!("\t{left}"), format!("{there}\t{back}"));
        }
    }
    rows.0.push("</TTLBUCKETS>\n".to_owned());
}

#[cfg(test)]
mod tests;
