//! Words behind `iperf3`, as plain values: no I/O, no name looked up, no file read.
//!
//! [`parse`] reads the words by the rules of the real program's command line, and complains in its words. An option that is
//! not honoured is refused with a sentence ([`Answer`]) or, where the run makes sense without it, named in [`Asked::notes`].

mod client;
mod either_end;
pub mod number;
mod reading;
pub mod refused;
mod server;
pub mod table;
#[cfg(test)]
mod tests;
pub mod usage;

use std::path::PathBuf;

use endpoint::name::Family;
use protocol::iperf3::code::Code;
use protocol::iperf3::parameters::{Direction, Protocol};

use crate::persona::answer::Answer;
use crate::persona::getopt::{GNU, Scan};
use crate::persona::iperf3::options::reading::Reading;
use crate::persona::iperf3::options::table::{ENTRIES, End, Given, Key};

/// A command line read.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Options of both ends.
    pub common: Common,
    /// The end, and the options that it takes alone.
    pub role: Role,
    /// Sentences for standard error: what has no effect here.
    pub notes: Vec<String>,
}

/// End of the test.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// `-s`.
    Server(Server),
    /// `-c`.
    Client(Box<Client>),
}

/// Options of both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Common {
    /// `-p`.
    pub port: u16,
    /// `-f`: unit of rates; `None`: by their size.
    pub format: Option<char>,
    /// `-i`: seconds between reports; 0: none but the last.
    pub interval_s: f64,
    /// `-I`.
    pub pidfile: Option<PathBuf>,
    /// `-F`.
    pub file: Option<PathBuf>,
    /// `-A`: CPU to run on.
    pub cpu: Option<u32>,
    /// `-B`: name or address to send from or listen at.
    pub bind: Option<String>,
    /// `--bind-dev`, or what stands behind `%`.
    pub device: Option<String>,
    /// `-V`.
    pub verbose: bool,
    /// `-J` and what goes with it.
    pub form: Form,
    /// `--logfile`.
    pub logfile: Option<PathBuf>,
    /// `--timestamps`: what `strftime` makes of it stands in front of each line.
    pub timestamps: Option<String>,
    /// `--rcv-timeout`, in milliseconds.
    pub receive_timeout_ms: u32,
    /// `--snd-timeout`, in milliseconds; `None`: the system's.
    pub send_timeout_ms: Option<u32>,
    /// `--cntl-ka`.
    pub keepalive: Option<Keepalive>,
    /// `-4`, `-6`.
    pub family: Family,
    /// `--use-pkcs1-padding`.
    pub pkcs1: bool,
}

/// Form of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As text, while it runs.
    #[default]
    Text,
    /// As one object of JSON at the end.
    Json,
    /// As a line of JSON for each event. `full`: and as one object at the end.
    Stream {
        /// `--json-stream-full-output`.
        full: bool,
    },
}

/// Keepalive of the control connection; what is absent is the system's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keepalive {
    /// Seconds of silence before the first probe.
    pub idle_s: Option<u32>,
    /// Seconds between two.
    pub interval_s: Option<u32>,
    /// Probes without an answer that end the connection.
    pub count: Option<u32>,
}

/// Options of a server alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Server {
    /// `-D`.
    pub daemon: bool,
    /// `-1`.
    pub one_off: bool,
    /// `--server-bitrate-limit`: bits a second of all streams together.
    pub rate_limit: Option<u64>,
    /// And the seconds that it is a mean of.
    pub rate_over_s: u32,
    /// `--idle-timeout`.
    pub idle_timeout_s: Option<u32>,
    /// `--server-max-duration`.
    pub max_duration_s: Option<u32>,
    /// Users that it lets in.
    pub login: Option<ServerLogin>,
    /// `-m`: takes connections over several paths too.
    pub mptcp: bool,
}

/// Users that a server lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerLogin {
    /// `--rsa-private-key-path`.
    pub key: PathBuf,
    /// `--authorized-users-path`.
    pub users: PathBuf,
    /// `--time-skew-threshold`.
    pub skew_s: u64,
}

/// End of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// `-t`: after so many seconds; 0: when a signal comes.
    Seconds(u32),
    /// `-n`: after so many bytes.
    Bytes(u64),
    /// `-k`: after so many blocks.
    Blocks(u64),
}

/// Options of a client alone.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Client {
    /// `-c`: name or address of the server.
    pub host: String,
    /// `-u`.
    pub protocol: Protocol,
    /// `-R`, `--bidir`.
    pub direction: Direction,
    /// `-P`.
    pub parallel: u32,
    /// `-t`, `-n`, `-k`.
    pub until: Until,
    /// `-O`: seconds that do not count.
    pub omit_s: u32,
    /// `-l`; `None`: by protocol.
    pub block_bytes: Option<u32>,
    /// `-b`: bits a second of each stream; `None`: all it can.
    pub rate: Option<u64>,
    /// Number behind the slash of `-b`; 0: none.
    pub burst: u32,
    /// `--pacing-timer`, in microseconds.
    pub pacing_timer_us: u32,
    /// `--fq-rate`: bits a second of each socket.
    pub fq_rate: Option<u64>,
    /// `-w`.
    pub window: Option<u32>,
    /// `-C`.
    pub congestion: Option<String>,
    /// `-M`.
    pub segment_bytes: Option<u32>,
    /// `-N`.
    pub nodelay: bool,
    /// `-S`, `--dscp`.
    pub tos: u8,
    /// `-Z`.
    pub zerocopy: bool,
    /// `--skip-rx-copy`.
    pub skip_copy: bool,
    /// `-m`: over several paths.
    pub mptcp: bool,
    /// `--gsro`: the kernel cuts and joins datagrams.
    pub gsro: bool,
    /// `--cport`.
    pub first_port: Option<u16>,
    /// `--connect-timeout`, in milliseconds.
    pub connect_timeout_ms: Option<u32>,
    /// `-T`.
    pub title: Option<String>,
    /// `--extra-data`.
    pub extra_data: Option<String>,
    /// `--get-server-output`.
    pub server_output: bool,
    /// `--udp-counters-64bit`.
    pub counters_64bit: bool,
    /// `--repeating-payload`.
    pub repeating_payload: bool,
    /// `--dont-fragment`.
    pub dont_fragment: bool,
    /// The second number of `-A`: CPU that the server is to run on.
    pub server_cpu: Option<u32>,
    /// Credentials of the user who logs in.
    pub login: Option<ClientLogin>,
    /// `--record`, which is ours.
    pub record: Option<PathBuf>,
}

/// Credentials of the user who logs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientLogin {
    /// `--username`.
    pub user: String,
    /// `--rsa-public-key-path`.
    pub key: PathBuf,
}

/// Reads a command line.
///
/// # Errors
/// The help or the version where that was asked for; the complaint where the words make no sense.
pub fn parse(words: &[String]) -> Result<Asked, Answer> {
    let reading = Given::all(Scan::new(words, ENTRIES, GNU)).map_err(|fault| usage::complaint(&fault.glibc()))?;
    // Whichever comes first is answered, whatever else is wrong.
    match reading.keys().find(|key| matches!(key, Key::Help | Key::Version)) {
        Some(Key::Help) => return Err(Answer::said(usage::help(), 0)),
        Some(_) => return Err(Answer::said(usage::version(), 0)),
        None => {}
    }
    let server = is_server(&reading)?;
    if let Some((option, why)) = refused::refusal(&reading) {
        return Err(usage::parameter_error(format!("{option}: {why}")));
    }
    let mut common = either_end::read(&reading)?;
    let role = if server {
        Role::Server(server::read(&reading)?)
    } else {
        Role::Client(Box::new(client::read(&reading, &mut common)?))
    };
    Ok(Asked { common, role, notes: refused::notes(&reading) })
}

/// Returns true for a server, where no option of the other end was given.
fn is_server(reading: &Reading) -> Result<bool, Answer> {
    let (server, client) = (reading.has(Key::Server), reading.has(Key::Client));
    let alone = |end| reading.entries().any(|entry| entry.place == end);
    let fault = match (server, client) {
        (true, true) => Code(1),
        (false, false) => Code(2),
        (true, _) if alone(End::Client) => Code(4),
        (_, true) if alone(End::Server) => Code(3),
        _ => return Ok(server),
    };
    Err(usage::parameter_error(fault))
}
