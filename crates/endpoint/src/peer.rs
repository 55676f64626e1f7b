//! Other tools' protocols on real sockets: each in a folder of its own, the bytes of which are in `protocol`.

pub mod iperf;
pub mod iperf3;
pub mod irtt;
pub mod netperf;
pub mod ping;
pub mod sockperf;
pub mod stamp;
