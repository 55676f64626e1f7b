//! Any octets at all, for `protocol::drive::sockperf_feed`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::sockperf_feed(data));
