//! The numbers from which a warning is raised, each with why it is that one. A share runs from 0 to 1.

use crate::unit::{Bytes, Nanos};

/// More than this share of a run spent ready to run but waiting for a CPU is a disturbance: from there on the waits reach
/// the 99th percentile of the measured times.
pub const RUN_QUEUE: f64 = 0.01;
/// More than this share of the time under CPU pressure ("some") is a disturbance. The measurement's own threads wait there
/// too, so it is ten times that of the run queue.
pub const CPU_PRESSURE: f64 = 0.10;
/// More than this share of CPU time given to others by the hypervisor is a disturbance, for the same reason as of the run
/// queue.
pub const STEAL: f64 = 0.01;
/// More than this share of the time kept from running by a control group is told: it comes in pieces of up to a whole
/// period (100 ms as a rule), which reach the 99.9th percentile from there on.
pub const THROTTLED: f64 = 0.001;
/// Share from which the limiter of a stream reports `throttled` of its end.
pub const THROTTLED_LIMITS: f64 = 0.1;
/// Segments that TCP sent again are told from this share of the requests up: from there on their waits reach the 99.9th percentile.
pub const RETRANSMITTED: f64 = 0.001;
/// Fewer segments sent again are no news: one reply later than TCP's probe of the tail (RFC 8985) makes one.
pub const FEWEST_RETRANSMITTED: u64 = 2;
/// Packets with a wrong checksum from which damage on the way is reported: the counters are of hosts, and others receive too.
pub const FEWEST_DAMAGED: u64 = 3;
/// Share of the offered requests that are answered in time, below which more is offered than answered.
pub const OVERTAKEN: f64 = 0.95;
/// More than this share of requests behind schedule is told: the quantiles printed first, to the 99th, are of the others.
pub const BEHIND: f64 = 0.01;
/// From this share of ticks missed the interval was that of the replies and not the one that was asked for.
pub const MOSTLY_MISSED: f64 = 0.5;
/// An effective sample size below this share of the sample is told: then intervals are wider by half than they look from its
/// size.
pub const CORRELATED: f64 = 0.5;
/// Share of a load's time above which holding due requests back explains why its rate was not achieved.
pub const HELD: f64 = 0.1;
/// Outstanding requests from this share of the cap up (by Little's law) mean that the cap held requests back.
pub const AT_CAP: f64 = 0.9;
/// Governors that slow an idle CPU down.
pub const POWER_SAVING: [&str; 4] = ["powersave", "conservative", "ondemand", "schedutil"];
/// The governor that holds the lowest frequency, unless the driver chooses frequencies itself.
pub const LOWEST: &str = "powersave";
/// Drivers that choose frequencies themselves: theirs is a governor by name only.
pub const CHOOSES_ITSELF: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];
/// Clock sources that are read by an access to a slow register, or step at each tick of the kernel. The kernel falls back on
/// them where it finds the CPU's counter unsound.
pub const SLOW_CLOCKS: [&str; 6] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "hyperv_clocksource_msr"];
/// The clock's step, or the two readings that each time takes, at more than this share of the median is told: it is as much
/// as differences that people compare.
pub const COARSE: f64 = 0.05;
/// Pauses longer than this let CPUs, caches and cards fall asleep: up to there the round trip is flat over the interval, from
/// there it rises (measured between cloud machines, and between namespaces of one).
pub const IDLE_GAP: Nanos = Nanos::millis(1);
/// Waking both ends takes up to some 200 µs; of longer round trips than this it is less than a fifth.
pub const SHORT_TRIP: Nanos = Nanos::millis(1);
/// Outstanding requests from which one over the rate is not the duration of an exchange: between one and two it may be the
/// rounding of a window of one.
pub const OUTSTANDING: f64 = 1.5;
/// A mean of so many times the median is made by its tail. Log-normal times with a standard deviation of half their mean,
/// which is much for a network, have 1.12.
pub const MISLEADING: f64 = 1.5;
/// Fewer values have no tail to speak of.
pub const FEWEST_FOR_MEAN: u64 = 30;
/// A stream whose rate lies by more than this share below its steady rate, for its start is counted, is told.
pub const START: f64 = 0.05;
/// Share of a stream's time in which its receiver got nothing from which that is told.
pub const SILENT: f64 = 0.01;
/// Share of its time from which a stream's thread, with its waits for a CPU, or the busiest CPU of its host, can do no more.
pub const SATURATED: f64 = 0.9;
/// Fewer replies that came in parts, with the pause of a delayed acknowledgement between them, are an accident.
pub const FEWEST_HELD: u64 = 5;
/// Share of the replies from which such pauses are told: from there on they reach the 95th percentile.
pub const HELD_REPLIES: f64 = 0.05;
/// Segments that TCP sends before the first acknowledgement (RFC 6928).
pub const INITIAL_SEGMENTS: u64 = 10;
/// TCP gives its window up in a pause of its retransmission timeout (RFC 5681 section 4.1), which on Linux is the round trip and
/// at least this.
pub const LEAST_RTO: Nanos = Nanos::millis(200);
/// Payload of a datagram that each host of IPv4 takes whole (RFC 791, section 3.1: 576 octets, less the longest head
/// and UDP's): a longer one may be too long for a path.
pub const LARGE: Bytes = Bytes(508);
/// Share of the answers from which the measured times are those of resets.
pub const RESETS: f64 = 0.5;
