//! Any octets at all, for `testbed::drive::trace_text`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::trace_text(data));
