//! Any octets at all, for `testbed::drive::sockperf_client`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::sockperf_client(data));
