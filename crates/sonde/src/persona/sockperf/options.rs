//! Words behind `sockperf`, as plain values: no I/O, no name looked up, no file read.
//!
//! [`parse`] reads the words by the rules of the real program's command line. An option that is not honoured is refused with
//! a sentence ([`Answer`]) or, where the run makes sense without it, named in [`Asked::notes`].

mod client;
mod either_end;
pub mod number;
mod own;
mod reading;
pub mod refused;
mod server;
pub mod table;
pub mod usage;

use std::net::Ipv6Addr;
use std::path::PathBuf;

use measure::method::Pacing;

use crate::command::value::{CpuList, SampleFile};
use crate::persona::answer::Answer;
use crate::persona::getopt::{Dashes, Fault, Rules, Scan, Why};
use crate::persona::sockperf::options::reading::Reading;
use crate::persona::sockperf::options::table::{Given, Key, Subcommand};

/// The port where none is asked for, of UDP and of TCP.
pub const PORT: u16 = 11_111;
/// The smallest message in bytes: a header and no payload.
pub const SMALLEST: u32 = 14;
/// The largest message over UDP in bytes, and the largest a server takes unless told otherwise.
pub const LARGEST_DATAGRAM: u32 = 65_507;
/// The largest message over TCP in bytes.
pub const LARGEST: u32 = 1_048_575;

/// A command line read.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The subcommand.
    pub command: Command,
    /// Options that the original has not.
    pub own: Own,
    /// Sentences for standard error: what has no effect here, and what is read otherwise than the original reads it.
    pub notes: Vec<String>,
}

/// One run of either end.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// `server`.
    Server(Server),
    /// Every other subcommand.
    Client(Client),
}

/// The end that answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Options of every subcommand.
    pub common: Common,
    /// `--threads-num`: 1 or more; more than 1 only with a feed file.
    pub threads: u32,
    /// `--cpu-affinity`: CPUs of these threads, in turn; empty: none asked for.
    pub cpus: CpuList,
    /// `--dont-reply`: it counts and answers nothing; never with `--tcp`.
    pub dont_reply: bool,
    /// `-m`: longest message taken in bytes, 65,507 to 1,048,575.
    pub largest_message: u32,
    /// `-g`: it tells of gaps in the sequences of each sender.
    pub gap_detection: bool,
    /// Options of groups.
    pub multicast: Multicast,
}

/// Options of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multicast {
    /// `--mc-rx-if`: name or address of the interface to join at.
    pub receive_interface: Option<String>,
    /// `--mc-tx-if`: name or address of the interface to send from.
    pub send_interface: Option<String>,
    /// `--mc-loopback-enable`: members on this host hear the answers.
    pub loopback: bool,
    /// `--mc-ttl`.
    pub ttl: u8,
    /// `--mc-source-filter`: the only sender to hear.
    pub source: Option<String>,
    /// `--force-unicast-reply`: a request to a group is answered to its sender.
    pub unicast_reply: bool,
}

/// The lifetime of a datagram to a group where none is asked for.
pub const MULTICAST_TTL: u8 = 2;

impl Default for Multicast {
    fn default() -> Self {
        Self {
            receive_interface: None,
            send_interface: None,
            loopback: false,
            ttl: MULTICAST_TTL,
            source: None,
            unicast_reply: false,
        }
    }
}

/// The end that asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// Options of every subcommand.
    pub common: Common,
    /// Kind of the traffic.
    pub kind: Kind,
    /// `--client_ip`, `--client_port`.
    pub local: Local,
    /// `--sender-affinity`: CPUs of the sending thread; empty: none asked for.
    pub sender_cpus: CpuList,
    /// `--receiver-affinity`: CPUs of the receiving thread.
    pub receiver_cpus: CpuList,
    /// `--tcp_nb_connect_timeout_ms`: a TCP connection not made in so many milliseconds is given up.
    pub connect_timeout_ms: u32,
    /// Form of the output.
    pub display: Display,
    /// Options of groups.
    pub multicast: Multicast,
}

/// The traffic of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A burst out, as many answers back, the next.
    PingPong {
        /// Amount, rate and duration.
        load: Load,
        /// `--data-integrity`: an answer that is not its request is a failure; never with a burst above 1.
        data_integrity: bool,
    },
    /// On schedule, whatever comes back.
    UnderLoad {
        /// Amount, rate and duration. Never by count.
        load: Load,
        /// `--reply-every`: the global numbers that this divides ask for an answer.
        reply_every: u32,
    },
    /// One way; nothing asks for an answer.
    Throughput {
        /// Amount, rate and duration. Never by count.
        load: Load,
    },
    /// At the times and sizes of a file.
    Playback {
        /// `--data-file`.
        file: PathBuf,
        /// `--reply-every`.
        reply_every: u32,
    },
}

impl Kind {
    /// The load; `None` of a playback, whose file says it all.
    pub fn load(&self) -> Option<&Load> {
        match self {
            Self::PingPong { load, .. } | Self::UnderLoad { load, .. } | Self::Throughput { load } => Some(load),
            Self::Playback { .. } => None,
        }
    }

    /// Divisor of the global numbers that ask for an answer; `None` where none do.
    pub fn reply_every(&self) -> Option<u32> {
        match self {
            Self::PingPong { .. } => Some(1),
            Self::UnderLoad { reply_every, .. } | Self::Playback { reply_every, .. } => Some(*reply_every),
            Self::Throughput { .. } => None,
        }
    }
}

/// Amount, rate and duration of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// End of the load.
    pub stop: Stop,
    /// `--mps`: of the whole client, not of each socket.
    pub rate: Mps,
    /// `-b`: messages that leave together over one socket, 1 or more. A cycle lasts burst / mps.
    pub burst: u32,
    /// Length of a message.
    pub size: Size,
}

/// End of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `-t`: after so many seconds of valid data, 1 to 36,000,000.
    Seconds(u32),
    /// `-n`: after so many messages, beside those before and behind that do not count ([`BEFORE`], [`BEHIND`]).
    Messages(u32),
}

/// Messages sent before those that `-n` asks for.
pub const BEFORE: u32 = 8_000;
/// Messages sent behind them.
pub const BEHIND: u32 = 1_000;

/// Messages a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mps {
    /// So many, 1 to 2³⁰.
    At(u32),
    /// As many as go.
    Max,
}

/// Length of a message, in bytes, header included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// `-m`: the longest.
    pub most: u32,
    /// `-r`: how much less it may be; 0: every message has the same length.
    pub range: u32,
}

impl Size {
    /// The shortest: lengths are drawn evenly from this to [`Size::most`].
    pub fn least(self) -> u32 {
        self.most.saturating_sub(self.range).max(SMALLEST)
    }
}

/// Address that a client sends from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Local {
    /// `--client_ip`: name or address.
    pub host: Option<String>,
    /// `--client_port`; 0 lets the system choose.
    pub port: u16,
}

/// Form of a client's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Display {
    /// `--full-log`.
    pub full_log: Option<PathBuf>,
    /// `--full-rtt`: round trips in place of half of them.
    pub full_rtt: bool,
    /// `--giga-size`.
    pub giga_size: bool,
    /// `--increase_output_precision`.
    pub increase_output_precision: bool,
    /// `--ci_sig_level`: level of the confidence interval in percent, 1 to 99.
    pub ci_level: u8,
    /// `--histogram`.
    pub histogram: Option<Histogram>,
}

/// Bins of `--histogram`, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the unit is in the name")]
pub struct Histogram {
    /// Width of a bin, 1 or more.
    pub bin_us: u32,
    /// Begin of the first bin, microseconds.
    pub low_us: u32,
    /// End of the last, microseconds; above `low_us`.
    pub high_us: u32,
}

/// Options of every subcommand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub struct Common {
    /// The socket, or the file that names several.
    pub place: Place,
    /// `-a`, `-A`.
    pub activity: Option<Activity>,
    /// `TCP_NODELAY` of TCP sockets: what `--tcp-avoid-nodelay` makes of the subcommand's own choice.
    pub nodelay: bool,
    /// `--tcp-skip-blocking-send`: a send that would wait is left out and counted.
    pub skip_blocking_send: bool,
    /// `--tos`: `IP_TOS` or `IPV6_TCLASS`.
    pub tos: Option<u8>,
    /// `--uc-reuseaddr`: `SO_REUSEADDR`.
    pub reuse_address: bool,
    /// `--lls`: `SO_BUSY_POLL` in microseconds.
    pub busy_poll_us: Option<u32>,
    /// `--buffer-size`: `SO_RCVBUF` and `SO_SNDBUF` in bytes.
    pub buffer_bytes: Option<u32>,
    /// `--nonblocked`: the receiver spins.
    pub nonblocked: bool,
    /// Neither the line about the warm-up nor what it speaks of: `--dontwarmup`.
    pub skip_warm_up: bool,
    /// `--pre-warmup-wait`, in seconds.
    pub pre_warm_up_wait_s: u32,
    /// `--daemonize`.
    pub daemonize: bool,
    /// `--rate-limit`: `SO_MAX_PACING_RATE` in bytes a second.
    pub pacing_rate: Option<u32>,
}

/// The socket, or the file that names several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `-i`, `-p`, `--tcp`.
    One(Socket),
    /// `-f`.
    Feed {
        /// The file.
        file: PathBuf,
        /// `-F`: how the original would wait for several sockets; here only a word of the output.
        multiplex: Multiplex,
    },
}

/// One socket by its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Socket {
    /// `--tcp`.
    pub transport: Transport,
    /// `-i`: name or address; `None`: a server listens at every address, a client asks the local host
    /// ([`SERVER_HOST`], [`CLIENT_HOST`]).
    pub host: Option<String>,
    /// `-p`.
    pub port: u16,
}

/// Address of a server that was given none: every address of both families.
pub const SERVER_HOST: Ipv6Addr = Ipv6Addr::UNSPECIFIED;
/// Address that a client asks that was given none. Servers of either version, not told either, are there.
pub const CLIENT_HOST: &str = "127.0.0.1";

/// Transport of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams.
    #[default]
    Udp,
    /// A stream.
    Tcp,
}

/// Way in which the original waits for several sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Multiplex {
    /// `s`, `select`.
    Select,
    /// `p`, `poll`.
    Poll,
    /// `e`, `epoll`.
    #[default]
    Epoll,
    /// `r`, `recvfrom`: the word of a single socket.
    Recvfrom,
}

/// Signs of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// After each so many messages, 1 or more.
    pub every: u64,
    /// `-A`: a line of figures; else a dot.
    pub detailed: bool,
}

/// Options that the original has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// `--json`: the record on standard output in place of the text.
    pub json: bool,
    /// `--record`: the record in a file beside the text.
    pub record: Option<PathBuf>,
    /// `--samples`: every exchange in a file.
    pub samples: Option<SampleFile>,
    /// `--pacing`: how a message's instant is waited for.
    pub pacing: Option<Pacing>,
}

/// One option in a word, each once; a value in a word of its own does not begin with a dash.
const RULES: Rules = Rules {
    bundles: false,
    abbreviations: false,
    dashed_values: false,
    repeats: false,
    dashes: Dashes::Nothing,
    operands: 0,
};

/// The complaint of a word: of a value or a repetition in the original's words, which says nothing about the others.
fn text(fault: &Fault) -> String {
    let word = &fault.word;
    match fault.why {
        Why::NoValue => format!("Option {word} should have an argument"),
        Why::Value => format!("Option {word} should not have an argument"),
        Why::Again => format!("Option {word} should not be repeatable"),
        Why::Unknown | Why::Ambiguous => format!("sockperf: {word}: is no option of this subcommand"),
        Why::Operand => format!("sockperf: {word}: belongs to no option"),
    }
}

/// Reads the words behind the program's name.
///
/// # Errors
/// The text that is printed in place of a run: the help, the version, or the reason for which these words cannot be.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    let Some((first, words)) = words.split_first() else { return Err(Answer::complaint(usage::general())) };
    let subcommand = Subcommand::named(first).ok_or_else(|| other(first))?;
    let given = Given::all(Scan::new(words, table::entries(subcommand), RULES))
        .map_err(|fault| reading::complaint(subcommand, &text(&fault)))?;
    if given.has(Key::Help) {
        return Err(Answer::said(usage::of(subcommand), 0));
    }
    if let Some((option, why)) = refused::refusal(&given) {
        return Err(Answer::refusal("sockperf", option, why));
    }
    let notes = refused::notes(&given, subcommand);
    let mut reading = Reading { subcommand, given, notes };
    let common = either_end::read(&mut reading)?;
    let (command, own) = match subcommand {
        Subcommand::Server => (Command::Server(server::read(&mut reading, common)?), Own::default()),
        _ => client::read(&mut reading, common).map(|(client, own)| (Command::Client(client), own))?,
    };
    Ok(Asked { command, own, notes: reading.notes })
}

/// A word in a subcommand's place that is none.
fn other(word: &str) -> Answer {
    match word {
        "--version" => usage::version(),
        "help" | "h" | "?" | "-h" | "-?" | "--help" | "--usage" => Answer::said(usage::general(), 0),
        _ => Answer::complaint(format!("sockperf: {word}: is no subcommand\n\n{}", usage::general())),
    }
}

#[cfg(test)]
mod tests;
