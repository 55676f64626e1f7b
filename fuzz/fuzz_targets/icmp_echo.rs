//! Any octets at all, for `protocol::drive::icmp_echo`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::icmp_echo(data));
