//! Any octets at all, for `testbed::drive::inquiry`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::inquiry(data));
