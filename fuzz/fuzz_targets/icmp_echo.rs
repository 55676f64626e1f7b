//! Any octets at all, for `testbed::drive::icmp_echo`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::icmp_echo(data));
