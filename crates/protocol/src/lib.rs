//! Bytes and sessions of every peer, without a socket.
//!
//! A peer is a folder: [`native`] is ours, [`netperf`] netperf's, [`sockperf`] sockperf's, [`iperf`] iperf 2's,
//! [`iperf3`] iperf3's, [`stamp`] that of RFC 8762, [`icmp`] the echo that every kernel answers, [`echo`] the service
//! that sends back what it gets, [`syn`] a TCP segment on its own, [`application`] the protocols of programs at work,
//! and [`tls`] the encryption of some of them. [`capture`] reads the traffic of others, and [`inquiry`] asks a port
//! which of them it is. The needs of an engine that all of them meet alike are in [`link`] (a way to the peer),
//! [`wire`] (the match of a reply to its request) and [`bulk`] (a way for a stream). Nothing here does I/O or reads a
//! clock: bytes come in, bytes go out, and time is an argument.

pub mod application;
pub mod bulk;
pub mod capture;
pub mod checksum;
pub mod echo;
pub mod icmp;
pub mod inquiry;
pub mod iperf;
pub mod iperf3;
pub mod irtt;
pub mod link;
pub mod native;
pub mod netperf;
pub mod sockperf;
pub mod source;
pub mod stamp;
pub mod syn;
pub mod tls;
pub mod twamp;
pub mod wire;
