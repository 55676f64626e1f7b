//! Bytes and sessions of every peer, against captures, properties and the documents.

mod capture;
mod document;
mod iperf;
mod iperf3;
mod irtt;
mod netperf;
mod session;
mod sockperf;
