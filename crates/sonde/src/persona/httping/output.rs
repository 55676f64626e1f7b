//! The text of httping 2.5, from plain values.

use std::net::SocketAddr;

use measure::unit::{Bytes, Nanos};

use crate::persona::httping::options::{Asked, Shown};

/// The parts of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The handshakes of TCP and TLS.
    pub connect: Nanos,
    /// Until the kernel had the request.
    pub request: Nanos,
    /// Until the reply was whole.
    pub reply: Nanos,
}

/// A reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its number, from 0.
    pub seq: u64,
    /// The time of the request, its connection with it.
    pub time: Nanos,
    /// The parts of that, where they are known.
    pub split: Option<Split>,
    /// Its status.
    pub status: u16,
    /// Octets of its head.
    pub head: Bytes,
    /// Octets of its body.
    pub body: Bytes,
}

/// Reason for which there was no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// There was no connection, for this reason.
    Unconnected(String),
    /// Nothing came in time.
    Silent,
    /// The connection ended before the reply, or something else came.
    Short,
}

/// The first line.
pub fn header(asked: &Asked) -> String {
    format!("PING {}:{} ({}):\n", asked.host, asked.port, asked.path)
}

/// The line of a reply.
pub fn line(asked: &Asked, peer: SocketAddr, reply: &Reply) -> String {
    if asked.machine {
        let time = if reply.status == 200 { format!("{:.6}", millis(reply.time)) } else { "-1".to_owned() };
        return if asked.shown.status { format!("{time} {}\n", reply.status) } else { format!("{time}\n") };
    }
    let Shown { status, split, transferred, speed } = asked.shown;
    let split = reply.split.filter(|_| split).map_or_else(String::new, |Split { connect, request, reply }| {
        // The name was looked up before, and the connection is closed later.
        format!("   n/a+{:6.2}+{:6.2}+{:6.2}+   n/a=", millis(connect), millis(request), millis(reply))
    });
    let status = if status { format!("{} {}", reply.status, phrase(reply.status)) } else { String::new() };
    let speed_text = if speed { format!(" {:.0}KB/s", rate(reply).trunc()) } else { String::new() };
    let size = if transferred && speed { format!(" {}KB", reply.body.0 / 1_024) } else { String::new() };
    format!(
        "connected to {peer} ({} bytes), seq={} time={split}{:6.2} ms {}{speed_text}{size}\n",
        reply.head.0,
        reply.seq,
        millis(reply.time),
        status.trim_end()
    )
}

/// The line of a request without a reply.
pub fn failed(why: &Failed) -> String {
    match why {
        Failed::Unconnected(why) => format!("could not connect ({why})\n\n"),
        Failed::Silent => "timeout while receiving reply-headers from host\n".to_owned(),
        Failed::Short => "short read during receiving reply-headers from host\n".to_owned(),
    }
}

/// KB of the body a second, from the request on.
fn rate(reply: &Reply) -> f64 {
    let time = reply.split.map_or(reply.time, |split| split.reply).0.max(1);
    reply.body.0 as f64 / 1_024.0 / (time as f64 / 1e9)
}

fn millis(time: Nanos) -> f64 {
    time.0 as f64 / 1e6
}

/// Shortest, longest and mean of some values.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    min: f64,
    max: f64,
    sum: f64,
    count: u64,
}

impl Range {
    fn with(range: Option<Self>, value: f64) -> Self {
        let Self { min, max, sum, count } = range.unwrap_or(Self { min: value, max: value, sum: 0.0, count: 0 });
        Self { min: min.min(value), max: max.max(value), sum: sum + value, count: count + 1 }
    }
}

/// All of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Requests.
    pub sent: u64,
    ok: u64,
    times: Option<Range>,
    rates: Option<Range>,
}

impl Summary {
    /// Takes a reply. Where statuses are shown, 200 alone is well, as in the original.
    pub fn take(&mut self, reply: &Reply, shown: Shown) {
        self.sent += 1;
        if shown.status && reply.status != 200 {
            return;
        }
        self.ok += 1;
        self.times = Some(Range::with(self.times, millis(reply.time)));
        if shown.speed {
            self.rates = Some(Range::with(self.rates, rate(reply)));
        }
    }

    /// True where a request was answered well.
    pub fn any(&self) -> bool {
        self.ok > 0
    }

    /// Its text, `passed` behind the begin.
    pub fn text(&self, url: &str, passed: Nanos) -> String {
        let Self { sent, ok, times, rates } = self;
        let share = if *sent == 0 { 0.0 } else { (sent - ok) as f64 * 100.0 / *sent as f64 };
        let times = times.map_or_else(String::new, |Range { min, max, sum, count }| {
            format!("round-trip min/avg/max = {min:.1}/{:.1}/{max:.1} ms\n", sum / count as f64)
        });
        let rates = rates.map_or_else(String::new, |Range { min, max, sum, count }| {
            format!("Transfer speed: min/avg/max = {min:.6}/{:.6}/{max:.6} KB\n", sum / count as f64)
        });
        format!(
            "--- {url} ping statistics ---\n{sent} connects, {ok} ok, {share:.2}% failed, time {}ms\n{times}{rates}",
            passed.0 / 1_000_000
        )
    }
}

/// The phrase of a status, as RFC 9110 section 15 and RFC 6585 have it; empty where they have none.
fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::persona::httping::options::parse;

    fn asked(line: &str) -> Asked {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words).unwrap()
    }

    fn reply(status: u16) -> Reply {
        let split = Split { connect: Nanos::micros(110), request: Nanos::micros(20), reply: Nanos::micros(100) };
        Reply { seq: 3, time: Nanos::micros(230), split: Some(split), status, head: Bytes(146), body: Bytes(100_000) }
    }

    // As httping 2.5 has printed them, with other figures.
    #[test_case("http://h", 200, "connected to 127.0.0.1:81 (146 bytes), seq=3 time=  0.23 ms \n"; "the usual line")]
    #[test_case("http://h -s", 404, "connected to 127.0.0.1:81 (146 bytes), seq=3 time=  0.23 ms 404 Not Found\n"; "the status")]
    #[test_case("http://h -s", 599, "connected to 127.0.0.1:81 (146 bytes), seq=3 time=  0.23 ms 599\n"; "a status without a phrase")]
    #[test_case("http://h -S", 200, "connected to 127.0.0.1:81 (146 bytes), seq=3 time=   n/a+  0.11+  0.02+  0.10+   n/a=  0.23 ms \n"; "the parts")]
    #[test_case("http://h -G -b -X", 200, "connected to 127.0.0.1:81 (146 bytes), seq=3 time=  0.23 ms  976562KB/s 97KB\n"; "the body")]
    #[test_case("http://h -G -X", 200, "connected to 127.0.0.1:81 (146 bytes), seq=3 time=  0.23 ms \n"; "its size goes with its rate")]
    #[test_case("http://h -m", 200, "0.230000\n"; "for machines")]
    #[test_case("http://h -m -s", 503, "-1 503\n"; "another status for machines")]
    fn lines(words: &str, status: u16, text: &str) {
        assert_eq!(line(&asked(words), "127.0.0.1:81".parse().unwrap(), &reply(status)), text);
    }

    #[test]
    fn the_summary_counts_statuses_only_where_they_are_shown() {
        let (bare, shown) = (Shown::default(), Shown { status: true, ..Shown::default() });
        let mut summary = Summary::default();
        summary.take(&reply(503), bare);
        assert!(summary.any());
        let mut summary = Summary::default();
        summary.take(&reply(503), shown);
        assert_eq!(
            summary.text("http://h/", Nanos::millis(401)),
            "--- http://h/ ping statistics ---\n1 connects, 0 ok, 100.00% failed, time 401ms\n"
        );
        assert!(!summary.any());
        summary.take(&reply(200), shown);
        let text = summary.text("http://h/", Nanos::millis(401));
        assert!(text.contains("2 connects, 1 ok, 50.00% failed"), "{text}");
        assert!(text.ends_with("round-trip min/avg/max = 0.2/0.2/0.2 ms\n"), "{text}");
    }
}
