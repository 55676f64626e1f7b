//! Sonde itself: the command lines a row runs it by, and the figures in the record it prints.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testbed::port;

use crate::asked::Program;
use crate::ladder::{Flood, Rung};
use crate::process::{Call, Priority, Running};
use crate::row::{Carrier, Waiting};
use crate::sockperf::REPLY_EVERY;

/// The CPU of whoever asks.
pub const CLIENT_CPU: u32 = 0;
/// The CPU of whoever answers.
pub const SERVER_CPU: u32 = 1;
/// Bytes of a request and of a reply.
pub const SIZE: u32 = 64;
/// One-way messages of one call, where they go in segments: as many as a kernel takes.
pub const SEGMENTS: u32 = 128;
/// Seconds recorded in a run.
pub const RECORDED_S: f64 = 0.6;
/// The warm-up of both sides, as sonde takes it.
pub const WARM_UP: &str = "100ms";

/// Kernel timestamps of a run's exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// As a user gets it who does not say: in spells, a hundredth of the run.
    Default,
    /// Never.
    Off,
}

/// The program under test.
#[derive(Clone, Debug)]
pub struct Sonde {
    program: PathBuf,
}

impl Sonde {
    /// The binary at `program`.
    pub fn at(program: &Path) -> Self {
        Self { program: program.to_owned() }
    }

    /// The binary.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Exchanges a second.
    pub fn exchanges(&self, carrier: Carrier, waiting: Waiting, stamps: Stamps, priority: Priority) -> Result<f64> {
        let stamps = if stamps == Stamps::Off { "--no-stamps" } else { "" };
        let record =
            self.measure(carrier, waiting, &format!("-t {RECORDED_S} --warm-up {WARM_UP} {stamps}"), priority)?;
        number(&record, "/outcome/answered_per_s")
    }

    /// Requests a second to the program at `port`, one at a time, by the octets that the C loop sends.
    pub fn asked(&self, program: Program, port: u16, priority: Priority) -> Result<f64> {
        let record = self.record_of(program, port, 1, priority)?;
        let (sent, asked) = (number(&record, "/method/request_bytes")?, program.request_length(port));
        let url = program.url(port);
        ensure!(
            asked.is_some_and(|asked| sent == asked as f64),
            "sonde asks {url} by {sent} octets, the C loop by {asked:?}"
        );
        number(&record, "/outcome/answered_per_s")
    }

    /// The same over so many connections of one thread, whatever the octets.
    pub fn pooled(&self, program: Program, port: u16, connections: u32, priority: Priority) -> Result<f64> {
        let record = self.record_of(program, port, connections, priority)?;
        let refused = number(&record, "/outcome/counts/refused")?;
        ensure!(refused == 0.0, "{} refused {refused} requests", program.url(port));
        number(&record, "/outcome/answered_per_s")
    }

    fn record_of(&self, program: Program, port: u16, connections: u32, priority: Priority) -> Result<Value> {
        let (url, more) = (program.url(port), program.words()?);
        let how = format!("--connections {connections} --threads 1 --cpu {CLIENT_CPU}");
        let words = format!("rtt {url} --force {how} -t {RECORDED_S} --warm-up {WARM_UP} --json {more}");
        let printed = Call::new(&self.program, &words).run(priority)?;
        serde_json::from_str(&printed).context("sonde printed no JSON")
    }

    /// p99 of the slip of an open loop over UDP with hybrid pacing, microseconds.
    pub fn slip(&self, every_us: u64, priority: Priority) -> Result<f64> {
        let schedule = format!("--every {every_us}us --pace hybrid -t {RECORDED_S} --warm-up {WARM_UP}");
        let record = self.measure(Carrier::Udp, Waiting::Block, &schedule, priority)?;
        quantile_us(&record, "/outcome/slip/distribution", 0.99)
    }

    /// Median round trip, blocking, one exchange each `every_us` microseconds, microseconds.
    pub fn idle(&self, carrier: Carrier, every_us: u64, priority: Priority) -> Result<f64> {
        let schedule = format!("--every {every_us}us --window 1 --pace sleep -t {RECORDED_S} --warm-up {WARM_UP}");
        let record = self.measure(carrier, Waiting::Block, &schedule, priority)?;
        quantile_us(&record, "/outcome/response", 0.5)
    }

    /// Messages one way over UDP as `rung` says, each alone or many in segments.
    pub fn flood(&self, segments: bool, rung: Rung, priority: Priority) -> Result<Flood> {
        let rate = match rung {
            Rung::Max => "max".to_owned(),
            Rung::Rate(rate) => rate.to_string(),
        };
        let batch = if segments { format!("--segments {SEGMENTS}") } else { String::new() };
        let port = port::free();
        let reflector = self.serve(port, Waiting::Block).start(priority)?;
        let ends = format!("--cpu {CLIENT_CPU} --peer-cpu {SERVER_CPU}");
        let load = format!(
            "load 127.0.0.1 --port {port} --udp {ends} --size {SIZE} --rate {rate} --reply-every {REPLY_EVERY} {batch} \
             -t {RECORDED_S} --warm-up {WARM_UP} --json"
        );
        let printed = said_by(reflector, Call::new(&self.program, &load).run(priority))?;
        flood_of(&serde_json::from_str(&printed).context("sonde printed no JSON")?)
    }

    /// Messages a second that arrive of those sent as fast as they go.
    pub fn flood_unbounded(&self, segments: bool, priority: Priority) -> Result<f64> {
        let Flood { received, seconds, .. } = self.flood(segments, Rung::Max, priority)?;
        Ok(received / seconds)
    }

    /// The reflector, not yet started.
    pub fn serve(&self, port: u16, waiting: Waiting) -> Call {
        Call::new(&self.program, &format!("serve --port {port} --cpu {SERVER_CPU} --wait {}", waiting.word()))
    }

    /// One measurement of the reflector at `port`, not yet started; `how` is what a row varies.
    pub fn rtt(&self, port: u16, carrier: Carrier, waiting: Waiting, how: &str) -> Call {
        let (carrier, waiting) = (carrier.word(), waiting.word());
        let ends = format!("--wait {waiting} --peer-wait {waiting} --cpu {CLIENT_CPU} --peer-cpu {SERVER_CPU}");
        // The C loop has one connection.
        let how = format!("--connections 1 {how}");
        Call::new(&self.program, &format!("rtt 127.0.0.1 --port {port} --{carrier} {ends} --size {SIZE} --json {how}"))
    }

    /// A reflector of its own for each run, as the C loop has one.
    fn measure(&self, carrier: Carrier, waiting: Waiting, how: &str, priority: Priority) -> Result<Value> {
        let port = port::free();
        let reflector = self.serve(port, waiting).start(priority)?;
        let printed = self.rtt(port, carrier, waiting, how).run(priority);
        let printed = said_by(reflector, printed)?;
        serde_json::from_str(&printed).context("sonde printed no JSON")
    }
}

/// Ends `reflector`; what it had to say stands beside an error of ours.
pub fn said_by<T>(reflector: Running, result: Result<T>) -> Result<T> {
    let first = reflector.first_line().to_owned();
    let rest = reflector.end()?;
    result.with_context(|| format!("the reflector said `{first}` {}", rest.trim()))
}

/// Counts of a load's messages in its record: those that asked for a reply, and the others beside them.
fn flood_of(record: &Value) -> Result<Flood> {
    let asking = number(record, "/outcome/counts/scheduled")? - number(record, "/outcome/counts/send_failed")?;
    let sent = asking + number(record, "/outcome/counts/one_way")?;
    // The time in which it sent, without that in which it waited for the last replies.
    let seconds = sent / number(record, "/outcome/sent_per_s")?;
    Ok(Flood { sent, received: number(record, "/outcome/loss/peer_received")?, seconds })
}

/// The number at `pointer` of a record.
fn number(record: &Value, pointer: &str) -> Result<f64> {
    record.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("the record has no number at {pointer}"))
}

/// Quantile `q` of the distribution at `pointer`, in microseconds.
fn quantile_us(record: &Value, pointer: &str, q: f64) -> Result<f64> {
    let quantiles = record.pointer(&format!("{pointer}/quantiles")).and_then(Value::as_array);
    let found = quantiles.and_then(|all| all.iter().find(|one| one["q"].as_f64() == Some(q)));
    let nanos = found.and_then(|one| one["value_ns"].as_f64());
    nanos.map(|ns| ns / 1e3).with_context(|| format!("the record has no quantile {q} at {pointer}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_come_from_where_the_record_has_them() {
        let record = json!({"outcome": {
            "answered_per_s": 38_812.4,
            "slip": {"distribution": {"quantiles": [{"q": 0.5, "value_ns": 12}, {"q": 0.99, "value_ns": 310}]}},
        }});
        assert_eq!(number(&record, "/outcome/answered_per_s").unwrap(), 38_812.4);
        assert_eq!(quantile_us(&record, "/outcome/slip/distribution", 0.99).unwrap(), 0.31);
    }

    #[test]
    fn a_flood_is_what_was_sent_and_what_came_in_the_time_of_sending() {
        let record = json!({"outcome": {
            "elapsed_ns": 1_600_000_000_u64, "sent_per_s": 10_000.0,
            "counts": {"scheduled": 60, "send_failed": 1, "one_way": 5_941},
            "loss": {"peer_received": 5_998},
        }});
        let flood = flood_of(&record).unwrap();
        assert_eq!((flood.sent, flood.received, flood.seconds), (6_000.0, 5_998.0, 0.6));
    }

    #[test]
    fn what_is_absent_is_an_error_and_not_zero() {
        let record = json!({"outcome": {"answered_per_s": null, "slip": null}});
        assert!(number(&record, "/outcome/answered_per_s").is_err());
        assert!(quantile_us(&record, "/outcome/slip/distribution", 0.99).is_err());
    }
}
