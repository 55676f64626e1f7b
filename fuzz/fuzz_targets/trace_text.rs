//! Any octets at all, for `protocol::drive::trace_text`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::trace_text(data));
