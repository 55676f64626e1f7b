//! Any octets at all, for `testbed::drive::netperf_client`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::netperf_client(data));
