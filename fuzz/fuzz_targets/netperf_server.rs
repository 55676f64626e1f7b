//! Any octets at all, for `testbed::drive::netperf_server`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::netperf_server(data));
