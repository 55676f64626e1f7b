//! The words behind `irtt server`, by the table of its version 0.9.0, and the complaints of them in its order.

use measure::unit::Nanos;
use protocol::irtt::fill::{self, Fill, FillError};
use protocol::irtt::key::Key;
use protocol::irtt::server::{Rules, Stamps};

use crate::persona::answer::Answer;
use crate::persona::getopt::{Entry, flag, perhaps, valued};
use crate::persona::irtt::flags::{Kind, Words, complaint, lines, usage};

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `-b`: addresses as typed.
    pub addresses: Vec<String>,
    /// `-4`, `-6`: IP versions that it listens by.
    pub versions: Versions,
    /// Rules of its sessions.
    pub rules: Rules,
    /// `--ttl`; absent: the system's.
    pub time_to_live: Option<u8>,
}

/// IP versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// Both.
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Bind,
    Duration,
    Interval,
    Length,
    Hmac,
    Timeout,
    Burst,
    Fill,
    AllowFills,
    Tstamp,
    NoDscp,
    V4,
    V6,
    Ttl,
    SetSrcIp,
    Gc,
    Thread,
    Help,
    Version,
}

use Kind::{Number, Switch, Text, Time};

/// Each letter is a long name too, which the help leaves out.
const ENTRIES: &[Entry<Word, Kind>] = &[
    valued(Word::Bind, "b", &[], Text, "ADDRESSES  addresses to listen at, with commas (default :2112)"),
    valued(Word::Duration, "d", &[], Time, "TIME  longest time of a test (default 0: any)"),
    valued(Word::Interval, "i", &[], Time, "TIME  shortest time between two packets (default 10ms; 0: any)"),
    valued(Word::Length, "l", &[], Number, "BYTES  length of the longest packet (default 0: any)"),
    perhaps(Word::Hmac, "", &["hmac"], Text, "KEY  key of sealed packets, 0x for hexadecimal; others are dropped"),
    perhaps(Word::Timeout, "", &["timeout"], Time, "TIME  silence that ends a session (default 1m; 0: none)"),
    perhaps(Word::Burst, "", &["pburst"], Number, "N  packets that may come at once (default 5)"),
    perhaps(Word::Fill, "", &["fill"], Text, "FILL  payload of replies: none (as received), rand or pattern:HEX"),
    perhaps(
        Word::AllowFills,
        "",
        &["allow-fills"],
        Text,
        "FILLS  payloads that clients may ask for, with * (default rand)",
    ),
    perhaps(Word::Tstamp, "", &["tstamp"], Text, "TIMES  times in replies: none, single or dual (the default)"),
    perhaps(Word::NoDscp, "", &["no-dscp"], Switch, "replies without a type of service"),
    flag(Word::V4, "4", &[], Switch, "IPv4 only"),
    flag(Word::V6, "6", &[], Switch, "IPv6 only"),
    perhaps(Word::Ttl, "", &["ttl"], Number, "N  time to live of replies (default 0: the system's)"),
    perhaps(
        Word::SetSrcIp,
        "",
        &["set-src-ip"],
        Switch,
        "accepted for scripts: replies always leave from the address asked",
    ),
    perhaps(Word::Gc, "", &["gc"], Text, "MODE  accepted for scripts: on, off or idle"),
    perhaps(Word::Thread, "", &["thread"], Switch, "accepted for scripts"),
    flag(Word::Help, "h", &["help"], Switch, "show this"),
    flag(Word::Version, "v", &[], Switch, "show the version"),
    perhaps(Word::Bind, "", &["b"], Text, ""),
    perhaps(Word::Duration, "", &["d"], Time, ""),
    perhaps(Word::Interval, "", &["i"], Time, ""),
    perhaps(Word::Length, "", &["l"], Number, ""),
    perhaps(Word::V4, "", &["4"], Switch, ""),
    perhaps(Word::V6, "", &["6"], Switch, ""),
    perhaps(Word::Version, "", &["version"], Switch, ""),
];

const HEAD: &str = "\
Usage: irtt server [options]

Answers irtt clients. An address is :PORT, HOST, HOST:PORT, %INTERFACE or %INTERFACE:PORT, where a * in
the name of an interface stands for any characters, and an IPv6 address in brackets.
A TIME has a unit: 300ms, 1m30s, 2.5m (ns, us, ms, s, m, h).

";

/// The help, in our words.
pub fn help() -> String {
    format!("{HEAD}{}", lines(ENTRIES))
}

/// Reads the words; absent: the version is asked for.
///
/// # Errors
/// Words that do not fit.
pub fn parse(words: &[String]) -> Result<Option<Asked>, Answer> {
    let words = Words::parse(words, ENTRIES).map_err(|why| usage(&why, &help()))?;
    if words.has(Word::Help) {
        return Err(usage("", &help()));
    }
    if words.is_on(Word::Version) {
        return Ok(None);
    }
    let stamps = stamps(words.text(Word::Tstamp, "dual"))?;
    let fill = match words.text(Word::Fill, "") {
        "" if !words.has(Word::Fill) => Fill::usual(),
        name => Fill::of(name).map_err(|error| wrong_fill(&error))?,
    };
    let key = key(words.text(Word::Hmac, ""))?;
    check_gc(words.text(Word::Gc, "on"))?;
    let usual = Rules::default();
    let of = |span: Option<Nanos>| span.map_or(0, |span| span.0.cast_signed());
    let rules = Rules {
        key,
        duration: above_nought(words.time(Word::Duration, of(usual.duration))),
        interval: above_nought(words.time(Word::Interval, of(usual.interval))),
        length: usize::try_from(words.whole(Word::Length, 0)).ok().filter(|length| *length > 0),
        timeout: above_nought(words.time(Word::Timeout, of(usual.timeout))),
        burst: words.whole(Word::Burst, usual.burst.into()).clamp(0, u32::MAX.into()) as u32,
        fill,
        fills: words.text(Word::AllowFills, "rand").split(',').map(str::to_owned).collect(),
        stamps,
        marks: !words.is_on(Word::NoDscp),
    };
    let versions = match (words.is_on(Word::V4), words.is_on(Word::V6)) {
        (true, false) => Versions::V4,
        (false, true) => Versions::V6,
        _ => Versions::Both,
    };
    let addresses = words.text(Word::Bind, ":2112").split(',').map(str::to_owned).collect();
    Ok(Some(Asked { addresses, versions, rules, time_to_live: time_to_live(words.whole(Word::Ttl, 0))? }))
}

/// A time of 0 or below is none.
fn above_nought(nanos: i64) -> Option<Nanos> {
    u64::try_from(nanos).ok().filter(|nanos| *nanos > 0).map(Nanos)
}

fn stamps(name: &str) -> Result<Stamps, Answer> {
    match name {
        "none" => Ok(Stamps::None),
        "single" => Ok(Stamps::Single),
        "dual" => Ok(Stamps::Dual),
        other => Err(complaint(&format!("[InvalidAllowStampString] invalid AllowStamp string: {other}"))),
    }
}

/// The complaint of a fill: those of irtt itself have a name in front.
fn wrong_fill(error: &FillError) -> Answer {
    match error {
        FillError::NoSuch(_) => complaint(&error.to_string()),
        FillError::Digits(_) => complaint(&format!("Error: {error}")),
    }
}

/// A key as any text, or in digits behind `0x`; one without octets is none.
fn key(text: &str) -> Result<Option<Key>, Answer> {
    let octets = match text.strip_prefix("0x") {
        Some(digits) => fill::octets(digits).map_err(|why| complaint(&format!("Error: {why}")))?,
        None => text.as_bytes().to_vec(),
    };
    Ok(Some(octets).filter(|octets| !octets.is_empty()).map(|octets| Key::new(&octets)))
}

fn check_gc(mode: &str) -> Result<(), Answer> {
    let is_known = ["on", "off", "idle"].contains(&mode);
    if is_known { Ok(()) } else { Err(complaint(&format!("[InvalidGCModeString] invalid GC mode string: {mode}"))) }
}

fn time_to_live(hops: i64) -> Result<Option<u8>, Answer> {
    let hops = u8::try_from(hops).map_err(|_| complaint(&format!("Error: a time to live is at most 255: {hops}")))?;
    Ok(Some(hops).filter(|hops| *hops > 0))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn read(line: &str) -> Result<Option<Asked>, Answer> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn asked(line: &str) -> Asked {
        read(line).expect("words that fit").expect("a server")
    }

    #[test]
    fn without_words_it_is_the_usual_server() {
        let usual = Asked {
            addresses: vec![":2112".to_owned()],
            versions: Versions::Both,
            rules: Rules::default(),
            time_to_live: None,
        };
        assert_eq!(asked(""), usual);
        assert_eq!(asked("--set-src-ip --gc=idle --thread operand"), usual);
    }

    #[test]
    fn each_word_is_read() {
        let line = "-b :5,%lo -d 30s -i20ms -l 256 --hmac=0x6b6579 --timeout=2m --pburst=0x10 --fill=none \
                    --allow-fills=rand,pattern:* --tstamp=single --no-dscp -4 --ttl=9";
        let expected = Asked {
            addresses: vec![":5".to_owned(), "%lo".to_owned()],
            versions: Versions::V4,
            rules: Rules {
                key: Some(Key::new(b"key")),
                duration: Some(Nanos::secs(30)),
                interval: Some(Nanos::millis(20)),
                length: Some(256),
                timeout: Some(Nanos::secs(120)),
                burst: 16,
                fill: Fill::Kept,
                fills: vec!["rand".to_owned(), "pattern:*".to_owned()],
                stamps: Stamps::Single,
                marks: false,
            },
            time_to_live: Some(9),
        };
        assert_eq!(asked(line), expected);
        assert_eq!(asked(&format!("--b=:5,%lo --d=30s --i=20ms --l=256 {line}")), expected);
    }

    #[test]
    fn nought_is_no_bound_and_a_switch_may_be_off() {
        let rules = asked("-d 0 -i 0 -l 0 --timeout=0 --hmac= --no-dscp=false --pburst=-1 --allow-fills=").rules;
        let none = Rules { interval: None, timeout: None, burst: 0, fills: vec![String::new()], ..Rules::default() };
        assert_eq!(rules, none);
        assert_eq!((asked("-6").versions, asked("-46").versions), (Versions::V6, Versions::Both));
    }

    #[test_case("--foo", "unknown flag: --foo"; "an unknown name")]
    #[test_case("-x", "unknown shorthand flag: 'x' in -x"; "an unknown letter")]
    #[test_case("-b", "flag needs an argument: 'b' in -b"; "no value of a letter")]
    #[test_case("--hmac key", "flag needs an argument: --hmac"; "no value of a name")]
    #[test_case("-d 5", "invalid argument \"5\" for -d: time: missing unit in duration \"5\""; "a time without a unit")]
    #[test_case("--pburst=x", "invalid argument \"x\" for --pburst=x: strconv.ParseInt: parsing \"x\": invalid syntax"; "no number")]
    #[test_case("-h", "Usage: irtt server [options]"; "the help")]
    fn words_that_do_not_fit_have_the_help_behind_them(line: &str, first: &str) {
        let answer = read(line).expect_err("a complaint");
        assert_eq!((answer.stderr.lines().next(), answer.status), (Some(first), 2));
        assert!(answer.stderr.ends_with(&help()) && answer.stdout.is_empty());
    }

    #[test_case("--tstamp=x", "[InvalidAllowStampString] invalid AllowStamp string: x\n"; "times")]
    #[test_case("--fill=x", "[NoSuchFiller] no such Filler x\n"; "a fill")]
    #[test_case("--fill=", "[NoSuchFiller] no such Filler \n"; "a fill without a name")]
    #[test_case("--fill=pattern:0", "Error: encoding/hex: odd length hex string\n"; "half an octet")]
    #[test_case("--hmac=0xg0", "Error: encoding/hex: invalid byte: U+0067 'g'\n"; "a key")]
    #[test_case("--gc=x", "[InvalidGCModeString] invalid GC mode string: x\n"; "a mode")]
    #[test_case("--ttl=256", "Error: a time to live is at most 255: 256\n"; "a time to live")]
    fn values_that_do_not_fit_are_complained_of(line: &str, said: &str) {
        let expected = Answer { stderr: said.to_owned(), status: 2, ..Answer::default() };
        assert_eq!(read(line), Err(expected));
    }

    #[test]
    fn the_version_is_asked_for() {
        assert_eq!((read("-v"), read("--version")), (Ok(None), Ok(None)));
    }
}
