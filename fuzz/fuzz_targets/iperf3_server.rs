//! Any octets at all, for `testbed::drive::iperf3_server`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| testbed::drive::iperf3_server(data));
