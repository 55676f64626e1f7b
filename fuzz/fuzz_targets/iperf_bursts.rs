//! Any octets at all, for `protocol::drive::iperf_bursts`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::iperf_bursts(data));
