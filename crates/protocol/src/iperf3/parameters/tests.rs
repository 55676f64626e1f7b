//! Parameters that a client may ask for, and those that are refused.

use super::*;
use test_case::test_case;

#[test]
fn nothing_said_is_ten_seconds_of_one_stream_of_tcp() {
    let read = Parameters::read(b"{}").unwrap();
    assert_eq!(read, Parameters::default());
    assert_eq!((read.protocol, read.time, read.parallel, read.block_bytes()), (Protocol::Tcp, 10, 1, 131_072));
    assert_eq!(Parameters::read(br#"{"udp":true}"#).unwrap().block_bytes(), 1_460);
    assert_eq!(Parameters::read(br#"{"sctp":true}"#).unwrap().block_bytes(), 65_536);
}

#[test]
fn what_is_unknown_or_of_another_type_is_passed_over() {
    let json = br#"{"udp":1,"reverse":1,"nodelay":"true","parallel":"9","future":{"a":[1]},"title":5,"time":null}"#;
    assert_eq!(Parameters::read(json).unwrap(), Parameters::default());
}

#[test_case(r#"{"parallel":0}"#, 6)]
#[test_case(r#"{"parallel":129}"#, 6)]
#[test_case(r#"{"parallel":-1}"#, 6)]
#[test_case(r#"{"parallel":99999999999999999999}"#, 6)]
#[test_case(r#"{"len":1048577}"#, 7)]
#[test_case(r#"{"len":-5}"#, 7)]
#[test_case(r#"{"udp":true,"len":15}"#, 20)]
#[test_case(r#"{"udp":true,"len":65508}"#, 20)]
#[test_case(r#"{"time":86401}"#, 5)]
#[test_case(r#"{"time":-1}"#, 5)]
#[test_case(r#"{"omit":601}"#, 12)]
#[test_case(r#"{"burst":1001}"#, 15)]
#[test_case(r#"{"window":536870913}"#, 8)]
#[test_case(r#"{"MSS":32768}"#, 10)]
#[test_case(r#"{"TOS":256}"#, 21)]
#[test_case(r#"{"reverse":true,"bidirectional":true}"#, 25)]
#[test_case(r#"{"num":-1}"#, 114)]
#[test_case(r#"{"bandwidth":-1}"#, 114)]
#[test_case(r#"["tcp"]"#, 114)]
#[test_case("", 114)]
#[test_case(r#"{"tcp":tru"#, 114)]
fn what_is_out_of_bounds_is_refused_by_its_number(json: &str, code: i32) {
    assert_eq!(Parameters::read(json.as_bytes()), Err(Code(code)));
}

#[test_case(r#"{"parallel":128,"time":86400,"omit":600,"burst":1000,"window":536870912,"MSS":32767,"len":1048576}"#)]
#[test_case(r#"{"udp":true,"len":65507,"time":0,"TOS":255}"#)]
#[test_case(r#"{"udp":true,"len":16,"window":0,"MSS":0}"#)]
fn what_is_at_its_bound_is_taken(json: &str) {
    assert!(Parameters::read(json.as_bytes()).is_ok());
}

#[test]
fn every_key_is_read_as_it_is_written() {
    let every = Parameters {
        protocol: Protocol::Udp,
        omit: 2,
        server_affinity: Some(3),
        time: 7,
        bytes: 1 << 40,
        blocks: 9,
        mss: Some(1_400),
        nodelay: true,
        parallel: 5,
        direction: Direction::Both,
        mptcp: true,
        window: Some(65_536),
        block: Some(1_000),
        rate: Some(40_000_000_000),
        fq_rate: Some(5_000),
        pacing_timer_us: 20,
        burst: 6,
        segmentation: Some(Segmentation { gso: true, gso_dg_size: 1_000, ..Segmentation::OFF }),
        tos: 0xb8,
        flow_label: Some(7),
        title: Some("a title".to_owned()),
        extra_data: Some("\"quoted\"\n".to_owned()),
        congestion: Some("reno".to_owned()),
        congestion_used: Some("cubic".to_owned()),
        get_server_output: true,
        counters_64bit: true,
        repeating_payload: true,
        zerocopy: true,
        dont_fragment: true,
        auth_token: Some("AAAA".to_owned()),
        skip_rx_copy: true,
        client_version: Some("3.21".to_owned()),
    };
    assert_eq!(Parameters::read(every.write().as_bytes()), Ok(every.clone()));
    assert_eq!((every.uploads(), every.downloads(), every.total_rate()), (5, 5, Some(400_000_000_000)));
}
