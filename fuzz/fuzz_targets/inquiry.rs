//! Any octets at all, for `protocol::drive::inquiry`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::inquiry(data));
