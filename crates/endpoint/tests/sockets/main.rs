//! The engines, the reflector and both ends of every peer on real sockets, in one process: what one waits for, another uses.

mod bulk;
mod bulk_ways;
mod details;
mod handshake;
mod iperf3_client;
mod iperf3_server;
mod iperf_client;
mod iperf_server;
mod load_batches;
mod loopback;
mod netperf_client;
mod netserver;
mod prober;
mod prober_programs;
mod reflector;
mod served;
mod sockperf_client;
mod sockperf_server;
mod stamp;
mod strangers;
mod throughput;
