//! Any octets at all, for `protocol::drive::stamp`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::stamp(data));
