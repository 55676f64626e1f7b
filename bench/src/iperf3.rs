//! Streams by iperf3 and by `sonde throughput`, at equal settings: the system's congestion control, calls of 128 KiB, an end on
//! each CPU, a second each.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use lab::namespace::Pair;
use serde_json::Value;
use testbed::port;

use crate::ladder::{Flood, Rung};
use crate::process::{Call, Host, Priority, rest};
use crate::row;
use crate::sonde::{CLIENT_CPU, SERVER_CPU, Sonde, said_by};

/// Bytes of a call over TCP.
pub const CALL: u32 = 128 << 10;
/// Bytes of a datagram.
pub const DATAGRAM: u32 = 1_400;
/// Datagrams of a call, where they go in segments: as many as 64 KiB hold.
pub const SEGMENTS: u32 = 46;
/// Buffers of both ends of a stream of datagrams, bytes: what is not lost in them is not lost.
const ROOM: u32 = 4 << 20;

/// System calls by which bytes are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Written and read, as most programs do.
    Plain,
    /// The fastest each program has: of iperf3 `-Z`, of sonde a file sent and the payload not read.
    Fast,
}

/// Result of a TCP run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Streamed {
    /// Received, 10^6 bits of payload a second.
    pub megabits: f64,
    /// CPU time of both programs, seconds for each gigabyte received.
    pub seconds_per_gigabyte: f64,
}

/// Hosts of the two ends.
#[derive(Clone, Debug)]
pub struct Ends {
    near: Host,
    far: Host,
    address: String,
}

impl Ends {
    /// Both here, or in namespaces of their own.
    pub fn over(path: row::Path) -> Result<Self> {
        if path == row::Path::Loopback {
            return Ok(Self { near: Host::Here, far: Host::Here, address: "127.0.0.1".to_owned() });
        }
        let pair = Arc::new(Pair::new()?);
        let address = pair.far().v4().to_string();
        Ok(Self { near: Host::Near(Arc::clone(&pair)), far: Host::Far(pair), address })
    }

    /// As the C loops take it, which go there themselves: the names of both namespaces and the far one's address.
    pub fn place(&self) -> String {
        match (&self.near, &self.far) {
            (Host::Near(pair), Host::Far(_)) => {
                format!("{} {} {}", pair.near().name(), pair.far().name(), self.address)
            }
            _ => format!("- - {}", self.address),
        }
    }
}

/// iperf3's own two ends: what its client says at the end.
fn original(ends: &Ends, words: &str, priority: Priority) -> Result<Value> {
    let port = port::free();
    let server = Call::new(Path::new("iperf3"), &format!("-s -1 -p {port} -A {SERVER_CPU} --forceflush"));
    let server = server.at(ends.far.clone()).start(priority)?;
    rest();
    let client = format!("-c {} -p {port} -t 1 -J -A {CLIENT_CPU},{SERVER_CPU} {words}", ends.address);
    let printed = said_by(server, Call::new(Path::new("iperf3"), &client).at(ends.near.clone()).run(priority))?;
    let found: Value = serde_json::from_str(&printed).context("iperf3 printed no JSON")?;
    if let Some(error) = found.get("error") {
        anyhow::bail!("iperf3: {error}");
    }
    Ok(found)
}

/// `sonde throughput` with `sonde serve`: the stream's part of the record.
fn ours(sonde: &Sonde, ends: &Ends, words: &str, priority: Priority) -> Result<Value> {
    let port = port::free();
    let server = format!("serve --listen {} --open --port {port} --cpu {SERVER_CPU}", ends.address);
    let server = Call::new(sonde.program(), &server).at(ends.far.clone()).start(priority)?;
    rest();
    let cpus = format!("--cpu {CLIENT_CPU} --peer-cpu {SERVER_CPU}");
    let client = format!("throughput {} --port {port} -t 1 --no-test --json {cpus} {words}", ends.address);
    let printed = said_by(server, Call::new(sonde.program(), &client).at(ends.near.clone()).run(priority))?;
    let mut record: Value = serde_json::from_str(&printed).context("sonde printed no JSON")?;
    Ok(record["stream"].take())
}

/// Streams over TCP by iperf3.
pub fn iperf3_tcp(ends: &Ends, way: Way, streams: u32, priority: Priority) -> Result<Streamed> {
    let zero = if way == Way::Fast { "-Z" } else { "" };
    let found = original(ends, &format!("-l {CALL} -P {streams} {zero}"), priority)?;
    let megabits = number(&found, "/end/sum_received/bits_per_second")? / 1e6;
    let bytes = number(&found, "/end/sum_received/bytes")?;
    let seconds = number(&found, "/end/sum_received/seconds")?;
    let busy = |end: &str| number(&found, &format!("/end/cpu_utilization_percent/{end}_total"));
    let cpu = (busy("host")? + busy("remote")?) / 100.0 * seconds;
    Ok(Streamed { megabits, seconds_per_gigabyte: cpu / (bytes / 1e9) })
}

/// The same by sonde.
pub fn sonde_tcp(sonde: &Sonde, ends: &Ends, way: Way, streams: u32, priority: Priority) -> Result<Streamed> {
    let fast = if way == Way::Fast { "--send sendfile --discard" } else { "" };
    let found = ours(sonde, ends, &format!("--size {CALL} -P {streams} {fast}"), priority)?;
    let cost = |end: &str| number(&found, &format!("/detail/{end}/ns_per_gigabyte"));
    Ok(Streamed {
        megabits: number(&found, "/received_bytes_per_s")? * 8.0 / 1e6,
        seconds_per_gigabyte: (cost("sender")? + cost("receiver")?) / 1e9,
    })
}

/// Datagrams by iperf3, whose rate is of bits.
pub fn iperf3_udp(ends: &Ends, rung: Rung, priority: Priority) -> Result<Flood> {
    let rate = match rung {
        Rung::Max => 0,
        Rung::Rate(per_s) => u64::from(per_s) * u64::from(DATAGRAM) * 8,
    };
    let found = original(ends, &format!("-u -l {DATAGRAM} -b {rate} -w {ROOM}"), priority)?;
    let (sent, lost) = (number(&found, "/end/sum/packets")?, number(&found, "/end/sum/lost_packets")?);
    Ok(Flood { sent, received: sent - lost, seconds: number(&found, "/end/sum/seconds")? })
}

/// Datagrams by sonde, each alone or many in segments.
pub fn sonde_udp(sonde: &Sonde, ends: &Ends, segments: bool, rung: Rung, priority: Priority) -> Result<Flood> {
    let rate = match rung {
        Rung::Max => String::new(),
        Rung::Rate(per_s) => format!("--rate {}", u64::from(per_s) * u64::from(DATAGRAM) * 8),
    };
    let segments = if segments { format!("--segments {SEGMENTS}") } else { String::new() };
    let room = format!("--send-buffer {ROOM} --receive-buffer {ROOM}");
    let found = ours(sonde, ends, &format!("--udp --size {DATAGRAM} {segments} {rate} {room}"), priority)?;
    let received = number(&found, "/detail/datagrams/received")?;
    let sent = number(&found, "/ours/calls")?;
    Ok(Flood { sent, received, seconds: number(&found, "/elapsed_ns")? / 1e9 })
}

/// The number at `pointer`, which must be at least 0.
fn number(found: &Value, pointer: &str) -> Result<f64> {
    let number = found.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no number at {pointer}"))?;
    ensure!(number >= 0.0, "{pointer} is {number}");
    Ok(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_absent_or_below_0_is_an_error_and_no_figure() {
        let found = json!({"end": {"sum": {"packets": 7, "lost_packets": -1, "seconds": null}}});
        assert_eq!(number(&found, "/end/sum/packets").unwrap(), 7.0);
        assert!(number(&found, "/end/sum/lost_packets").is_err());
        assert!(number(&found, "/end/sum/seconds").is_err());
    }
}
