//! The C loops of `bench/c`: their command lines, and the figures in what they print.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testbed::port;

use crate::asked::Program;
use crate::iperf3::Ends;
use crate::process::{Call, Priority};
use crate::row::{Carrier, Waiting};
use crate::sonde::{CLIENT_CPU, RECORDED_S, SEGMENTS, SERVER_CPU, SIZE};

/// Time for which a paced sender is watched, milliseconds: both run longer, for times of their own, and where a thread polls
/// at a real-time priority the kernel takes its CPU for a twentieth of each second.
const PACED_MS: u32 = 800;

/// The folder that holds the built C loops.
#[derive(Clone, Debug)]
pub struct CLoops {
    folder: PathBuf,
}

impl CLoops {
    /// Those in `folder`.
    pub fn within(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Exchanges a second of `rr`.
    pub fn exchanges(&self, carrier: Carrier, waiting: Waiting, priority: Priority) -> Result<f64> {
        figure(&self.rr("both", carrier, waiting, &RECORDED_S.to_string(), port::free()).run(priority)?, "trans/s=")
    }

    /// Requests a second of `ask`, to the program at `port`.
    pub fn asked(&self, program: Program, port: u16, priority: Priority) -> Result<f64> {
        let request = program.request(port).context("no C loop asks that")?;
        let words = format!("{RECORDED_S} {port} {CLIENT_CPU} {request}");
        figure(&self.call("ask", &words).run(priority)?, "trans/s=")
    }

    /// `rr` in one role; `stop` is seconds, or a count with an `x`.
    pub fn rr(&self, role: &str, carrier: Carrier, waiting: Waiting, stop: &str, port: u16) -> Call {
        let (carrier, waiting) = (carrier.word(), waiting.word());
        self.call("rr", &format!("{role} {carrier} {waiting} {stop} {SIZE} {port} {CLIENT_CPU} {SERVER_CPU}"))
    }

    /// Exchanges a second of `tstamp`, every exchange stamped or none.
    pub fn stamped(&self, carrier: Carrier, stamps: bool, priority: Priority) -> Result<f64> {
        let (carrier, stamps, port) = (carrier.word(), if stamps { "on" } else { "off" }, port::free());
        // A third of a second at 50 us a round trip.
        let arguments = format!("{carrier} {stamps} 6000 {SIZE} {port} {CLIENT_CPU} {SERVER_CPU}");
        figure(&self.call("tstamp", &arguments).run(priority)?, "trans/s=")
    }

    /// p99 of the lateness of `pace` with hybrid pacing, microseconds.
    pub fn lateness(&self, every_us: u64, priority: Priority) -> Result<f64> {
        let count = (RECORDED_S * 1e6) as u64 / every_us;
        let text = self.call("pace", &format!("{every_us} hybrid {count} {CLIENT_CPU}")).run(priority)?;
        figure(&text, "p99=")
    }

    /// Median round trip of `interval`, blocking, one exchange each `every_us` microseconds, in microseconds.
    pub fn idle(&self, carrier: Carrier, every_us: u64, priority: Priority) -> Result<f64> {
        let (carrier, port, count) = (carrier.word(), port::free(), (RECORDED_S * 1e6) as u64 / every_us);
        let arguments =
            format!("{carrier} sleep block block {every_us} {count} {SIZE} {port} {CLIENT_CPU} {SERVER_CPU}");
        figure(&self.call("interval", &arguments).run(priority)?, "p50=")
    }

    /// UDP messages a second that arrive of those that `udp_rate` sends as fast as it can, alone or in segments.
    pub fn flood(&self, segments: bool, priority: Priority) -> Result<f64> {
        let calls = if segments { "gso gro" } else { "sendto recv" };
        let arguments = format!("{calls} {RECORDED_S} {SIZE} {SEGMENTS} {} {CLIENT_CPU} {SERVER_CPU}", port::free());
        figure(&self.call("udp_rate", &arguments).run(priority)?, "received/s=")
    }

    /// Highest throughput of TCP streams, 10^6 bits of payload a second received.
    pub fn streams(&self, fast: bool, streams: u32, chunk: u32, ends: &Ends, priority: Priority) -> Result<f64> {
        let calls = if fast { "sendfile trunc" } else { "write read" };
        let (port, place) = (port::free(), ends.place());
        let arguments = format!("{calls} {RECORDED_S} {chunk} {streams} {port} {CLIENT_CPU} {SERVER_CPU} {place}");
        figure(&self.call("tcp_stream", &arguments).run(priority)?, "received_mbit/s=")
    }

    /// Datagrams of `size` bytes a second that arrive of those that `udp_rate` sends as fast as it can.
    pub fn datagrams(&self, segments: Option<u32>, size: u32, ends: &Ends, priority: Priority) -> Result<f64> {
        let calls = if segments.is_some() { "gso gro" } else { "sendto recv" };
        let (port, place, batch) = (port::free(), ends.place(), segments.unwrap_or(1));
        let arguments = format!("{calls} {RECORDED_S} {size} {batch} {port} {CLIENT_CPU} {SERVER_CPU} {place}");
        figure(&self.call("udp_rate", &arguments).run(priority)?, "received/s=")
    }

    /// The receiver that stamps sockperf's messages, one due each `interval_ns`; not yet started.
    pub fn arrivals(&self, port: u16, interval_ns: u64) -> Call {
        self.call("arrivals", &format!("{port} {interval_ns} {PACED_MS} {SERVER_CPU}"))
    }

    /// Duration of a clock read on the client's CPU, nanoseconds.
    pub fn clock_read_ns(&self) -> Result<f64> {
        figure(&self.call("clockcost", &CLIENT_CPU.to_string()).run(Priority::Normal)?, "monotonic=")
    }

    fn call(&self, name: &str, arguments: &str) -> Call {
        Call::new(&self.folder.join(name), arguments)
    }
}

/// The number behind the first `key` in `text`.
pub fn figure(text: &str, key: &str) -> Result<f64> {
    let found = text.split_whitespace().find_map(|word| word.strip_prefix(key));
    found.and_then(|number| number.parse().ok()).with_context(|| format!("no `{key}` in `{}`", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "trans/s=23133.1\nrtt n=5400 min=31.367 p50=39.559 p90=44.215 p99=65.587 p99.9=78.406 us\n";

    #[test]
    fn a_figure_is_found_by_its_whole_key() {
        assert_eq!(figure(PRINTED, "trans/s=").unwrap(), 23_133.1);
        assert_eq!(figure(PRINTED, "p99=").unwrap(), 65.587);
        assert_eq!(figure(PRINTED, "p50=").unwrap(), 39.559);
    }

    #[test]
    fn a_figure_that_is_not_there_is_an_error_that_shows_the_text() {
        let error = figure("late n=0", "p99=").unwrap_err().to_string();
        assert!(error.contains("p99=") && error.contains("late n=0"), "{error}");
    }
}
