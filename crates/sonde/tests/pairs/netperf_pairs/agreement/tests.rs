//! A rule is believed for what it refuses: any one value changed.

use test_case::test_case;

use super::*;
use crate::netperf_pairs::fields::interims;

/// A minute's worth of transactions over UDP, and a stream over TCP with CPU use, as the original printed them.
const UDP_RR: &str = include_str!("../../../fixtures/netperf/seed001_2.txt");
const TCP_STREAM: &str = include_str!("../../../fixtures/netperf/40_keyval_all_tcp_stream_brand_cpu.txt");
const HISTOGRAM: &str = include_str!("../../../fixtures/netperf/98_percentile_few_samples.txt");
const INTERIMS: &str = include_str!("../../../fixtures/netperf/29_demo_stream_neg_keyval.txt");

fn rr() -> Fields {
    Fields::of(UDP_RR)
}

fn stream() -> Fields {
    Fields::of(TCP_STREAM)
}

#[test]
fn results_of_the_original_agree() {
    let original = Ends { original_client: true, original_server: true };
    assert_eq!(complaints(&rr(), original), [""; 0]);
    assert_eq!(complaints(&stream(), original), [""; 0]);
    let tcp = rr().with("PROTOCOL", "TCP").with("TRANSPORT_MSS", "32768");
    assert_eq!(complaints(&tcp, OURS), [""; 0]);
}

#[test]
fn a_percentile_within_the_first_microsecond_is_the_originals_own_word() {
    let original = Ends { original_client: true, original_server: true };
    let none = || rr().with("P50_LATENCY", "-2147483648");
    let judged = |fields: &Fields, at| latencies(fields, at).is_ok();
    assert!(judged(&none().with("MIN_LATENCY", "0"), original));
    assert!(!judged(&none(), original), "nothing fell there");
    assert!(!judged(&none().with("MIN_LATENCY", "0"), OURS), "ours has no such word");
}

#[test_case("THROUGHPUT", "what was measured")]
#[test_case("TRANSACTION_RATE", "what was measured")]
#[test_case("MIN_LATENCY", "what was measured")]
#[test_case("P50_LATENCY", "what was measured")]
#[test_case("MEAN_LATENCY", "what was measured")]
#[test_case("MAX_LATENCY", "what was measured")]
#[test_case("LOCAL_SEND_CALLS", "what was measured")]
#[test_case("REMOTE_RECV_CALLS", "what was measured")]
#[test_case("LOCAL_BYTES_RECVD", "what was measured")]
#[test_case("REMOTE_BYTES_SENT", "what was measured")]
#[test_case("RSR_SIZE_END", "what was measured")]
#[test_case("LSS_SIZE", "what was measured")]
fn what_was_measured_and_is_0_is_a_complaint(name: &str, rule: &str) {
    for value in ["0", "-1", "-nan", "-2147483648", ""] {
        let said = complaints(&rr().with(name, value), OURS);
        assert!(said.iter().any(|said| said.starts_with(rule)), "{name}={value}: {said:?}");
    }
}

#[test_case("THROUGHPUT", "143800.00", "rate ="; "a rate")]
#[test_case("THROUGHPUT", "143100.00", "rate ="; "a lower rate")]
#[test_case("ELAPSED_TIME", "10.03", "rate ="; "a time")]
#[test_case("LOCAL_BYTES_RECVD", "1400000", "rate ="; "bytes received")]
#[test_case("RESPONSE_SIZE", "2", "rate ="; "a size")]
#[test_case("TRANSACTION_RATE", "143473.30", "rate and latency"; "another rate of transactions")]
#[test_case("RT_LATENCY", "6.950", "rate and latency"; "another latency")]
#[test_case("BURST_SIZE", "1", "rate and latency"; "another burst")]
#[test_case("MIN_LATENCY", "7", "min <="; "a least value beyond the median")]
#[test_case("P50_LATENCY", "8", "min <="; "a median beyond the 90th")]
#[test_case("P90_LATENCY", "17", "min <="; "a 90th beyond the 99th")]
#[test_case("P99_LATENCY", "8008", "min <="; "a 99th beyond the largest")]
#[test_case("MAX_LATENCY", "15", "min <="; "a largest value within")]
#[test_case("MEAN_LATENCY", "4.99", "min <="; "a mean below all")]
#[test_case("MEAN_LATENCY", "8008.01", "min <="; "a mean beyond all")]
#[test_case("STDDEV_LATENCY", "-nan", "min <="; "a deviation that is none")]
#[test_case("STDDEV_LATENCY", "9000.00", "min <="; "a deviation beyond the range")]
#[test_case("LOCAL_SEND_CALLS", "1450000", "bytes and calls"; "calls that send")]
#[test_case("LOCAL_BYTES_PER_SEND", "1.01", "bytes and calls"; "bytes of a call")]
#[test_case("REMOTE_RECV_CALLS", "1450000", "bytes and calls"; "calls that receive")]
#[test_case("REMOTE_BYTES_PER_SEND", "2.00", "bytes and calls"; "bytes of the server's call")]
#[test_case("LOCAL_BYTES_XFERD", "2869507", "bytes and calls"; "a sum")]
#[test_case("REMOTE_BYTES_XFERD", "1434754", "bytes and calls"; "the server's sum")]
#[test_case("LOCAL_SEND_THROUGHPUT", "1.17", "rates of each"; "a rate of sending")]
#[test_case("LOCAL_RECV_THROUGHPUT", "1.13", "rates of each"; "a rate of receiving")]
#[test_case("REMOTE_SEND_THROUGHPUT", "0.00", "rates of each"; "the server's rate of sending")]
#[test_case("REMOTE_RECV_THROUGHPUT", "2.30", "rates of each"; "the server's rate of receiving")]
#[test_case("REMOTE_BYTES_RECVD", "1434755", "both ends"; "more received than sent")]
#[test_case("REMOTE_BYTES_SENT", "1434756", "both ends"; "two answers lost")]
#[test_case("REMOTE_BYTES_SENT", "1434753", "both ends"; "more answers than were sent")]
#[test_case("LOCAL_CPU_UTIL", "3.00", "use of the CPU"; "use without a method")]
#[test_case("REMOTE_SD", "1.000", "use of the CPU"; "demand without a method")]
fn one_value_of_transactions_changed_is_a_complaint(name: &str, value: &str, rule: &str) {
    let said = complaints(&rr().with(name, value), OURS);
    assert!(said.iter().any(|said| said.starts_with(rule)), "{said:?}");
}

#[test_case("THROUGHPUT", "31500.00", "rate ="; "a rate")]
#[test_case("THROUGHPUT_UNITS", "10^9bits/s", "rate ="; "a unit")]
#[test_case("THROUGHPUT_UNITS", "bits", "rate ="; "no unit")]
#[test_case("TRANSACTION_RATE", "2.000", "rate and latency"; "transactions of a stream")]
#[test_case("RT_LATENCY", "1.000", "rate and latency"; "a round trip of a stream")]
#[test_case("LOCAL_BYTES_SENT", "3900000000", "both ends"; "bytes sent")]
#[test_case("REMOTE_BYTES_RECVD", "3900000001", "both ends"; "bytes received")]
#[test_case("LOCAL_CPU_UTIL", "100.40", "use of the CPU"; "more than all")]
#[test_case("LOCAL_CPU_UTIL", "80.00", "use of the CPU"; "less than its parts")]
#[test_case("LOCAL_CPU_PERCENT_USER", "70.00", "use of the CPU"; "a part")]
#[test_case("LOCAL_CPU_PERCENT_IRQ", "-0.10", "use of the CPU"; "a negative part")]
#[test_case("REMOTE_CPU_PERCENT_SWINTR", "-nan", "use of the CPU"; "a part that is none")]
#[test_case("LOCAL_SD", "0.500", "use of the CPU"; "a demand")]
#[test_case("REMOTE_SD", "0.600", "use of the CPU"; "the server's demand")]
#[test_case("REMOTE_CPU_COUNT", "1", "use of the CPU"; "a number of CPUs")]
#[test_case("LOCAL_CPU_COUNT", "0", "use of the CPU"; "no CPU")]
#[test_case("LOCAL_CPU_PEAK_UTIL", "50.00", "use of the CPU"; "a peak below the mean")]
#[test_case("REMOTE_CPU_PEAK_ID", "2", "use of the CPU"; "a CPU that is not there")]
fn one_value_of_a_stream_changed_is_a_complaint(name: &str, value: &str, rule: &str) {
    let said = complaints(&stream().with(name, value), OURS);
    assert!(said.iter().any(|said| said.starts_with(rule)), "{said:?}");
}

#[test]
fn an_absent_value_is_a_complaint() {
    for name in rr().names() {
        let read = ["THROUGHPUT", "ELAPSED_TIME", "DIRECTION", "MAX_LATENCY", "LOCAL_SEND_CALLS", "REMOTE_CPU_UTIL"];
        if read.contains(&name) {
            let without: String = UDP_RR
                .lines()
                .filter(|line| !line.starts_with(&format!("{name}=")))
                .fold(String::new(), |text, line| text + line + "\n");
            assert!(!complaints(&Fields::of(&without), OURS).is_empty(), "{name}");
        }
    }
}

#[test]
fn a_count_is_exact() {
    let fields = rr();
    assert_eq!(exactly(&fields, 1_434_754), Ok(()));
    assert!(exactly(&fields, 1_434_753).is_err() && exactly(&fields, 1_434_755).is_err());
    for name in ["LOCAL_BYTES_RECVD", "LOCAL_SEND_CALLS", "REMOTE_BYTES_RECVD", "REMOTE_BYTES_SENT"] {
        assert!(exactly(&fields.with(name, "1434755"), 1_434_754).is_err(), "{name}");
    }
    let fields = stream().with("LOCAL_BYTES_SENT", "1015808").with("REMOTE_BYTES_RECVD", "1015808");
    assert_eq!(exactly_bytes(&fields, 1_000_000), Ok(()));
    assert!(exactly_bytes(&fields, 1_015_809).is_err());
    assert!(exactly_bytes(&fields.with("REMOTE_BYTES_RECVD", "1015807"), 1_000_000).is_err());
}

#[test]
fn intervals_are_the_whole() {
    let all = interims(INTERIMS).unwrap();
    let bytes: f64 = all.iter().map(|interim| interim.rate * interim.seconds * 1e9 / 8.0).sum();
    let fields = Fields::of(INTERIMS).with("ELAPSED_TIME", "2.00").with("LOCAL_BYTES_XFERD", &format!("{bytes:.0}"));
    let original = Ends { original_client: true, original_server: true };
    for at in [OURS, original] {
        assert_eq!(intervals(&fields, &all, at), Ok(()));
        assert!(intervals(&fields, &all[..3], at).is_err(), "one is missing");
        let more = fields.with("LOCAL_BYTES_XFERD", &format!("{:.0}", bytes * 1.01));
        assert!(intervals(&more, &all, at).is_err(), "a hundredth was moved outside of them");
    }
    for index in 0..all.len() {
        let changed = |at: Ends, change: fn(&mut Interim)| {
            let mut all = all.clone();
            change(&mut all[index]);
            intervals(&fields, &all, at).is_err()
        };
        assert!(changed(OURS, |interim| interim.rate *= 1.1), "a rate of {index}");
        assert!(changed(original, |interim| interim.rate *= 1.1), "a rate of {index}");
        assert!(changed(OURS, |interim| interim.seconds += 0.05), "a time of {index}");
        assert!(changed(OURS, |interim| interim.ending += 0.01), "an end of {index}");
        // The original may read its clock late, but not before.
        assert!(!changed(original, |interim| interim.ending += 0.01), "an end of {index}");
        assert!(index == 0 || changed(original, |interim| interim.ending -= 1.0), "an end of {index}");
    }
    let short = fields.with("ELAPSED_TIME", "1.90");
    assert!(intervals(&short, &all, OURS).is_err() && intervals(&short, &all, original).is_ok());
}

#[test]
fn a_histogram_adds_up() {
    let fields = Fields::of(HISTOGRAM);
    assert_eq!(histogram(HISTOGRAM, &fields, Some(1.0)), Ok(()));
    assert!(histogram(HISTOGRAM, &fields, Some(2.0)).is_err());
    for (from, to) in [
        ("HIST_TOTAL:      1", "HIST_TOTAL:      2"),
        (">100_SECS: 0", ">100_SECS: 1"),
        (
            "TEN_USEC      :    0:    0:    0:    0:    0:    0:    1",
            "TEN_USEC      :    0:    0:    0:    0:    0:    0:    2",
        ),
        (
            "TEN_USEC      :    0:    0:    0:    0:    0:    0:    1",
            "TEN_USEC      :    0:    0:    0:    0:    0:    1:    0",
        ),
        ("UNIT_SEC ", "UNIT_SECS"),
    ] {
        assert!(HISTOGRAM.contains(from));
        assert!(histogram(&HISTOGRAM.replace(from, to), &fields, None).is_err(), "{to}");
    }
    assert!(histogram(HISTOGRAM, &fields.with("MAX_LATENCY", "71"), None).is_err());
    assert!(histogram(HISTOGRAM, &fields.with("MIN_LATENCY", "59"), None).is_err());
}
