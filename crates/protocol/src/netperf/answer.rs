//! Answers of a netserver: that it is ready, the results of the test, and the rate at which its CPUs count.
//!
//! A real server fills in little and leaves old words in the rest, so only fields that a client may believe are here.

use crate::netperf::ask::{Flags, Pacing};

/// The server is ready: its data socket waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready {
    /// Port to connect or send to, never 0. The address is the one the client knows.
    pub data_port: u16,
    /// The server's `SO_RCVBUF` as its system reports it (Linux: twice the size that was set), octets.
    pub receive_buffer: Option<u32>,
    /// Octets per receive call; of transactions: the request. `None` where the server does not receive, or did not say.
    pub receive_bytes: Option<u32>,
    /// Buffers it receives into in turn.
    pub receive_buffers: Option<u32>,
    /// The server's `SO_SNDBUF`, octets.
    pub send_buffer: Option<u32>,
    /// Octets per send call; of transactions: the response. `None` where the server does not send, or did not say.
    pub send_bytes: Option<u32>,
    /// Buffers it sends from in turn.
    pub send_buffers: Option<u32>,
    /// [`Flags::NODELAY`], [`Flags::SENDFILE`], [`Flags::MEASURE_CPU`] as they are; others mean nothing here. For a classic test
    /// a real server may leave an earlier test's there: believe the request.
    pub flags: Flags,
    /// Ticks per second of the server's CPU accounting; `None` where it does not measure it.
    pub cpu_rate: Option<f32>,
    /// Avoidance of copies on sending and on receiving.
    pub avoids_copies: Avoids,
    /// Pacing the server will do; `None`: it won't.
    pub pacing: Option<Pacing>,
    /// `SO_PRIORITY`, where it was set.
    pub priority: Option<u32>,
    /// Type of service or traffic class, where it was set.
    pub tos: Option<u32>,
}

/// Flags that a [`Ready`] says something about.
pub const SAID: Flags = Flags(Flags::NODELAY.0 | Flags::SENDFILE.0 | Flags::MEASURE_CPU.0);

/// Where copies between socket and memory are avoided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Avoids {
    /// On sending.
    pub send: bool,
    /// On receiving.
    pub receive: bool,
}

impl Ready {
    /// Ready at this port, and nothing else said.
    pub fn at(data_port: u16) -> Self {
        Self {
            data_port,
            receive_buffer: None,
            receive_bytes: None,
            receive_buffers: None,
            send_buffer: None,
            send_bytes: None,
            send_buffers: None,
            flags: Flags::NONE,
            cpu_rate: None,
            avoids_copies: Avoids::default(),
            pacing: None,
            priority: None,
            tos: None,
        }
    }
}

/// Results of the test at the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Traffic that it received; `None` where the dialect has no place for it.
    pub received: Option<Traffic>,
    /// Traffic that it sent; `None` where the dialect has no place for it.
    pub sent: Option<Traffic>,
    /// `SO_RCVBUF` at the end, octets.
    pub receive_buffer: Option<u32>,
    /// `SO_SNDBUF` at the end, octets.
    pub send_buffer: Option<u32>,
    /// Transactions it completed; carried modulo 2³². `None` where the dialect has no place for it.
    pub transactions: Option<u64>,
    /// Duration of the test at the server, seconds; `None` where the value is no time.
    pub elapsed_seconds: Option<f32>,
    /// CPU use of the server's host; only where it was asked for, and the server said that it measures.
    pub cpu: Option<Cpu>,
    /// TCP retransmits of the data connection; `None` where the server can't tell (UDP, a connection per transaction).
    pub retransmits: Option<u32>,
    /// TCP congestion control of the data connection; `None` where the server does not say. For a connection per transaction
    /// a real server does not say it, but may leave the one of an earlier test there.
    pub congestion: Option<String>,
}

/// Traffic of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Traffic {
    /// Octets. Classic tests of transactions and classic UDP carry them modulo 2³²; the classic TCP streams as a double. In
    /// classic tests of transactions a real server tells requests and responses together.
    pub bytes: u64,
    /// Calls, or datagrams; carried modulo 2³². A real server leaves 0 in classic tests of transactions.
    pub calls: u64,
}

/// CPU use of the server's host while the test ran, percent of all its CPUs (0 to 100).
///
/// On Linux from `/proc/stat`: 100 less the idle share, so waiting for disks and stolen time count as used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Everything but idle; `None` where the server's value is no share.
    pub util: Option<f32>,
    /// Programs.
    pub user: Option<f32>,
    /// The kernel.
    pub system: Option<f32>,
    /// Idle, with a disk to wait for.
    pub iowait: Option<f32>,
    /// Interrupts.
    pub irq: Option<f32>,
    /// Software interrupts.
    pub swintr: Option<f32>,
    /// Method of measurement.
    pub method: Method,
    /// CPUs of the host.
    pub count: u32,
    /// The busiest CPU.
    pub peak_id: Option<u32>,
    /// And its use, percent of this one.
    pub peak_util: Option<f32>,
}

/// Method of measuring CPU use, by netperf's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Method(pub u32);

impl Method {
    /// Nobody knows.
    pub const UNKNOWN: Self = Self(0);
    /// Linux's `/proc/stat`.
    pub const PROC_STAT: Self = Self(8);

    /// The letter netperf prints for it. From 0 to 12: unknown, HP's idle counter, pstat, times, looper, getrusage, NT, kstat,
    /// `/proc/stat`, sysctl, perfstat, kstat of Solaris 10, OS X. Any other number is unknown.
    pub fn letter(self) -> char {
        const LETTERS: [char; 13] = ['U', 'I', 'P', 'T', 'L', 'R', 'N', 'K', 'S', 'C', 'E', 'M', 'O'];
        LETTERS.get(self.0 as usize).copied().unwrap_or('U')
    }
}

/// Rate and number of a server's CPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Ticks per second of the CPU accounting (Linux: 100); `None` where it can't be measured.
    pub rate: Option<f32>,
    /// CPUs of the host.
    pub count: u32,
}
