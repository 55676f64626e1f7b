//! Selectors in their three forms.

use test_case::test_case;

use super::scene::{cpu, scene};
use crate::persona::netperf::facts::{Cpu, Iteration};

/// Socket buffers at the end.
fn ends(local: [u32; 2], remote: [u32; 2]) -> impl FnOnce(&mut Iteration) {
    move |it| {
        it.local.send_buffer_end_bytes = Some(local[0]);
        it.local.receive_buffer_end_bytes = Some(local[1]);
        it.remote.send_buffer_end_bytes = Some(remote[0]);
        it.remote.receive_buffer_end_bytes = Some(remote[1]);
    }
}

const GROWN: [u32; 2] = [3_939_840, 262_484];
const GROWN_THERE: [u32; 2] = [3_939_840, 261_944];

#[test_case("33_csv_default", 94_532.09; "comma-separated")]
#[test_case("34_human_default", 100_024.98; "columns")]
#[test_case("35_keyval_default", 108_146.64; "keywords")]
fn defaults_of_transactions(name: &str, rate: f64) {
    scene(name).rate(rate, 1.0).with(ends(GROWN, GROWN_THERE)).plays();
}

#[test]
fn defaults_of_omni() {
    scene("54_omni_default").throughput(22_999.82, 1.0).with(ends([4_194_304, 0], [0, 1_853_683])).plays();
    scene("55_omni_recv").throughput(27_137.43, 1.0).with(ends([0, 1_068_082], [4_194_304, 0])).plays();
    scene("56_omni_udp_send").throughput(1_020.77, 1.0).plays();
    scene("57_omni_cc").rate(33_436.50, 1.0).with(ends([3_939_840, 131_072], [16_384, 131_072])).plays();
    scene("59_omni_udp_recv").throughput(1_533.50, 1.0).plays();
}

#[test]
fn defaults_with_cpu_use() {
    let used = Cpu { user_percent: 41.53, system_percent: 42.84, softirq_percent: 11.11, ..cpu(100.0) };
    scene("36_csv_default_cpu")
        .throughput(36_616.97, 1.0)
        .with(ends([4_194_304, 0], [0, 823_403]))
        .with(|it| (it.local.cpu, it.remote.cpu) = (Some(used), Some(used)))
        .plays();
}

#[test_case("37_human_blocks", 112_513.51, [5, 7, 8, 12, 99], 0.0, 0.0; "blocks")]
#[test_case("41_csv_P0", 99_074.51, [0; 5], 10.04, 0.0; "values alone, comma-separated")]
#[test_case("42_human_P0", 123_577.85, [0; 5], 8.04, 0.0; "values alone, in columns")]
#[test_case("43_keyval_P0_v0", 128_346.11, [0; 5], 7.74, 0.0; "keywords whatever the verbosity")]
#[test_case("58_omni_crr_keyval", 15_391.37, [0, 0, 0, 320, 0], 0.0, 0.0; "connections of omni")]
#[test_case("86_selection_file_j", 116_820.52, [5, 0, 0, 0, 4_830], 8.50, 0.0; "a file and kept durations")]
#[test_case("A3_grpc_style", 100_000.0, [0, 8, 10, 17, 0], 0.0, 0.0; "as gRPC asks")]
#[test_case("B3_brand_keyval", 111_153.88, [0; 5], 0.0, 0.0; "a brand")]
#[test_case("B6_repeat_o_k", 105_526.86, [0; 5], 0.0, 0.0; "the last form decides")]
#[test_case("B7_spaces_in_list", 107_806.06, [0; 5], 9.20, 0.0; "blanks in a list")]
#[test_case("74_plain_latency_selectors", 1_000.0, [5, 7, 0, 9, 5_374], 7.31, 34.57; "another build")]
#[test_case("seed000_1", 1_000.0, [6, 0, 0, 0, 24_349], 10.36, 0.0; "seed 0 comma-separated")]
#[test_case("seed000_3", 1_000.0, [10, 0, 0, 0, 7_461], 326.68, 0.0; "seed 0 paced")]
#[test_case("seed001_1", 1_000.0, [5, 0, 8, 15, 6_789], 6.83, 34.08; "seed 1 UDP")]
#[test_case("seed002_1", 1_000.0, [5, 0, 10, 19, 55_159], 8.46, 69.89; "seed 2 TCP")]
fn durations(name: &str, rate: f64, whole: [u64; 5], mean: f64, stddev: f64) {
    let mut scene = scene(name).rate(rate, 1.0).durations(whole, mean, stddev);
    resolve_file(&mut scene.options);
    scene.plays();
}

/// The file of the transcripts 85 and 86.
fn resolve_file(options: &mut crate::persona::netperf::options::Options) {
    let text = "MIN_LATENCY,MEAN_LATENCY,MAX_LATENCY\nTHROUGHPUT\n";
    crate::persona::netperf::selection::resolve(options, |path| {
        assert_eq!(path.to_str(), Some("selection.txt"));
        Ok(text.to_owned())
    })
    .unwrap();
}

#[test]
fn durations_that_were_not_kept_are_minus_one() {
    let mut scene = scene("85_selection_file").rate(143_359.81, 1.0);
    resolve_file(&mut scene.options);
    scene.plays();
}

#[test]
fn durations_with_a_histogram() {
    let (connect, times) = ([5, 0, 0, 0, 12_419], 103_921.283);
    scene("seed000_2").rate(times, 100.0).durations(connect, 9.56, 46.68).histogram().plays();
    scene("seed000_4").rate(94.529, 10.58).durations([8, 0, 0, 0, 24_107], 392.61, 1_266.22).histogram().plays();
    scene("seed001_3").rate(1_000.0, 1.0).durations([5, 0, 10, 19, 7_096], 8.44, 55.66).histogram().plays();
    scene("97_percentile_of_zero_us").durations([0, 1, 1, 10, 8_064], 1.64, 45.20).histogram().plays();
    scene("A5_pkb_style").rate(112_420.52, 1.0).durations([5, 7, 8, 21, 28_655], 0.0, 102.40).histogram().plays();
}

#[test]
fn percentiles_of_few_are_values_that_occurred() {
    // Nearest rank: of one value each percentile is that value, of ten the 99th is the tenth.
    let one = [60; 5];
    scene("98_percentile_few_samples")
        .rate(1.0, 1.0)
        .durations(one, 60.0, 0.0)
        .histogram()
        .differs("P50_LATENCY=0", "P50_LATENCY=60")
        .differs("P90_LATENCY=0", "P90_LATENCY=60")
        .differs("P99_LATENCY=0", "P99_LATENCY=60")
        .plays();
    scene("99_percentile_ten_samples")
        .rate(1.0, 10.0)
        .durations([8, 8, 48, 57, 57], 17.0, 17.65)
        .histogram()
        .differs("P99_LATENCY=48", "P99_LATENCY=57")
        .plays();
}

#[test]
fn confidence() {
    scene("26_confidence_keyval")
        .confident(134_164.80, 60.965, Some(129_209.692), 1.0)
        .durations([0; 5], 7.40, 0.0)
        .plays();
}

#[test]
fn unknown_names_leave_no_hole() {
    scene("44_unknown_selector_csv")
        .rate(143_549.35, 1.0)
        .durations([0; 5], 6.92, 0.0)
        .notes("-o: no selector is called NO_SUCH_THING")
        .differs("143549.35,, 6.92", "143549.35,6.92")
        .plays();
    scene("45_unknown_selector_keyval")
        .rate(115_535.29, 1.0)
        .durations([0; 5], 8.59, 0.0)
        .notes("-k: no selector is called NO_SUCH_THING")
        .plays();
}

#[test]
fn counts() {
    scene("87_neg_l_bytes").bytes(1_015_808, 23_761.59).with(|it| it.local.send_calls = 62).plays();
    let calls = |it: &mut Iteration| (it.local.send_calls, it.remote.receive_calls) = (1_000, 1_000);
    // 1000 in 11.14 ms: the original divides in single precision.
    scene("88_neg_l_trans").rate(89_766.606_8, 0.011_14).with(calls).differs("89766.606", "89766.607").plays();
    scene("90_neg_l_udp_stream").bytes(1_000_000, 1_839.50).with(calls).plays();
}

#[test]
fn paced() {
    let sleeping = |name, rate, mean, waited: f64| {
        scene(name).rate(rate, 2.0).durations([64, 0, 0, 2_000, 11_981], mean, 0.0).with(move |it| {
            it.waited_ns = it.elapsed_ns - (waited * 1e3 * it.transactions as f64) as u64;
        })
    };
    sleeping("75_intervals_w_b", 99.49, 214.40, 217.382_1).plays();
    sleeping("76_intervals_w_1ms", 99.99, 126.14, 128.765_1).plays();
    sleeping("77_spin_w_100us", 6_520.59, 63.80, 138.500_1).plays();
    // Waits are left out, so that this comes near the mean; the original leaves out every second wait.
    sleeping("82_spin_10ms_rt_latency", 98.28, 167.46, 169.000_1)
        .differs("RT_LATENCY=5238.213", "RT_LATENCY=169.000")
        .plays();
    scene("78_spin_w_only").rate(131_048.80, 1.0).notes("-w: paces nothing without -b").plays();
    scene("79_spin_b_only").rate(3_801.33, 1.0).plays();
    scene("80_spin_stream_paced").throughput(2.74, 1.0).with(|it| it.local.send_calls = 344).plays();
    scene("83_intervals_early_end")
        .rate(119_680.39, 0.49)
        .durations([0; 5], 8.30, 0.0)
        .with(|it| it.local.send_calls = 58_656)
        .plays();
}

#[test]
fn a_fraction_of_an_interval_counts() {
    let half = |name, rate, original: &str| {
        scene(name)
            .rate(rate, 1.0)
            .notes("-w 0.5ms: is taken as 500 us")
            .differs(&format!("LOCAL_INTERVAL_USECS={original}"), "LOCAL_INTERVAL_USECS=500")
            .plays();
    };
    half("81_spin_fraction", 697.52, "1000");
    half("B2_order_b_then_w", 102_119.34, "0\n".trim_end());
}

#[test]
fn sockets() {
    scene("93_tos_prio").rate(1_000.0, 1.0).plays();
    scene("94_cong")
        .with(|it| {
            it.local.congestion = Some("cubic".into());
            it.remote.congestion = Some("reno".into());
            (it.local.retransmits, it.remote.retransmits, it.mss_bytes) = (Some(6), Some(0), Some(65_483));
        })
        .plays();
    scene("A7_k8s_netperf_style")
        .throughput(10_262.60, 1.0)
        .durations([0, 0, 0, 6, 0], 0.0, 0.0)
        .with(|it| {
            (it.remote.receive_calls, it.local.send_calls, it.local.retransmits) = (42_944, 1_253_325, Some(0));
        })
        .plays();
}

#[test]
fn as_others_ask() {
    scene("A6_cilium_style").throughput(1_274.80, 1.0).durations([1, 2, 4, 5, 5_463], 2.68, 0.0).plays();
    scene("C3_omni_send_small").throughput(833.29, 1.0).plays();
    scene("C4_omni_maerts_or").rate(1.0, 1.0).plays();
    // `b` is bits here, as its label says.
    let bytes = 3_505_078_272_u64;
    scene("C0_format_b")
        .with(|it| {
            it.elapsed_ns = 1_004_044_056;
            it.remote.received_bytes = bytes;
        })
        .differs("THROUGHPUT=3490960631.92", "THROUGHPUT=27927685053.69")
        .plays();
}

#[test]
fn as_flent_asks() {
    // Its five lines of 19 selectors, and results in between.
    let mut played = scene("A4_flent_style").rate(114_455.98, 1.0).with(|it| {
        it.local.tos = Some(0);
        it.remote.tos = Some(0);
    });
    let rates = [41_788.96, 139_590.00, 149_887.75, 145_410.00, 95_673.78];
    for (index, rate) in rates.into_iter().enumerate() {
        played = played.interval(rate, 0.2, 1_795_224_703_472 + 200 * index as u64);
    }
    played
        .with(|it| {
            for end in [&mut it.local, &mut it.remote] {
                (end.sent_bytes, end.received_bytes) = (114_472, 114_472);
            }
        })
        .plays();
}

#[test]
fn results_in_between() {
    scene("29_demo_stream_neg_keyval")
        .interval(28.38, 0.5, 1_795_223_915_178)
        .interval(25.31, 0.502, 1_795_223_915_680)
        .interval(35.21, 0.5, 1_795_223_916_180)
        .interval(35.55, 0.498, 1_795_223_916_678)
        .throughput(31.09, 2.0)
        .plays();
    scene("30_demo_csv")
        .interval(24_379.92, 1.0, 1_795_223_917_686)
        .interval(26_786.71, 1.0, 1_795_223_918_686)
        .throughput(25_581.43, 2.0)
        .plays();
}

/// Common facts of the transcripts of `all`.
fn all(it: &mut Iteration) {
    for end in [&mut it.local, &mut it.remote] {
        end.congestion = Some("bbr".into());
        end.retransmits = Some(0);
    }
    it.mss_bytes = Some(32_768);
    ends(GROWN, GROWN_THERE)(it);
}

/// Over `TCP_RR` one more was begun than answered.
fn begun(count: u64) -> impl FnOnce(&mut Iteration) {
    move |it| {
        (it.local.send_calls, it.local.sent_bytes) = (count, count);
        (it.local.receive_calls, it.local.received_bytes) = (count - 1, count - 1);
        (it.remote.send_calls, it.remote.sent_bytes) = (count, count);
        (it.remote.receive_calls, it.remote.received_bytes) = (count, count);
    }
}

#[test]
fn everything_of_tcp_rr() {
    // A value that was not measured is empty, where the original prints leftovers of another message.
    let mut columns = scene("38_human_all")
        .rate(107_935.135, 1.0)
        .durations([5, 7, 7, 12, 23_899], 9.16, 105.53)
        .with(all)
        .with(begun(107_952))
        .differs("-nan", "0.00");
    columns.facts.uuid = "80be899c-e549-11f1-99b6-cb6a11bf9cdd".to_owned();
    columns.plays();
    let mut comma = scene("39_csv_all")
        .rate(108_557.145, 1.0157)
        .durations([5, 7, 8, 13, 18_785], 8.94, 90.46)
        .with(all)
        .with(begun(110_269))
        .differs("-nan", "0.00");
    comma.facts.uuid = "815c9268-e549-11f1-acc1-b928a22c8489".to_owned();
    comma.plays();
}

#[test]
fn everything_of_tcp_stream() {
    let used = Cpu { user_percent: 50.36, system_percent: 30.27, softirq_percent: 11.39, ..cpu(99.49) };
    let mut scene = scene("40_keyval_all_tcp_stream_brand_cpu")
        .bytes(3_901_685_760, 31_199.17)
        .durations([0, 1, 2, 8, 7_520], 4.15, 63.12)
        .with(all)
        .with(ends([4_194_304, 131_072], [3_939_840, 776_787]));
    scene.facts.uuid = "81fc936c-e549-11f1-ba34-d19146a0be9f".to_owned();
    scene
        .with(|it| {
            (it.local.cpu, it.remote.cpu) = (Some(used), Some(used));
            (it.local.send_calls, it.remote.receive_calls) = (238_140, 32_011);
            (it.local.retransmits, it.mss_bytes) = (Some(4), Some(65_483));
            it.local.send_width = Some(2);
            (it.remote.send_width, it.remote.receive_width) = (Some(2), Some(2));
        })
        .plays();
}

#[test]
fn everything_of_udp_rr() {
    let mut scene = scene("seed001_2").rate(143_473.266, 10.0).durations([5, 6, 7, 16, 8_007], 6.92, 39.44);
    scene.facts.uuid = "1a843956-e549-11f1-890d-6da131baff91".to_owned();
    scene
        .with(|it| {
            for end in [&mut it.local, &mut it.remote] {
                (end.send_calls, end.receive_calls) = (1_434_754, 1_434_754);
                (end.sent_bytes, end.received_bytes) = (1_434_754, 1_434_754);
            }
        })
        .differs("SOCKET_TYPE=Stream", "SOCKET_TYPE=Datagram")
        .differs("=-nan", "=0.00")
        .plays();
}
