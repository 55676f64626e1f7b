//! The known generator of each protocol of a program at work: its command line, and the rate that it prints.
//!
//! Each has one thread, which runs where sonde's does, and a connection has one request in flight.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::asked::{NAME, Program, ROLE, STATEMENT, folder};
use crate::process::{Call, Priority};
use crate::sonde::CLIENT_CPU;

/// Requests of each connection of a run of Redis' generator, which knows no time: within seconds also where one takes 0.2 ms.
const PINGS: u32 = 12_000;

/// A generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Generator {
    /// That of Redis.
    RedisBenchmark,
    /// wrk, for HTTP/1.1.
    Wrk,
    /// That of nghttp2, for HTTP/2.
    H2load,
    /// dnsperf, for DNS over UDP.
    Dnsperf,
    /// That of PostgreSQL.
    Pgbench,
}

impl Generator {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::RedisBenchmark, Self::Wrk, Self::H2load, Self::Dnsperf, Self::Pgbench];

    /// Its name, and that of its program.
    pub fn word(self) -> &'static str {
        match self {
            Self::RedisBenchmark => "redis-benchmark",
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::Dnsperf => "dnsperf",
            Self::Pgbench => "pgbench",
        }
    }

    /// The program that it asks.
    pub fn asks(self) -> Program {
        match self {
            Self::RedisBenchmark => Program::Redis,
            Self::Wrk => Program::Nginx,
            Self::H2load => Program::Http2,
            Self::Dnsperf => Program::Unbound,
            Self::Pgbench => Program::Postgres,
        }
    }

    /// Its requests a second to the program at `port`, over so many connections.
    pub fn rate(self, port: u16, connections: u32, priority: Priority) -> Result<f64> {
        let name = self.word();
        ensure!(is_installed(name), "{name} is not installed");
        let words = format!("-c {CLIENT_CPU} {name} {}", self.words(port, connections)?);
        self.read(&Call::new(Path::new("taskset"), &words).run(priority)?)
    }

    /// Its command line. Where it has a time, that is a second, the least that all of them know.
    fn words(self, port: u16, connections: u32) -> Result<String> {
        let file = |name: &str, text: String| {
            let file = folder(self.word())?.join(name);
            fs::write(&file, text).with_context(|| format!("cannot write what {} asks", self.word()))?;
            anyhow::Ok(file.display().to_string())
        };
        Ok(match self {
            // Its own `ping_mbulk` carries no number, and the server has less to read and to write for it.
            Self::RedisBenchmark => format!("-p {port} -c {connections} -n {} -q PING 00000001", PINGS * connections),
            Self::Wrk => format!("-t 1 -c {connections} -d 1s {}", self.asks().url(port)),
            Self::H2load => format!("-t 1 -c {connections} -m 1 -D 1 http://127.0.0.1:{port}/health"),
            Self::Dnsperf => {
                let questions = file("questions", format!("{NAME} A\n"))?;
                format!("-s 127.0.0.1 -p {port} -d {questions} -T 1 -c {connections} -q {connections} -l 1")
            }
            Self::Pgbench => {
                let script = file("script", format!("{STATEMENT};\n"))?;
                format!("-n -h 127.0.0.1 -p {port} -U {ROLE} -j 1 -c {connections} -T 1 -f {script} postgres")
            }
        })
    }

    /// The rate in what it prints.
    fn read(self, text: &str) -> Result<f64> {
        let found = match self {
            // Lines that take each other's place; the last has it.
            Self::RedisBenchmark => before(text, " requests per second"),
            Self::Wrk => behind(text, "Requests/sec:"),
            Self::H2load => before(text, " req/s"),
            Self::Dnsperf => behind(text, "Queries per second:"),
            Self::Pgbench => behind(text, "tps ="),
        };
        let failed = match self {
            Self::Wrk => text.contains("Non-2xx") || text.contains("Socket errors"),
            Self::H2load => !text.contains(" 0 failed, 0 errored, 0 timeout"),
            Self::Dnsperf => behind(text, "Queries lost:") != Some(0.0),
            Self::Pgbench => behind(text, "number of failed transactions:").is_some_and(|failed| failed > 0.0),
            Self::RedisBenchmark => text.contains("Error"),
        };
        if failed {
            bail!("some requests of {} failed: {}", self.word(), text.trim());
        }
        found.with_context(|| format!("no rate in `{}`", text.trim()))
    }
}

/// The number that stands right before the last `words`.
fn before(text: &str, words: &str) -> Option<f64> {
    let (before, _) = text.rsplit_once(words)?;
    before.rsplit([' ', '\r', '\n']).next()?.parse().ok()
}

/// The number that stands behind the last `words`.
fn behind(text: &str, words: &str) -> Option<f64> {
    let (_, behind) = text.rsplit_once(words)?;
    behind.split_whitespace().next()?.parse().ok()
}

/// True where a program of this name is in a folder of the system's.
fn is_installed(name: &str) -> bool {
    ["/usr/bin", "/usr/local/bin"].iter().any(|folder| Path::new(folder).join(name).exists())
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    // As redis-benchmark 7.0, wrk 4.1, h2load 1.52, dnsperf 2.10 and pgbench 15 print them.
    #[test_case(Generator::RedisBenchmark, "PING 00000001: rps=0.0 (overall: 0.0)\rPING 00000001: 84345.67 requests per second, p50=0.007 msec\n\n", Some(84_345.67); "redis-benchmark")]
    #[test_case(Generator::RedisBenchmark, "Could not connect", None; "nobody there")]
    #[test_case(Generator::Wrk, "  51 requests in 1.00s, 9.0KB read\nRequests/sec:  46051.20\nTransfer/sec:      7.46MB\n", Some(46_051.2); "wrk")]
    #[test_case(Generator::Wrk, "  Non-2xx or 3xx responses: 3\nRequests/sec:  46051.20\n", None; "statuses that nobody wants")]
    #[test_case(Generator::H2load, "finished in 1.00s, 31075.00 req/s, 1.54MB/s\nrequests: 31075 total, 31075 started, 31075 done, 31075 succeeded, 0 failed, 0 errored, 0 timeout\n", Some(31_075.0); "h2load")]
    #[test_case(Generator::H2load, "finished in 1.00s, 0.00 req/s, 0B/s\nrequests: 1 total, 1 started, 0 done, 0 succeeded, 1 failed, 1 errored, 0 timeout\n", None; "h2load that failed")]
    #[test_case(Generator::Dnsperf, "  Queries lost:         0 (0.00%)\n  Queries per second:   57010.1\n", Some(57_010.1); "dnsperf")]
    #[test_case(Generator::Dnsperf, "  Queries lost:         2 (3.85%)\n  Queries per second:   50.1\n", None; "dnsperf that lost some")]
    #[test_case(Generator::Pgbench, "number of failed transactions: 0 (0.000%)\ntps = 23456.789012 (without initial connection time)\n", Some(23_456.789_012); "pgbench")]
    fn the_rate_is_the_last_one_told(generator: Generator, text: &str, rate: Option<f64>) {
        assert_eq!(generator.read(text).ok(), rate);
    }
}
