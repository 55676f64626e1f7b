//! Results of a test's run: plain numbers, all that any output of this persona is made from.
//!
//! Units are in the names. The options are not repeated here: they are in [`Options`](super::options::Options). Absent is
//! `None`; which number stands for it in the output (−1, 0, an empty word) is the output's affair.

use std::net::{IpAddr, SocketAddr};

/// All iterations of one run, and what they have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// One for each time the test ran, in that order; one unless confidence was asked for.
    pub iterations: Vec<Iteration>,
    /// Durations of all iterations together: of a transaction, or of a send or receive call in a one-way test.
    /// `None` where they were not kept.
    pub latency: Option<Latency>,
    /// The test's UUID, made or as given with `-u`.
    pub uuid: String,
    /// Ends of the data connection.
    pub path: Path,
}

/// Both ends of the data connection by name, as the banner and the address selectors tell them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Canonical name of the local data address: `0.0.0.0` or `::0` where none was asked for.
    pub source_name: String,
    /// The local data address asked for, unspecified where none was.
    pub source: SocketAddr,
    /// Canonical name of the remote data address.
    pub destination_name: String,
    /// The remote data address, with the port asked for (0 where none was).
    pub destination: SocketAddr,
}

impl Default for Path {
    fn default() -> Self {
        let any = SocketAddr::new(IpAddr::from([0, 0, 0, 0]), 0);
        let destination = SocketAddr::new(IpAddr::from([127, 0, 0, 1]), 0);
        Self { source_name: "0.0.0.0".to_owned(), source: any, destination_name: "localhost".to_owned(), destination }
    }
}

/// One time through the test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iteration {
    /// From before the first operation (a TCP connect included) to after the orderly end of the data connection, by
    /// the client's clock.
    pub elapsed_ns: u64,
    /// Time of it in which the client only waited for its pace (`-w`, `-b`).
    pub waited_ns: u64,
    /// Transactions completed, as the client counted them. 0 in one-way tests.
    pub transactions: u64,
    /// Requests of a datagram test without a response, datagrams sent and not received in a one-way one. `None` where
    /// nothing can be lost unseen (TCP).
    pub lost: Option<u64>,
    /// Maximum segment size at the client in bytes; `None` unless TCP.
    pub mss_bytes: Option<u32>,
    /// Our end.
    pub local: End,
    /// The server's.
    pub remote: End,
}

/// One end of a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct End {
    /// Send buffer of the data socket (`SO_SNDBUF`) at its creation.
    pub send_buffer_bytes: Option<u32>,
    /// The same at the end of the test.
    pub send_buffer_end_bytes: Option<u32>,
    /// Receive buffer of the data socket (`SO_RCVBUF`) at its creation.
    pub receive_buffer_bytes: Option<u32>,
    /// The same at the end of the test.
    pub receive_buffer_end_bytes: Option<u32>,
    /// Bytes of one send call, as this end resolved it. At the server of a transaction test that of the response.
    /// `None` where it does not send.
    pub send_bytes: Option<u32>,
    /// Bytes of one receive call, as this end resolved it. At the server of a transaction test that of the request.
    /// `None` where it does not receive.
    pub receive_bytes: Option<u32>,
    /// Buffers in the send ring; `None` where there is none.
    pub send_width: Option<u32>,
    /// Buffers in the receive ring; `None` where there is none.
    pub receive_width: Option<u32>,
    /// Send calls that succeeded.
    pub send_calls: u64,
    /// Send calls that failed for want of buffers.
    pub failed_sends: u64,
    /// Receive calls that brought something.
    pub receive_calls: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// True where Nagle's algorithm was off.
    pub nodelay: bool,
    /// `SO_PRIORITY` as set; `None` where it was left.
    pub priority: Option<i32>,
    /// Type of service or traffic class as set; `None` where it was left.
    pub tos: Option<u8>,
    /// Congestion control of the connection; `None` unless TCP, and where each transaction had a connection.
    pub congestion: Option<String>,
    /// Segments sent again; `None` where the kernel does not tell, and where each transaction had a connection.
    pub retransmits: Option<u32>,
    /// CPU used; `None` where it was not measured.
    pub cpu: Option<Cpu>,
}

/// Use of all CPUs of one end during the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cpu {
    /// Not idle, in percent of all CPUs.
    pub busy_percent: f64,
    /// User code.
    pub user_percent: f64,
    /// Kernel code.
    pub system_percent: f64,
    /// Idle with input or output outstanding.
    pub iowait_percent: f64,
    /// Hardware interrupts.
    pub irq_percent: f64,
    /// Software interrupts.
    pub softirq_percent: f64,
    /// Method of its measurement: `S` is /proc/stat, `U` is unknown.
    pub method: char,
    /// CPUs there are.
    pub count: u32,
    /// The busiest CPU by number.
    pub peak_id: u32,
    /// Its use in percent.
    pub peak_percent: f64,
}

/// Durations in nanoseconds, exactly as many as `count`; the text is in whole microseconds, cut off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// Durations kept; never 0.
    pub count: u64,
    /// Shortest.
    pub min_ns: u64,
    /// Longest.
    pub max_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation of these durations themselves (divided by `count`).
    pub stddev_ns: f64,
    /// Nearest rank: the value at ⌈q·count⌉ of the sorted durations, one for each of [`Percentile::ALL`].
    pub percentiles_ns: [u64; Percentile::ALL.len()],
    /// Durations and their counts.
    pub histogram: Histogram,
}

/// The percentiles that selectors exist for; `P999` is the 99.9th, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentile {
    P10,
    P25,
    P50,
    P75,
    P90,
    P95,
    P99,
    P999,
    P9999,
    P99999,
}

impl Percentile {
    /// All, ascending.
    pub const ALL: [Self; 10] = [
        Self::P10,
        Self::P25,
        Self::P50,
        Self::P75,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::P9999,
        Self::P99999,
    ];

    /// The share of the durations that take no longer: 0.99 for P99.
    pub fn share(self) -> f64 {
        [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.999_9, 0.999_99][self as usize]
    }
}

impl Latency {
    /// The value of a percentile.
    pub fn percentile_ns(&self, which: Percentile) -> u64 {
        self.percentiles_ns[which as usize]
    }
}

/// Rows of a histogram: 1 µs, 10 µs, … 10 s.
pub const ROWS: usize = 8;
/// Columns of each, unless more are asked for.
pub const COLUMNS: usize = 10;

/// Counts of durations. The columns of a row share the time from 0 to ten of its units evenly: of ten columns, column `c` of row `r`
/// counts from c·10^r µs to below (c+1)·10^r µs. A duration that a row before it counts is not counted there, so the first
/// tenth of all rows but the first is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The counts: as many rows as there are, of as many columns each.
    pub rows: Vec<Vec<u64>>,
    /// Durations of 100 s and more.
    pub over_100_s: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::of(COLUMNS)
    }
}

impl Histogram {
    /// An empty one of so many columns.
    pub fn of(columns: usize) -> Self {
        Self { rows: vec![vec![0; columns]; ROWS], over_100_s: 0 }
    }

    /// Counts `count` durations of `nanos`.
    pub fn add(&mut self, nanos: u64, count: u64) {
        let mut span = 10_000_u64;
        for row in &mut self.rows {
            if nanos < span {
                let column = u128::from(nanos) * row.len() as u128 / u128::from(span);
                row[column as usize] += count;
                return;
            }
            span *= 10;
        }
        self.over_100_s += count;
    }

    /// All durations counted.
    pub fn total(&self) -> u64 {
        self.rows.iter().flatten().sum::<u64>() + self.over_100_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(999, 0, 0; "below a microsecond")]
    #[test_case(9_999, 0, 9; "nine microseconds")]
    #[test_case(10_000, 1, 1; "ten")]
    #[test_case(99_999, 1, 9; "ninety-nine")]
    #[test_case(1_000_000, 3, 1; "a millisecond")]
    #[test_case(99_999_999_999, 7, 9; "just below 100 s")]
    fn a_duration_is_in_the_first_row_that_holds_it(nanos: u64, row: usize, column: usize) {
        let mut histogram = Histogram::default();
        histogram.add(nanos, 3);
        assert_eq!((histogram.rows[row][column], histogram.total()), (3, 3));
    }

    // Worked by hand: 1,000 columns share 100 µs by a tenth each, and 10 µs by 10 ns.
    #[test_case(25_349, 1, 253; "a tenth of a microsecond each")]
    #[test_case(9_999, 0, 999; "ten nanoseconds each")]
    #[test_case(10_000, 1, 100; "the first of its row")]
    fn more_columns_are_finer_ones(nanos: u64, row: usize, column: usize) {
        let mut histogram = Histogram::of(1_000);
        histogram.add(nanos, 1);
        assert_eq!((histogram.rows[row][column], histogram.total()), (1, 1));
    }

    #[test]
    fn what_takes_100_s_is_counted_apart() {
        let mut histogram = Histogram::default();
        histogram.add(100_000_000_000, 2);
        assert_eq!((histogram.over_100_s, histogram.total()), (2, 2));
    }

    #[test]
    fn shares_ascend_as_their_names_do() {
        assert!(Percentile::ALL.windows(2).all(|two| two[0].share() < two[1].share()));
    }
}
