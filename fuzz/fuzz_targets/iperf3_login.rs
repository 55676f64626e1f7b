//! Any octets at all, for `protocol::drive::iperf3_login`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::iperf3_login(data));
