//! Any octets at all, for `testbed::drive::syn_probe`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::syn_probe(data));
