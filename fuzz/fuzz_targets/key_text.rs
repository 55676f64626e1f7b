//! Any octets at all, for `protocol::drive::key_text`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::key_text(data));
