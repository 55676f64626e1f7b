//! Any octets at all, for `testbed::drive::irtt`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::irtt(data));
