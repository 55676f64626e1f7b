//! Forms of 2.7.0 that the transcripts of 2.7.1 have not.

use test_case::test_case;

use super::scene::{cpu, scene};

#[test]
fn cpu_use() {
    scene("d01_tcp_rr_v0_cpu").rate(61_793.0, 1.0).cpu(100.0).plays();
}
