//! Any octets at all, for `testbed::drive::stamp`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::stamp(data));
