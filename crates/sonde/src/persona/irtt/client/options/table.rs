//! The table of the client's options, and its help.

use crate::persona::getopt::{Entry, flag, perhaps, valued};
use crate::persona::irtt::flags::{self, Kind};

/// The meaning of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `-d`
    Duration,
    /// `-i`
    Interval,
    /// `-l`
    Length,
    /// `-n`
    NoTest,
    /// `--stats`
    Stats,
    /// `--tstamp`
    Tstamp,
    /// `--clock`
    Clock,
    /// `-o`
    Output,
    /// `-q`
    Quiet,
    /// `-Q`
    ReallyQuiet,
    /// `--dscp`
    Dscp,
    /// `--df`
    Df,
    /// `--wait`
    Wait,
    /// `--timer`
    Timer,
    /// `--tcomp`
    Tcomp,
    /// `--fill`
    Fill,
    /// `--fill-one`
    FillOne,
    /// `--sfill`
    Sfill,
    /// `--local`
    Local,
    /// `--hmac`
    Hmac,
    /// `-4`
    V4,
    /// `-6`
    V6,
    /// `--timeouts`
    Timeouts,
    /// `--ttl`
    Ttl,
    /// `--loose`
    Loose,
    /// `--thread`
    Thread,
    /// `-v`
    Version,
    /// `-h`
    Help,
}

use Kind::{Number, Switch, Text};

/// The options. Each letter is a long name too, which the help leaves out.
pub const ENTRIES: &[Entry<Word, Kind>] = &[
    valued(Word::Duration, "d", &[], Text, "TIME  total time to send (default 1m)"),
    valued(Word::Interval, "i", &[], Text, "TIME  time from packet to packet (default 1s)"),
    valued(
        Word::Length,
        "l",
        &[],
        Number,
        "BYTES  length of a packet; at least that of its fields, which is the default",
    ),
    valued(Word::Output, "o", &[], Text, "FILE  JSON into FILE, by gzip unless it ends in .json; - is standard output"),
    flag(Word::Quiet, "q", &[], Switch, "no lines of packets"),
    flag(Word::ReallyQuiet, "Q", &[], Switch, "nothing but errors"),
    flag(Word::NoTest, "n", &[], Switch, "agree with the server on the test, and do not run it"),
    perhaps(Word::Stats, "", &["stats"], Text, "WHAT  counts in replies: none, count, window or both (the default)"),
    perhaps(
        Word::Tstamp,
        "",
        &["tstamp"],
        Text,
        "WHEN  server times: none, send, receive, both (the default) or midpoint",
    ),
    perhaps(Word::Clock, "", &["clock"], Text, "CLOCK  clocks of server times: wall, monotonic or both (the default)"),
    perhaps(Word::Dscp, "", &["dscp"], Text, "N  octet of the type of service, 0x for hexadecimal (default 0)"),
    perhaps(Word::Df, "", &["df"], Text, "WHAT  do not fragment: default (the system's), false or true"),
    perhaps(
        Word::Wait,
        "",
        &["wait"],
        Text,
        "WAIT  for the last replies: 3x4s (default) is three times the longest RTT, 4s without one; 3r4s takes the mean; or a time",
    ),
    perhaps(
        Word::Timer,
        "",
        &["timer"],
        Text,
        "TIMER  simple or comp (sleep), hybrid (spin at the end) or busy (spin)",
    ),
    perhaps(Word::Tcomp, "", &["tcomp"], Text, "ALG  accepted for scripts: avg, win:N or exp:N"),
    perhaps(Word::Fill, "", &["fill"], Text, "FILL  payload of packets: none (default), rand or pattern:HEX"),
    perhaps(Word::FillOne, "", &["fill-one"], Switch, "the same payload in all packets"),
    perhaps(Word::Sfill, "", &["sfill"], Text, "FILL  payload of replies, where the server allows it"),
    perhaps(Word::Local, "", &["local"], Text, "ADDRESS  local address: host, host:port or :port"),
    perhaps(Word::Hmac, "", &["hmac"], Text, "KEY  key of sealed packets, 0x for hexadecimal"),
    flag(Word::V4, "4", &[], Switch, "IPv4 only"),
    flag(Word::V6, "6", &[], Switch, "IPv6 only"),
    perhaps(Word::Timeouts, "", &["timeouts"], Text, "TIMES  waits for the server's first reply (default 1s,2s,4s,8s)"),
    perhaps(Word::Ttl, "", &["ttl"], Number, "N  time to live of packets (default 0: the system's)"),
    perhaps(Word::Loose, "", &["loose"], Switch, "use the parameters that the server restricts the test to"),
    perhaps(Word::Thread, "", &["thread"], Switch, "accepted for scripts"),
    flag(Word::Version, "v", &[], Switch, "show the version"),
    flag(Word::Help, "h", &["help"], Switch, "show this"),
    perhaps(Word::Duration, "", &["d"], Text, ""),
    perhaps(Word::Interval, "", &["i"], Text, ""),
    perhaps(Word::Length, "", &["l"], Number, ""),
    perhaps(Word::Output, "", &["o"], Text, ""),
    perhaps(Word::Quiet, "", &["q"], Switch, ""),
    perhaps(Word::ReallyQuiet, "", &["Q"], Switch, ""),
    perhaps(Word::NoTest, "", &["n"], Switch, ""),
    perhaps(Word::V4, "", &["4"], Switch, ""),
    perhaps(Word::V6, "", &["6"], Switch, ""),
    perhaps(Word::Version, "", &["version"], Switch, ""),
];

const HEAD: &str = "\
Usage: irtt client [options] HOST[:PORT]

Round trips to an irtt server, which listens on port 2112. An IPv6 address stands in brackets.
A TIME has a unit: 300ms, 1m30s, 2.5m (ns, us, ms, s, m, h).

";

/// The help, in our words.
pub fn help() -> String {
    format!("{HEAD}{}", flags::lines(ENTRIES))
}
