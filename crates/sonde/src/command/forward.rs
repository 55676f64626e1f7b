//! `sonde forward`: a link that is worse than the machine's own, between two network namespaces.

use std::fmt::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use endpoint::forwarder::line::{Counts, Impairment, Protocol};
use endpoint::forwarder::{End, Forwarder, Settings};
use endpoint::stop::Stop;
use measure::unit::{Bytes, Nanos};

use crate::command::throughput::words::BitRate;
use crate::command::value;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::signal;

const EXAMPLES: &str = "\
Examples, as root:
  ip netns add a; ip netns add b                 two hosts
  sonde forward a b --delay 5ms                  adds 10 ms to the round trip, until Ctrl-C
  ip netns exec b sonde serve --open             the far one: it has 10.181.8.2
  ip netns exec a sonde throughput 10.181.8.2    the near one: it has 10.181.8.1
  sonde forward a b --delay 5ms --loss 1%        the same, and 1 % of packets are lost
  sonde forward a b --rate 50M --queue 64KB      a bottleneck with a queue of 10 ms
  sonde forward a b --delay 1ms --only icmp      delays only ICMP
";

/// Arguments of `sonde forward`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ForwardOptions {
    /// Network namespace of the first end: a name of `ip netns`, a file like /proc/PID/ns/net, or - for the current one
    #[arg(value_name = "NEAR")]
    near: String,
    /// Network namespace of the second end
    #[arg(value_name = "FAR")]
    far: String,
    /// Addresses of the two ends
    #[arg(long, value_name = "NEAR,FAR", default_value = "10.181.8.1,10.181.8.2", value_parser = addresses)]
    addresses: [Ipv4Addr; 2],
    /// Name of the interfaces: NAME0 at the first end, NAME1 at the second
    #[arg(long, value_name = "NAME", default_value = "sonde", value_parser = interface)]
    interface: String,
    /// Delay per direction, as in 5ms
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = value::time_or_none)]
    delay: Nanos,
    /// Random variation of the delay, up to TIME to either side, uniform; packets are reordered
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = value::time_or_none)]
    jitter: Nanos,
    /// Loss rate, as in 1%
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    loss: Share,
    /// Rate of duplicate packets
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    duplicate: Share,
    /// Rate of packets without the delay
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    reorder: Share,
    /// Bits of IP per second of the link, as in 50M [default: no limit]
    #[arg(long, value_name = "BITS")]
    rate: Option<BitRate>,
    /// Queue of the link in bytes; further packets are dropped; 0: no queue
    #[arg(long, value_name = "BYTES", default_value = "128KB", value_parser = value::size, requires = "rate")]
    queue: Bytes,
    /// Affect only packets of one protocol: icmp, tcp or udp
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol())]
    only: Option<Protocol>,
    /// Affect only packets from NEAR to FAR
    #[arg(long)]
    one_way: bool,
    /// Seed of the random choices, to repeat them
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Print the counts as one JSON document
    #[arg(short = 'J', long)]
    json: bool,
}

/// A share of packets, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share(f64);

fn percent(text: &str) -> Result<Share, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>();
    let found = number.ok().filter(|percent| (0.0..=100.0).contains(percent));
    found
        .map(|percent| Share(percent / 100.0))
        .ok_or_else(|| "is not a share: write a percentage, as in 0.5%".to_owned())
}

fn protocol() -> impl TypedValueParser<Value = Protocol> {
    PossibleValuesParser::new(["icmp", "tcp", "udp"]).map(|name| match name.as_str() {
        "icmp" => Protocol::Icmp,
        "tcp" => Protocol::Tcp,
        _ => Protocol::Udp,
    })
}

fn addresses(text: &str) -> Result<[Ipv4Addr; 2], String> {
    let fault = || "is not a pair of addresses: write two of IPv4, as in 10.0.0.1,10.0.0.2".to_owned();
    let (near, far) = text.split_once(',').ok_or_else(fault)?;
    let address = |text: &str| text.trim().parse::<Ipv4Addr>().map_err(|_| fault());
    let both = [address(near)?, address(far)?];
    if both[0] == both[1] { Err("names one address twice".to_owned()) } else { Ok(both) }
}

fn interface(text: &str) -> Result<String, String> {
    let fits = (1..=14).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    if fits { Ok(text.to_owned()) } else { Err("is not a name of an interface: 1 to 14 letters and digits".to_owned()) }
}

/// Forwards until a signal ends it, and tells what became of the packets.
///
/// # Errors
/// A namespace that is not there, no permission to make an interface.
pub fn run(options: &ForwardOptions, output: &Output) -> Result<Exit, Failure> {
    let stop = Stop::default();
    let asked = stop.clone();
    signal::watch(move || asked.request(), || {})
        .map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))?;
    let forwarder = Forwarder::open(&settings(options))?;
    let [near, far] = options.addresses;
    output.note(&format!("sonde forward: forwarding between {near} and {far}\n"));
    let counts = forwarder.run(&stop)?;
    output.result(&if options.json { document(&counts) } else { table(&counts) });
    Ok(Exit::Done)
}

fn settings(options: &ForwardOptions) -> Settings {
    let [near, far] = options.addresses;
    let end = |namespace: &str, number: u8, address: Ipv4Addr| End {
        namespace: file_of(namespace),
        interface: format!("{}{number}", options.interface),
        address,
    };
    let there = Impairment {
        delay: options.delay,
        jitter: options.jitter,
        loss: options.loss.0,
        duplicate: options.duplicate.0,
        reorder: options.reorder.0,
        bits_per_s: options.rate.map(|rate| rate.0),
        queue: options.queue,
        only: options.only,
    };
    let back = if options.one_way { Impairment::default() } else { there };
    Settings {
        ends: [end(&options.near, 0, near), end(&options.far, 1, far)],
        impairments: [there, back],
        seed: options.seed,
    }
}

/// The file that stands for a namespace; `None`: the present one.
fn file_of(namespace: &str) -> Option<PathBuf> {
    match namespace {
        "-" => None,
        path if path.contains('/') => Some(path.into()),
        name => Some(Path::new("/run/netns").join(name)),
    }
}

fn document([there, back]: &[Counts; 2]) -> String {
    let document = serde_json::json!({ "format": "sonde-forward", "version": 1, "there": there, "back": back });
    format!("{document:#}\n")
}

fn table([there, back]: &[Counts; 2]) -> String {
    let rows = [
        ("taken", there.taken, back.taken),
        ("delivered", there.delivered, back.delivered),
        ("lost", there.lost, back.lost),
        ("duplicated", there.duplicated, back.duplicated),
        ("reordered", there.reordered, back.reordered),
        ("dropped, queue full", there.dropped, back.dropped),
        ("refused", there.refused, back.refused),
        ("still on the way", there.held, back.held),
    ];
    let mut text = format!("{:<20} {:>14} {:>14}\n", "packets", "near to far", "far to near");
    for (name, there, back) in rows {
        let _ = writeln!(text, "{name:<20} {there:>14} {back:>14}");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use test_case::test_case;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: ForwardOptions,
    }

    fn parsed(words: &str) -> Result<Settings, String> {
        let line = Line::try_parse_from(["forward"].into_iter().chain(words.split_whitespace()));
        line.map(|line| settings(&line.options)).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_typed_is_what_is_done_both_ways() {
        let settings = parsed("a - --delay 5ms --loss 0.5% --rate 50M --queue 64KB --seed 3").unwrap();
        let expected = Impairment {
            delay: Nanos::millis(5),
            loss: 0.005,
            bits_per_s: Some(50_000_000),
            queue: Bytes(64_000),
            ..Impairment::default()
        };
        assert_eq!((settings.impairments, settings.seed), ([expected; 2], 3));
        assert_eq!(settings.ends[0].namespace, Some("/run/netns/a".into()));
        assert_eq!((settings.ends[1].namespace.as_ref(), &*settings.ends[1].interface), (None, "sonde1"));
        assert_eq!(settings.ends.each_ref().map(|end| end.address.octets()[3]), [1, 2]);
    }

    #[test]
    fn one_way_leaves_the_other_alone() {
        let settings = parsed("/proc/7/ns/net b --jitter 1ms --delay 2ms --one-way").unwrap();
        assert_eq!(settings.impairments[0].jitter, Nanos::millis(1));
        assert_eq!(settings.impairments[1], Impairment::default());
        assert_eq!(settings.ends[0].namespace, Some("/proc/7/ns/net".into()));
    }

    #[test]
    fn one_protocol_alone_may_be_meant() {
        let settings = parsed("a b --delay 1ms --only icmp").unwrap();
        assert!(settings.impairments.iter().all(|impairment| impairment.only == Some(Protocol::Icmp)));
        assert!(parsed("a b --delay 1ms --only sctp").is_err());
    }

    #[test_case("a b --loss 101%"; "more than all")]
    #[test_case("a b --loss -1%"; "less than none")]
    #[test_case("a b --loss NaN"; "no number")]
    #[test_case("a b --queue 1KB"; "a queue without a rate")]
    #[test_case("a b --addresses 10.0.0.1"; "one address")]
    #[test_case("a b --addresses 10.0.0.1,10.0.0.1"; "one address twice")]
    #[test_case("a b --interface fifteen-letters"; "a long name")]
    #[test_case("a"; "one end")]
    fn what_makes_no_sense_is_refused(words: &str) {
        assert!(parsed(words).is_err());
    }
}
