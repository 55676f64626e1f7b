//! Any octets at all, for `testbed::drive::sockperf_stream`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::sockperf_stream(data));
