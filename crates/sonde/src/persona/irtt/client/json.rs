//! The JSON of irtt's client, its keys in their order, and the file that it goes to.

use std::fs::File;
use std::io::{self, Write};

use endpoint::name::Family;
use endpoint::socket::icmp::Fragments;
use flate2::Compression;
use flate2::write::GzEncoder;
use protocol::irtt::parameters::Parameters;
use protocol::irtt::reply::Time;
use serde::{Serialize, Serializer};
use serde_json::ser::PrettyFormatter;

use crate::persona::irtt::client::ending::Ending;
use crate::persona::irtt::client::options::{Asked, CLOCKS, STAMPS, STATS, named};
use crate::persona::irtt::client::outcome::Outcome;
use crate::persona::irtt::client::trips::{Lost, RoundTrip, Trips};
use crate::persona::irtt::duration;
use crate::persona::irtt::versions::{JSON_FORMAT, PROTOCOL, VERSION, go_version};
use crate::persona::process;

/// All of a run.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// Options of the run.
    pub asked: &'a Asked,
    /// The parameters of the session.
    pub granted: &'a Parameters,
    /// Addresses here and there.
    pub addresses: [String; 2],
    /// True for IPv6.
    pub is_v6: bool,
    /// The name of this host.
    pub host: String,
    /// Processors of this host.
    pub cpus: usize,
    /// The end before the time, where there was one.
    pub ending: Option<Ending>,
    /// The figures.
    pub outcome: &'a Outcome,
    /// The round trips.
    pub trips: &'a Trips,
}

#[derive(Serialize)]
struct Document<'a> {
    version: Version,
    system_info: System<'a>,
    config: Config<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    send_err: Option<Ending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_err: Option<Ending>,
    stats: &'a Outcome,
    round_trips: RoundTrips<'a>,
}

#[derive(Serialize)]
struct Version {
    irtt: &'static str,
    protocol: i64,
    json_format: u8,
}

#[derive(Serialize)]
struct System<'a> {
    os: &'static str,
    cpus: usize,
    go_version: String,
    hostname: &'a str,
}

#[derive(Serialize)]
struct Config<'a> {
    local_address: &'a str,
    remote_address: &'a str,
    open_timeouts: String,
    params: Params<'a>,
    loose: bool,
    ip_version: &'static str,
    df: u8,
    ttl: i64,
    timer: String,
    waiter: String,
    filler: String,
    fill_one: bool,
    server_fill: &'a str,
    thread_lock: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    supplied: Option<Box<Self>>,
}

#[derive(Serialize)]
struct Params<'a> {
    proto_version: i64,
    duration: i64,
    interval: i64,
    length: i64,
    received_stats: &'static str,
    stamp_at: &'static str,
    clock: &'static str,
    dscp: i64,
    server_fill: &'a str,
}

impl Run<'_> {
    fn document(&self) -> Document<'_> {
        let asked = self.asked;
        let supplied = self.config(&asked.local, &asked.host, &asked.parameters, versions(asked.family));
        let [local, remote] = &self.addresses;
        let config = self.config(local, remote, self.granted, if self.is_v6 { "IPv6" } else { "IPv4" });
        let end = |of_sending: bool| self.ending.filter(|ending| ending.is_of_sending() == of_sending);
        Document {
            version: Version { irtt: VERSION, protocol: PROTOCOL, json_format: JSON_FORMAT },
            system_info: System { os: "linux", cpus: self.cpus, go_version: go_version(), hostname: &self.host },
            config: Config { supplied: Some(Box::new(supplied)), ..config },
            send_err: end(true),
            receive_err: end(false),
            stats: self.outcome,
            round_trips: RoundTrips(self.trips),
        }
    }

    fn config<'a>(
        &self,
        local_address: &'a str,
        remote_address: &'a str,
        parameters: &'a Parameters,
        ip_version: &'static str,
    ) -> Config<'a> {
        let asked = self.asked;
        let timeouts: Vec<String> = asked.timeouts.iter().map(|timeout| duration::text(*timeout)).collect();
        Config {
            local_address,
            remote_address,
            open_timeouts: timeouts.join(","),
            params: params(parameters),
            loose: asked.loose,
            ip_version,
            df: fragments(asked.fragments),
            ttl: asked.ttl,
            timer: asked.timer.to_string(),
            waiter: asked.wait.to_string(),
            filler: asked.fill.to_string(),
            fill_one: asked.fill_one,
            server_fill: &parameters.fill,
            thread_lock: asked.thread_lock,
            supplied: None,
        }
    }

    /// Writes the document.
    ///
    /// # Errors
    /// The errors of `into`.
    pub fn write(&self, mut into: impl Write) -> io::Result<()> {
        let mut serializer = serde_json::Serializer::with_formatter(&mut into, PrettyFormatter::with_indent(b"    "));
        self.document().serialize(&mut serializer)?;
        into.write_all(b"\n")?;
        into.flush()
    }

    /// Writes it to a file, by gzip where its name does not say otherwise.
    ///
    /// # Errors
    /// A file that cannot be made or written, in the original's words.
    pub fn write_file(&self, named: &str) -> Result<(), String> {
        let (name, is_packed) = file_name(named);
        let failed = |error: &io::Error| format!("Error: open {name}: {}", process::said(error).to_lowercase());
        let file = io::BufWriter::new(File::create(&name).map_err(|error| failed(&error))?);
        let written = if is_packed {
            let mut packer = GzEncoder::new(file, Compression::default());
            self.write(&mut packer).and_then(|()| packer.finish()).and_then(|mut file| file.flush())
        } else {
            self.write(file)
        };
        written.map_err(|error| failed(&error))
    }
}

/// The name of a file, and true where it is packed by gzip.
fn file_name(named: &str) -> (String, bool) {
    let has = |ending: &str| named.ends_with(ending);
    if has(".json") {
        return (named.to_owned(), false);
    }
    let bare = if has(".json.gz") { named.strip_suffix(".json.gz") } else { named.strip_suffix(".gz") };
    (format!("{}.json.gz", bare.unwrap_or(named)), true)
}

fn versions(family: Family) -> &'static str {
    match family {
        Family::Any => "IPv4+6",
        Family::V4 => "IPv4",
        Family::V6 => "IPv6",
    }
}

/// The number of the original for it.
fn fragments(fragments: Option<Fragments>) -> u8 {
    match fragments {
        None => 0,
        Some(Fragments::Never) => 2,
        Some(Fragments::Here | Fragments::Anywhere) => 1,
    }
}

fn params(parameters: &Parameters) -> Params<'_> {
    let Parameters { version, duration, interval, length, stats, stamp_at, clock, class, ref fill } = *parameters;
    Params {
        proto_version: version,
        duration,
        interval,
        length,
        received_stats: named(&STATS, stats),
        stamp_at: named(&STAMPS, stamp_at),
        clock: named(&CLOCKS, clock - 1),
        dscp: class,
        server_fill: fill,
    }
}

struct RoundTrips<'a>(&'a Trips);

impl Serialize for RoundTrips<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let trips = self.0;
        let numbered = (0..).zip(&trips.all);
        serializer.collect_seq(numbered.map(|(number, trip)| round_trip(number, trip, trips.before(number))))
    }
}

#[derive(Serialize)]
struct Trip {
    seqno: usize,
    lost: Lost,
    timestamps: Timestamps,
    delay: Parts,
    ipdv: Parts,
}

#[derive(Serialize)]
struct Timestamps {
    client: Ends,
    server: Ends,
}

#[derive(Serialize)]
struct Ends {
    receive: Clocks,
    send: Clocks,
}

#[derive(Serialize)]
struct Clocks {
    #[serde(skip_serializing_if = "Option::is_none")]
    wall: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    monotonic: Option<i64>,
}

/// Members in the order of their names.
#[derive(Serialize)]
struct Parts {
    #[serde(skip_serializing_if = "Option::is_none")]
    receive: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    send: Option<i64>,
}

fn round_trip(seqno: usize, trip: &RoundTrip, before: Option<&RoundTrip>) -> Trip {
    let clocks = |Time { wall, monotonic }: Time| Clocks { wall, monotonic };
    let ends = |receive: Time, send: Time| Ends { receive: clocks(receive), send: clocks(send) };
    let change = |of: fn(&RoundTrip, &RoundTrip) -> Option<i64>| before.and_then(|before| of(trip, before));
    Trip {
        seqno,
        lost: trip.lost,
        timestamps: Timestamps {
            client: ends(trip.came.unwrap_or_default(), trip.sent),
            server: ends(trip.server_received, trip.server_sent),
        },
        delay: Parts { receive: trip.receive_delay(), rtt: trip.time(), send: trip.send_delay() },
        ipdv: Parts {
            receive: change(RoundTrip::receive_variation),
            rtt: change(RoundTrip::variation),
            send: change(RoundTrip::send_variation),
        },
    }
}

#[cfg(test)]
mod tests;
