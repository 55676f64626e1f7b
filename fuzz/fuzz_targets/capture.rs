//! Any octets at all, for `testbed::drive::capture`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::capture(data));
