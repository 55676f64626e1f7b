//! Any octets at all, for `protocol::drive::netperf_server`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::netperf_server(data));
