//! A document with a string of a stranger's, for `report::strangers::document`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| report::strangers::document(data));
