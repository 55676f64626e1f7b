//! Any octets at all, for `testbed::drive::iperf_bounce`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::iperf_bounce(data));
