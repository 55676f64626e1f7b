//! The words behind `redis-cli`. The original compares whole words: no letters together, no long names cut short.

use std::path::PathBuf;

use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::number;

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The server, as named.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The mode.
    pub mode: Mode,
    /// Length of an interval.
    pub interval: Nanos,
    /// The form of the figures, where one is asked for.
    pub form: Option<Form>,
    /// Terms of TLS; absent: in clear.
    pub tls: Option<Tls>,
    /// The record goes there; an option of ours.
    pub record: Option<PathBuf>,
}

/// A latency mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Figures of all samples.
    Latency,
    /// Figures of each interval.
    History,
    /// A spectrum of each interval.
    Distribution,
}

/// The form of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A sentence that is drawn again and again.
    Standard,
    /// Numbers between blanks.
    Raw,
    /// Numbers between commas.
    Csv,
}

/// Terms of TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Certificates to trust; absent: this host's.
    pub ca: Option<PathBuf>,
    /// The name that the certificate must be for.
    pub name: Option<String>,
    /// Nothing is verified.
    pub insecure: bool,
}

/// Redis's usual port.
const PORT: u16 = 6_379;
/// Longest interval: a day.
const LONGEST: f64 = 86_400.0;

/// The help, in our words.
pub const HELP: &str = "\
usage: redis-cli [options] --latency | --latency-history | --latency-dist
  -h HOST            server (default 127.0.0.1)
  -p PORT            its port (default 6379)
  -i SECONDS         length of an interval (default: --latency 1, --latency-history 15, --latency-dist 1)
  --latency          shortest, longest and mean time of PING, in ms
  --latency-history  the same for each interval
  --latency-dist     a spectrum for each interval
  --raw, --csv       numbers between blanks, between commas
  --no-raw           the sentence also where standard output is no terminal
  --tls              TLS; --cacert FILE, --sni NAME, --insecure
  --record FILE      the record of the run (sonde's own)
It is no client of Redis: other uses are refused.
";

const CLIENT: &str = "is no latency mode: sonde plays redis-cli for --latency, --latency-history and --latency-dist alone; \
                      call the original by its path";
const LOGIN: &str =
    "sonde logs in nowhere for a PING: a server with a password answers NOAUTH, which takes the same way";

/// Words of the original that are refused with a reason of their own.
const REFUSED: &[(&str, &str)] = &[
    ("-a", LOGIN),
    ("--pass", LOGIN),
    ("--user", LOGIN),
    ("--askpass", LOGIN),
    ("-u", "a URL may have a password: use -h, -p and --tls"),
    ("-n", "PING is the same in every database"),
    ("-s", "sonde measures over TCP and TLS, not over sockets of one host"),
    ("-c", "a PING is not redirected in a cluster"),
    ("-3", "the answer to PING is the same in RESP3"),
    ("--cert", "sonde shows no certificate of its own"),
    ("--key", "sonde shows no certificate of its own"),
    ("--cacertdir", "name one file: --cacert FILE"),
];

/// Reads the words.
///
/// # Errors
/// The text in place of a run: help, version, words of another use.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    let mut asked = Draft::default();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| refusal(word, "wants a value behind it"));
        match word {
            "-h" => asked.host = Some(value()?.to_owned()),
            "-p" => asked.port = Some(port(value()?)?),
            "-i" => asked.interval = Some(interval(value()?)?),
            "--latency" => asked.mode = asked.mode.or(Some(Mode::Latency)),
            "--latency-history" => asked.mode = Some(Mode::History),
            "--latency-dist" => asked.mode = Some(Mode::Distribution),
            "--raw" => asked.form = Some(Form::Raw),
            "--no-raw" => asked.form = Some(Form::Standard),
            "--csv" => asked.form = Some(Form::Csv),
            "--tls" => asked.secured = true,
            "--cacert" => asked.tls.ca = Some(value()?.into()),
            "--sni" => asked.tls.name = Some(value()?.to_owned()),
            "--insecure" => asked.tls.insecure = true,
            "--record" => asked.record = Some(value()?.into()),
            "--no-auth-warning" => {}
            "--help" => return Err(Answer::said(HELP, 0)),
            "-v" | "--version" => return Err(Answer::said(VERSION, 0)),
            other => {
                let why = REFUSED.iter().find(|(name, _)| *name == other).map_or(CLIENT, |(_, why)| why);
                return Err(refusal(other, why));
            }
        }
    }
    asked.finish()
}

const VERSION: &str = concat!("redis-cli 7.0.15 (sonde ", env!("CARGO_PKG_VERSION"), ", latency modes)\n");

#[derive(Debug, Default)]
struct Draft {
    host: Option<String>,
    port: Option<u16>,
    interval: Option<Nanos>,
    mode: Option<Mode>,
    form: Option<Form>,
    secured: bool,
    tls: Tls,
    record: Option<PathBuf>,
}

impl Draft {
    fn finish(self) -> Result<Asked, Answer> {
        let mode = self.mode.ok_or_else(|| refusal("no mode", CLIENT))?;
        if !self.secured && self.tls != Tls::default() {
            return Err(refusal("--cacert, --sni, --insecure", "are for TLS: add --tls"));
        }
        let usual = if mode == Mode::History { Nanos::secs(15) } else { Nanos::secs(1) };
        Ok(Asked {
            host: self.host.unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: self.port.unwrap_or(PORT),
            mode,
            interval: self.interval.unwrap_or(usual),
            form: self.form,
            tls: self.secured.then_some(self.tls),
            record: self.record,
        })
    }
}

fn refusal(what: &str, why: &str) -> Answer {
    Answer::refusal("redis-cli", what, why)
}

fn port(text: &str) -> Result<u16, Answer> {
    number::whole(text).filter(|port| *port > 0).ok_or_else(|| Answer::complaint("Invalid server port.\n"))
}

/// Seconds; 0 is the usual, as in the original.
fn interval(text: &str) -> Result<Nanos, Answer> {
    let seconds = number::decimal(text).filter(|seconds| (0.01..=LONGEST).contains(seconds));
    let seconds = seconds.ok_or_else(|| refusal("-i", "is a number of seconds from 0.01 to 86400"))?;
    Ok(Nanos((seconds * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn of(line: &str) -> Result<Asked, Answer> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_usual_server_and_intervals() {
        let asked = of("--latency").unwrap();
        assert_eq!((asked.host.as_str(), asked.port, asked.interval), ("127.0.0.1", 6_379, Nanos::secs(1)));
        assert_eq!(of("--latency-history").unwrap().interval, Nanos::secs(15));
        assert_eq!(of("--latency-dist -i 0.5").unwrap().interval, Nanos::millis(500));
        assert_eq!(of("--latency-history --latency").unwrap().mode, Mode::History);
    }

    #[test_case("--raw", Form::Raw)]
    #[test_case("--csv", Form::Csv)]
    #[test_case("--no-raw", Form::Standard)]
    fn forms(word: &str, form: Form) {
        assert_eq!(of(&format!("-p 7000 --latency {word}")).unwrap().form, Some(form));
    }

    #[test_case("get x", "is no latency mode"; "a command")]
    #[test_case("", "is no latency mode"; "no mode")]
    #[test_case("--bigkeys", "is no latency mode"; "another mode")]
    #[test_case("--latency -a word", "logs in nowhere"; "a password")]
    #[test_case("--latency -n 3", "every database"; "a database")]
    #[test_case("--latency -i x", "number of seconds"; "no number")]
    #[test_case("--latency -i 0", "number of seconds"; "no interval")]
    #[test_case("--latency -i 1e300", "number of seconds"; "an interval beyond all")]
    #[test_case("--latency -p 0", "Invalid server port"; "no port")]
    #[test_case("--latency -p 65536", "Invalid server port"; "a port too large")]
    #[test_case("--latency -h", "wants a value"; "no value")]
    #[test_case("--latency --insecure", "add --tls"; "terms without TLS")]
    fn all_else_is_refused_in_a_sentence(line: &str, why: &str) {
        let answer = of(line).unwrap_err();
        assert!(answer.status == 1 && answer.stdout.is_empty() && answer.stderr.contains(why), "{answer:?}");
    }
}
