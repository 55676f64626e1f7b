//! Words behind `netperf`, as plain values: no I/O, no name looked up, no file read.
//!
//! [`super::command_line::parse`] reads the words by the rules of the real program's command line. An option that is not
//! honoured is refused with a sentence ([`crate::persona::answer::Answer`]) or, where the run makes sense without it, named
//! in [`Options::notes`].

pub mod form;
pub mod pair;

use std::path::PathBuf;

use endpoint::name::Family;
use measure::method::Pacing;

use crate::command::value::SampleFile;
use crate::persona::netperf::options::form::Form;
use crate::persona::netperf::options::pair::Pair;
use crate::persona::netperf::test_name::{Direction, SocketType, Test, Transport};
use crate::persona::netperf::unit::Unit;

/// The control port a netserver listens at.
pub const PORT: u16 = 12_865;
/// Alignment of buffers where none is asked for, in bytes.
pub const ALIGNMENT: u32 = 8;

/// One run of the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `-t`.
    pub test: Test,
    /// Address of the server.
    pub control: Control,
    /// `-l`: when the test ends.
    pub length: Length,
    /// `-i`, `-I`, `-r`: whether it is repeated until its result is sure.
    pub confidence: Option<Confidence>,
    /// `-c`, `-C`: whose CPU use is measured.
    pub cpu: Pair<Option<CpuMeasure>>,
    /// `-T`: which CPU each end is bound to.
    pub bind_cpu: Pair<Option<u32>>,
    /// `-w`, `-b`: the pace of each end.
    pub pace: Pair<Pace>,
    /// `-s`: pause between set-up and traffic, in seconds.
    pub wait_s: u32,
    /// `-S`: `SO_KEEPALIVE` on the data connection.
    pub keepalive: bool,
    /// `-F`: what send buffers are filled from; the remote file lies at the server.
    pub fill_file: Pair<Option<String>>,
    /// `-a`, `-A`, `-o`, `-O`, `-W`: where buffers lie in memory.
    pub buffers: Buffers,
    /// `-y`: `SO_PRIORITY`.
    pub priority: Pair<Option<i32>>,
    /// `-Y`: type of service or traffic class.
    pub tos: Pair<Option<u8>>,
    /// `-Z`, or the file that holds it.
    pub passphrase: Option<Passphrase>,
    /// The data connection.
    pub data: Data,
    /// Form of the output.
    pub display: Display,
    /// Options that the real program has not.
    pub own: Own,
    /// Sentences for standard error: what was read in another way than the real program reads it, and what has no
    /// effect.
    pub notes: Vec<String>,
    /// The words joined by blanks, the program's name first: the `COMMAND_LINE` selector.
    pub command_line: String,
}

/// Address of the server, and the one it is asked from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// `-H`; `None`: the local host of the family.
    pub host: Option<String>,
    /// `-p`.
    pub port: u16,
    /// Family of `-H`, or of `-4` and `-6`.
    pub family: Family,
    /// `-L`: local address of the control connection, and of the data connection unless it has its own.
    pub local_host: Option<String>,
    /// Family of `-L`.
    pub local_family: Family,
    /// Second value of `-p`: local port of the control connection; 0 lets the system choose.
    pub local_port: u16,
}

impl Options {
    /// Columns of each row of the histogram.
    pub fn buckets(&self) -> usize {
        let usual = if matches!(self.display.form, Form::Csv(_)) { BUCKETS_FOR_PROGRAMS } else { BUCKETS };
        self.own.buckets.map_or(usual, usize::from)
    }
}

impl Control {
    /// The host to ask: that of `-H`, else the local one.
    pub fn target(&self) -> &str {
        match (&self.host, self.family) {
            (Some(host), _) => host,
            (None, Family::V6) => "::1",
            (None, _) => "localhost",
        }
    }
}

/// End of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// After so many seconds.
    Seconds(u32),
    /// On an interruption.
    UntilInterrupted,
    /// After so many transactions, or bytes in a one-way test.
    Count(u64),
}

/// Condition for the end of repeating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    /// 95 or 99, in percent.
    pub level: u8,
    /// Full width of the interval, in percent of the mean.
    pub width_percent: f64,
    /// Fewest iterations.
    pub min: u32,
    /// Most iterations.
    pub max: u32,
    /// `-r`: CPU use need not be sure.
    pub result_only: bool,
}

/// CPU use is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuMeasure {
    /// The rate given behind `-c` or `-C`, in place of a calibration.
    pub rate: Option<f32>,
}

/// So many operations (transactions, or sends of a one-way test) each interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// `-w`; 0: no pace.
    pub interval_ns: u64,
    /// `-b`; 0: no pace.
    pub burst: u32,
}

impl Pace {
    /// Returns true where anything waits.
    pub fn is_paced(self) -> bool {
        self.interval_ns > 0 && self.burst > 0
    }

    /// The interval in whole microseconds, as it is told and sent.
    pub fn interval_us(self) -> u64 {
        self.interval_ns / 1_000
    }
}

/// Position of buffers in memory, at each end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Alignment of send buffers, in bytes.
    pub send_alignment: Pair<u32>,
    /// Alignment of receive buffers.
    pub receive_alignment: Pair<u32>,
    /// Offset of send buffers from it.
    pub send_offset: Pair<u32>,
    /// Offset of receive buffers.
    pub receive_offset: Pair<u32>,
    /// `-W`: buffers in the send ring; `None`: the end decides.
    pub send_width: Option<u32>,
    /// The same of the receive ring.
    pub receive_width: Option<u32>,
}

/// The passphrase the server expects first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passphrase {
    /// As typed, visible to everybody who lists processes.
    Word(String),
    /// The first line of a file.
    File(PathBuf),
}

/// The data connection: what the name of the test fixes, and the test-specific options.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub struct Data {
    /// Direction of the data: fixed by the test's name, or `-d`, `-c`, `-r`, `-m`, `-M` of omni.
    pub direction: Direction,
    /// `-T` of omni, or fixed by the test's name.
    pub transport: Transport,
    /// `-t` of omni; `None`: that of the transport.
    pub socket_type: Option<SocketType>,
    /// `-r`: bytes of a request; `None` in one-way tests.
    pub request_bytes: Option<u32>,
    /// `-r`: bytes of a response; `None` in one-way tests.
    pub response_bytes: Option<u32>,
    /// `-m`: bytes of a send call.
    pub send_bytes: Pair<Option<u32>>,
    /// `-M`: bytes of a receive call.
    pub receive_bytes: Pair<Option<u32>>,
    /// `-s`, `-S`, first values: send buffers of the sockets.
    pub send_buffer_bytes: Pair<Option<u32>>,
    /// `-s`, `-S`, second values: receive buffers.
    pub receive_buffer_bytes: Pair<Option<u32>>,
    /// `-P`: data ports; 0 lets the system choose.
    pub port: Pair<u16>,
    /// `-p`: local ports that connection tests take in turn.
    pub port_range: Option<(u16, u16)>,
    /// `-L`, `-H`: data addresses in place of those of the control connection.
    pub address: Pair<Option<DataAddress>>,
    /// `-4`, `-6`.
    pub family: Family,
    /// `-b`: requests in flight beside the first.
    pub first_burst: u32,
    /// `-D`: `TCP_NODELAY` at both ends.
    pub nodelay: bool,
    /// `-C`: `TCP_CORK`.
    pub cork: bool,
    /// `-e`: a datagram's response is waited for so many seconds; `None`: [`RECEIVE_TIMEOUT_S`].
    pub receive_timeout_s: Option<u32>,
    /// `-n`, `-N`: connected datagram sockets.
    pub connected: Pair<bool>,
    /// `-R`: whether a router may be crossed; without it `SO_DONTROUTE` is set.
    pub routing: bool,
    /// `-K`: congestion control.
    pub congestion: Pair<Option<String>>,
    /// `-G`: `TCP_MAXSEG`.
    pub mss_bytes: Option<u32>,
    /// `-q`: `SO_MAX_PACING_RATE` in bytes a second.
    pub max_pacing_rate: Option<u32>,
    /// `-F`: TCP Fast Open.
    pub fast_open: bool,
    /// `-f`: path-MTU discovery on, no fragments.
    pub path_mtu: bool,
    /// `-a`: `TCP_DEFER_ACCEPT` at the server.
    pub defer_accept: bool,
    /// `-B`: the server answers from the address that a datagram came to.
    pub packet_info: bool,
    /// `-U`: in connection tests a failed connect goes on with the next port.
    pub any_connect_error: bool,
    /// `-u`: the UUID to tell.
    pub uuid: Option<String>,
}

/// Longest wait for a datagram's response where `-e` does not say, seconds.
pub const RECEIVE_TIMEOUT_S: u32 = 1;

/// An address of the data connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAddress {
    /// Name or address.
    pub host: String,
    /// Bits of the network part, where the host part is drawn anew for each iteration.
    pub mask: Option<u8>,
}

/// Form of the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Display {
    /// `-P`: banner and titles.
    pub headers: bool,
    /// `-v`.
    pub verbosity: u32,
    /// `-f`, resolved for the direction.
    pub unit: Unit,
    /// `-B`.
    pub brand: Option<String>,
    /// `-D`.
    pub interim: Option<Interim>,
    /// `-o`, `-O`, `-k`.
    pub form: Form,
    /// `-j`: durations are kept even if nothing asks for them.
    pub keep_latency: bool,
    /// `-d`: how often it was given.
    pub debug: u32,
}

impl Display {
    /// Returns true where a histogram is printed.
    pub fn histogram(&self) -> bool {
        self.verbosity > 1
    }
}

/// Results in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interim {
    /// Time between two.
    pub interval_ns: u64,
}

/// Options that the real program has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// `--json`, `-J`: the record on standard output in place of the text.
    pub json: bool,
    /// `--record`: the record in a file beside the text.
    pub record: Option<PathBuf>,
    /// `--samples`: every exchange in a file.
    pub samples: Option<SampleFile>,
    /// `--pacing`: how an operation's instant is waited for.
    pub pacing: Option<Pacing>,
    /// `--buckets`: columns of each row of the histogram.
    pub buckets: Option<u16>,
}

impl Own {
    /// True where more is made of the run than its text.
    pub fn keeps(&self) -> bool {
        self.json || self.record.is_some() || self.samples.is_some()
    }
}

/// Columns of a histogram that people read, as the original prints it.
const BUCKETS: usize = 10;
/// Columns of one behind comma-separated values, which programs read: `PerfKit` Benchmarker takes percentiles from it, and of ten
/// columns they would be wrong without a word.
const BUCKETS_FOR_PROGRAMS: usize = 1_000;
