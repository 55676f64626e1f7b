//! Any octets at all, for `protocol::drive::sockperf_datagram`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::sockperf_datagram(data));
