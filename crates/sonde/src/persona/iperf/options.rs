//! Words behind `iperf`, as plain values: no I/O, no name looked up, no file read.
//!
//! [`parse`] reads the words by the rules of the real program's command line. An option that is not honoured is refused with
//! a sentence ([`Answer`]) or, where the run makes sense without it, named in [`Asked::notes`].

mod client;
mod either_end;
pub mod environment;
pub mod frames;
pub mod number;
mod reading;
pub mod refused;
pub mod server;
pub mod table;
pub mod tos;
pub mod usage;

use std::net::IpAddr;
use std::path::PathBuf;

use measure::unit::Nanos;

use crate::persona::answer::Answer;
use crate::persona::getopt::{Fault, GNU, Rules, Scan, Why};
use crate::persona::iperf::options::frames::Frames;
use crate::persona::iperf::options::reading::Reading;
use crate::persona::iperf::options::table::{ENTRIES, Given, Key};

/// The port where none is asked for.
pub const PORT: u16 = 5_001;
/// Bytes of a write or a read of TCP where nothing is asked for.
pub const TCP_LENGTH: u32 = 128 * 1024;
/// Bytes of a datagram over IPv4 where nothing is asked for.
pub const UDP_LENGTH: u32 = 1_470;
/// Bytes of a datagram over IPv6 where nothing is asked for.
pub const UDP_LENGTH_IPV6: u32 = 1_450;
/// Bytes of a request of `--bounceback` where nothing is asked for.
pub const BOUNCE_LENGTH: u32 = 100;
/// Bits a second of UDP where nothing is asked for.
pub const UDP_RATE: u64 = 1_048_576;
/// Length of a test where none is asked for.
pub const LENGTH: Nanos = Nanos::secs(10);

/// The environment's word for the form of what is printed.
const FORM: &str = "SONDE_IPERF_FORM";

/// A command line read.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The end, and its task.
    pub role: Role,
    /// Options that the original has not.
    pub own: Own,
    /// Sentences for standard error: what has no effect here.
    pub notes: Vec<String>,
}

/// End of the test.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one in a process")]
pub enum Role {
    /// `-s`.
    Server(Server),
    /// `-c`.
    Client(Client),
}

/// The end that is connected to.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Options of both ends.
    pub common: Common,
    /// `-p`: the first and the last port.
    pub ports: (u16, u16),
    /// `-P`: it ends after so many connections.
    pub connections: Option<u32>,
    /// `-t`: it ends after so long.
    pub time: Option<Nanos>,
    /// `-D`.
    pub daemon: bool,
    /// `-H`: whom a group is joined to hear.
    pub source: Option<IpAddr>,
    /// `--permit-key`.
    pub key: Option<PermitKey>,
    /// `--histograms`.
    pub histograms: Option<Histograms>,
}

/// The key of a server, and for how long it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitKey {
    /// As it was typed; absent: one is to be made.
    pub key: Option<String>,
    /// The server ends after so long; absent: it does not.
    pub time: Option<Nanos>,
}

/// Bins of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histograms {
    /// Width of a bin in microseconds.
    pub width_us: u32,
    /// Their number.
    pub bins: u32,
}

/// The end that connects.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub struct Client {
    /// Options of both ends.
    pub common: Common,
    /// `-c`: name or address.
    pub host: String,
    /// `-p`.
    pub port: u16,
    /// The task.
    pub kind: Kind,
    /// `-t` or `-n`.
    pub amount: Amount,
    /// `-b`; of UDP [`UDP_RATE`] where nothing is said, of TCP as fast as it goes.
    pub rate: Option<Rate>,
    /// `-b` behind a comma: how far the rate goes from its mean, bits a second.
    pub deviation: Option<u64>,
    /// Frames in place of a steady stream.
    pub frames: Option<Frames>,
    /// `-F`: what is sent.
    pub file: Option<PathBuf>,
    /// `--permit-key`.
    pub key: Option<String>,
    /// `--tcp-write-times`.
    pub write_times: bool,
    /// `-P`.
    pub streams: u32,
    /// `-L`: where the server connects back to; the server's own port where nothing is said.
    pub listen_port: Option<u16>,
    /// `--trip-times`.
    pub trip_times: bool,
    /// `-X`.
    pub detects: bool,
    /// No exchange at the end of UDP: `--no-udp-fin`.
    pub no_report: bool,
    /// `--connect-retries`.
    pub retries: u32,
    /// `--txstart-time`, `--txdelay-time`.
    pub start: Start,
    /// `--fq-rate`: bits a second at which the kernel paces.
    pub kernel_rate: Option<u64>,
    /// `-T`: how many routers datagrams pass, and one more.
    pub hops: Option<u8>,
    /// `--tcp-write-prefetch`: bytes that TCP may hold unsent.
    pub prefetch: Option<u32>,
    /// `--tcp-quickack`.
    pub quick_acks: bool,
    /// `--near-congestion`: a pause behind each write of so many of TCP's round trips.
    pub near_congestion: Option<f64>,
    /// `--working-load`: streams beside the requests of `--bounceback`.
    pub load: Option<Load>,
}

/// Streams beside requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Their direction, as that of a test of streams alone.
    pub kind: Kind,
    /// Their number.
    pub streams: u32,
    /// `--working-load-cca`: TCP's congestion control.
    pub congestion: Option<String>,
    /// `--bounceback-txdelay`: the requests begin so much later.
    pub delay: Nanos,
}

/// Task of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It sends.
    Upload,
    /// `-R`: the server sends.
    Reverse,
    /// `--full-duplex`: both over one socket.
    FullDuplex,
    /// `-d`: both at once, the server over a connection of its own.
    Dual,
    /// `-r`: the same, one after the other.
    Tradeoff,
    /// `--bounceback`.
    Bounceback(Bounceback),
    /// `--connect-only`, and how often.
    ConnectOnly(Option<u32>),
}

/// Requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounceback {
    /// Requests at the start of each period.
    pub burst: u32,
    /// Time from one burst to the next; `None`: without pause.
    pub period: Option<Nanos>,
    /// Time that the server waits before it replies, in milliseconds.
    pub hold_ms: u32,
    /// True where the server's TCP acknowledges at once.
    pub quickack: bool,
    /// Bytes of a reply, where it is not as long as its request.
    pub reply: Option<u32>,
}

/// Amount of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// For so long.
    Time(Nanos),
    /// So many bytes.
    Bytes(u64),
}

/// Rate of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits a second.
    Bits(u64),
    /// Datagrams a second.
    Packets(u64),
}

/// Time of the first write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At once.
    Now,
    /// At this time since the epoch.
    At(Nanos),
    /// So much later.
    After(Nanos),
}

/// Options of both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Common {
    /// `-u`.
    pub transport: Transport,
    /// `-l`, where something was said.
    pub length: Option<u32>,
    /// `-w`: of the socket's buffer, in bytes.
    pub window: Option<u32>,
    /// `-B`.
    pub bind: Bind,
    /// `-M`: largest segment in bytes.
    pub mss: Option<u32>,
    /// `-N`.
    pub nodelay: bool,
    /// `-S`.
    pub tos: Option<u8>,
    /// `-Z`.
    pub congestion: Option<String>,
    /// `-V`.
    pub ipv6: bool,
    /// `-C`.
    pub compatibility: bool,
    /// `-o`.
    pub output: Option<PathBuf>,
    /// Form of the output.
    pub display: Display,
}

impl Common {
    /// Bytes of a write, a read or a datagram.
    pub fn bytes(&self, ipv6: bool) -> u32 {
        let default = match self.transport {
            Transport::Tcp => TCP_LENGTH,
            Transport::Udp if ipv6 => UDP_LENGTH_IPV6,
            Transport::Udp => UDP_LENGTH,
        };
        self.length.unwrap_or(default)
    }
}

/// Transport of the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// A stream.
    #[default]
    Tcp,
    /// Datagrams.
    Udp,
}

/// Our own address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bind {
    /// Name or address.
    pub host: Option<String>,
    /// Port of a client; 0 lets the system choose.
    pub port: u16,
    /// Interface.
    pub device: Option<String>,
}

/// Form of a result's output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub struct Display {
    /// `-e`.
    pub enhanced: bool,
    /// `-f`.
    pub unit: Unit,
    /// `--hide-ips`.
    pub hides: bool,
    /// `-i`.
    pub interval: Option<Nanos>,
    /// `-m`.
    pub mss: bool,
    /// `--sum-only`.
    pub sum_only: bool,
    /// `-y C`.
    pub csv: bool,
    /// `-x`.
    pub exclude: Exclude,
    /// `--decimals`: of times, 4 or 2.
    pub decimals: usize,
    /// `--utc`.
    pub utc: bool,
    /// Program whose form the lines have.
    pub form: Form,
}

/// The version whose lines are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// 2.0.13: of `--enhancedreports`, or of the environment.
    V2_0_13,
    /// 2.1.8, which Debian 12 has: of the environment.
    V2_1_8,
    /// 2.2.1, which Debian 13 has.
    #[default]
    V2_2_1,
}

impl Form {
    /// All of them, by their versions.
    const ALL: [(&str, Self); 3] = [("2.0.13", Self::V2_0_13), ("2.1.8", Self::V2_1_8), ("2.2.1", Self::V2_2_1)];

    /// That of a version.
    fn of(version: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(name, _)| *name == version).map(|(_, form)| form)
    }
}

/// Reports left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a letter of its own behind -x")]
pub struct Exclude {
    /// C: lines of connections.
    pub connections: bool,
    /// D: lines of data.
    pub data: bool,
    /// S: what is said first.
    pub settings: bool,
    /// V: the server's report of UDP.
    pub server: bool,
}

/// Unit of bytes and rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// `a`: bits, whichever power fits. The unit without `-f`.
    #[default]
    Bits,
    /// `A`: bytes, whichever power fits.
    Bytes,
    /// `b k m g`: rates in this power of 1000 bits, amounts in the same power of 1024 bytes.
    FixedBits(u8),
    /// `B K M G`: both in this power of 1024 bytes.
    FixedBytes(u8),
}

/// Options that the original has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// `--json`: the record on standard output in place of the text.
    pub json: bool,
    /// `--record`: the record in a file beside the text.
    pub record: Option<PathBuf>,
}

/// Reads the words behind the program's name. `variable` is the environment's value of a name.
///
/// # Errors
/// The text that is printed in place of a run: the help, the version, or the reason for which these words cannot be.
pub fn parse(words: &[String], variable: impl Fn(&str) -> Option<String>) -> Result<Asked, Answer> {
    let form = variable(FORM).filter(|form| !form.is_empty());
    let mut given = environment::given(variable);
    // Typed words count more.
    let typed = Given::all(Scan::new(words, ENTRIES, RULES)).map_err(|fault| reading::complaint(&text(&fault)))?;
    given.options.extend(typed.options);
    if given.has(Key::Help) {
        return Err(Answer::complaint(usage::help()));
    }
    if given.has(Key::Version) {
        return Err(usage::version());
    }
    let is_server = given.has(Key::Server);
    match (is_server, given.has(Key::Client)) {
        (false, false) => return Err(Answer::complaint(usage::brief())),
        (true, true) => {
            return Err(Answer::refusal("iperf", "-s -c", "one run is one end: leave one of them away"));
        }
        _ => {}
    }
    if let Some((option, why)) = refused::refusal(&given, is_server) {
        return Err(Answer::refusal("iperf", &option, why));
    }
    let known = form.as_deref().and_then(Form::of);
    let mut reading = Reading { notes: refused::notes(&given, is_server), given, form: known.unwrap_or_default() };
    if let Some(form) = form.filter(|_| known.is_none()) {
        let all = Form::ALL.map(|(name, _)| name).join(", ");
        reading.notes.push(format!("{FORM}={form}: passed over: the forms that there are: {all}"));
    }
    let common = either_end::read(&reading)?;
    let (role, own) = if is_server {
        (Role::Server(server::read(&reading, common)?), Own::default())
    } else {
        let (client, own) = (client::read(&reading, common)?, either_end::own(&reading));
        if client.load.is_some() && (own.json || own.record.is_some()) {
            return Err(reading::conflict(
                "option of --working-load does not go with --json and --record: a record of the requests would pass for one without a load",
            ));
        }
        (Role::Client(client), own)
    };
    Ok(Asked { role, own, notes: reading.notes })
}

/// GNU's, of words that are options alone.
const RULES: Rules = Rules { operands: 0, ..GNU };

/// The complaint of a word, as the original's getopt has it.
fn text(fault: &Fault) -> String {
    match fault.why {
        // Nothing is no name cut short.
        Why::Ambiguous if fault.typed() == "--" => format!("iperf: unrecognized option `{}'", fault.word),
        _ => format!("iperf: {}", fault.old_gnu()),
    }
}

#[cfg(test)]
mod tests;
