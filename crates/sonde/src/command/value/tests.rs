//! Values as typed, and what is refused.

use super::*;
use test_case::test_case;

#[test_case("db1", "db1", None; "name")]
#[test_case("db1:80", "db1", Some(80); "name and port")]
#[test_case("10.0.0.2:7663", "10.0.0.2", Some(7663); "v4 and port")]
#[test_case("fd00::2", "fd00::2", None; "bare v6")]
#[test_case("fe80::1%eth0", "fe80::1%eth0", None; "scoped v6")]
#[test_case("[fd00::2]", "fd00::2", None; "v6 in brackets")]
#[test_case("[fe80::1%2]:443", "fe80::1%2", Some(443); "scoped v6 and port")]
fn a_far_side_is_read_as_typed(text: &str, host: &str, port: Option<u16>) {
    assert_eq!(text.parse(), Ok(Far { host: host.into(), port }));
}

#[test_case("fd00::2:7663", Some(("fd00::2", 7663)); "a port behind a short address")]
#[test_case("::1:80", Some(("::1", 80)); "behind the loopback's")]
#[test_case("fe80::1%eth0:443", Some(("fe80::1%eth0", 443)); "behind a scope")]
#[test_case("fd00::7663", None; "what is left is not an address")]
#[test_case("fd00::2:a1", None; "no number")]
#[test_case("fd00::2:99999", None; "no port")]
#[test_case("1:2:3:4:5:6:7:80", None; "all eight groups are needed")]
#[test_case("db1:80", None; "a name")]
#[test_case("10.0.0.2", None; "IPv4")]
fn a_port_that_was_read_as_part_of_an_address_is_found(host: &str, apart: Option<(&str, u16)>) {
    assert_eq!(port_in_address(host), apart);
}

#[test_case(""; "empty")]
#[test_case(":80"; "no host")]
#[test_case("db1:0"; "port zero")]
#[test_case("db1:70000"; "port too large")]
#[test_case("a:b:c"; "two colons")]
#[test_case("[db1]:80"; "name in brackets")]
#[test_case("[::1"; "open bracket")]
#[test_case("[::1]80"; "no colon")]
#[test_case("two words"; "a space")]
#[test_case("redis://db1"; "a url")]
fn what_is_no_far_side_is_refused(text: &str) {
    assert!(text.parse::<Far>().is_err());
}

#[test_case("0.0.0.0", "0.0.0.0", None)]
#[test_case("[::1]:0", "::1", Some(0))]
#[test_case("::", "::", None)]
#[test_case("127.0.0.1:80", "127.0.0.1", Some(80))]
fn a_local_address_is_read_as_typed(text: &str, address: &str, port: Option<u16>) {
    assert_eq!(text.parse(), Ok(Listen { address: address.parse().unwrap(), port }));
}

#[test]
fn a_name_is_no_local_address() {
    assert!("db1:80".parse::<Listen>().is_err());
}

#[test_case("0", &[0])]
#[test_case("3,0-2", &[3, 0, 1, 2])]
fn cpus_keep_their_order(text: &str, cpus: &[u32]) {
    assert_eq!(text.parse(), Ok(CpuList(cpus.to_vec())));
}

#[test_case(""; "empty")]
#[test_case("2-1"; "backwards")]
#[test_case("1,1"; "twice")]
#[test_case("a"; "letter")]
#[test_case("0-4000000000"; "beyond any machine")]
fn what_is_no_cpu_list_is_refused(text: &str) {
    assert!(text.parse::<CpuList>().is_err());
}

#[test_case("p99±5%", 0.99, Some(0.05))]
#[test_case("p99+-5%", 0.99, Some(0.05))]
#[test_case("p99.9:0.5%", 0.999, Some(0.005))]
#[test_case("p99", 0.99, None)]
#[test_case("median:1%", 0.5, Some(0.01))]
fn a_quantile_to_settle_is_read_as_typed(text: &str, quantile: f64, within: Option<f64>) {
    assert_eq!(settled(text), Ok(Settled { quantile, within }));
}

#[test_case("99"; "no p")]
#[test_case("p99±5"; "no percent sign")]
#[test_case("p100"; "no such quantile")]
#[test_case("p99:0%"; "no tolerance")]
#[test_case("p99:"; "nothing behind the colon")]
fn what_is_no_quantile_to_settle_is_refused(text: &str) {
    assert!(settled(text).is_err());
}

#[test_case("1000", 1_000)]
#[test_case("10k", 10_000)]
#[test_case("1.5M", 1_500_000)]
fn a_count_is_read_as_typed(text: &str, value: u64) {
    assert_eq!(count(text), Ok(value));
}

#[test_case("10.0.0.2"; "an address")]
#[test_case("1.5"; "a part of one")]
#[test_case("-3"; "negative")]
#[test_case("99999999999999999999"; "beyond the range")]
fn what_is_no_count_is_refused(text: &str) {
    assert!(count(text).is_err());
}

#[test_case("ef", 46)]
#[test_case("AF21", 18)]
#[test_case("0x2e", 46)]
#[test_case("63", 63)]
fn a_code_point_is_read_by_name_or_number(text: &str, bits: u8) {
    assert_eq!(dscp(text), Ok(bits));
}

#[test]
fn what_is_no_code_point_is_refused() {
    assert!(dscp("64").is_err());
    assert!(dscp("best").is_err());
    assert!(tos("256").is_err());
}

#[test_case("block", Waiting::Block)]
#[test_case("spin", Waiting::Spin)]
#[test_case("busy-poll", Waiting::BusyPoll { micros: BUSY_POLL_MICROS })]
#[test_case("busy-poll=20", Waiting::BusyPoll { micros: 20 })]
#[test_case("busy-poll=20us", Waiting::BusyPoll { micros: 20 })]
fn a_way_to_wait_is_read_as_typed(text: &str, waiting: Waiting) {
    assert_eq!(text.parse(), Ok(WaitingWord(waiting)));
}

#[test_case("busy-poll=0"; "none")]
#[test_case("sleep"; "a pacing")]
#[test_case("block=3"; "a number too many")]
fn what_is_no_way_to_wait_is_refused(text: &str) {
    assert!(text.parse::<WaitingWord>().is_err());
}

#[test]
fn a_file_says_its_format_by_its_ending() {
    assert_eq!("a.json".parse::<Destination>().unwrap().format, Format::Json);
    assert_eq!("a.b.jsonl".parse::<Destination>().unwrap().format, Format::JsonLines);
    assert_eq!("dir/a.txt".parse::<Destination>().unwrap().format, Format::Text);
    assert_eq!("a.svg".parse::<Destination>().unwrap().format, Format::Report(Form::Svg));
    assert!("a.pdf".parse::<Destination>().is_err());
    assert!("json".parse::<Destination>().is_err());
    assert_eq!("s.parquet".parse::<SampleFile>().unwrap().format, samples::Format::Parquet);
    assert_eq!("s.csv".parse::<SampleFile>().unwrap().format, samples::Format::Csv);
    assert!("s.json".parse::<SampleFile>().is_err());
}
