//! Any octets at all, for `testbed::drive::iperf3_parameters`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::iperf3_parameters(data));
