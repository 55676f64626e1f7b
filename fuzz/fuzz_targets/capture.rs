//! Any octets at all, for `protocol::drive::capture`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::capture(data));
