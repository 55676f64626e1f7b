//! Documents of runs that are known, by the keys of the original in their order.

use std::io::Read;

use flate2::read::GzDecoder;
use protocol::irtt::reply::Reply;
use test_case::test_case;

use super::*;
use crate::persona::irtt::client::options;
use crate::persona::irtt::client::outcome::Course;

fn asked() -> Asked {
    let words = "-d 2s --timer=busy --fill=pattern:0a --df=true --dscp=8 db1";
    options::parse(&words.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap().unwrap()
}

/// Two packets, of which the second is lost.
fn trips() -> Trips {
    let at = |nanos| Time { wall: Some(nanos), monotonic: Some(nanos) };
    let mut trips = Trips::default();
    trips.sent(at(100), 110, 60);
    trips.sent(at(1_000_000_100), 1_000_000_110, 60);
    let reply = Reply { received: at(300), sent: at(350), count: Some(1), window: Some(1), ..Reply::default() };
    trips.came(at(500), 60, &reply);
    trips
}

fn document(ending: Option<Ending>) -> String {
    let (asked, trips) = (asked(), trips());
    let granted = Parameters { length: 60, ..asked.parameters.clone() };
    let course = Course { start_time: "2026-11-29T15:00:00Z".into(), duration: 9, wait: 3, interval: 1_000_000_000 };
    let run = Run {
        asked: &asked,
        granted: &granted,
        addresses: ["127.0.0.1:40000".to_owned(), "127.0.0.1:2112".to_owned()],
        is_v6: false,
        host: "here".to_owned(),
        cpus: 2,
        ending,
        outcome: &Outcome::of(&trips, course),
        trips: &trips,
    };
    let mut octets = Vec::new();
    run.write(&mut octets).unwrap();
    String::from_utf8(octets).unwrap()
}

const CONFIG: &str = r#"
    "config": {
        "local_address": "127.0.0.1:40000",
        "remote_address": "127.0.0.1:2112",
        "open_timeouts": "1s,2s,4s,8s",
        "params": {
            "proto_version": 1,
            "duration": 2000000000,
            "interval": 1000000000,
            "length": 60,
            "received_stats": "both",
            "stamp_at": "both",
            "clock": "both",
            "dscp": 8,
            "server_fill": ""
        },
        "loose": false,
        "ip_version": "IPv4",
        "df": 2,
        "ttl": 0,
        "timer": "busy",
        "waiter": "3x4s",
        "filler": "pattern:0a",
        "fill_one": false,
        "server_fill": "",
        "thread_lock": false,
        "supplied": {
            "local_address": ":0",
            "remote_address": "db1",
"#;

const TRIPS: &str = r#"
    "round_trips": [
        {
            "seqno": 0,
            "lost": "false",
            "timestamps": {
                "client": {
                    "receive": {
                        "wall": 500,
                        "monotonic": 500
                    },
                    "send": {
                        "wall": 100,
                        "monotonic": 100
                    }
                },
                "server": {
                    "receive": {
                        "wall": 300,
                        "monotonic": 300
                    },
                    "send": {
                        "wall": 350,
                        "monotonic": 350
                    }
                }
            },
            "delay": {
                "receive": 150,
                "rtt": 350,
                "send": 200
            },
            "ipdv": {}
        },
        {
            "seqno": 1,
            "lost": "true",
            "timestamps": {
                "client": {
                    "receive": {},
                    "send": {
                        "wall": 1000000100,
                        "monotonic": 1000000100
                    }
                },
                "server": {
                    "receive": {},
                    "send": {}
                }
            },
            "delay": {},
            "ipdv": {}
        }
    ]
}
"#;

#[test]
fn a_document_has_the_keys_of_the_original_in_their_order() {
    let text = document(None);
    assert!(
        text.starts_with("{\n    \"version\": {\n        \"irtt\": \"0.9.0\",\n        \"protocol\": 1,\n"),
        "{text}"
    );
    assert!(text.contains(CONFIG) && text.ends_with(TRIPS) && !text.contains("_err\""), "{text}");
    let stats = "\n    \"stats\": {\n        \"start_time\": \"2026-11-29T15:00:00Z\",\n        \"send_call\": {\n            \"total\": 20,\n";
    assert!(text.contains(stats) && text.contains("\"packet_loss_percent\": 50,\n"), "{text}");
}

#[test_case(Ending::Cancelled, "    \"send_err\": {},\n    \"stats\": {"; "by a signal")]
#[test_case(Ending::Closed, "    \"receive_err\": {\n        \"Code\": -2070,"; "by the server")]
fn an_early_end_stands_between_config_and_stats(ending: Ending, lines: &str) {
    assert!(document(Some(ending)).contains(lines));
}

#[test_case("a", "a.json.gz", true; "no ending")]
#[test_case("a.gz", "a.json.gz", true; "packed")]
#[test_case("a.json.gz", "a.json.gz", true; "both endings")]
#[test_case("a.json", "a.json", false; "not packed")]
#[test_case("a.txt", "a.txt.json.gz", true; "another ending")]
fn a_file_is_packed_unless_its_name_says_otherwise(named: &str, name: &str, is_packed: bool) {
    assert_eq!(file_name(named), (name.to_owned(), is_packed));
}

#[test]
fn a_packed_file_holds_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let (asked, trips) = (asked(), trips());
    let course = Course { start_time: String::new(), duration: 9, wait: 3, interval: 1 };
    let run = Run {
        asked: &asked,
        granted: &asked.parameters,
        addresses: [String::new(), String::new()],
        is_v6: true,
        host: String::new(),
        cpus: 1,
        ending: None,
        outcome: &Outcome::of(&trips, course),
        trips: &trips,
    };
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    run.write_file(&path("run")).unwrap();
    run.write_file(&path("run.json")).unwrap();
    let mut unpacked = String::new();
    GzDecoder::new(File::open(path("run.json.gz")).unwrap()).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, std::fs::read_to_string(path("run.json")).unwrap());
    let nowhere = run.write_file(&path("no/run.json")).unwrap_err();
    assert!(nowhere.ends_with("no/run.json: no such file or directory"), "{nowhere}");
}
