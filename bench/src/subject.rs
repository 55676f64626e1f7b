//! Runs what a row compares: one function for each kind of subject, each giving its pairs.

mod sockperf;
mod streams;

pub use sockperf::Side;

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use lab::namespace;
use serde::Serialize;
use testbed::port;

use crate::c_loop::CLoops;
use crate::callgrind::{self, Part, Profile};
use crate::hping3::Hping3;
use crate::netperf::Netperf;
use crate::ping::Ping;
use crate::process::{Call, Priority};
use crate::row::{self, Carrier, End, Feed, Figure, NetperfTest, Pinger, Row, Subject, Waiting};
use crate::sonde::{Sonde, Stamps, said_by};
use crate::trial::{Pair, alternate};
use crate::verdict::{Effect, Verdict, effect, judge};

/// Exchanges of the shorter and the longer run under callgrind.
const COUNTED: (u64, u64) = (2_000, 12_000);
/// Exchanges of the shorter and the longer feed under callgrind: below the number kept exactly, where it costs most.
const FED: (u64, u64) = (100_000, 600_000);
/// Exchanges of a feed that is timed: a fraction of a second, in which starting the process does not count.
const TIMED: u64 = 20_000_000;
/// Exchanges of the two feeds whose memory is compared.
const REMEMBERED: (u64, u64) = (1_000_000, 1_000_000_000);

/// All it takes to run a row.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The C loops.
    pub c: CLoops,
    /// Sonde.
    pub sonde: Sonde,
    /// The program that feeds the recorder.
    pub record_loop: PathBuf,
    /// Folder of the profiles.
    pub profiles: PathBuf,
    /// Priority of both sides.
    pub priority: Priority,
    /// Pairs of a row; some rows have a multiple ([`Subject::thoroughness`]).
    pub pairs: usize,
    /// Seed of the order within pairs; each row begins with it.
    pub seed: u64,
    /// The original's side of the rows of one-way messages, once it was sought.
    pub original: OnceCell<Side>,
}

/// Reason for which a row was not run, with the names of programs and files and without their folders here: it is kept.
fn told(fault: &anyhow::Error) -> String {
    let name = |word: &str| match word.rsplit_once('/') {
        Some((folder, name)) if folder.trim_start_matches('`').starts_with('/') => name.to_owned(),
        _ => word.to_owned(),
    };
    format!("{fault:#}").split(' ').map(name).collect::<Vec<_>>().join(" ")
}

/// Result of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// The row.
    #[serde(flatten)]
    pub row: Row,
    /// The pairs as they came.
    pub pairs: Vec<Pair>,
    /// Figure of a plain C loop for the same right behind them, the median of some runs; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// The effect over them.
    pub effect: Option<Effect>,
    /// Verdict on the target.
    pub verdict: Verdict,
    /// Reason for which it was not run; absent where it was.
    pub fault: Option<String>,
}

impl Bench {
    /// Runs `row` once, whatever comes of it.
    pub fn run(&self, row: &Row) -> Seen {
        let (pairs, fault) = match self.pairs_of(row.subject) {
            Ok(pairs) => (pairs, None),
            Err(fault) => (Vec::new(), Some(told(&fault))),
        };
        let (limit, fault) = match (self.limit_of(row.subject), fault) {
            (limit, Some(fault)) => (limit.ok().flatten(), Some(fault)),
            (Ok(limit), None) => (limit, None),
            (Err(fault), None) => (None, Some(told(&fault))),
        };
        let effect = effect(row.target, &pairs);
        let verdict = effect.map_or(Verdict::NotRun, |effect| judge(row.target, effect, &pairs));
        Seen { row: row.clone(), pairs, limit, effect, verdict, fault }
    }

    /// Limit of the system with nothing in the way, where a C loop of ours measures it.
    fn limit_of(&self, subject: Subject) -> Result<Option<f64>> {
        match subject {
            Subject::Streams { streams, path } => self.streams_limit(streams, path),
            _ => Ok(None),
        }
    }

    fn pairs_of(&self, subject: Subject) -> Result<Vec<Pair>> {
        let (c, sonde, priority) = (&self.c, &self.sonde, self.priority);
        match subject {
            Subject::Itself { carrier, waiting } => {
                self.alternate(|| c.exchanges(carrier, waiting, priority), || c.exchanges(carrier, waiting, priority))
            }
            Subject::Exchanges { carrier, waiting } => self.alternate(
                || sonde.exchanges(carrier, waiting, Stamps::Default, priority),
                || c.exchanges(carrier, waiting, priority),
            ),
            Subject::StampSampling { carrier } => alternate(
                self.pairs * subject.thoroughness(),
                &mut fastrand::Rng::with_seed(self.seed),
                || sonde.exchanges(carrier, Waiting::Block, Stamps::Default, priority),
                || sonde.exchanges(carrier, Waiting::Block, Stamps::Off, priority),
            ),
            Subject::StampEach { carrier } => {
                self.alternate(|| c.stamped(carrier, true, priority), || c.stamped(carrier, false, priority))
            }
            Subject::Slip { every_us } => {
                self.alternate(|| sonde.slip(every_us, priority), || c.lateness(every_us, priority))
            }
            Subject::Idle { carrier } => {
                self.alternate(|| sonde.idle(carrier, 1_000, priority), || c.idle(carrier, 1_000, priority))
            }
            Subject::Instructions { carrier, end: End::Client } => {
                one(self.our_client(carrier)?, self.their_client(carrier)?)
            }
            Subject::Instructions { carrier, end: End::Reflector } => {
                one(self.our_reflector(carrier)?, self.their_reflector(carrier)?)
            }
            Subject::Recording { feed } => one(self.per_record(feed)?, 0.0),
            Subject::RecordingTime { feed } => self.alternate(|| self.fed_ns(feed.word()), || self.fed_ns("bare")),
            Subject::Netperf { test, figure, path } => self.netperf(test, figure, path),
            Subject::SockperfFlood { ends } => self.sockperf_flood(ends),
            Subject::SockperfExchanges { carrier, waiting } => self.sockperf_exchanges(carrier, waiting),
            Subject::SockperfPacing { per_s, share } => self.sockperf_pacing(per_s, share),
            Subject::Streams { streams, path } => self.streams(streams, path),
            Subject::Probes => self.probes(),
            Subject::PingFlood { pinger } => self.ping(pinger, |ping, pair| ping.round_trips(pair, priority)),
            Subject::PingSlip { pinger, every_ms } => {
                self.ping(pinger, |ping, pair| ping.slip(pair, every_ms, priority))
            }
            Subject::Flood { segments } => {
                self.alternate(|| sonde.flood_unbounded(segments, priority), || c.flood(segments, priority))
            }
            Subject::Asked { program } => self.alternate(
                || program.asked(priority, |port| sonde.asked(program, port, priority)),
                || program.asked(priority, |port| c.asked(program, port, priority)),
            ),
            Subject::Generated { by, connections } => {
                let program = by.asks();
                self.alternate(
                    || program.asked(priority, |port| sonde.pooled(program, port, connections, priority)),
                    || program.asked(priority, |port| by.rate(port, connections, priority)),
                )
            }
            Subject::Memory { feed } => one(self.memory(feed, REMEMBERED.1)?, self.memory(feed, REMEMBERED.0)?),
        }
    }

    fn alternate(&self, ours: impl FnMut() -> Result<f64>, theirs: impl FnMut() -> Result<f64>) -> Result<Vec<Pair>> {
        alternate(self.pairs, &mut fastrand::Rng::with_seed(self.seed), ours, theirs)
    }

    /// Probes a second by both makers, between two namespaces.
    fn probes(&self) -> Result<Vec<Pair>> {
        let hosts = Arc::new(namespace::Pair::new()?);
        let run = |maker: &Hping3| maker.rate(&hosts, self.priority);
        let (ours, theirs) = (Hping3::Ours(self.sonde.program().to_owned()), Hping3::Original);
        self.alternate(|| run(&ours), || run(&theirs))
    }

    /// One figure of netperf's test by both makers.
    fn netperf(&self, test: NetperfTest, figure: Figure, path: row::Path) -> Result<Vec<Pair>> {
        let hosts = if path == row::Path::Veth { Some(Arc::new(namespace::Pair::new()?)) } else { None };
        let run = |maker: &Netperf| {
            let [value] = maker.run(test, path, hosts.as_ref(), [figure], self.priority)?;
            Ok(value)
        };
        let (ours, theirs) = (Netperf::Ours(self.sonde.program().to_owned()), Netperf::Original);
        self.alternate(|| run(&ours), || run(&theirs))
    }

    /// One figure of `sonde ping` and of `pinger`, between the same two hosts.
    fn ping(&self, pinger: Pinger, run: impl Fn(&Ping, &Arc<namespace::Pair>) -> Result<f64>) -> Result<Vec<Pair>> {
        let hosts = Arc::new(namespace::Pair::new()?);
        let theirs = if pinger == Pinger::Iputils { Ping::Original } else { Ping::Fping };
        let ours = Ping::Ours(self.sonde.program().to_owned());
        self.alternate(|| run(&ours, &hosts), || run(&theirs, &hosts))
    }

    /// Sonde's measuring thread. Stamps are off: under valgrind exchanges are so slow that most would be stamped.
    fn our_client(&self, carrier: Carrier) -> Result<f64> {
        self.counted(|count, profile| {
            let port = port::free();
            let reflector = self.sonde.serve(port, Waiting::Block).start(Priority::Normal)?;
            let client = self.sonde.rtt(port, carrier, Waiting::Block, &format!("-c {count} --warm-up 0 --no-stamps"));
            said_by(reflector, client.run_under_callgrind(&profile.prefix(), &["--separate-threads=yes"]))?;
            profile.instructions(Part::Threads)
        })
    }

    /// The C loop's function that exchanges, without the sorting after it.
    fn their_client(&self, carrier: Carrier) -> Result<f64> {
        self.counted(|count, profile| {
            let port = port::free();
            let reflector = self.c.rr("server", carrier, Waiting::Block, "0", port).start(Priority::Normal)?;
            let client = self.c.rr("client", carrier, Waiting::Block, &format!("{count}x"), port);
            said_by(reflector, client.run_under_callgrind(&profile.prefix(), &["--toggle-collect=exchange*"]))?;
            profile.instructions(Part::Process)
        })
    }

    /// All of `sonde serve`.
    fn our_reflector(&self, carrier: Carrier) -> Result<f64> {
        self.counted(|count, profile| {
            let port = port::free();
            let reflector = self.sonde.serve(port, Waiting::Block).start_under_callgrind(&profile.prefix())?;
            let client = self.sonde.rtt(port, carrier, Waiting::Block, &format!("-c {count} --warm-up 0 --no-stamps"));
            said_by(reflector, client.run(Priority::Normal))?;
            profile.instructions(Part::Process)
        })
    }

    /// All of the C loop's server.
    fn their_reflector(&self, carrier: Carrier) -> Result<f64> {
        self.counted(|count, profile| {
            let port = port::free();
            let reflector =
                self.c.rr("server", carrier, Waiting::Block, "0", port).start_under_callgrind(&profile.prefix())?;
            let client = self.c.rr("client", carrier, Waiting::Block, &format!("{count}x"), port);
            said_by(reflector, client.run(Priority::Normal))?;
            profile.instructions(Part::Process)
        })
    }

    fn counted(&self, mut run: impl FnMut(u64, &Profile) -> Result<u64>) -> Result<f64> {
        ensure!(callgrind::is_here(), "valgrind is not installed");
        callgrind::per_exchange(COUNTED.0, COUNTED.1, |count| run(count, &Profile::new(&self.profiles)?))
    }

    fn per_record(&self, feed: Feed) -> Result<f64> {
        ensure!(callgrind::is_here(), "valgrind is not installed");
        instructions_per_record(&self.record_loop, feed, &self.profiles)
    }

    /// Nanoseconds an exchange of `record-loop` fed as `word` says, the process's start and end shared out among them.
    fn fed_ns(&self, word: &str) -> Result<f64> {
        let took = Call::new(&self.record_loop, &format!("{word} {TIMED}")).time(self.priority)?;
        Ok(took.as_secs_f64() * 1e9 / TIMED as f64)
    }

    fn memory(&self, feed: Feed, count: u64) -> Result<f64> {
        peak_mib(&self.record_loop, feed, count)
    }
}

/// Instructions of the recorder for an exchange, by `record-loop` at `program`: what the loop itself takes is subtracted.
pub fn instructions_per_record(program: &std::path::Path, feed: Feed, profiles: &std::path::Path) -> Result<f64> {
    let of = |word: &str| {
        callgrind::per_exchange(FED.0, FED.1, |count| {
            let profile = Profile::new(profiles)?;
            Call::new(program, &format!("{word} {count}")).run_under_callgrind(&profile.prefix(), &[])?;
            profile.instructions(Part::Process)
        })
    };
    Ok(of(feed.word())? - of("bare")?)
}

/// Largest resident set of `record-loop` at `program` fed with `count` exchanges, MiB.
pub fn peak_mib(program: &std::path::Path, feed: Feed, count: u64) -> Result<f64> {
    // It takes seconds, but of the CPU time that others leave.
    let call = Call::new(program, &format!("{} {count}", feed.word())).with_limit(1_200);
    let text = call.run(Priority::Normal)?;
    ensure!(text.contains(&format!("recorded={count} balanced=true")), "the recorder lost some: {text}");
    let kib = text.lines().find_map(|line| line.strip_prefix("peak_rss_kib="));
    let kib: f64 = kib.and_then(|number| number.parse().ok()).with_context(|| format!("no memory in `{text}`"))?;
    Ok(kib / 1_024.0)
}

#[expect(clippy::unnecessary_wraps, reason = "one arm of many that can fail")]
fn one(ours: f64, theirs: f64) -> Result<Vec<Pair>> {
    Ok(vec![Pair { ours, theirs, ours_first: true }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_programs_and_not_where_they_lie() {
        let fault = anyhow::anyhow!("`taskset -c 0 /some/where/sonde -r 1/2` ended: /some/where/else: no such file");
        assert_eq!(told(&fault), "`taskset -c 0 sonde -r 1/2` ended: else: no such file");
    }
}
