//! Plan of `sonde serve`, from its options: no I/O yet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use endpoint::peer::stamp::reflector::Pretence;
use endpoint::reflector::Behaviour;
use endpoint::reflector::budget::Bounds;
use endpoint::reflector::permit::Permit;
use endpoint::reflector::sessions::Together;
use endpoint::sandbox::{Capability, Needs};
use endpoint::serve::door::Door;
use endpoint::serve::gate::Gate;
use measure::method::Waiting;
use protocol::native::limits::Limits;

use crate::command::key_file::KeyFile;
use crate::command::peer::{Manner, ServerOptions};
use crate::command::serve::options::{AuditFormat, DoorOptions, LimitOptions, ServeOptions, TestOptions};
use crate::failure::Failure;

/// A reflector to be.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "one per switch of the command line")]
pub struct Plan {
    /// Addresses at which it listens.
    pub listen: Vec<SocketAddr>,
    /// Address at which it listens on a machine without IPv6; absent where the addresses were given by name.
    pub without_ipv6: Option<SocketAddr>,
    /// The servers of other tools' protocols beside it.
    pub beside: ServerOptions,
    /// True where the iperf 2 server of these sends datagrams to whoever asks by one.
    pub iperf_udp_reverse: bool,
    /// The session-reflector of STAMP beside it; absent: none.
    pub stamp: Option<StampPlan>,
    /// Port of the irtt server beside it; absent: none.
    pub irtt: Option<u16>,
    /// The file of its keys.
    pub key: Option<KeyFile>,
    /// The file of the server's identity; absent: none.
    pub identity: Option<KeyFile>,
    /// Networks whose hosts are answered; none: all.
    pub gate: Gate,
    /// True where clients are told of this host.
    pub facts: bool,
    /// Format of the audit; absent: there is none.
    pub audit: Option<AuditFormat>,
    /// File that its counters are written to when they are asked for; absent: none.
    pub counters: Option<PathBuf>,
    /// True where anybody is answered without a key.
    pub open: bool,
    /// True where it gives up the rights that it needs no more once it listens.
    pub sandbox: bool,
    /// Wait mode where a client does not say.
    pub waiting: Waiting,
    /// CPUs of its threads where a client does not say; empty: the scheduler decides.
    pub cpus: Vec<u32>,
    /// Limits.
    pub limits: Limits,
    /// The same of all together.
    pub together: Together,
    /// Behaviour for tests.
    pub behaviour: Behaviour,
}

/// A session-reflector to be.
#[derive(Clone, Debug, PartialEq)]
pub struct StampPlan {
    /// Its port.
    pub port: u16,
    /// The file of its key; absent: packets are not authenticated.
    pub key: Option<KeyFile>,
    /// True where it numbers its answers.
    pub counts: bool,
    /// True where short packets of TWAMP Light have longer answers.
    pub lengthens: bool,
    /// Pretended fault of its clock.
    pub clock: Pretence,
}

impl Plan {
    /// The plan of these options.
    ///
    /// # Errors
    /// An address that others can reach, with neither a key nor `--open`.
    pub fn of(options: ServeOptions) -> Result<Self, Failure> {
        let (listen, without_ipv6) = addresses(&options.door)?;
        let stamp = stamp(&options.door, &options.test)?;
        let DoorOptions {
            key,
            identity,
            insecure_key_file,
            allow,
            no_facts,
            audit,
            counters,
            open,
            no_sandbox,
            beside,
            iperf_udp_reverse,
            irtt,
            ..
        } = options.door;
        Ok(Self {
            listen,
            without_ipv6,
            beside,
            iperf_udp_reverse,
            stamp,
            irtt,
            key: key.map(|path| KeyFile::new(path, insecure_key_file)),
            identity: identity.map(|path| KeyFile::new(path, insecure_key_file)),
            gate: Gate(allow),
            facts: !no_facts,
            audit,
            counters,
            open,
            sandbox: !no_sandbox,
            waiting: options.manner.wait.map_or(Waiting::Block, |word| word.0),
            cpus: options.manner.cpu.unwrap_or_default().0,
            limits: limits(&options.limits),
            together: together(&options.limits),
            behaviour: behaviour(&options.test),
        })
    }
}

impl Plan {
    /// Manner of the servers beside.
    pub fn manner(&self, door: Door) -> Manner {
        Manner { door, sends_datagrams: self.iperf_udp_reverse }
    }

    /// The permit of whoever comes without a key, and of a key of which nothing else is said.
    pub fn usual(&self) -> Permit {
        Permit { facts: self.facts, ..Permit::within(self.limits) }
    }

    /// Rights and files that it still needs once it listens.
    pub fn needs(&self) -> Needs {
        let beside: Vec<u16> = self.beside.chosen().map(|(_, port)| port).collect();
        let stamp = self.stamp.as_ref().map(|stamp| stamp.port);
        let ports =
            self.listen.iter().map(SocketAddr::port).chain(beside.iter().copied()).chain(stamp).chain(self.irtt);
        // A client's UDP messages have a socket of their own on the same port.
        let low = ports.filter(|port| (1..1024).contains(port)).map(|_| Capability::NetBindService).next();
        let polls = matches!(self.waiting, Waiting::BusyPoll { .. }).then_some(Capability::NetAdmin);
        let of_another = self.key.as_ref().filter(|key| key.is_of_another()).map(|_| Capability::DacReadSearch);
        Needs {
            read: self.key.as_ref().map(KeyFile::folders).unwrap_or_default(),
            // The counters are written beside their file, and put into its place.
            write: self.counters.as_deref().map(folder).into_iter().collect(),
            connections: !beside.is_empty(),
            capabilities: low.into_iter().chain(polls).chain(of_another).collect(),
        }
    }
}

/// The folder that a file is in.
fn folder(file: &Path) -> PathBuf {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new(".")).to_owned()
}

fn addresses(door: &DoorOptions) -> Result<(Vec<SocketAddr>, Option<SocketAddr>), Failure> {
    let protected = door.key.is_some() || door.open;
    let at = |address: IpAddr| SocketAddr::new(address, door.port);
    if door.listen.is_empty() {
        let local = at(Ipv4Addr::LOCALHOST.into());
        if protected {
            // The wildcard of IPv6 takes IPv4 in as well.
            return Ok((vec![at(Ipv6Addr::UNSPECIFIED.into())], Some(at(Ipv4Addr::UNSPECIFIED.into()))));
        }
        return Ok((vec![local, at(Ipv6Addr::LOCALHOST.into())], Some(local)));
    }
    if let Some(exposed) = door.listen.iter().find(|listen| !protected && !listen.address.is_loopback()) {
        let what = format!("{}: would answer whoever reaches it, without a key", exposed.address);
        return Err(Failure::usage(what)
            .hint("give --key FILE (made by `sonde key FILE`), or --open on a network that you trust"));
    }
    let asked = door.listen.iter().map(|listen| SocketAddr::new(listen.address, listen.port.unwrap_or(door.port)));
    Ok((asked.collect(), None))
}

fn stamp(door: &DoorOptions, test: &TestOptions) -> Result<Option<StampPlan>, Failure> {
    if !door.stamp {
        return Ok(None);
    }
    if door.key.is_some() && door.stamp_key.is_none() {
        return Err(Failure::usage(
            "--stamp without --stamp-key would answer whoever reaches it, beside a reflector with a key",
        )
        .hint("give --stamp-key FILE, which may be the file of --key; or --open on a network that you trust"));
    }
    let clock = Pretence {
        offset_ns: test.test_clock_offset.unwrap_or(0),
        ppm: test.test_clock_ppm.unwrap_or(0.0),
        ..Pretence::default()
    };
    let port = door.stamp_port.unwrap_or(protocol::stamp::PORT);
    let key = door.stamp_key.clone().map(|path| KeyFile::new(path, door.insecure_key_file));
    Ok(Some(StampPlan { port, key, counts: !door.stamp_stateless, lengthens: door.twamp_light, clock }))
}

fn limits(options: &LimitOptions) -> Limits {
    let default = Limits::default();
    Limits {
        sessions: options.max_sessions.unwrap_or(default.sessions),
        flows_per_session: options.max_connections.unwrap_or(default.flows_per_session),
        rate_per_flow: options.max_rate.or(default.rate_per_flow),
        duration_ns: options.max_duration.unwrap_or(default.duration_ns),
        idle_ns: options.idle_timeout.unwrap_or(default.idle_ns),
        memory_bytes: options.max_memory.unwrap_or(default.memory_bytes),
        largest_request: options.max_size.unwrap_or(default.largest_request),
        largest_response: options.max_size.unwrap_or(default.largest_response),
    }
}

fn together(options: &LimitOptions) -> Together {
    let default = Together::default();
    Together {
        memory: options.max_total_memory.unwrap_or(default.memory),
        spinning: options.max_spin.unwrap_or(default.spinning),
        pinned: options.max_pin,
        bounds: Bounds {
            octets: options.max_total_bandwidth.and_then(|rate| NonZeroU64::new(rate.0 / 8)),
            messages: options.max_total_rate,
        },
    }
}

fn behaviour(options: &TestOptions) -> Behaviour {
    Behaviour { hold: options.hold, stall: options.stall.zip(options.stall_every), ..Behaviour::default() }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use measure::unit::{Bytes, Nanos, Rate};
    use test_case::test_case;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: ServeOptions,
    }

    fn plan(line: &str) -> Result<Plan, Failure> {
        Plan::of(Line::try_parse_from(std::iter::once("serve").chain(line.split_whitespace())).unwrap().options)
    }

    #[test_case("", &["127.0.0.1:7663", "[::1]:7663"]; "loopback alone")]
    #[test_case("--open", &["[::]:7663"]; "open to all")]
    #[test_case("--key k --port 80", &["[::]:80"]; "with a key, another port")]
    #[test_case("--listen 127.0.0.2 --listen [::1]:0", &["127.0.0.2:7663", "[::1]:0"]; "loopback as asked")]
    #[test_case("--open --listen 10.0.0.2", &["10.0.0.2:7663"]; "one address")]
    fn it_listens_where_it_is_protected(line: &str, addresses: &[&str]) {
        let addresses: Vec<SocketAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
        assert_eq!(plan(line).unwrap().listen, addresses);
    }

    #[test_case("", Some("127.0.0.1:7663"); "loopback alone")]
    #[test_case("--open", Some("0.0.0.0:7663"); "open to all")]
    #[test_case("--listen ::1", None; "an address by name")]
    fn without_ipv6_it_listens_where_it_can(line: &str, address: Option<&str>) {
        assert_eq!(plan(line).unwrap().without_ipv6, address.map(|a| a.parse().unwrap()));
    }

    #[test_case("", &[]; "none unasked")]
    #[test_case("--netperf", &[("netperf", 12_865)]; "on its usual port")]
    #[test_case("--open --iperf 5002 --netperf", &[("netperf", 12_865), ("iperf", 5_002)]; "on another, beside a netserver")]
    #[test_case("--iperf3 --sockperf 11112", &[("sockperf", 11_112), ("iperf3", 5_201)]; "two others")]
    fn servers_of_others_go_beside_it(line: &str, expected: &[(&str, u16)]) {
        let beside = plan(line).unwrap().beside;
        assert_eq!(beside.chosen().map(|(server, port)| (server.option, port)).collect::<Vec<_>>(), expected);
    }

    #[test_case("--stamp", Some((862, true)); "on its usual port")]
    #[test_case("--open --stamp --stamp-port 8620 --stamp-stateless", Some((8_620, false)); "on another, repeating numbers")]
    #[test_case("--key k --stamp --stamp-key s", Some((862, true)); "with a key, beside one with a key")]
    #[test_case("", None; "none unasked")]
    fn a_session_reflector_goes_beside_it(line: &str, expected: Option<(u16, bool)>) {
        let stamp = plan(line).unwrap().stamp;
        assert_eq!(stamp.map(|stamp| (stamp.port, stamp.counts)), expected);
    }

    #[test_case("--irtt", Some(2_112); "on its usual port")]
    #[test_case("--open --irtt 5", Some(5); "on another")]
    #[test_case("--open", None; "none unasked")]
    fn an_irtt_server_goes_beside_it(line: &str, expected: Option<u16>) {
        assert_eq!(plan(line).unwrap().irtt, expected);
    }

    #[test]
    fn a_session_reflector_does_not_answer_without_a_key_what_another_wants_one_for() {
        let failure = plan("--key k --stamp").unwrap_err();
        assert!(failure.told.hint.unwrap().contains("--stamp-key"));
    }

    #[test]
    fn a_clock_may_be_made_wrong_by_a_known_time() {
        let line = "--stamp --test-clock-offset -2ms --test-clock-ppm -12.5";
        let clock = plan(line).unwrap().stamp.unwrap().clock;
        assert_eq!(clock, Pretence { offset_ns: -2_000_000, ppm: -12.5, since: 0 });
    }

    #[test_case("--stamp --test-clock-ppm 2000"; "a drift that no clock has")]
    #[test_case("--stamp --test-clock-offset --2ms"; "two signs")]
    #[test_case("--stamp-port 8620"; "a port for nothing")]
    #[test_case("--stamp-key s"; "a key for nothing")]
    #[test_case("--twamp-light"; "short packets of nothing")]
    #[test_case("--stamp --stamp-key k --twamp-light"; "short packets with a key")]
    #[test_case("--stamp --stamp-port 65536"; "no port")]
    fn what_makes_no_sense_of_a_session_reflector_is_refused(line: &str) {
        assert!(Line::try_parse_from(std::iter::once("serve").chain(line.split_whitespace())).is_err());
    }

    #[test_case("--netperf"; "netperf")]
    #[test_case("--sockperf"; "sockperf")]
    #[test_case("--iperf"; "iperf")]
    #[test_case("--iperf3"; "iperf3")]
    #[test_case("--irtt"; "irtt")]
    fn others_protocols_know_no_key(option: &str) {
        assert!(Line::try_parse_from(["serve", "--key", "k", option]).is_err());
    }

    #[test_case("--listen 10.0.0.2"; "an address of a network")]
    #[test_case("--listen 127.0.0.1 --listen ::"; "every address, among others")]
    fn it_does_not_listen_unprotected(line: &str) {
        let failure = plan(line).unwrap_err();
        assert!(failure.told.hint.unwrap().contains("--key"));
    }

    #[test]
    fn each_option_arrives_where_it_belongs() {
        let plan = plan(
            "--wait spin --cpu 1-2 --max-sessions 3 --max-connections 4 --max-rate 10k/s --max-duration 60 \
             --idle-timeout 5s --max-memory 1MiB --max-size 1kB --hold 1ms --stall 100ms --stall-every 1000",
        )
        .unwrap();
        let limits = Limits {
            sessions: 3,
            flows_per_session: 4,
            rate_per_flow: Rate::per_second(10_000),
            duration_ns: Nanos::secs(60),
            idle_ns: Nanos::secs(5),
            memory_bytes: Bytes(1 << 20),
            largest_request: Bytes(1_000),
            largest_response: Bytes(1_000),
        };
        assert_eq!((plan.waiting, plan.cpus, plan.limits), (Waiting::Spin, vec![1, 2], limits));
        let slow = Behaviour { hold: Some(Nanos::millis(1)), stall: Some((Nanos::millis(100), 1_000)), rate: None };
        assert_eq!(plan.behaviour, slow);
    }

    #[test_case("--stall 1ms"; "stall without how often")]
    #[test_case("--stall-every 10"; "how often without stall")]
    #[test_case("--open --key k"; "open and a key")]
    #[test_case("--max-sessions 0"; "no session")]
    #[test_case("--idle-timeout 5"; "bare timeout")]
    fn what_makes_no_sense_is_refused(line: &str) {
        assert!(Line::try_parse_from(std::iter::once("serve").chain(line.split_whitespace())).is_err());
    }

    /// The help repeats defaults as text; they are those of the reflector.
    #[test]
    fn the_help_names_the_limits_in_force() {
        let limits = Limits::default();
        let expected = [
            ("max_sessions", limits.sessions.to_string()),
            ("max_connections", limits.flows_per_session.to_string()),
            ("max_duration", format!("{}h", limits.duration_ns.0 / 3_600_000_000_000)),
            ("idle_timeout", limits.idle_ns.to_string().replace(' ', "")),
            ("max_memory", limits.memory_bytes.to_string().replace(' ', "")),
            ("max_size", limits.largest_request.to_string().replace(' ', "")),
        ];
        let command = Line::command();
        for (id, default) in expected {
            let argument = command.get_arguments().find(|a| a.get_id() == id).unwrap();
            let help = argument.get_help().unwrap().to_string();
            assert!(help.ends_with(&format!("[default: {default}]")), "{id}: {help}");
        }
        assert_eq!((limits.largest_request, limits.rate_per_flow), (limits.largest_response, None));
    }
}
