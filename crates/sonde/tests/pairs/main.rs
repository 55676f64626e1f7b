//! Our program and the original, both ways, end to end; and what a peer's words, options and forms come to.

mod applications;
mod fping_pairs;
mod iperf3_pairs;
mod iperf_pairs;
mod irtt_client_pairs;
mod irtt_pairs;
mod irtt_server_pairs;
mod netperf_pairs;
mod ping_pairs;
mod sockperf_pairs;
mod sockperf_server;
mod stamp_pairs;
mod twping_pairs;
