//! Any octets at all, for `testbed::drive::key_text`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::key_text(data));
