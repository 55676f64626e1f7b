//! The words behind `traceroute`, by the table of its version 2.1.

use std::net::IpAddr;

use endpoint::name::Family;
use measure::outcome::hops::Probing;
use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::getopt::{Called, Entry, Fault, GNU, Item, Rules, Scan, Why, flag, valued};
use crate::persona::number;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The host, as typed.
    pub host: String,
    /// Its place among the words, from 1.
    pub place: usize,
    /// The length of a packet, octets; absent: the usual one.
    pub length: Option<u32>,
    /// `-4`, `-6`.
    pub family: Family,
    /// `-I`, `-T`; else datagrams.
    pub protocol: Probing,
    /// True where each probe has a port of its own.
    pub rising: bool,
    /// `-p`, or what the protocol makes of it.
    pub port: u16,
    /// `-f`.
    pub first: u8,
    /// `-m`.
    pub last: u8,
    /// `-q`.
    pub probes: u32,
    /// `-N`.
    pub beside: usize,
    /// `-w`.
    pub wait: Wait,
    /// `-z`.
    pub pause: Nanos,
    /// `-n`.
    pub numeric: bool,
    /// `-i`.
    pub interface: Option<String>,
    /// `-s`.
    pub source: Option<IpAddr>,
    /// `-t`.
    pub tos: Option<u8>,
}

/// The wait for an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// The longest.
    pub most: Nanos,
    /// At most so many times that of an answer of the same hop; 0: such an answer shortens no wait.
    pub here: f64,
    /// At most so many times that of an answer of a farther hop; 0 likewise.
    pub near: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    V4,
    V6,
    Icmp,
    Tcp,
    Udp,
    DontFragment,
    First,
    Interface,
    Most,
    Beside,
    Numeric,
    Port,
    Tos,
    Wait,
    Queries,
    Source,
    Pause,
    Refused,
    Version,
    Help,
}

const ENTRIES: &[Entry<Key>] = &[
    flag(Key::V4, "4", &[], (), "use IPv4"),
    flag(Key::V6, "6", &[], (), "use IPv6"),
    flag(Key::DontFragment, "F", &["dont-fragment"], (), "never fragment (always so here)"),
    valued(Key::First, "f", &["first"], (), "TTL  the first hop (default 1)"),
    flag(Key::Icmp, "I", &["icmp"], (), "probe by ICMP echo"),
    flag(Key::Tcp, "T", &["tcp"], (), "probe by TCP SYN (default port 80)"),
    flag(Key::Udp, "U", &["udp"], (), "probe by UDP to one port (default 53)"),
    valued(Key::Interface, "i", &["interface"], (), "NAME  send by this interface"),
    valued(Key::Most, "m", &["max-hops"], (), "TTL  the last hop (default 30)"),
    valued(Key::Beside, "N", &["sim-queries"], (), "N  probes beside each other (default 16)"),
    flag(Key::Numeric, "n", &[], (), "show addresses alone"),
    valued(Key::Port, "p", &["port"], (), "PORT  the port, of rising ones the first (default 33434)"),
    valued(Key::Tos, "t", &["tos"], (), "N  type of service"),
    valued(
        Key::Wait,
        "w",
        &["wait"],
        (),
        "MAX,HERE,NEAR  wait in seconds, and as multiples of other answers (default 5,3,10)",
    ),
    valued(Key::Queries, "q", &["queries"], (), "N  probes to each hop (default 3)"),
    valued(Key::Source, "s", &["source"], (), "ADDRESS  source address"),
    valued(Key::Pause, "z", &["sendwait"], (), "TIME  least time between probes, seconds up to 10, else ms"),
    flag(Key::Version, "V", &["version"], (), "show the version"),
    flag(Key::Help, "", &["help"], (), "show this"),
    flag(Key::Refused, "dreAD", &["debug", "extensions", "as-path-lookups", "dccp", "mtu", "back"], (), ""),
    valued(
        Key::Refused,
        "glMOP",
        &["gateway", "flowlabel", "module", "options", "protocol", "sport", "fwmark"],
        (),
        "",
    ),
];
const RULES: Rules = Rules { operands: 2, ..GNU };

/// The help, in our words.
pub fn help() -> String {
    let shown = ENTRIES.iter().filter(|entry| entry.key != Key::Refused);
    let options: String = shown.map(|entry| entry.line(1, 34)).collect();
    format!("Usage:\n  traceroute [options] host [ packetlen ]\nOptions:\n{options}")
}

/// The longest wait of a SYN: the kernel sends it again after a second, and an answer to that would have another time.
const LONGEST_OF_TCP: Nanos = Nanos::millis(900);

/// Reads the words.
///
/// # Errors
/// The text in place of a run: help, version, words that do not fit.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    if words.is_empty() {
        return Err(Answer { stderr: help(), ..Answer::default() });
    }
    let mut asked = usual();
    let (mut port, mut operands) = (None, Vec::new());
    for item in Scan::new(words, ENTRIES, RULES) {
        match item.map_err(|fault| wrong_word(&fault, words))? {
            Item::Operand(word) => operands.push(word),
            Item::Option(entry, called, value) => {
                take(&mut asked, &mut port, (entry, called), value.as_deref(), words)?;
            }
        }
    }
    let mut operands = operands.into_iter();
    let host = operands.next().ok_or_else(|| wrong("Specify \"host\" missing argument."))?;
    asked.place = place(words, &host);
    asked.host = host;
    asked.length = operands.next().map(|text| length(&text, words)).transpose()?;
    if asked.first == 0 || asked.first > asked.last {
        return Err(wrong("first hop out of range"));
    }
    if asked.protocol == Probing::Tcp {
        asked.wait.most = asked.wait.most.min(LONGEST_OF_TCP);
    }
    asked.port = port.unwrap_or(match (asked.protocol, asked.rising) {
        (Probing::Tcp, _) => 80,
        (Probing::Udp, false) => 53,
        (Probing::Udp, true) => 33_434,
        (Probing::Icmp, _) => 1,
    });
    Ok(asked)
}

fn usual() -> Asked {
    Asked {
        host: String::new(),
        place: 0,
        length: None,
        family: Family::Any,
        protocol: Probing::Udp,
        rising: true,
        port: 0,
        first: 1,
        last: 30,
        probes: 3,
        beside: 16,
        wait: Wait { most: Nanos::secs(5), here: 3.0, near: 10.0 },
        pause: Nanos::ZERO,
        numeric: false,
        interface: None,
        source: None,
        tos: None,
    }
}

fn take(
    asked: &mut Asked,
    port: &mut Option<u16>,
    (entry, called): (&'static Entry<Key>, Called),
    value: Option<&str>,
    words: &[String],
) -> Result<(), Answer> {
    let text = value.unwrap_or_default();
    let name = match called {
        Called::Letter(letter) => format!("-{letter}"),
        Called::Name(name) => format!("--{name}"),
    };
    let cannot = || wrong(&format!("Cannot handle `{name}' option with arg `{text}' (argc {})", place(words, text)));
    let whole = |text: &str| number::whole::<u32>(text).ok_or_else(cannot);
    match entry.key {
        Key::V4 => asked.family = Family::V4,
        Key::V6 => asked.family = Family::V6,
        Key::Icmp => asked.protocol = Probing::Icmp,
        Key::Tcp => (asked.protocol, asked.rising) = (Probing::Tcp, false),
        Key::Udp => (asked.protocol, asked.rising) = (Probing::Udp, false),
        Key::DontFragment => {}
        Key::First => asked.first = u8::try_from(whole(text)?).unwrap_or(u8::MAX),
        Key::Interface => asked.interface = Some(text.to_owned()),
        Key::Most => asked.last = u8::try_from(whole(text)?).map_err(|_| wrong("max hops cannot be more than 255"))?,
        Key::Beside => asked.beside = whole(text)?.clamp(1, 255) as usize,
        Key::Numeric => asked.numeric = true,
        Key::Port => *port = Some(number::whole(text).ok_or_else(cannot)?),
        Key::Tos => asked.tos = Some(number::octet(text).ok_or_else(cannot)?),
        Key::Wait => asked.wait = wait(text).ok_or_else(cannot)?,
        Key::Queries => {
            asked.probes = whole(text)?;
            match asked.probes {
                0 => return Err(cannot()),
                1..=10 => {}
                _ => return Err(wrong("no more than 10 probes per hop")),
            }
        }
        Key::Source => asked.source = Some(text.parse().map_err(|_| cannot())?),
        Key::Pause => asked.pause = pause(text).ok_or_else(cannot)?,
        Key::Refused => {
            return Err(wrong(&format!(
                "traceroute: {name}: sonde does not have it; docs/traceroute.md says what it has"
            )));
        }
        Key::Version => {
            let version = concat!("Modern traceroute for Linux, version 2.1 (sonde ", env!("CARGO_PKG_VERSION"), ")\n");
            return Err(Answer { stderr: version.to_owned(), ..Answer::default() });
        }
        Key::Help => return Err(Answer { stderr: help(), ..Answer::default() }),
    }
    Ok(())
}

/// A day: what is longer is no wait.
const LONGEST: f64 = 86_400.0;

/// Factors that are left out are 0, as traceroute(8) has it: who names a longest wait alone wants it waited for.
fn wait(text: &str) -> Option<Wait> {
    let mut parts = text.split([',', '/']);
    let most = number::decimal(parts.next()?).filter(|seconds| *seconds <= LONGEST)?;
    let mut factor = || parts.next().map_or(Some(0.0), number::decimal);
    let (here, near) = (factor()?, factor()?);
    parts.next().is_none().then_some(Wait { most: nanos(most), here, near })
}

fn pause(text: &str) -> Option<Nanos> {
    let value = number::decimal(text).filter(|value| *value <= LONGEST)?;
    Some(if value > 10.0 { Nanos((value * 1e6) as u64) } else { nanos(value) })
}

fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

/// The largest packet.
const LARGEST: u32 = 65_000;

fn length(text: &str, words: &[String]) -> Result<u32, Answer> {
    let why = || {
        let place = place(words, text);
        wrong(&format!("Cannot handle \"packetlen\" cmdline arg `{text}' on position 2 (argc {place})"))
    };
    let length = number::whole(text).ok_or_else(why)?;
    if length > LARGEST { Err(wrong(&format!("too big packetlen {length} specified"))) } else { Ok(length) }
}

/// The place of a word, from 1.
fn place(words: &[String], word: &str) -> usize {
    words.iter().position(|other| other == word).map_or(words.len(), |place| place + 1)
}

fn wrong_word(fault: &Fault, words: &[String]) -> Answer {
    let (typed, place) = (fault.typed(), place(words, &fault.word));
    wrong(&match fault.why {
        Why::NoValue => format!("Option `{typed}' (argc {place}) requires an argument"),
        Why::Operand => format!("Extra arg `{}' (position 3, argc {place})", fault.word),
        _ => format!("Bad option `{typed}' (argc {place})"),
    })
}

fn wrong(what: &str) -> Answer {
    Answer { status: 2, ..Answer::complaint(format!("{what}\n")) }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn of(line: &str) -> Result<Asked, Answer> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn each_protocol_has_its_port() {
        let ports = ["h", "-U h", "-T h", "-T -p 443 h", "-p 5000 h", "-I h"].map(|line| {
            let asked = of(line).unwrap();
            (asked.port, asked.rising)
        });
        assert_eq!(ports, [(33_434, true), (53, false), (80, false), (443, false), (5_000, true), (1, true)]);
    }

    #[test]
    fn waits_are_seconds_and_factors_and_a_syn_waits_less_than_one() {
        assert_eq!(of("h").unwrap().wait, Wait { most: Nanos::secs(5), here: 3.0, near: 10.0 });
        assert_eq!(of("-w 0.3 h").unwrap().wait, Wait { most: Nanos::millis(300), here: 0.0, near: 0.0 });
        assert_eq!(of("-w 2/4 h").unwrap().wait, Wait { most: Nanos::secs(2), here: 4.0, near: 0.0 });
        assert_eq!(of("-w 2,4,5 h").unwrap().wait, Wait { most: Nanos::secs(2), here: 4.0, near: 5.0 });
        assert_eq!(of("-T h").unwrap().wait.most, Nanos::millis(900));
        assert_eq!(of("-z 500 h").unwrap().pause, Nanos::millis(500));
        assert_eq!(of("h 100").unwrap().length, Some(100));
    }

    #[test_case("-X", "Bad option `-X' (argc 1)\n"; "a letter")]
    #[test_case("-q 11 h", "no more than 10 probes per hop\n"; "many probes")]
    #[test_case("-m 300 h", "max hops cannot be more than 255\n"; "a long way")]
    #[test_case("-f 0 h", "first hop out of range\n"; "no first hop")]
    #[test_case("-w x h", "Cannot handle `-w' option with arg `x' (argc 2)\n"; "no wait")]
    #[test_case("h 30000000", "too big packetlen 30000000 specified\n"; "a large packet")]
    fn the_complaints_of_the_original(line: &str, expected: &str) {
        assert_eq!(of(line).unwrap_err(), Answer { status: 2, ..Answer::complaint(expected) });
    }

    #[test_case("-A h"; "lookups of numbers")]
    #[test_case("-e h"; "extensions")]
    #[test_case("-g 192.0.2.1 h"; "a gateway")]
    #[test_case("--mtu h"; "the mtu")]
    fn what_is_not_had_is_refused_by_name(line: &str) {
        let answer = of(line).unwrap_err();
        assert!(answer.status == 2 && answer.stderr.contains("docs/traceroute.md"), "{answer:?}");
    }
}
