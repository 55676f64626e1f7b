//! Any octets at all, for `protocol::drive::syn_probe`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::syn_probe(data));
