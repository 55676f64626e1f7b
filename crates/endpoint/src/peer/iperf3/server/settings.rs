//! Settings of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use measure::unit::Nanos;
use protocol::iperf3::login::Login;

use crate::serve::door::Door;

/// Settings of an iperf3 server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses to listen at, for TCP and UDP alike. The wildcard of IPv6 serves IPv4 too.
    pub listen: Vec<SocketAddr>,
    /// Networks that are served, and the book of the clients.
    pub door: Door,
    /// Its bounds.
    pub limits: Limits,
    /// Users that may run a test; `None`: anyone.
    pub login: Option<Arc<Login>>,
    /// True where it ends after its first test. A refused test does not count.
    pub one_off: bool,
    /// Time without a test after which the observer is called, and a server for one test ends; absent: no limit.
    pub idle_timeout: Option<Nanos>,
    /// Length of the intervals that the observer receives.
    pub interval: Nanos,
    /// Longest time for which a stream may carry nothing; then its test ends.
    pub receive_timeout: Nanos,
    /// The CPU of the streams where a client asks for none; `None`: any.
    pub cpu: Option<u32>,
    /// File whose content is sent over TCP; absent: octets of ours.
    pub file: Option<PathBuf>,
    /// True where connections over several paths (MPTCP) are taken too, unless the door lets in certain addresses alone.
    pub multipath: bool,
}

impl Settings {
    /// Listening at `listen`, open to anyone, usual limits.
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen: vec![listen],
            door: Door::default(),
            limits: Limits::default(),
            login: None,
            one_off: false,
            idle_timeout: None,
            interval: measure::event::INTERVAL,
            receive_timeout: Nanos::secs(120),
            cpu: None,
            file: None,
            multipath: false,
        }
    }
}

/// Limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tests at once; for one more the server is busy. iperf3's own limit is 1.
    pub tests: u32,
    /// Connections at once, whatever they are for; for one more a stranger gives way, or it is closed at once: see
    /// [`crate::serve::visits`].
    pub connections: u32,
    /// Streams of all tests at once, each a thread; a test that would need more is refused (200).
    pub streams: u32,
    /// Bytes of memory of all streams' buffers together; a test that would need more is refused (200).
    pub buffer_bytes: u64,
    /// Bits a second of all streams of a test together; `None`: any. A test that asks for more is refused, and one that
    /// carries more is ended (27).
    pub rate: Option<RateLimit>,
    /// Seconds a test may last, what is left out included; `None`: any. One that asks for more, or for no end, is refused
    /// (37).
    pub seconds: Option<u32>,
}

impl Default for Limits {
    /// 512 tests on 4,096 connections, 2,048 streams in 1 GiB; no limit of rate and time.
    fn default() -> Self {
        let (tests, connections, streams) = (512, 4_096, 2_048);
        Self { tests, connections, streams, buffer_bytes: 1 << 30, rate: None, seconds: None }
    }
}

/// The most that a test may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Bits a second.
    pub bits_per_s: u64,
    /// The time over which the rate is taken.
    pub averaging: Nanos,
}

impl RateLimit {
    /// `bits_per_s` over five seconds, iperf3's default.
    pub fn new(bits_per_s: u64) -> Self {
        Self { bits_per_s, averaging: Nanos::secs(5) }
    }
}
