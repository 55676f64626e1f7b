//! `sonde dns`: the round trip of a DNS question, in the words of those who ask with dig. It measures as `sonde rtt dns://…` does.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use protocol::application;

use crate::command::application::{ApplicationOptions, Url, Whom};
use crate::command::result_options::ResultOptions;
use crate::command::rtt;
use crate::command::rtt::options::{
    CarrierOptions, PathOptions, ReachOptions, RecordingOptions, RttOptions, ScheduleOptions, ShapeOptions,
    StopOptions, WaitingOptions,
};
use crate::command::value::Far;
use crate::command::verify::VerifyOptions;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde dns example.org                       A, from the first nameserver of /etc/resolv.conf
  sonde dns example.org @10.0.0.53 AAAA -c 10 the server and the type, as dig has them
  sonde dns example.org @10.0.0.53:5353 --tcp over TCP, on connections that stay open
  sonde dns example.org @dns.example --tls    over TLS (port 853)
  sonde dns . NS --every 1s -t 60             the root's servers, once a second
";

/// File that names this host's resolvers (resolv.conf(5)).
const RESOLVERS: &str = "/etc/resolv.conf";
/// The part of it that is read, octets.
const LONGEST_FILE: u64 = 64 << 10;

/// The options of `sonde dns`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "words of a command line, each of which is there or not")]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct DnsOptions {
    /// The name to ask for, the server, and the type of record: `NAME @SERVER:PORT TYPE`
    ///
    /// Without @SERVER sonde asks the first nameserver of /etc/resolv.conf. Without TYPE it asks for A.
    #[arg(value_name = "NAME", required = true, num_args = 1..=3)]
    pub words: Vec<String>,

    /// Ask over TCP, on a connection that stays open
    #[arg(long, conflicts_with = "tls", help_heading = "DNS")]
    pub tcp: bool,
    /// Ask over TLS (port 853)
    #[arg(long, help_heading = "DNS")]
    pub tls: bool,
    /// TLS: a file with the certificates to trust, in PEM [default: those that this host trusts]
    #[arg(long, value_name = "FILE", requires = "tls", help_heading = "DNS")]
    pub ca: Option<PathBuf>,
    /// TLS: the name that the certificate must be for, where SERVER is another
    #[arg(long, value_name = "NAME", requires = "tls", help_heading = "DNS")]
    pub tls_name: Option<String>,
    /// TLS: do not verify the certificate: anybody may answer then, and the record says so
    #[arg(long, requires = "tls", conflicts_with = "ca", help_heading = "DNS")]
    pub insecure: bool,
    /// Over TCP and TLS: a new connection for every question
    #[arg(long, help_heading = "DNS")]
    pub crr: bool,
    /// Ask back to back, or more than 100 times a second
    #[arg(long, help_heading = "DNS")]
    pub force: bool,
    /// Use only IPv4
    #[arg(short = '4', conflicts_with = "ipv6", help_heading = "DNS")]
    pub ipv4: bool,
    /// Use only IPv6
    #[arg(short = '6', help_heading = "DNS")]
    pub ipv6: bool,

    /// Times of the questions
    #[command(flatten)]
    pub schedule: ScheduleOptions,

    /// End of the measurement
    #[command(flatten)]
    pub stop: StopOptions,

    /// Stamps, seed, samples
    #[command(flatten)]
    pub recording: RecordingOptions,

    /// Packets on the wire
    #[command(flatten)]
    pub verify: VerifyOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// Measures, and delivers what was found.
///
/// # Errors
/// No server, words that are no question, and as [`rtt::run`].
pub fn run(options: DnsOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let asked = Asked::of(&options.words)?;
    let server = match asked.server {
        Some(server) => server,
        None => resolver()?,
    };
    let whom = Whom { far: server, url: Some(url(&options, asked.name, asked.kind)?) };
    rtt::run(in_words_of_rtt(options, whom), command, output)
}

/// The question of some words.
#[derive(Debug, PartialEq, Eq)]
struct Asked<'a> {
    name: &'a str,
    kind: &'a str,
    server: Option<Far>,
}

impl<'a> Asked<'a> {
    /// The first word without `@` is the name, the second the type, as dig has it.
    fn of(words: &'a [String]) -> Result<Self, Failure> {
        let (servers, others): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('@'));
        let server = match servers[..] {
            [] => None,
            [server] => Some(self::server(&server[1..])?),
            _ => return Err(Failure::usage("two servers are named").hint("name one: sonde dns NAME @SERVER")),
        };
        let (name, kind) = match others[..] {
            [name] => (name, "A"),
            [name, kind] => (name, kind.as_str()),
            [] => return Err(Failure::usage("no name to ask for").hint("sonde dns example.org @SERVER")),
            _ => {
                return Err(Failure::usage("more than a name and a type are given")
                    .hint("sonde dns NAME [@SERVER] [TYPE]; a server begins with @"));
            }
        };
        if name.contains(['?', '#']) {
            return Err(Failure::usage(format!("`{name}` is not a name of DNS")).hint("sonde dns example.org"));
        }
        Ok(Self { name, kind, server })
    }
}

/// A server as it is written behind `@`: dig takes an IPv6 address without brackets.
fn server(text: &str) -> Result<Far, Failure> {
    text.parse().map_err(|why| Failure::usage(format!("@{text}: {why}")).hint("write @10.0.0.53, @[::1]:5353 or @NAME"))
}

fn url(options: &DnsOptions, name: &str, kind: &str) -> Result<Url, Failure> {
    let scheme = match (options.tcp, options.tls) {
        (_, true) => "dns+tls",
        (true, _) => "dns+tcp",
        _ if options.crr => {
            return Err(Failure::usage("--crr is for connections, and UDP has none").hint("add --tcp or --tls"));
        }
        _ => "dns",
    };
    let protocol =
        application::of(scheme).ok_or_else(|| Failure::usage(format!("sonde does not speak {scheme}://")))?;
    // A question for the root has an empty path: the type must stand beside a name all the same.
    Ok(Url { protocol, user: None, target: format!("/{name}?type={kind}") })
}

/// The first nameserver of this host.
fn resolver() -> Result<Far, Failure> {
    let wrong = |why: String| {
        Failure::usage(format!("{RESOLVERS}: {why}")).hint("name a server: sonde dns NAME @10.0.0.53").about(RESOLVERS)
    };
    let mut text = Vec::new();
    let file = File::open(RESOLVERS).map_err(|error| wrong(error.to_string()))?;
    file.take(LONGEST_FILE).read_to_end(&mut text).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8_lossy(&text);
    let address = first_nameserver(&text).ok_or_else(|| wrong("names no nameserver".to_owned()))?;
    address.parse().map_err(|why| wrong(format!("nameserver {address}: {why}")))
}

/// resolv.conf(5): keyword and value begin the line; `#` and `;` begin a comment.
fn first_nameserver(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some("nameserver")).then(|| words.next()).flatten()
    })
}

/// The same measurement as `sonde rtt` has it.
fn in_words_of_rtt(options: DnsOptions, whom: Whom) -> RttOptions {
    let DnsOptions {
        ca, tls_name, insecure, crr, force, ipv4, ipv6, schedule, stop, recording, verify, result, ..
    } = options;
    RttOptions {
        host: Some(whom),
        carrier: CarrierOptions { crr, ..CarrierOptions::default() },
        schedule,
        waiting: WaitingOptions::default(),
        shape: ShapeOptions::default(),
        stop,
        path: PathOptions { reach: ReachOptions { ipv4, ipv6, ..ReachOptions::default() }, ..PathOptions::default() },
        application: ApplicationOptions { force, ca, tls_name, insecure, ..ApplicationOptions::default() },
        recording,
        verify,
        write_out: None,
        result,
    }
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches;
    use test_case::test_case;

    use super::*;
    use crate::command::rtt::plan::Plan;

    fn plan(line: &str) -> Result<Plan, String> {
        let command = DnsOptions::augment_args(clap::Command::new("dns"));
        let matches = command.try_get_matches_from(std::iter::once("dns").chain(line.split_whitespace()));
        let options = matches.and_then(|matches| DnsOptions::from_arg_matches(&matches));
        let options = options.map_err(|error| error.to_string())?;
        let told = |failure: Failure| failure.told.what;
        let asked = Asked::of(&options.words).map_err(told)?;
        let far = asked.server.ok_or("no server")?;
        let whom = Whom { far, url: Some(url(&options, asked.name, asked.kind).map_err(told)?) };
        Plan::of(in_words_of_rtt(options, whom)).map_err(told)
    }

    #[test_case("example.org @10.0.0.53", "dns A example.org", 53; "the usual type")]
    #[test_case("@10.0.0.53 example.org aaaa", "dns AAAA example.org", 53; "words in any order")]
    #[test_case("example.org AAAA @[::1]:5353 --tcp", "dns+tcp AAAA example.org", 5353; "over TCP, another port")]
    #[test_case("example.org @::1 --tls --insecure", "dns+tls A example.org", 853; "over TLS")]
    #[test_case(". NS @10.0.0.53", "dns NS .", 53; "the root")]
    fn words_are_a_question(line: &str, asked: &str, port: u16) {
        let plan = plan(line).unwrap();
        let said = plan.asked.application.unwrap();
        assert_eq!((said.to_string().as_str(), plan.target.unwrap().port), (asked, port));
    }

    #[test_case("@10.0.0.53", "no name to ask for"; "no name")]
    #[test_case("a @b @c", "two servers"; "two servers")]
    #[test_case("a AAAA b", "more than a name and a type"; "a third word")]
    #[test_case("a @b XYZ", "XYZ"; "no type")]
    #[test_case("a?b @c", "not a name of DNS"; "a question mark")]
    #[test_case("a..b @c", "empty or longer"; "an empty label")]
    #[test_case("a @b --crr", "UDP has none"; "connections of UDP")]
    #[test_case("a @b --every 1ms", "more than 100 requests a second"; "too often")]
    #[test_case("a @b --ca x", "--tls"; "certificates without TLS")]
    fn what_is_no_question_is_said(line: &str, why: &str) {
        let told = plan(line).unwrap_err();
        assert!(told.contains(why), "{told}");
    }

    #[test_case("# nameserver 1.1.1.1\nsearch a\nnameserver 10.0.0.53\nnameserver 10.0.0.54\n", Some("10.0.0.53"); "the first")]
    #[test_case("nameserver\tfe80::1%eth0", Some("fe80::1%eth0"); "an address with its interface")]
    #[test_case("nameserver\n;nameserver 1.1.1.1\n nameservers x", None; "none")]
    fn the_first_nameserver_is_asked(text: &str, found: Option<&str>) {
        assert_eq!(first_nameserver(text), found);
    }
}
