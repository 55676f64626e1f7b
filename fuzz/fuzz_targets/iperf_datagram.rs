//! Any octets at all, for `protocol::drive::iperf_datagram`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| protocol::drive::iperf_datagram(data));
