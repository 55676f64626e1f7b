//! Programs at work that rows ask, and the generator of one of them.

use std::path::Path;
use std::{env, fs, process};

use anyhow::{Context, Result};
use serde::Serialize;
use testbed::port;

use crate::process::{Call, Priority, Running, rest};
use crate::sonde::{CLIENT_CPU, SERVER_CPU, said_by};

/// Pings of a run of Redis' generator: about as many as the others make in their time.
const PINGS: u32 = 40_000;

/// A program that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// Redis, which is pinged with a number.
    Redis,
    /// nginx, whose answer to a GET is in its configuration.
    Nginx,
    /// memcached, which is asked for nothing.
    Memcached,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Redis, Self::Nginx, Self::Memcached];

    /// Its protocol, as rows are called.
    pub fn word(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Nginx => "http",
            Self::Memcached => "memcached",
        }
    }

    /// The URL that is asked at `port`.
    pub fn url(self, port: u16) -> String {
        let path = if self == Self::Nginx { "/health" } else { "" };
        format!("{}://127.0.0.1:{port}{path}", self.word())
    }

    /// The same request as the C loop takes it: octets as sonde sends them, the ends of lines written out, and `_` for a space.
    pub fn request(self, port: u16) -> String {
        let version = env!("CARGO_PKG_VERSION");
        match self {
            Self::Redis => r"*2\r\n$4\r\nPING\r\n$8\r\n00000001\r\n".to_owned(),
            Self::Nginx => {
                format!(r"GET_/health_HTTP/1.1\r\nHost:_127.0.0.1:{port}\r\nUser-Agent:_sonde/{version}\r\n\r\n")
            }
            Self::Memcached => r"mn\r\n".to_owned(),
        }
    }

    /// Octets of that request.
    pub fn request_length(self, port: u16) -> usize {
        self.request(port).replace("\\r", "r").replace("\\n", "n").len()
    }

    /// The program at `port`.
    fn start(self, port: u16, priority: Priority) -> Result<Running> {
        let words = match self {
            Self::Redis => format!("redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no"),
            Self::Memcached => format!("memcached -p {port} -U 0 -l 127.0.0.1 -t 1 -u nobody"),
            Self::Nginx => {
                let folder = env::temp_dir().join(format!("sonde-bench-nginx-{}", process::id()));
                fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
                let at = folder.display();
                let rooms = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                    .map(|name| format!("{name}_temp_path {at}/{name};"))
                    .concat();
                // It would end a connection after a thousand requests, which is no matter of this comparison.
                let text = format!(
                    "daemon off; pid {at}/pid; error_log {at}/error; worker_processes 1; events {{}} http {{ access_log off;
                     keepalive_requests 1000000000; {rooms}
                     server {{ listen 127.0.0.1:{port}; location /health {{ return 200 'ok\\n'; }} }} }}"
                );
                fs::write(folder.join("conf"), text).context("cannot write nginx's configuration")?;
                format!("nginx -c {at}/conf -e {at}/error")
            }
        };
        // What is started is waited for by its first line, and some say none.
        let mut call = Call::new(Path::new("taskset"), &format!("-c {SERVER_CPU} sh -c"));
        call.arguments.push(format!("echo begins; exec {words}"));
        call.start(priority)
    }

    /// The outcome of `ask` with the program at the port that it is given, which runs for as long.
    pub fn asked<T>(self, priority: Priority, ask: impl FnOnce(u16) -> Result<T>) -> Result<T> {
        let port = port::free();
        let server = self.start(port, priority)?;
        rest();
        said_by(server, ask(port))
    }
}

/// Pings a second of redis-benchmark over one connection, one at a time: its own `ping_mbulk` carries no number, and the server has less to
/// read and to write for it.
pub fn benchmark(port: u16, priority: Priority) -> Result<f64> {
    let words = format!("-c {CLIENT_CPU} redis-benchmark -p {port} -c 1 -n {PINGS} -q PING 00000001");
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
        let text =
            "PING 00000001: rps=0.0 (overall: 0.0)\rPING 00000001: 84345.67 requests per second, p50=0.007 msec\n\n";
        assert_eq!(per_s(text).unwrap(), 84_345.67);
        assert!(per_s("Could not connect").is_err());
    }

    #[test]
    fn requests_are_as_long_as_their_octets() {
        assert_eq!(Program::Redis.request_length(1), 28);
        assert_eq!(Program::Memcached.request_length(1), 4);
        let words = format!(
            "GET /health HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUser-Agent: sonde/{}\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(Program::Nginx.request_length(80), words.len());
    }
}
