//! Any octets at all, for `testbed::drive::iperf_first`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::iperf_first(data));
