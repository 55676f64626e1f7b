//! Any octets at all, for `testbed::drive::iperf3_login`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::iperf3_login(data));
