//! Any octets at all, for `protocol::drive::sockperf_stream`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::sockperf_stream(data));
