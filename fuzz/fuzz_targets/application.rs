//! Any octets at all, for `testbed::drive::application`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::application(data));
