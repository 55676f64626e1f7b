//! Any octets at all, for `protocol::drive::native_preamble`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::native_preamble(data));
