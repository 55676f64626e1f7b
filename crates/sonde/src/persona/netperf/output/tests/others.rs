//! Forms of netperf 2.7.0 that the transcripts of 2.7.1 have not; tests without data; failures.

use endpoint::name::Family;
use test_case::test_case;

use super::scene::{Scene, scene};
use crate::persona::netperf::command_line;
use crate::persona::netperf::facts::{Facts, Iteration};
use crate::persona::netperf::options::Options;
use crate::persona::netperf::output::{bare, failure};
use crate::persona::netperf::transcript::Transcript;

#[test]
fn cpu_use_of_transactions() {
    scene("d01_tcp_rr_v0_cpu").rate(34_663.85, 1.0).cpu(100.0).plays();
    scene("d02_udp_rr_cpu").rate(11_866.50, 1.59).cpu(100.0).plays();
    scene("d03_udp_rr_v0_cpu").rate(13_044.53, 1.0).cpu(100.0).plays();
    scene("d04_tcp_crr_cpu").rate(4_906.46, 0.611).cpu(100.0).plays();
    scene("d05_tcp_crr_v0_cpu").rate(4_008.28, 0.75).cpu(100.0).plays();
    scene("d17_tcp_rr_cpu_m").rate(32_363.4, 1.02).cpu(100.0).plays();
    scene("d19_udp_rr_cpu_K").rate(13_191.01, 1.0).cpu(100.0).plays();
    scene("d20_tcp_crr_m_cpu").rate(15_180.343_1, 0.2).cpu(100.0).plays();
    scene("d24_tcp_cc_cpu").rate(23_454.17, 0.128).cpu(100.0).plays();
    scene("d30_tcp_rr_v0_u_brand_cpu").throughput(40.0, 0.01).rate(12_500.0, 0.01).cpu(0.0).plays();
}

#[test]
fn cpu_use_of_streams() {
    scene("d11_tcp_stream_local_cpu").throughput(4_396.92, 1.35).cpu(100.0).plays();
    scene("d12_tcp_stream_remote_cpu_brand").throughput(3_114.98, 1.01).cpu(100.0).plays();
    scene("d13_tcp_maerts_cpu").throughput(926.02, 1.20).cpu(100.0).plays();
    scene("d14_tcp_stream_v0_remote_cpu").throughput(2_686.8, 1.0).cpu(100.0).plays();
    scene("d29_tcp_stream_K_cpu").throughput(481_251.57, 1.01).cpu(100.0).plays();
}

/// Datagrams sent and received of 1400 bytes, in so many microseconds.
fn datagrams(name: &str, sent: u64, received: u64, micros: u64) -> Scene {
    scene(name).with(|it| {
        it.elapsed_ns = micros * 1_000;
        (it.local.send_calls, it.local.sent_bytes) = (sent, sent * 1_400);
        (it.remote.receive_calls, it.remote.received_bytes) = (received, received * 1_400);
    })
}

#[test]
fn cpu_use_of_datagrams() {
    datagrams("d09_udp_stream_v0_cpu", 48_567, 40_000, 1_000_000).cpu(100.0).plays();
    datagrams("d10_udp_stream_remote_cpu", 72_826, 42_692, 1_000_790).cpu(100.0).plays();
    datagrams("d22_udp_stream_K_cpu", 30_758, 18_526, 1_006_698).cpu(100.0).plays();
    datagrams("d21_udp_stream_v3", 1, 1, 1_000).plays();
}

#[test]
fn more_of_streams() {
    let moved = |name: &str, bytes, rate, calls: [u64; 2], mss| {
        scene(name).bytes(bytes, rate).with(move |it| {
            (it.local.send_calls, it.remote.receive_calls) = (calls[0], calls[1]);
            it.mss_bytes = Some(mss);
        })
    };
    moved("d15_tcp_stream_v3", 433_340_416, 3_000.0, [26_449, 3_311], 65_483).plays();
    moved("d27_tcp_stream_small_v2", 100, 5.06, [10, 1], 32_768).plays();
    // A count of bytes has all its digits here.
    moved("d25_tcp_sendfile_v2", 279_066_556, 2_225.72, [17_032, 2_419], 65_483)
        .differs("2.791e+08", "279066556")
        .plays();
    // The remote end sends: the original tells the alignment and offset with which it would receive.
    scene("d28_tcp_maerts_places_v2")
        .bytes(16_384, 1_424.70)
        .with(|it| {
            (it.local.receive_calls, it.remote.send_calls, it.mss_bytes) = (1, 1, Some(32_768));
        })
        .differs("     128      2       4 ", "      64      2       3 ")
        .plays();
}

#[test]
fn more_of_transactions() {
    let (wrong, right) = ("    8      0       0      0 ", "    8      8       0      0 ");
    scene("d16_tcp_rr_v2_m")
        .rate(27_617.415, 1.09)
        .with(|it| {
            // Three were in flight at the end, which the server counted.
            it.remote.received_bytes += 300;
            it.remote.sent_bytes += 600;
        })
        .differs(wrong, right)
        .plays();
    scene("d43_tcp_rr_v2_K").rate(12_134.450, 0.008_24).differs(wrong, right).plays();
    scene("d23_tcp_cc_v2").rate(5_806.29, 0.172_2).differs(wrong.trim_end(), right.trim_end()).plays();
    scene("d38_ports_and_addresses").rate(39_370.08, 0.000_254).plays();
    scene("d44_units_of_directions").rate(39_840.64, 0.000_251).plays();
}

#[test]
fn confidence() {
    scene("d31_confidence_v0").confident(35_343.23, 934.179, None, 0.03).plays();
    scene("d32_confidence_result_only").confident(39_454.86, 314.369, None, 0.06).plays();
}

#[test]
fn selectors() {
    scene("d34_human_no_brand").rate(27_805.11, 1.0).durations([0; 5], 35.91, 0.0).plays();
    scene("d35_csv_no_brand").rate(44_843.05, 0.000_223).plays();
    scene("d39_omni_sized").rate(1.0, 1.0).plays();
    scene("d40_omni_second_size").throughput(1.0, 1.0).plays();
    // A name that is no selector has no column here.
    scene("d33_human_unknown_brand")
        .rate(26_267.98, 1.0)
        .durations([0; 5], 38.01, 0.0)
        .differs("Throughput  Mean ", "Throughput Mean ")
        .differs("            Latency      Tag ", "           Latency      Tag ")
        .differs("            Microseconds   ", "           Microseconds   ")
        .differs("26267.98    38.01 ", "26267.98   38.01 ")
        .differs(&format!("\n{}\n", " ".repeat(48)), &format!("\n{}\n", " ".repeat(47)))
        .notes("-O: no selector is called NOSUCH")
        .plays();
}

#[test]
fn results_in_between() {
    scene("d36_demo_human").interval(31_869.21, 1.004, 1_795_283_102_086).rate(31_863.78, 1.0).plays();
    scene("d37_demo_csv_u")
        .interval_of(137, 137 * 7_310, 1_795_283_102_104)
        .interval_of(110, 110 * 9_130, 1_795_283_102_104)
        .throughput(8.02, 1.0)
        .plays();
}

fn of(name: &str) -> (Options, Transcript) {
    let transcript = Transcript::of(name);
    (command_line::parse(&transcript.program, &transcript.words).unwrap(), transcript)
}

#[test]
fn tests_without_data() {
    let (_, transcript) = of("68_uuid");
    assert_eq!(bare::uuid("a7fc24e2-e549-11f1-9bf7-d7c389918441"), transcript.stdout);
    for (name, whose) in [("69_rem_cpu_v2", "remote"), ("70_loc_cpu_v2", "local"), ("d41_rem_cpu_v1", "remote")] {
        let (options, transcript) = of(name);
        assert_eq!(bare::cpu_rate(&options, 100.0, 2, whose), transcript.stdout, "{name}");
    }
    scene("B1_tcp_mss").with(|it| it.mss_bytes = Some(32_741)).plays();
    scene("d26_tcp_mss_P0").with(|it| it.mss_bytes = Some(32_741)).plays();
}

#[test]
fn what_cannot_be_reached() {
    let (options, transcript) = of("60_err_no_server");
    let answer = failure::unreachable(&options.control, Family::V4, "connection refused");
    assert_eq!((answer.stdout, answer.status), (transcript.stdout, transcript.status));
    let (options, transcript) = of("62_err_unknown_host");
    let answer = failure::unresolved(options.control.target(), Family::Any, "Temporary failure in name resolution");
    assert_eq!((answer.stdout, answer.status), (transcript.stdout, transcript.status));
    let (_, transcript) = of("A0_wait_s5");
    let answer = failure::no_data_connection("Connection refused");
    assert_eq!((answer.stderr, answer.status), (transcript.stderr, transcript.status));
}

#[test_case("-t TCP_RR -l 2", 0, 0, true; "no transaction")]
#[test_case("-t TCP_RR -l 2", 1, 0, false; "one transaction")]
#[test_case("-t UDP_STREAM", 0, 0, true; "no byte")]
#[test_case("-t UDP_STREAM", 0, 1, false; "a byte")]
#[test_case("-t UUID", 0, 0, false; "nothing to come through")]
fn a_result_of_nothing_is_no_success(line: &str, transactions: u64, received: u64, expected: bool) {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let options = command_line::parse("netperf", &words).unwrap();
    let mut facts = Facts { iterations: vec![Iteration::default()], ..Facts::default() };
    facts.iterations[0].transactions = transactions;
    facts.iterations[0].remote.received_bytes = received;
    assert_eq!(failure::worthless(&options, &facts).map(|answer| answer.status), expected.then_some(1));
}

#[test]
fn nothing_at_all_is_not_printed() {
    let (options, _) = of("02_tcp_rr");
    assert_eq!(super::super::result(&options, &Facts::default()), "");
    assert!(failure::worthless(&options, &Facts::default()).is_some());
}
