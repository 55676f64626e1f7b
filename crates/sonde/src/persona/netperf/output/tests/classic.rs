//! Tables, their verbosities and units.

use test_case::test_case;

use super::scene::scene;

#[test_case("02_tcp_rr", 119_524.99, 2.0; "TCP_RR")]
#[test_case("03_udp_rr", 164_666.79, 2.0; "UDP_RR")]
#[test_case("07_tcp_crr", 35_891.53, 2.0; "TCP_CRR")]
#[test_case("08_tcp_cc", 22_445.48, 1.0; "TCP_CC")]
#[test_case("10_tcp_rr_v0", 107_724.38, 1.0; "the number alone")]
#[test_case("11_tcp_rr_P0_brand", 136_197.20, 1.0; "a brand and no titles")]
#[test_case("22_tcp_rr_burst", 185_502.27, 1.0; "a burst")]
#[test_case("91_ipv6", 143_983.77, 1.0; "IPv6")]
#[test_case("92_host_family", 139_256.40, 1.0; "a family behind the host")]
#[test_case("95_cpu_bind", 35_509.28, 1.0; "bound to a CPU")]
#[test_case("96_j_csv", 152_221.56, 1.0; "durations kept and not told")]
#[test_case("A1_l_suffix_s", 76_285.59, 1.0; "seconds with their unit")]
#[test_case("A2_r_colon", 124_764.78, 1.0; "sizes with a colon")]
#[test_case("A8_sigint_timed", 98_090.37, 2.0; "interrupted")]
#[test_case("B5_lower_test_name", 107_828.97, 1.0; "a test in small letters")]
#[test_case("B8_udp_rr_e_lossless", 149_958.55, 1.0; "a timeout")]
#[test_case("64_err_unknown_test_option", 70_379.72, 1.0; "an unknown option behind the dashes")]
#[test_case("d06_tcp_crr_v0", 0.0, 0.0; "2.7.0 the number of TCP_CRR")]
#[test_case("d07_tcp_crr_P0_brand", 0.0, 0.0; "2.7.0 TCP_CRR has no brand")]
fn transactions(name: &str, rate: f64, seconds: f64) {
    let (rate, seconds) = if rate > 0.0 { (rate, seconds) } else { shown(name) };
    let scene = scene(name).rate(rate, seconds);
    match name {
        "A2_r_colon" => scene.notes("-r 64:64: is read as 64").notes("-r 64:64: is read as 64").plays(),
        _ => scene.plays(),
    }
}

/// Rate and seconds of a table of transactions.
fn shown(name: &str) -> (f64, f64) {
    let text = crate::persona::netperf::transcript::Transcript::of(name).stdout;
    let numbers: Vec<f64> = text
        .lines()
        .flat_map(str::split_whitespace)
        .filter(|w| w.contains('.'))
        .filter_map(|w| w.parse().ok())
        .collect();
    match numbers[..] {
        [rate] => (rate, 0.01),
        [seconds, rate, ..] => (rate, seconds),
        [] => panic!("{text}"),
    }
}

#[test_case("B4_h_after"; "a stray word")]
#[test_case("B0_tcp_cc_k"; "selectors of a classic test")]
fn words_without_a_place(name: &str) {
    let scene = scene(name).rate(shown(name).0, 1.0);
    match name {
        "B0_tcp_cc_k" => scene.notes("`THROUGHPUT` is no option").plays(),
        _ => scene.notes("`stray` is no option").plays(),
    }
}

#[test_case("01_default", 37_477.65, 10.0; "as it is")]
#[test_case("04_tcp_stream", 38_026.90, 2.0; "TCP_STREAM")]
#[test_case("05_tcp_maerts", 36_865.05, 2.0; "TCP_MAERTS")]
#[test_case("09_tcp_sendfile", 4_406.44, 1.06; "TCP_SENDFILE")]
#[test_case("48_format_g", 20.78, 1.0; "gigabits")]
#[test_case("49_format_M", 2_132.37, 1.11; "megabytes")]
#[test_case("A9_l0_sigint", 32_983.30, 1.99; "until interrupted")]
fn streams(name: &str, rate: f64, seconds: f64) {
    scene(name).throughput(rate, seconds).plays();
}

#[test]
fn a_rate_in_bytes_has_digits_that_nanoseconds_must_meet() {
    scene("50_format_B").with(|it| (it.elapsed_ns, it.remote.received_bytes) = (1_005_000_004, 1_310_425_247)).plays();
}

#[test]
fn an_unknown_unit_is_kilobytes_and_told() {
    scene("53_format_bad").throughput(2_798_000.29, 1.0).notes("-f Z: no unit").plays();
}

#[test_case("51_format_rr_m", 1_552.27, 1.0; "TCP_RR in megabits")]
#[test_case("52_format_rr_u", 5.31, 1.0; "TCP_RR in microseconds a byte")]
#[test_case("d18_udp_rr_m", 0.0, 1.0; "2.7.0 UDP_RR in megabits")]
fn transactions_told_in_bytes(name: &str, rate: f64, seconds: f64) {
    let rate = if rate > 0.0 { rate } else { shown(name).0 };
    scene(name).throughput(rate, seconds).plays();
}

#[test_case("06_udp_stream", 1_400, 2.0, 820_950, 326_929; "with titles")]
#[test_case("d08_udp_stream_v0", 1_400, 1.0, 0, 0; "2.7.0 the server's rate alone")]
fn datagrams(name: &str, size: u64, seconds: f64, sent: u64, received: u64) {
    let (received, sent) = if sent > 0 { (received, sent) } else { (shown(name).0 as u64, 0) };
    let scene = scene(name);
    if sent == 0 {
        return scene.throughput(shown(name).0, seconds).plays();
    }
    let sent_rate = 4_597.22;
    scene
        .with(|it| {
            it.elapsed_ns = ((sent * size * 8) as f64 / sent_rate * 1e3) as u64;
            (it.local.send_calls, it.local.sent_bytes) = (sent, sent * size);
            (it.remote.receive_calls, it.remote.received_bytes) = (received, received * size);
        })
        .plays();
}

#[test]
fn datagrams_with_a_histogram() {
    scene("16_udp_stream_v2")
        .with(|it| {
            it.elapsed_ns = (229_751.0 * 1_400.0 * 8.0 / 2_541.57 * 1e3) as u64;
            (it.local.send_calls, it.local.sent_bytes) = (229_751, 229_751 * 1_400);
            (it.remote.receive_calls, it.remote.received_bytes) = (74_926, 74_926 * 1_400);
        })
        .histogram()
        .plays();
}

#[test]
fn two_and_more_of_transactions() {
    // The original prints the remote offset where the remote alignment is told.
    let (wrong, right) = ("    8      0       0      0 ", "    8      8       0      0 ");
    scene("12_tcp_rr_v2").rate(144_862.218, 1.0).histogram().differs(wrong, right).plays();
    scene("23_tcp_rr_burst_v2").rate(155_196.636, 1.0).histogram().differs(wrong, right).plays();
    scene("84_tcp_rr_v3").rate(119_990.398, 1.0).histogram().differs(wrong, right).plays();
    scene("73_plain_v2").rate(143_784.614, 1.0).differs(wrong, right).plays();
    scene("15_udp_rr_v2").rate(88_508.58, 1.0).histogram().plays();
    scene("17_tcp_crr_v2").rate(10_836.21, 1.0).histogram().plays();
}

#[test]
fn two_and_more_of_streams() {
    let sent = |name, rate, bytes, calls, received| {
        scene(name).bytes(bytes, rate).histogram().with(move |it| {
            it.mss_bytes = Some(65_483);
            (it.local.send_calls, it.remote.receive_calls) = (calls, received);
        })
    };
    sent("13_tcp_stream_v2", 29_459.08, 3_682_910_208, 224_787, 29_951).plays();
    scene("14_tcp_maerts_v2")
        .bytes(3_342_545_600, 26_739.40)
        .histogram()
        .with(|it| {
            it.mss_bytes = Some(32_768);
            (it.local.receive_calls, it.remote.send_calls) = (26_713, 204_128);
            // Bytes a call at the server are those it counted, which were 78,720 bytes in flight more.
            it.remote.sent_bytes = 16_384 * 204_128;
        })
        .plays();
}

#[test]
fn cpu_use() {
    scene("18_tcp_rr_cpu").rate(121_680.65, 1.0).cpu(100.0).plays();
    scene("19_tcp_stream_cpu").throughput(38_053.07, 1.0).cpu(100.0).plays();
    scene("21_tcp_stream_P0_v0_cpu").throughput(39_481.0, 1.0).cpu(100.0).plays();
    scene("20_udp_stream_cpu")
        .with(|it| {
            it.elapsed_ns = (406_178.0 * 1_400.0 * 8.0 / 4_548.9 * 1e3) as u64;
            (it.local.send_calls, it.local.sent_bytes) = (406_178, 406_178 * 1_400);
            it.remote.receive_calls = 191_829;
            it.remote.received_bytes = 191_829 * 1_400;
        })
        .cpu(99.5)
        .plays();
}

#[test]
fn confidence() {
    scene("24_tcp_rr_confidence").confident(81_618.47, 59.990, None, 1.0).plays();
    scene("25_tcp_rr_confidence_missed").confident(104_077.01, 257.259, None, 1.0).plays();
    // One value to -I is the level: the original makes it the width as well, which any result reaches.
    scene("C1_I_single_value")
        .confident(126_021.08, 4.0, None, 1.0)
        .differs("+/-49.500%", "+/-2.500%")
        .notes("-I 99: the width stays 5 %")
        .plays();
}

#[test]
fn results_in_between() {
    scene("27_demo_rr")
        .interval(79_155.98, 1.474, 1_795_223_910_112)
        .interval(80_998.76, 1.0, 1_795_223_911_112)
        .interval(94_218.05, 0.526, 1_795_223_911_639)
        .rate(82_408.02, 3.0)
        .plays();
    scene("28_demo_stream")
        .interval(22_189.04, 1.210, 1_795_223_912_872)
        .interval(23_814.87, 1.011, 1_795_223_913_884)
        .interval(25_877.81, 0.781, 1_795_223_914_665)
        .throughput(23_694.63, 3.0)
        .plays();
    scene("31_demo_maerts")
        .interval(32_927.95, 1.189, 1_795_223_919_884)
        .interval(35_873.04, 0.811, 1_795_223_920_695)
        .throughput(34_120.97, 2.0)
        .plays();
    scene("32_demo_udp_stream")
        .interval(2_798.59, 1.445, 1_795_223_922_229)
        .interval(3_005.45, 0.555, 1_795_223_922_784)
        .with(|it| {
            it.elapsed_ns = (713_998.0 * 1_000.0 * 8.0 / 2_855.89 * 1e3) as u64;
            (it.local.send_calls, it.local.sent_bytes) = (713_998, 713_998_000);
            (it.remote.receive_calls, it.remote.received_bytes) = (226_278, 226_278_000);
        })
        .plays();
}
