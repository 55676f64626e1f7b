//! A Redis that rows ask, and its own generator.

use std::path::Path;

use anyhow::{Context, Result};
use testbed::port;

use crate::process::{Call, Priority, rest};
use crate::sonde::{CLIENT_CPU, SERVER_CPU, said_by};

/// Pings of a run of its generator: about as many as the others make in their time.
const PINGS: u32 = 40_000;

/// The outcome of `ask` with a Redis at the port that it is given, which runs for as long.
pub fn asked<T>(priority: Priority, ask: impl FnOnce(u16) -> Result<T>) -> Result<T> {
    let port = port::free();
    let words = format!("-c {SERVER_CPU} redis-server --port {port} --bind 127.0.0.1 --appendonly no");
    let server = Call::new(Path::new("taskset"), &words).start(priority)?;
    rest();
    said_by(server, ask(port))
}

/// Pings a second of redis-benchmark over one connection, one at a time.
pub fn benchmark(port: u16, priority: Priority) -> Result<f64> {
    let words = format!("-c {CLIENT_CPU} redis-benchmark -p {port} -c 1 -n {PINGS} -t ping_mbulk -q");
    per_s(&Call::new(Path::new("taskset"), &words).run(priority)?)
}

/// The rate in what redis-benchmark prints: lines that take each other's place, the last of which has it.
fn per_s(text: &str) -> Result<f64> {
    let before = text.rsplit_once(" requests per second").map(|(before, _)| before);
    let rate = before.and_then(|before| before.rsplit([' ', '\r', '\n']).next()?.parse().ok());
    rate.with_context(|| format!("no rate in `{}`", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_last_one_told() {
        let text = "PING_MBULK: rps=0.0 (overall: 0.0)\rPING_MBULK: 84345.67 requests per second, p50=0.007 msec\n\n";
        assert_eq!(per_s(text).unwrap(), 84_345.67);
        assert!(per_s("Could not connect").is_err());
    }
}
