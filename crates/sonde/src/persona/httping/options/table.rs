//! The options of httping 2.5: those that are played, and those that are refused, with the reason.

use crate::persona::getopt::{Entry, flag, valued};

/// The meaning of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Url,
    Host,
    Port,
    V6,
    Ssl,
    Count,
    Interval,
    Timeout,
    Flood,
    NoCache,
    Agent,
    Referer,
    Header,
    Cookie,
    /// Accepted, and so anyway.
    Usual,
    Status,
    Split,
    Get,
    Speed,
    Transferred,
    Quiet,
    Machine,
    Ca,
    Insecure,
    Record,
    Help,
    Version,
    /// See [`REFUSED`].
    Refused,
}

/// All options.
pub const ENTRIES: &[Entry<Key>] = &[
    valued(Key::Url, "g", &["url"], (), ""),
    valued(Key::Host, "h", &["hostname"], (), ""),
    valued(Key::Port, "p", &["port"], (), ""),
    flag(Key::V6, "6", &["ipv6"], (), ""),
    flag(Key::Ssl, "l", &["use-ssl"], (), ""),
    valued(Key::Count, "c", &["count"], (), ""),
    valued(Key::Interval, "i", &["interval"], (), ""),
    valued(Key::Timeout, "t", &["timeout"], (), ""),
    flag(Key::Usual, "", &["adaptive-interval", "ai"], (), ""),
    flag(Key::Usual, "r", &["resolve-once"], (), ""),
    flag(Key::Usual, "W", &[], (), ""),
    flag(Key::Flood, "f", &["flood"], (), ""),
    flag(Key::NoCache, "Z", &["no-cache"], (), ""),
    valued(Key::Agent, "I", &["user-agent"], (), ""),
    valued(Key::Referer, "R", &["referer"], (), ""),
    valued(Key::Header, "", &["header"], (), ""),
    valued(Key::Cookie, "C", &["cookie"], (), ""),
    flag(Key::Status, "s", &["show-statuscodes"], (), ""),
    flag(Key::Split, "S", &["split-time"], (), ""),
    flag(Key::Get, "G", &["get-request"], (), ""),
    flag(Key::Speed, "b", &["show-transfer-speed"], (), ""),
    flag(Key::Transferred, "X", &["show-kb"], (), ""),
    flag(Key::Quiet, "q", &["quiet"], (), ""),
    flag(Key::Machine, "m", &["parseable-output"], (), ""),
    valued(Key::Ca, "", &["ca"], (), ""),
    flag(Key::Insecure, "", &["insecure"], (), ""),
    valued(Key::Record, "", &["record"], (), ""),
    flag(Key::Help, "", &["help"], (), ""),
    flag(Key::Version, "V", &["version"], (), ""),
    valued(Key::Refused, "x", &["proxy"], (), ""),
    flag(Key::Refused, "E", &[], (), ""),
    flag(Key::Refused, "5", &[], (), ""),
    valued(Key::Refused, "", &["proxy-user"], (), ""),
    valued(Key::Refused, "", &["proxy-password"], (), ""),
    valued(Key::Refused, "", &["proxy-password-file"], (), ""),
    valued(Key::Refused, "", &["proxy-buster"], (), ""),
    valued(Key::Refused, "", &["divert-connect"], (), ""),
    flag(Key::Refused, "", &["keep-cookies"], (), ""),
    flag(Key::Refused, "", &["no-host-header"], (), ""),
    flag(Key::Refused, "Q", &["persistent-connections"], (), ""),
    valued(Key::Refused, "", &["max-mtu"], (), ""),
    flag(Key::Refused, "", &["no-tcp-nodelay"], (), ""),
    valued(Key::Refused, "", &["recv-buffer"], (), ""),
    valued(Key::Refused, "", &["tx-buffer"], (), ""),
    valued(Key::Refused, "y", &["bind-to"], (), ""),
    flag(Key::Refused, "F", &["tcp-fast-open"], (), ""),
    valued(Key::Refused, "", &["priority"], (), ""),
    valued(Key::Refused, "", &["tos"], (), ""),
    flag(Key::Refused, "A", &["basic-auth"], (), ""),
    valued(Key::Refused, "U", &["username"], (), ""),
    valued(Key::Refused, "P", &["password"], (), ""),
    valued(Key::Refused, "T", &[], (), ""),
    valued(Key::Refused, "", &["threshold-red"], (), ""),
    valued(Key::Refused, "", &["threshold-yellow"], (), ""),
    valued(Key::Refused, "", &["threshold-show"], (), ""),
    flag(Key::Refused, "", &["timestamp", "ts"], (), ""),
    valued(Key::Refused, "", &["aggregate"], (), ""),
    flag(Key::Refused, "z", &["show-fingerprint"], (), ""),
    flag(Key::Refused, "v", &[], (), ""),
    flag(Key::Refused, "B", &["show-xfer-speed-compressed"], (), ""),
    valued(Key::Refused, "L", &["data-limit"], (), ""),
    flag(Key::Refused, "M", &[], (), ""),
    valued(Key::Refused, "o", &["ok-result-codes"], (), ""),
    valued(Key::Refused, "e", &["result-string"], (), ""),
    valued(Key::Refused, "n", &["nagios-mode-1"], (), ""),
    valued(Key::Refused, "N", &["nagios-mode-2"], (), ""),
    flag(Key::Refused, "Y", &["colors"], (), ""),
    flag(Key::Refused, "a", &["audible-ping"], (), ""),
    flag(Key::Refused, "K", &["ncurses", "gui"], (), ""),
    flag(Key::Refused, "", &["draw-phase"], (), ""),
    valued(Key::Refused, "", &["slow-log"], (), ""),
    valued(Key::Refused, "", &["graph-limit"], (), ""),
    flag(Key::Refused, "D", &["no-graph"], (), ""),
];

/// Reasons for which options are refused, with the next step; an option in no row is refused in general words.
pub const REFUSED: &[(&[&str], &str)] = &[
    (
        &["proxy", "E", "5", "proxy-user", "proxy-password", "proxy-password-file", "proxy-buster"],
        "a proxy would be measured in the server's place: ask the proxy itself",
    ),
    (&["persistent-connections"], "a connection each is measured here: `sonde rtt http://HOST/` keeps them"),
    (&["tcp-fast-open"], "it takes the handshake out of the time: here it is part of it, and -S shows it"),
    (&["bind-to", "tos", "recv-buffer", "tx-buffer", "no-tcp-nodelay", "priority", "max-mtu"], SOCKET),
    (
        &["basic-auth", "username", "password", "T"],
        "nobody logs in here; a field from a file: `sonde rtt URL --headers FILE`, which stands in no record",
    ),
    (&["divert-connect"], "write the host that is connected to, and --header 'Host: NAME'"),
    (&["v", "threshold-red", "threshold-yellow", "threshold-show", "timestamp", "aggregate"], RECORD),
    (&["M"], "the record is JSON: --record FILE"),
    (&["show-fingerprint"], "`sonde rtt https://HOST/` says until when its certificates are valid"),
    (&["ok-result-codes", "result-string"], "`sonde rtt URL --expect 2xx` counts by status"),
    (&["nagios-mode-1", "nagios-mode-2"], "`sonde monitor` and `sonde watch` judge: they have thresholds and alerts"),
    (&["ncurses", "draw-phase", "slow-log", "graph-limit", "no-graph"], "`sonde watch URL` has a screen"),
    (&["data-limit", "show-xfer-speed-compressed"], "a body is asked for as it is, and read to its end"),
];

const SOCKET: &str =
    "`sonde rtt URL --crr` has options of sockets: --bind, --tos, --receive-buffer, --send-buffer, --nagle";
const RECORD: &str =
    "keep the record by --record FILE: `sonde show FILE` prints percentiles, deviation and each second";

/// The help, in our words.
pub const HELP: &str = "\
usage: httping [options] URL | -g URL | -h HOST [-p PORT]
  -c COUNT        requests (default: until Ctrl-C)
  -i SECONDS      from one to the next (default 1); -f: no wait
  -t SECONDS      longest wait for one (default 30)
  -l              HTTPS, where the URL does not say so; --ca FILE, --insecure (sonde's own)
  -6              IPv6
  -G              GET, in place of HEAD
  -s              the status of each reply
  -S              its time in parts: name, connect, request, reply, close
  -b, -X          with -G: the rate of the body, its size
  -m              the time alone
  -q              nothing but the exit status
  -I TEXT, -R URL, -C NAME=VALUE, --header LINE, -Z   fields of the request
  -r, --ai        so anyway: names are looked up once, requests go at multiples of the interval
  --record FILE   the record of the run (sonde's own)
";
