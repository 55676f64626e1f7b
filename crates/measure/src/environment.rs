//! Facts about the host at one end: read by `endpoint`, kept by `logbook`, judged by [`crate::verdict`].
//!
//! A fact that could not be read is absent, and [`Environment::unread`] says why; nothing is guessed or set to 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// One end of a measurement: its system, and the changes of its counters during the run. A reader accepts fields that an older or
/// newer end leaves out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Environment {
    /// Name and version of the measuring program at this end.
    pub program: String,
    /// Host name.
    pub host: Option<String>,
    /// Kernel release and build.
    pub kernel: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs this process may run on.
    pub cpus_allowed: Option<u32>,
    /// Number of the one CPU that it may run on; absent where it may run on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_cpu: Option<u32>,
    /// CPUs of the machine that are online.
    pub cpus_online: Option<u32>,
    /// True where two CPUs share a core (simultaneous multithreading).
    pub smt: Option<bool>,
    /// Hypervisor under this machine, where it is a guest.
    pub hypervisor: Option<String>,
    /// Maker and product of the (virtual) machine.
    pub machine: Option<String>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// True where a time service (NTP, PTP) keeps the system clock.
    pub clock_synchronised: Option<bool>,
    /// Frequency governors in use, each once.
    pub governors: Vec<String>,
    /// Driver of the CPU's idle states; absent where the kernel has none.
    pub idle_driver: Option<String>,
    /// The deepest enabled idle state's name and exit latency, as `C6 133 us`.
    pub deepest_idle_state: Option<String>,
    /// Congestion control a new TCP socket starts with.
    pub congestion_control: Option<String>,
    /// Qdisc a new interface gets.
    pub default_qdisc: Option<String>,
    /// The interface the measurement leaves by.
    pub interface: Option<Interface>,
    /// Further facts by their path or name in the system, verbatim.
    pub settings: BTreeMap<String, String>,
    /// Disturbance of this host during the measurement.
    pub disturbance: Option<Disturbance>,
    /// Counters of the kernel that changed during the measurement, by `protocol.counter`, as differences.
    pub counters: BTreeMap<String, i64>,
    /// Facts that changed between the start and the end, as `name: before -> after`.
    pub changed: Vec<String>,
    /// Facts that could not be read, and why.
    pub unread: Vec<String>,
    /// Age of the oldest of these facts, or of the counters' first values, at the start: a server reads them for several sessions
    /// at once. Absent where they were read at the start.
    pub read_before_ns: Option<Nanos>,
}

impl Environment {
    /// Removes the facts of this machine, for a reader who may not know them: only its disturbance during the
    /// measurement stays, without which no value could be judged.
    pub fn without_facts(self) -> Self {
        Self {
            program: self.program,
            disturbance: self.disturbance,
            counters: self.counters,
            read_before_ns: self.read_before_ns,
            unread: vec!["facts of this host: it does not tell them to this client".to_owned()],
            ..Self::default()
        }
    }
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its driver.
    pub driver: Option<String>,
    /// Largest packet, bytes of IP.
    pub mtu_bytes: Option<u32>,
    /// Speed in megabits per second, where it has one.
    pub speed_mbps: Option<u32>,
    /// Length of its transmit queue, packets.
    pub tx_queue_len: Option<u32>,
    /// Offloads in force.
    pub offloads: Vec<String>,
    /// Interrupt moderation: microseconds a received packet may wait.
    pub rx_usecs: Option<u32>,
    /// True where interrupt moderation adapts itself to the rate.
    pub adaptive_rx: Option<bool>,
    /// Its queueing discipline.
    pub qdisc: Option<String>,
    /// Queueing disciplines, and classes of them, that let no more than a rate out of it; empty where there are none, or they could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shapers: Vec<Shaper>,
}

/// A queueing discipline, or a class of one, that lets no more than a rate out of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shaper {
    /// Kind of queueing discipline, as `tbf`.
    pub qdisc: String,
    /// The rate, bytes per second of whole frames.
    pub bytes_per_s: u64,
}

/// Disturbance of an end while it measured. Shares are of the run's time, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Disturbance {
    /// Time over which it was watched, nanoseconds.
    pub watched_ns: Nanos,
    /// Longest any measuring thread's share of that time spent ready to run but waiting for a CPU.
    pub run_queue_share: Option<f64>,
    /// Involuntary context switches of the process, a count.
    pub involuntary_switches: Option<u64>,
    /// Share of CPU time the hypervisor gave to others.
    pub steal_share: Option<f64>,
    /// Share of the time in which some task waited for a CPU (pressure stall information).
    pub cpu_pressure_share: Option<f64>,
    /// Times the network soft interrupt ran out of its budget.
    pub softnet_squeezed: Option<u64>,
    /// User CPU time of the process, nanoseconds.
    pub user_ns: Option<Nanos>,
    /// System CPU time of the process, nanoseconds.
    pub system_ns: Option<Nanos>,
}
