#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::native_frames(data));
