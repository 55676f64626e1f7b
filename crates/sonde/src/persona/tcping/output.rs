//! The text of tcping, from plain values.

use measure::unit::Nanos;

/// The end of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was made in this time.
    Made(Nanos),
    /// It was refused by a reset or an ICMP error.
    Refused,
    /// Nothing came in time.
    TimedOut,
    /// Our own side could not send it.
    Unsent,
}

/// All of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    made: u64,
    failed: u64,
    shortest: Option<Nanos>,
    longest: Nanos,
    sum: u128,
}

impl Summary {
    /// Takes a handshake.
    pub fn take(&mut self, end: End) {
        let End::Made(time) = end else {
            self.failed += 1;
            return;
        };
        self.made += 1;
        self.shortest = Some(self.shortest.map_or(time, |shortest| shortest.min(time)));
        self.longest = self.longest.max(time);
        self.sum += u128::from(time.0);
    }

    /// True where one was made.
    pub fn any(&self) -> bool {
        self.made > 0
    }

    /// Its text; the line of times only where there are any.
    pub fn text(&self, place: &str) -> String {
        let all = self.made + self.failed;
        let rate = if all == 0 {
            String::new()
        } else {
            format!(", {:.2}% success rate", self.made as f64 * 100.0 / all as f64)
        };
        let counts = format!("{all} connections, {} successed, {} failed{rate}", self.made, self.failed);
        let times = self.shortest.map_or_else(String::new, |shortest| {
            let mean = self.sum as f64 / self.made as f64 / 1e6;
            format!("minimum = {}ms, maximum = {}ms, average = {mean:.2}ms\n", millis(shortest), millis(self.longest))
        });
        format!("\n--- {place} tcping statistics ---\n{counts}\n{times}")
    }
}

/// The line of handshake `seq`, counted from 1.
pub fn line(place: &str, seq: u64, end: End) -> String {
    match end {
        End::Made(time) => format!("Connected to {place}: seq={seq} time={} ms\n", millis(time)),
        End::Refused => format!("{place}: seq={seq} connection refused\n"),
        End::TimedOut => format!("{place}: seq={seq} timed out\n"),
        End::Unsent => format!("{place}: seq={seq} not sent: this host has no port or no descriptor left\n"),
    }
}

fn millis(time: Nanos) -> String {
    format!("{:.2}", time.0 as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_its_line() {
        assert_eq!(line("db1[80]", 1, End::Made(Nanos(236_761_000))), "Connected to db1[80]: seq=1 time=236.76 ms\n");
        assert_eq!(line("db1[80]", 2, End::Refused), "db1[80]: seq=2 connection refused\n");
        assert_eq!(line("db1[80]", 3, End::TimedOut), "db1[80]: seq=3 timed out\n");
    }

    #[test]
    fn the_summary_has_times_only_of_what_was_made() {
        let mut summary = Summary::default();
        assert_eq!(
            summary.text("db1[80]"),
            "\n--- db1[80] tcping statistics ---\n0 connections, 0 successed, 0 failed\n"
        );
        summary.take(End::Refused);
        assert_eq!(
            summary.text("db1[80]"),
            "\n--- db1[80] tcping statistics ---\n1 connections, 0 successed, 1 failed, 0.00% success rate\n"
        );
        for micros in [100, 300] {
            summary.take(End::Made(Nanos::micros(micros)));
        }
        summary.take(End::TimedOut);
        let text = summary.text("db1[80]");
        assert!(text.contains("4 connections, 2 successed, 2 failed, 50.00% success rate\n"), "{text}");
        assert!(text.ends_with("minimum = 0.10ms, maximum = 0.30ms, average = 0.20ms\n"), "{text}");
    }
}
