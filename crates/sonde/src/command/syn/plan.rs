//! The typed words as a plan: no I/O, nothing resolved against this host yet.

use std::net::{IpAddr, Ipv4Addr};

use endpoint::name::Family;
use endpoint::rtt::Protocol;
use measure::method::{Asked, Carrier, Method, Schedule, Sizes, SocketOptions, Stop};
use measure::unit::Nanos;

use crate::command::rtt::options::KeptOptions;
use crate::command::rtt::plan::{self as rtt, Target};
use crate::command::syn::options::{ProbeOptions, SynOptions};
use crate::command::verify::Verify;
use crate::failure::Failure;

/// Between probes where nobody says: ten a second harm nobody, and 10 s of them show a tenth of loss.
const GAP: Nanos = Nanos::millis(100);
/// Probes closer together than this look like an attack, and some networks treat them as one.
const CLOSEST: Nanos = Nanos::millis(1);

/// A request of `sonde syn`.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The measurement, as every round trip has it.
    pub inner: rtt::Plan,
    /// A port of the same host where connections are accepted.
    pub compare_port: Option<u16>,
    /// True where any rate is fine.
    pub force: bool,
}

impl Plan {
    /// The plan of these options.
    ///
    /// # Errors
    /// No port, or two.
    pub fn of(options: SynOptions) -> Result<Self, Failure> {
        let asked = asked(&options);
        let SynOptions { host, probe, recording, verify, result, .. } = options;
        let port = port(&host.host, host.port, probe.port)?;
        if probe.compare_port == Some(port) {
            return Err(Failure::usage(format!("--compare-port {port} is the port that is probed"))
                .hint("name another one, where the host accepts connections"));
        }
        let family = match (probe.ipv4, probe.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        };
        let target = Some(Target { host: host.host, port, family });
        let KeptOptions { strict, samples, histograms, .. } = recording.kept;
        let inner = rtt::Plan {
            asked,
            trace: None,
            target,
            protocol: Protocol::Native,
            key: None,
            stamp_key: None,
            irtt_key: None,
            strict,
            samples,
            histograms,
            write_out: None,
            verify: Verify::of(verify)?,
            result,
        };
        Ok(Self { inner, compare_port: probe.compare_port, force: probe.force })
    }

    /// Refuses more probes a second than a network should be sent unasked.
    ///
    /// # Errors
    /// A schedule beyond the cap, without `--force`.
    pub fn check_rate(&self, method: &Method) -> Result<(), Failure> {
        if self.force || method.schedule.mean_gap().is_some_and(|gap| gap >= CLOSEST) {
            return Ok(());
        }
        Err(Failure::usage(
            "more than 1000 SYNs a second look like an attack, to the host and to what stands before it",
        )
        .hint("lower the rate, or say --force where the network is yours"))
    }
}

fn port(host: &str, written: Option<u16>, option: Option<u16>) -> Result<u16, Failure> {
    match (written, option) {
        (Some(written), Some(port)) if written != port => {
            Err(Failure::usage(format!("{host}:{written} and --port {port} name two ports")).hint("remove one of them"))
        }
        (written, port) => written.or(port).ok_or_else(|| {
            Failure::usage(format!("{host}: no port to probe"))
                .hint("sonde syn HOST:PORT, or [ADDRESS]:PORT for IPv6; without a port: sonde rtt HOST --icmp")
        }),
    }
}

/// Refuses what many would answer to, and nobody asked.
///
/// # Errors
/// A multicast or broadcast address.
pub fn check_target(address: IpAddr) -> Result<(), Failure> {
    let kind = match address {
        IpAddr::V4(Ipv4Addr::BROADCAST) => "the broadcast address",
        address if address.is_multicast() => "a multicast group",
        address if address.is_unspecified() => "no host's address",
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("{address} is {kind}: one host is probed")).hint("name that host"))
}

fn asked(options: &SynOptions) -> Asked {
    let SynOptions { probe, schedule, stop, recording, .. } = options;
    Asked {
        carrier: Some(Carrier::TcpSyn),
        window: schedule.window,
        schedule: rtt::schedule(schedule).or(Some(Schedule::Every { interval_ns: GAP })),
        pacing: schedule.pace,
        waiting: probe.wait.map(|word| word.0),
        request_bytes: probe.size,
        sizes: Sizes::Fixed,
        cpus: rtt::cpus(probe.cpu.as_ref()),
        stop: Stop { after_ns: stop.time, count: stop.count, settled: stop.until, ..Stop::default() },
        timeout_ns: stop.timeout,
        warm_up_ns: stop.warm_up,
        socket: socket(probe),
        stamps: rtt::stamps(recording),
        seed: recording.kept.seed,
        ..Asked::default()
    }
}

fn socket(options: &ProbeOptions) -> SocketOptions {
    SocketOptions {
        bind: options.bind,
        interface: options.interface.clone(),
        tos: options.tos,
        source_ports: options.source_port,
        ..SocketOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};
    use test_case::test_case;

    use super::*;

    fn plan(words: &str) -> Result<Plan, Failure> {
        let command = SynOptions::augment_args(clap::Command::new("syn"));
        let matches = command.try_get_matches_from(std::iter::once("syn").chain(words.split_whitespace()));
        let options = matches.and_then(|matches| SynOptions::from_arg_matches(&matches));
        Plan::of(options.map_err(|error| Failure::usage(error.to_string()))?)
    }

    fn method(plan: &Plan) -> Method {
        plan.inner.asked.resolve().unwrap()
    }

    #[test]
    fn nobody_says_more_than_whom_and_ten_a_second_leave() {
        let plan = plan("db1:80").unwrap();
        let method = method(&plan);
        assert_eq!(method.to_string(), "tcp-syn probe · open loop · every 100 ms · pace hybrid · block · 10 s");
        assert_eq!((method.traffic.request_bytes().0, method.warm_up_ns), (0, Nanos::ZERO));
        assert!(plan.check_rate(&method).is_ok());
    }

    #[test_case("db1:80", None; "the system's")]
    #[test_case("db1:80 --source-port 40000", Some("40000"); "one")]
    #[test_case("db1:80 --source-port 40000..40003", Some("40000..40003"); "a row")]
    fn ports_are_those_that_were_named(words: &str, ports: Option<&str>) {
        let method = method(&plan(words).unwrap());
        assert_eq!(method.socket.source_ports.map(|ports| ports.to_string()).as_deref(), ports);
    }

    #[test_case("db1:80 --every 1ms", true; "at the cap")]
    #[test_case("db1:80 --rate 1001/s", false; "beyond it")]
    #[test_case("db1:80 --every 1ms --burst 2", false; "in bursts")]
    #[test_case("db1:80 --poisson 2k/s", false; "at random")]
    #[test_case("db1:80 --rate 100k/s --force", true; "by force")]
    fn more_than_a_thousand_a_second_want_force(words: &str, fine: bool) {
        let plan = plan(words).unwrap();
        assert_eq!(plan.check_rate(&method(&plan)).is_ok(), fine);
    }

    #[test_case("db1", "no port"; "no port")]
    #[test_case("db1:80 --port 81", "two ports"; "two of them")]
    #[test_case("db1:80 --compare-port 80", "is the port that is probed"; "compared with itself")]
    #[test_case("db1:0", "has `0` for a port"; "port 0")]
    #[test_case("db1:65536", "has `65536` for a port"; "a port too large")]
    #[test_case("fd00::2", "no port"; "a bare address")]
    fn what_names_no_port_is_refused(words: &str, what: &str) {
        let failure = plan(words).unwrap_err();
        assert!(failure.told.what.contains(what), "{failure:?}");
    }

    #[test_case([224, 0, 0, 1], false; "a group")]
    #[test_case([255, 255, 255, 255], false; "everybody")]
    #[test_case([0, 0, 0, 0], false; "nobody")]
    #[test_case([10, 0, 0, 1], true; "a host")]
    fn one_host_is_probed(address: [u8; 4], fine: bool) {
        assert_eq!(check_target(address.into()).is_ok(), fine);
    }
}
