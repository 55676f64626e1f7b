//! ping: iputils' and fping, and sonde under ping's name. One host asks another's kernel, over a virtual cable.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use lab::namespace::Pair;

use crate::process::{Call, Host, Priority, rest};
use crate::sonde::CLIENT_CPU;

/// Exchanges of a run back to back: some tenths of a second.
const COUNT: u32 = 20_000;
/// The same of fping, which is slower.
const FPING_COUNT: u32 = 8_000;
/// Periods fping is tried with, milliseconds. It has none that follows the replies: the shortest that it keeps up with.
const FPING_PERIODS: [&str; 4] = ["0.02", "0.05", "0.1", "0.2"];
/// Requests of a run that is paced.
const PACED: u32 = 60;

/// Program that asks.
#[derive(Clone, Debug)]
pub enum Ping {
    /// iputils' ping, the installed one.
    Original,
    /// fping, the installed one.
    Fping,
    /// Sonde's, by its path.
    Ours(PathBuf),
}

impl Ping {
    fn call(&self, pair: &Arc<Pair>, words: &str) -> Call {
        let program = match self {
            Self::Original => "ping".to_owned(),
            Self::Fping => "fping".to_owned(),
            Self::Ours(sonde) => format!("{} ping", sonde.display()),
        };
        let address = pair.far().v4();
        let arguments = format!("-c {CLIENT_CPU} {program} {words} {address}");
        Call::new(Path::new("taskset"), &arguments).at(Host::Near(Arc::clone(pair)))
    }

    /// Round trips a second back to back, each request leaving when the reply before it has come, from the first request
    /// to the last; of fping the best of its periods, from its start to its end.
    pub fn round_trips(&self, pair: &Arc<Pair>, priority: Priority) -> Result<f64> {
        if !matches!(self, Self::Fping) {
            let printed = self.call(pair, &format!("-q -f -c {COUNT}")).run(priority)?;
            let [answered, millis] =
                [figure(&printed, "transmitted, ", " received")?, figure(&printed, "time ", "ms")?];
            return Ok(answered / millis * 1e3);
        }
        let mut best = None;
        for period in FPING_PERIODS {
            let call = self.call(pair, &format!("-q -i 0 -p {period} -c {FPING_COUNT}"));
            let took = call.time(priority)?.as_secs_f64();
            best = best.max(Some((f64::from(FPING_COUNT) / took) as u64));
        }
        best.map(|rate| rate as f64).context("there is no period to try")
    }

    /// The 90th percentile of how far the gap between two requests is from `interval_ms`, microseconds, as the far host's
    /// kernel stamps their arrival.
    pub fn slip(&self, pair: &Arc<Pair>, interval_ms: u32, priority: Priority) -> Result<f64> {
        let interface = pair.far().interface();
        let filter = "icmp[icmptype]==icmp-echo";
        let watch = format!("-i {interface} -n -tt -l --time-stamp-precision=nano -c {PACED} {filter}");
        let watching = Call::new(Path::new("tcpdump"), &watch).at(Host::Far(Arc::clone(pair))).start(priority)?;
        rest();
        let words = match self {
            Self::Fping => format!("-q -p {interval_ms} -i 0 -c {PACED}"),
            _ => format!("-q -i {} -c {PACED}", f64::from(interval_ms) / 1e3),
        };
        let sent = self.call(pair, &words).run(priority);
        let told = watching.end()?;
        sent?;
        slip_of(&told, f64::from(interval_ms) / 1e3)
    }
}

/// The 90th percentile of the gaps' distances from `interval_s`, in microseconds, of a capture's lines.
fn slip_of(told: &str, interval_s: f64) -> Result<f64> {
    let at = |line: &str| line.split_once(" IP ").and_then(|(time, _)| time.trim().parse().ok());
    let arrivals: Vec<f64> = told.lines().filter_map(at).collect();
    ensure!(arrivals.len() as u32 == PACED, "{} of {PACED} requests were seen to arrive", arrivals.len());
    let mut errors: Vec<f64> = arrivals.windows(2).map(|pair| (pair[1] - pair[0] - interval_s).abs() * 1e6).collect();
    errors.sort_unstable_by(f64::total_cmp);
    Ok(errors[errors.len() * 9 / 10])
}

/// The number between two texts, which must be above 0.
fn figure(printed: &str, before: &str, behind: &str) -> Result<f64> {
    let found = printed.split_once(before).and_then(|(_, rest)| rest.split_once(behind));
    let number = found.and_then(|(number, _)| number.parse().ok()).filter(|number: &f64| *number > 0.0);
    number.with_context(|| format!("no number between `{before}` and `{behind}` in `{}`", printed.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_between_words() {
        let printed =
            "--- h ping statistics ---\n20000 packets transmitted, 20000 received, 0% packet loss, time 436ms\n";
        assert_eq!(figure(printed, "transmitted, ", " received").unwrap(), 20_000.0);
        assert_eq!(figure(printed, "time ", "ms").unwrap(), 436.0);
        assert!(figure(printed, "rtt ", " ms").is_err());
        assert!(figure("time 0ms", "time ", "ms").is_err(), "no rate follows from that");
    }

    #[test]
    fn a_slip_is_the_distance_of_gaps_from_the_interval() {
        let line = |at: f64| format!("{at:.9} IP 10.0.0.1 > 10.0.0.2: ICMP echo request, id 1, seq 1, length 64\n");
        let told: String = (0..PACED).map(|k| line(1_000.0 + f64::from(k) * 0.010_1)).collect();
        assert!((slip_of(&told, 0.01).unwrap() - 100.0).abs() < 1.0);
        assert!(slip_of(&line(1.0), 0.01).unwrap_err().to_string().contains("1 of 60"));
    }
}
