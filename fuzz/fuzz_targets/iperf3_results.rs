//! Any octets at all, for `protocol::drive::iperf3_results`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::iperf3_results(data));
