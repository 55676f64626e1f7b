//! Any octets at all, for `testbed::drive::native_client`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::native_client(data));
