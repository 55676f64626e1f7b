//! The words behind `mtr`, by the table of its version 0.95.

use std::net::IpAddr;

use endpoint::name::Family;
use measure::outcome::hops::Probing;
use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::getopt::{Called, Entry, GNU, Item, Scan, flag, valued};
use crate::persona::mtr::output::Field;
use crate::persona::number;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The hosts, as typed.
    pub hosts: Vec<String>,
    /// `-4`, `-6`.
    pub family: Family,
    /// `-u`, `-T`; else ICMP.
    pub protocol: Probing,
    /// `-P`.
    pub port: Option<u16>,
    /// `-r`, `-w`, `-j`, `-x`, `-C`, `-t`.
    pub form: Form,
    /// `-c`; absent: ten of a report, and a view without end.
    pub rounds: Option<u32>,
    /// `-i`.
    pub interval: Nanos,
    /// `-G`.
    pub grace: Nanos,
    /// `-Z`.
    pub timeout: Nanos,
    /// `-f`.
    pub first: u8,
    /// `-m`.
    pub last: u8,
    /// `-U`.
    pub silent: u8,
    /// `-s`.
    pub size: u32,
    /// `-Q`.
    pub tos: Option<u8>,
    /// `-I`.
    pub interface: Option<String>,
    /// `-a`.
    pub source: Option<IpAddr>,
    /// `-n`.
    pub numeric: bool,
    /// `-b`.
    pub both: bool,
    /// `-o`.
    pub fields: Vec<Field>,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Lines, in 33 columns for names.
    Text,
    /// Lines, as wide as names are.
    Wide,
    /// JSON.
    Json,
    /// XML.
    Xml,
    /// Comma-separated values.
    Csv,
    /// A view that goes along.
    Live,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    V4,
    V6,
    Udp,
    Tcp,
    Interface,
    Address,
    First,
    Most,
    Silent,
    Port,
    Size,
    Interval,
    Grace,
    Tos,
    Timeout,
    Form(Form),
    Cycles,
    Numeric,
    Both,
    Order,
    Help,
    Version,
    Refused,
}

const ENTRIES: &[Entry<Key>] = &[
    flag(Key::V4, "4", &[], (), "use IPv4 only"),
    flag(Key::V6, "6", &[], (), "use IPv6 only"),
    flag(Key::Udp, "u", &["udp"], (), "probe by UDP"),
    flag(Key::Tcp, "T", &["tcp"], (), "probe by TCP (default port 80)"),
    valued(Key::Interface, "I", &["interface"], (), "NAME  send by this interface"),
    valued(Key::Address, "a", &["address"], (), "ADDRESS  source address"),
    valued(Key::First, "f", &["first-ttl"], (), "N  the first hop (default 1)"),
    valued(Key::Most, "m", &["max-ttl"], (), "N  the last hop (default 30)"),
    valued(Key::Silent, "U", &["max-unknown"], (), "N  silent hops in a row that end a round (default 5)"),
    valued(Key::Port, "P", &["port"], (), "PORT  port of TCP and UDP"),
    valued(Key::Size, "s", &["psize"], (), "OCTETS  length of a packet (default 64)"),
    valued(Key::Interval, "i", &["interval"], (), "SECONDS  from one round to the next (default 1)"),
    valued(Key::Grace, "G", &["gracetime"], (), "SECONDS  wait behind the last round (default 5)"),
    valued(Key::Tos, "Q", &["tos"], (), "N  type of service"),
    valued(Key::Timeout, "Z", &["timeout"], (), "SECONDS  longest wait for an answer (default 10)"),
    flag(Key::Form(Form::Text), "r", &["report"], (), "report as text"),
    flag(Key::Form(Form::Wide), "w", &["report-wide"], (), "report as text, with whole names"),
    valued(Key::Cycles, "c", &["report-cycles"], (), "N  rounds (default 10; of the live view until q)"),
    flag(Key::Form(Form::Json), "j", &["json"], (), "report as JSON"),
    flag(Key::Form(Form::Xml), "x", &["xml"], (), "report as XML"),
    flag(Key::Form(Form::Csv), "C", &["csv"], (), "report as comma-separated values"),
    flag(Key::Numeric, "n", &["no-dns"], (), "show addresses alone"),
    flag(Key::Both, "b", &["show-ips"], (), "show names and addresses"),
    valued(Key::Order, "o", &["order"], (), "FIELDS  fields of a report, of LDRSNBAWVGJMXI (default LS NABWV)"),
    flag(Key::Help, "h", &["help"], (), "show this"),
    flag(Key::Version, "v", &["version"], (), "show the version"),
    flag(Key::Form(Form::Live), "t", &["curses"], (), "live view, as without an option of a report"),
    flag(Key::Refused, "lpegzS", &["raw", "split", "mpls", "gtk", "aslookup", "sctp"], (), ""),
    valued(Key::Refused, "FLBMy", &["filename", "localport", "bitpattern", "mark", "ipinfo", "displaymode"], (), ""),
];

/// The help, in our words.
pub fn help() -> String {
    let shown = ENTRIES.iter().filter(|entry| entry.key != Key::Refused);
    let options: String = shown.map(|entry| entry.line(1, 32)).collect();
    format!("\nUsage:\n mtr [options] hostname\n\n{options}")
}

/// Reads the words.
///
/// # Errors
/// The text in place of a run: help, version, words that do not fit.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    let mut asked = usual();
    let mut form = None;
    for item in Scan::new(words, ENTRIES, GNU) {
        match item.map_err(|fault| Answer::complaint(format!("mtr: {}\n{}", fault.glibc(), help())))? {
            Item::Operand(word) => asked.hosts.push(word),
            Item::Option(entry, called, value) => {
                if let Key::Form(wanted) = entry.key {
                    form = Some(wanted);
                } else {
                    take(&mut asked, entry.key, called, &value.unwrap_or_default())?;
                }
            }
        }
    }
    asked.form = form.unwrap_or(Form::Live);
    if asked.hosts.is_empty() {
        asked.hosts.push("localhost".to_owned());
    }
    if asked.first > asked.last {
        asked.first = asked.last;
    }
    Ok(asked)
}

fn usual() -> Asked {
    Asked {
        hosts: Vec::new(),
        family: Family::Any,
        protocol: Probing::Icmp,
        port: None,
        form: Form::Live,
        rounds: None,
        interval: Nanos::secs(1),
        grace: Nanos::secs(5),
        timeout: Nanos::secs(10),
        first: 1,
        last: 30,
        silent: 5,
        size: 64,
        tos: None,
        interface: None,
        source: None,
        numeric: false,
        both: false,
        fields: Field::usual(),
    }
}

fn take(asked: &mut Asked, key: Key, called: Called, text: &str) -> Result<(), Answer> {
    let name = match called {
        Called::Letter(letter) => format!("-{letter}"),
        Called::Name(name) => format!("--{name}"),
    };
    let wrong = |what: &str| complaint(&format!("{name} {text}: is not {what}"));
    let protocol = |protocol| match asked.protocol {
        Probing::Icmp => Ok(protocol),
        other if other == protocol => Ok(protocol),
        _ => Err(complaint("-u , -T and -S are mutually exclusive")),
    };
    let ttl = || number::whole(text).filter(|ttl| *ttl > 0).ok_or_else(|| wrong("a TTL from 1 to 255"));
    let time = |least| seconds(text, least).ok_or_else(|| wrong("a time in seconds"));
    match key {
        Key::V4 => asked.family = Family::V4,
        Key::V6 => asked.family = Family::V6,
        Key::Udp => asked.protocol = protocol(Probing::Udp)?,
        Key::Tcp => asked.protocol = protocol(Probing::Tcp)?,
        Key::Interface => asked.interface = Some(text.to_owned()),
        Key::Address => asked.source = Some(text.parse().map_err(|_| wrong("an address"))?),
        Key::First => asked.first = ttl()?,
        Key::Most => asked.last = ttl()?,
        Key::Silent => asked.silent = ttl()?,
        Key::Port => asked.port = Some(number::whole(text).filter(|port| *port > 0).ok_or_else(|| wrong("a port"))?),
        Key::Size => {
            let size = number::whole(text).filter(|size| (36..=4_470).contains(size));
            asked.size = size.ok_or_else(|| wrong("a length from 36 to 4470"))?;
        }
        Key::Interval => asked.interval = time(0.01)?,
        Key::Grace => asked.grace = time(0.0)?,
        Key::Timeout => asked.timeout = time(0.01)?,
        Key::Tos => asked.tos = Some(number::octet(text).ok_or_else(|| wrong("an octet"))?),
        Key::Cycles => {
            let rounds = number::whole(text).filter(|rounds| *rounds > 0);
            asked.rounds = Some(rounds.ok_or_else(|| wrong("a number of rounds"))?);
        }
        Key::Numeric => asked.numeric = true,
        Key::Both => asked.both = true,
        Key::Order => {
            let fields: Option<Vec<Field>> = text.chars().filter(|letter| *letter != '_').map(Field::of).collect();
            asked.fields = fields.ok_or_else(|| wrong("a list of fields"))?;
        }
        Key::Help => return Err(Answer::said(help(), 0)),
        Key::Version => return Err(Answer::said(concat!("mtr 0.95 (sonde ", env!("CARGO_PKG_VERSION"), ")\n"), 0)),
        Key::Refused => {
            return Err(complaint(&format!("{name}: sonde does not have it; docs/mtr.md says what it has")));
        }
        Key::Form(_) => {}
    }
    Ok(())
}

/// Changes the setting of an option that a key of the live view has too.
///
/// # Errors
/// The complaint about a value that does not fit, in words.
pub fn change(asked: &mut Asked, letter: char, value: &str) -> Result<(), String> {
    let key = match letter {
        'i' => Key::Interval,
        'm' => Key::Most,
        'c' => Key::Cycles,
        's' => Key::Size,
        'Q' => Key::Tos,
        _ => Key::Order,
    };
    take(asked, key, Called::Letter(letter), value.trim()).map_err(|answer| answer.stderr.trim().to_owned())
}

/// A day is no wait.
const LONGEST: f64 = 86_400.0;

fn seconds(text: &str, least: f64) -> Option<Nanos> {
    let seconds = number::decimal(text).filter(|seconds| (least..=LONGEST).contains(seconds))?;
    Some(Nanos((seconds * 1e9).round() as u64))
}

/// The fault, behind the program's name.
pub fn complaint(what: &str) -> Answer {
    Answer::complaint(format!("mtr: {what}\n"))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn of(line: &str) -> Result<Asked, Answer> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn reports_have_forms_and_fields() {
        let asked = of("-r -c 3 -n -i 0.2 -T -P 443 h").unwrap();
        assert_eq!(
            (asked.form, asked.rounds, asked.protocol, asked.port),
            (Form::Text, Some(3), Probing::Tcp, Some(443))
        );
        assert_eq!((asked.interval, asked.numeric), (Nanos::millis(200), true));
        assert_eq!(of("--json h").unwrap().form, Form::Json);
        assert_eq!(of("-rwo LJ h").unwrap().fields.len(), 2);
        assert_eq!(of("-r").unwrap().hosts, ["localhost"]);
        assert_eq!((of("h").unwrap().form, of("-t h").unwrap().rounds), (Form::Live, None));
    }

    #[test]
    fn keys_change_settings_and_say_what_does_not_fit() {
        let mut asked = of("h").unwrap();
        for (letter, value) in [('i', "0.2"), ('m', "3"), ('c', "7 "), ('s', "100"), ('Q', "8"), ('o', "LJ")] {
            assert_eq!(change(&mut asked, letter, value), Ok(()));
        }
        let set = (asked.interval, asked.last, asked.rounds, asked.size, asked.tos, asked.fields.len());
        assert_eq!(set, (Nanos::millis(200), 3, Some(7), 100, Some(8), 2));
        assert_eq!(change(&mut asked, 'i', "soon"), Err("mtr: -i soon: is not a time in seconds".to_owned()));
    }

    #[test_case("-r -u -T h", "mutually exclusive"; "two protocols")]
    #[test_case("-X", "invalid option -- 'X'"; "a letter")]
    #[test_case("-r -z h", "-z: sonde does not have it"; "numbers of networks")]
    #[test_case("-r --raw h", "--raw: sonde does not have it"; "raw")]
    #[test_case("-r -c 0 h", "-c 0: is not a number of rounds"; "no round")]
    #[test_case("-r -s 10 h", "is not a length from 36"; "a short packet")]
    #[test_case("-r -o LQ h", "is not a list of fields"; "no field")]
    #[test_case("-r -i 0 h", "is not a time"; "a flood")]
    fn what_does_not_fit_is_refused(line: &str, why: &str) {
        let answer = of(line).unwrap_err();
        assert!(answer.status == 1 && answer.stderr.contains(why), "{answer:?}");
    }
}
