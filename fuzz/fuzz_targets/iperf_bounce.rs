//! Any octets at all, for `protocol::drive::iperf_bounce`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::iperf_bounce(data));
