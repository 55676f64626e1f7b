//! The text of irtt's client: a line a reply, and the summary.

use std::fmt::Write;

use crate::persona::irtt::client::outcome::Outcome;
use crate::persona::irtt::client::statistics::Statistics;
use crate::persona::irtt::client::trips::RoundTrip;
use crate::persona::irtt::duration::rounded;

/// The line of the first reply to packet `number`, which `before` left before.
pub fn line(number: u32, trip: &RoundTrip, before: Option<&RoundTrip>, is_late: bool) -> String {
    let named =
        |name: &str, nanos: Option<i64>| nanos.map_or_else(String::new, |nanos| format!(" {name}={}", rounded(nanos)));
    let delays = named("rd", trip.receive_delay()) + &named("sd", trip.send_delay());
    let variation = before.and_then(|before| trip.variation(before)).map(i64::wrapping_abs);
    let variation = variation.map_or_else(|| "n/a".to_owned(), rounded);
    let time = trip.time().map_or_else(String::new, rounded);
    format!("seq={number} rtt={time}{delays} ipdv={variation}{}\n", if is_late { " (LATE)" } else { "" })
}

/// The line of a further reply.
pub fn again(number: u32) -> String {
    format!("DUP! seq={number}\n")
}

/// The summary. `length` is that of a packet.
pub fn summary(outcome: &Outcome, length: i64) -> String {
    let mut text = format!("\n{}\n", table(outcome));
    let mut row = |title: &str, value: String| {
        let _ = writeln!(text, "{title:>24}: {value}");
    };
    let Outcome { packets_sent: sent, packets_received: received, server_packets_received: arrived, .. } = *outcome;
    row("duration", format!("{} (wait {})", rounded(outcome.duration), rounded(outcome.wait)));
    row("packets sent/received", format!("{sent}/{received} ({} loss)", outcome.packet_loss_percent));
    if received > 0 && arrived > 0 {
        let (up, down) = (outcome.upstream_loss_percent, outcome.downstream_loss_percent);
        row("server packets received", format!("{arrived}/{sent} ({up}/{down} loss up/down)"));
    }
    if outcome.duplicates > 0 {
        row("*** DUPLICATES", format!("{} ({})", outcome.duplicates, outcome.duplicate_percent));
    }
    if outcome.late_packets > 0 {
        row("late (out-of-order) pkts", format!("{} ({})", outcome.late_packets, outcome.late_packets_percent));
    }
    row("bytes sent/received", format!("{}/{}", outcome.bytes_sent, outcome.bytes_received));
    row("send/receive rate", format!("{} / {}", outcome.send_rate, outcome.receive_rate));
    row("packet length", format!("{length} bytes"));
    let (missed, error) = (outcome.timer_miss_percent, outcome.timer_err_percent);
    row("timer stats", format!("{}/{} ({missed}) missed, {error} error", outcome.timer_misses, outcome.expected));
    text
}

/// The table of statistics, its columns to the right and two blanks apart; those of nothing have no row.
fn table(outcome: &Outcome) -> String {
    let head = |words: [&str; 6]| Some(words.map(str::to_owned));
    let row = |title: &str, statistics: &Statistics| {
        let Statistics { min, max, median, .. } = *statistics;
        let median = median.map_or_else(String::new, rounded);
        let cells = [
            title.to_owned(),
            rounded(min),
            rounded(statistics.mean()),
            median,
            rounded(max),
            rounded(statistics.deviation()),
        ];
        (statistics.n > 0).then_some(cells)
    };
    let rows = [
        head(["", "Min", "Mean", "Median", "Max", "Stddev"]),
        head(["", "---", "----", "------", "---", "------"]),
        row("RTT", &outcome.rtt),
        row("send delay", &outcome.send_delay),
        row("receive delay", &outcome.receive_delay),
        head([""; 6]),
        row("IPDV (jitter)", &outcome.ipdv_round_trip),
        row("send IPDV", &outcome.ipdv_send),
        row("receive IPDV", &outcome.ipdv_receive),
        head([""; 6]),
        row("send call time", &outcome.send_call),
        row("timer error", &outcome.timer_error),
        row("server proc. time", &outcome.server_processing_time),
    ];
    let rows: Vec<[String; 6]> = rows.into_iter().flatten().collect();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..6).map(|column| width(column).unwrap_or(0) + 2).collect();
    let padded = |(cell, &width): (&String, &usize)| format!("{cell:>width$}");
    let line = |row: &[String; 6]| row.iter().zip(&widths).map(padded).collect::<String>() + "\n";
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use protocol::irtt::reply::{Reply, Time};

    use super::*;
    use crate::persona::irtt::client::outcome::Course;
    use crate::persona::irtt::client::trips::Trips;

    fn at(nanos: i64) -> Time {
        Time { wall: Some(nanos), monotonic: Some(nanos) }
    }

    /// Two packets a second apart, answered after 1 ms and 1.5 ms, of which the server has 10 µs.
    fn two() -> Trips {
        let mut trips = Trips::default();
        for (number, sent, time) in [(0, 1_000_000_000, 1_000_000), (1, 2_000_060_000, 1_500_000)] {
            trips.sent(at(sent), sent + 25_000, 60);
            let (received, replied) = (at(sent + 400_000), at(sent + 410_000));
            let reply =
                Reply { number, count: Some(number + 1), window: Some(1), received, sent: replied, is_last: false };
            trips.came(at(sent + time + 10_000), 60, &reply);
        }
        trips
    }

    fn outcome(trips: &Trips) -> Outcome {
        let course = Course { start_time: String::new(), duration: 1_001_600_000, wait: 0, interval: 1_000_000_000 };
        Outcome::of(trips, course)
    }

    #[test]
    fn a_reply_has_a_line() {
        let trips = two();
        let [first, second] = trips.all.as_slice() else { panic!() };
        assert_eq!(line(0, first, None, false), "seq=0 rtt=1ms rd=600µs sd=400µs ipdv=n/a\n");
        assert_eq!(line(1, second, Some(first), true), "seq=1 rtt=1.5ms rd=1.1ms sd=400µs ipdv=500µs (LATE)\n");
        let untimed = RoundTrip { server_received: Time::default(), server_sent: Time::default(), ..*first };
        assert_eq!(line(7, &untimed, Some(&RoundTrip::default()), false), "seq=7 rtt=1.01ms ipdv=n/a\n");
        assert_eq!(again(3), "DUP! seq=3\n");
    }

    /// The form of Debian's irtt 0.9.0.
    const SUMMARY: &str = "
                       Min    Mean  Median    Max  Stddev
                       ---    ----  ------    ---  ------
                RTT    1ms  1.25ms  1.25ms  1.5ms   354µs
         send delay  400µs   400µs   400µs  400µs      0s
      receive delay  600µs   850µs   850µs  1.1ms   354µs
                                                         
      IPDV (jitter)  500µs   500µs   500µs  500µs      0s
          send IPDV     0s      0s      0s     0s      0s
       receive IPDV  500µs   500µs   500µs  500µs      0s
                                                         
     send call time   25µs    25µs           25µs      0s
        timer error   60µs    60µs           60µs      0s
  server proc. time   10µs    10µs           10µs      0s

                duration: 1s (wait 0s)
   packets sent/received: 2/2 (0.00% loss)
 server packets received: 2/2 (0.00%/0.00% loss up/down)
     bytes sent/received: 120/120
       send/receive rate: 959 bps / 959 bps
           packet length: 60 bytes
             timer stats: 0/2 (0.00%) missed, 0.01% error
";

    #[test]
    fn a_summary_has_a_table_and_rows() {
        assert_eq!(summary(&outcome(&two()), 60), SUMMARY);
    }

    #[test]
    fn rows_of_nothing_are_left_out() {
        let mut trips = two();
        trips.came(at(3_000_000_000), 60, &Reply { number: 0, ..Reply::default() });
        trips.late = 1;
        let text = summary(&outcome(&trips), 60);
        assert!(
            text.contains("\n          *** DUPLICATES: 1 (33.33%)\nlate (out-of-order) pkts: 1 (33.33%)\n"),
            "{text}"
        );
        let text = summary(&outcome(&Trips::default()), 60);
        assert!(
            !text.contains("RTT") && !text.contains("server packets") && text.contains("0/0 (100.00% loss)"),
            "{text}"
        );
    }
}
