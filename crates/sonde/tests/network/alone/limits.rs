//! Limits of a stream, planted on real sockets between two hosts, are those that `sonde throughput` names; and where nothing
//! is planted nobody but a CPU is named.
//!
//! One case of each is run once with all other tests, all of them as often as `SONDE_PLANTED` says. A wrong name may not happen at
//! all. Not to be determined is no accusation: how often that may happen is a rate, which one run does not have; of many it is one of
//! twenty. Where something is planted both ends run ahead of what else this machine does, which would limit them too; where nothing is
//! they run as users run them.

mod latency;

use measure::throughput::limit::Limiter;
use serde_json::Value;
use test_case::test_case;

use crate::plant::{
    FORWARDED, Forward, Quota, Standing, bucket, own_bucket, policer_of_buckets, policer_of_rules, sonde_of,
};
use crate::scene::{Reflector, Scene, document, installed, run, tell};
use Case::{First, Further};

/// Place of a case: one of those that all other tests have beside them, or one of its variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    First,
    Further,
}

impl Case {
    /// Runs of a case. `None`: not here.
    #[expect(clippy::disallowed_methods, reason = "how often is up to whoever runs the tests")]
    fn runs(self) -> Option<usize> {
        let asked = std::env::var("SONDE_PLANTED").ok().and_then(|text| text.parse().ok());
        if asked.is_none() {
            testbed::skip::aloud(
                "limiters of streams, planted in 20 runs each and in variants, and how often they are named: `make planted`; here one run of each",
            );
        }
        asked.or((self == Self::First).then_some(1))
    }
}

/// Runs `sonde throughput` with these words from `client`, and holds what it named against what is so.
struct Judge<'a> {
    scene: &'a Scene,
    what: &'a str,
    client: Standing<'a>,
    runs: usize,
}

/// The limiter that a run names, and the reasons that it gives.
#[derive(Debug)]
struct Found {
    limiter: Limiter,
    because: Value,
    /// The run says itself that others on the machine may be what it names.
    spoiled: bool,
}

impl Judge<'_> {
    fn limit(&self, words: &[&str]) -> Found {
        let mut command = sonde_of(self.scene.near(), self.client);
        let output = command.args(["throughput", "--json", "-q"]).args(words).output().expect("started");
        let record = document(&output);
        assert!(output.status.success(), "{}: {}", self.what, String::from_utf8_lossy(&output.stderr));
        let limit = &record["stream"]["detail"]["limit"];
        let named = serde_json::from_value(limit["limiter"].clone());
        let limiter = named.unwrap_or_else(|error| panic!("{error}: {record:#}"));
        let warnings = record["warnings"].as_array().expect("warnings").iter();
        let spoils = warnings.filter_map(|warning| warning["spoils"].as_array()).flatten();
        let spoiled = spoils.into_iter().any(|word| *word == limit["limiter"]);
        Found { limiter, because: limit["because"].clone(), spoiled }
    }

    /// It is named, where there are enough runs for a rate, and nothing else ever: but for a CPU that others had, as the run says.
    fn names(&self, planted: Limiter, words: &[&str]) {
        let runs = self.runs;
        let found: Vec<Found> = (0..runs).map(|_| self.limit(words)).collect();
        let named = found.iter().filter(|found| found.limiter == planted).count();
        tell(&format!("{}: named in {named} of {runs}; {}", self.what, found[0].because));
        let others: Vec<&Found> = found.iter().filter(|found| found.limiter != planted).collect();
        for Found { limiter, because, .. } in &others {
            tell(&format!("{}: {limiter:?}; {because}", self.what));
        }
        let accused = others.iter().find(|found| found.limiter != Limiter::NotDetermined && !found.spoiled);
        assert!(accused.is_none(), "{}: where {planted:?} was planted: {accused:?}", self.what);
        assert!(runs - named <= runs.div_ceil(20), "{}: {named} of {runs}, {others:?}", self.what);
    }

    /// Nobody is named but a CPU.
    fn names_nobody(&self, words: &[&str]) {
        for _ in 0..self.runs {
            let Found { limiter, because, .. } = self.limit(words);
            let allowed = [Limiter::SenderCpu, Limiter::ReceiverCpu, Limiter::NotDetermined];
            tell(&format!("{}: {limiter:?}; {because}", self.what));
            assert!(allowed.contains(&limiter), "{}: {limiter:?} of nothing: {because}", self.what);
        }
    }
}

/// A far side that anybody may measure against.
fn reflector(scene: &Scene, standing: Standing<'_>) -> Reflector {
    let mut command = sonde_of(scene.far(), standing);
    command.args(["serve", "--open"]);
    Reflector::started(command, "listening on")
}

#[test_case(First, true, &[]; "sender")]
#[test_case(First, false, &[]; "receiver")]
#[test_case(Further, true, &["--reverse"]; "receiver of the reverse")]
#[test_case(Further, false, &["--reverse"]; "sender of the reverse")]
fn a_quota_of_cpu_time_is_named_on_its_side(case: Case, near: bool, words: &[&str]) {
    let Some(runs) = case.runs() else { return };
    let what = format!("a CPU quota of the {} end {words:?}", if near { "near" } else { "far" });
    let Some(quota) = Quota::tenth(&what) else { return };
    let Some(scene) = Scene::undisturbed(&what) else { return };
    let (held, free) = (Standing::Within(&quota), Standing::Ahead);
    let (ours, theirs) = if near { (held, free) } else { (free, held) };
    let _reflector = reflector(&scene, theirs);
    let planted = if near == words.is_empty() { Limiter::SenderCpu } else { Limiter::ReceiverCpu };
    let judge = Judge { scene: &scene, what: &what, client: ours, runs };
    judge.names(planted, &[&[&*scene.target(false), "-t", "1"], words].concat());
}

#[test_case(First, "small receive buffer", Limiter::ReceiveWindow, &["--delay", "5ms"], &["--receive-buffer", "32KB"]; "receive window")]
#[test_case(First, "seeded loss", Limiter::Loss, &["--delay", "5ms", "--loss", "2%", "--one-way"], &["--congestion", "cubic"]; "loss")]
#[test_case(First, "drop-tail queue", Limiter::Congestion, &["--delay", "5ms", "--rate", "50M", "--queue", "128KB"], &[]; "drop tail")]
#[test_case(Further, "small send buffer", Limiter::SendBuffer, &["--delay", "5ms"], &["--send-buffer", "64KB"]; "send buffer")]
#[test_case(Further, "drop-tail queue, cubic", Limiter::Congestion, &["--delay", "5ms", "--rate", "50M", "--queue", "128KB"], &["--congestion", "cubic"]; "drop tail and cubic")]
#[test_case(Further, "drop-tail queue, datagrams", Limiter::Congestion, &["--delay", "5ms", "--rate", "50M", "--queue", "128KB"], &["--udp", "--rate", "80M"]; "drop tail and datagrams")]
fn what_the_forwarder_does_is_named(case: Case, what: &str, planted: Limiter, link: &[&str], words: &[&str]) {
    let Some(runs) = case.runs() else { return };
    let Some(scene) = Scene::undisturbed(what) else { return };
    let _forward = Forward::start(&scene, link);
    let _reflector = reflector(&scene, Standing::Ahead);
    let judge = Judge { scene: &scene, what, client: Standing::Ahead, runs };
    judge.names(planted, &[&[FORWARDED, "-t", "1"], words].concat());
}

/// Either way of making one, on a path of 10 ms and on a bare cable.
#[test_case(First, false, &[]; "of rules")]
#[test_case(Further, false, &["--congestion", "cubic"]; "of rules and cubic")]
#[test_case(Further, true, &["--congestion", "cubic"]; "of buckets and cubic")]
#[test_case(Further, true, &[]; "of buckets")]
fn a_policer_is_named(case: Case, buckets: bool, words: &[&str]) {
    let Some(runs) = case.runs() else { return };
    let what = format!("a policer {}{}", if buckets { "of buckets " } else { "of rules " }, words.concat());
    if !installed("tc", "iproute2", &what) || !installed("nft", "nftables", &what) {
        return;
    }
    let Some(scene) = Scene::undisturbed(&what) else { return };
    let forward = (!buckets).then(|| Forward::start(&scene, &["--delay", "5ms"]));
    if buckets {
        policer_of_buckets(&scene);
    } else {
        policer_of_rules(&scene, "sonde1", 2_500, 50);
    }
    let _reflector = reflector(&scene, Standing::Ahead);
    let target = if forward.is_some() { FORWARDED.to_owned() } else { scene.target(false) };
    let judge = Judge { scene: &scene, what: &what, client: Standing::Ahead, runs };
    judge.names(Limiter::Policer, &[&[&*target, "-t", "1"], words].concat());
}

/// Faster than half of what this host can send of datagrams, so that no leg can be twice as fast.
#[test]
fn a_fast_policer_is_named() {
    let Some(runs) = Further.runs() else { return };
    let what = "a policer of 480 Mbit/s on a bare cable";
    if !installed("nft", "nftables", what) {
        return;
    }
    let Some(scene) = Scene::undisturbed(what) else { return };
    policer_of_rules(&scene, scene.far().interface(), 60_000, 200);
    let _reflector = reflector(&scene, Standing::Ahead);
    let judge = Judge { scene: &scene, what, client: Standing::Ahead, runs };
    judge.names(Limiter::Policer, &[&*scene.target(false), "-t", "1"]);
}

/// Delay that comes and goes is no queue.
#[test_case(First, &["--delay", "20ms", "--jitter", "5ms"]; "longer")]
#[test_case(Further, &["--jitter", "1ms"]; "shorter")]
fn uneven_delay_is_no_queue(case: Case, link: &[&str]) {
    let Some(runs) = case.runs() else { return };
    let what = format!("uneven delay {link:?}");
    let Some(scene) = Scene::undisturbed(&what) else { return };
    // On a machine that is quick enough 4 MB, to which a send buffer grows by itself, are what limits on a path of 40 ms.
    for space in [scene.near(), scene.far()] {
        let room = ["net.ipv4.tcp_wmem=4096 16384 67108864", "net.ipv4.tcp_rmem=4096 131072 67108864"];
        run(space, &[&["sysctl", "-qw"][..], &room].concat());
    }
    let _forward = Forward::start(&scene, link);
    let _reflector = reflector(&scene, Standing::Ahead);
    let judge = Judge { scene: &scene, what: &what, client: Standing::Ahead, runs };
    judge.names_nobody(&[FORWARDED, "-t", "3"]);
}

/// Tokens that come at a rate, and a queue for what comes faster: behind the wire, or before it at the sender's own interface.
#[test_case(First, false, "200mbit", &[]; "behind the wire")]
#[test_case(Further, false, "50mbit", &["--congestion", "cubic"]; "behind the wire and cubic")]
#[test_case(Further, true, "100mbit", &[]; "own")]
#[test_case(Further, true, "200mbit", &["--congestion", "cubic"]; "own and cubic")]
fn a_shaper_is_named(case: Case, own: bool, rate: &str, words: &[&str]) {
    let Some(runs) = case.runs() else { return };
    let what = format!("a shaper of {rate} {}{}", if own { "at its own interface " } else { "" }, words.concat());
    if !installed("tc", "iproute2", &what) {
        return;
    }
    let Some(scene) = Scene::undisturbed(&what) else { return };
    if own {
        own_bucket(&scene, rate, "60000", "1000000");
    } else {
        bucket(&scene, rate, "60000", "1000000");
    }
    let _reflector = reflector(&scene, Standing::Ahead);
    let judge = Judge { scene: &scene, what: &what, client: Standing::Ahead, runs };
    let shaped = if own { Limiter::SenderQueue } else { Limiter::Congestion };
    judge.names(shaped, &[&[&*scene.target(false), "-t", "1"], words].concat());
}

#[test_case(First, &["--rate", "100M"]; "tcp")]
#[test_case(Further, &["--rate", "100M", "--udp"]; "udp")]
#[test_case(Further, &["--rate", "50M", "--reverse"]; "reverse")]
fn the_rate_that_was_asked_for_is_named(case: Case, words: &[&str]) {
    let Some(runs) = case.runs() else { return };
    let what = format!("a rate {words:?}");
    let Some(scene) = Scene::undisturbed(&what) else { return };
    let _reflector = reflector(&scene, Standing::Ahead);
    let judge = Judge { scene: &scene, what: &what, client: Standing::Ahead, runs };
    judge.names(Limiter::Rate, &[&[&*scene.target(false), "-t", "1"], words].concat());
}

#[test_case(First, &[]; "tcp")]
#[test_case(Further, &["-P", "4"]; "tcp in four streams")]
#[test_case(Further, &["--reverse"]; "tcp reverse")]
#[test_case(Further, &["--udp"]; "udp")]
fn where_nothing_is_planted_nobody_is_accused(case: Case, words: &[&str]) {
    let Some(runs) = case.runs() else { return };
    let what = format!("a plain cable {words:?}");
    let Some(scene) = Scene::undisturbed(&what) else { return };
    let _reflector = reflector(&scene, Standing::Plain);
    let judge = Judge { scene: &scene, what: &what, client: Standing::Plain, runs };
    judge.names_nobody(&[&[&*scene.target(false), "-t", "1"], words].concat());
    // Over loopback, with a reflector of its own.
    let judge = Judge { what: "loopback", ..judge };
    judge.names_nobody(&[&["-t", "1"], words].concat());
}
