//! Any octets at all, for `protocol::drive::iperf3_server`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::iperf3_server(data));
