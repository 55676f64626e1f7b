//! Lists as they are written, and the refusals on the way.

use std::fs;

use measure::method::mix::Order;
use protocol::application::Application;
use tempfile::TempDir;
use test_case::test_case;

use super::super::{ApplicationOptions, Whom};

/// The application of a mix in a file, or what is said of it.
fn mixed(url: &str, text: &str) -> Result<Application, String> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mix.toml");
    fs::write(&path, text).unwrap();
    fs::write(folder.path().join("body.json"), "{}").unwrap();
    let whom: Whom = url.parse()?;
    let options = ApplicationOptions { mix: Some(path), ..ApplicationOptions::default() };
    let found = options.application(Some(&whom)).map_err(|failure| {
        let hint = failure.told.hint.unwrap_or_default();
        format!("{} ({hint})", failure.told.what)
    })?;
    found.ok_or_else(|| "none".to_owned())
}

fn octets(application: &Application) -> Vec<String> {
    let items = application.mix.as_ref().unwrap().items();
    items.iter().map(|item| String::from_utf8_lossy(&item.octets).into_owned()).collect()
}

#[test]
fn requests_of_http_have_weights_and_classes() {
    let text = r#"
[[request]]
name = "list"
weight = 80
path = "/items"
headers = ["Accept: application/json"]

[[request]]
weight = 15
method = "HEAD"

[[request]]
name = "add"
weight = 5
path = "/items"
body-file = "body.json"
expect = "201"
"#;
    let application = mixed("http://db1/health", text).unwrap();
    assert_eq!(application.said().to_string(), "http mix of 3 requests");
    let mix = application.said().mix.unwrap();
    let classes: Vec<_> = mix.classes.iter().map(|class| (class.name.as_str(), class.weight, class.requests)).collect();
    assert_eq!((mix.order, classes), (Order::Weights, vec![("list", 80, 1), ("HEAD /health", 15, 1), ("add", 5, 1)]));
    let octets = octets(&application);
    assert!(octets[0].starts_with("GET /items HTTP/1.1\r\nHost: db1\r\n"), "{octets:?}");
    assert!(octets[0].ends_with("Accept: application/json\r\n\r\n"), "{octets:?}");
    assert!(octets[1].starts_with("HEAD /health HTTP/1.1\r\n"), "{octets:?}");
    assert!(
        octets[2].starts_with("POST /items HTTP/1.1\r\n") && octets[2].ends_with("Length: 2\r\n\r\n{}"),
        "{octets:?}"
    );
    let expected: Vec<_> = application.mix.unwrap().items().iter().map(|item| item.expected.is_some()).collect();
    assert_eq!(expected, [false, false, true]);
}

#[test]
fn services_of_grpc_are_classes() {
    let text = "[[request]]\nservice = \"shop.Cart\"\nweight = 9\n[[request]]\nname = \"all\"\nservice = \"\"\n";
    let mix = mixed("grpc://db1", text).unwrap().said().mix.unwrap();
    let classes: Vec<_> = mix.classes.iter().map(|class| (class.name.as_str(), class.weight)).collect();
    assert_eq!(classes, [("Health/Check shop.Cart", 9), ("all", 1)]);
}

#[test]
fn a_list_in_order_counts_the_same_name_together() {
    let text = "order = \"sequence\"\n[[request]]\ncommand = \"GET a\"\n[[request]]\ncommand = \"SET a 1\"\n[[request]]\ncommand = \"get b\"\n";
    let application = mixed("redis://db1", text).unwrap();
    let mix = application.said().mix.unwrap();
    let classes: Vec<_> = mix.classes.iter().map(|class| (class.name.as_str(), class.requests)).collect();
    assert_eq!((mix.order, classes), (Order::Sequence, vec![("GET", 2), ("SET", 1)]));
    assert_eq!(octets(&application)[1], "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n");
}

#[test_case("memcached://db1", "command = \"set a 0 0 2\"\nbody = \"hi\"", "set a 0 0 2\r\nhi\r\n")]
#[test_case("mysql://me@db1", "query = \"SELECT 1\"", "\u{9}\0\0\0\u{3}SELECT 1")]
#[test_case("postgres://me@db1", "query = \"SELECT 1\"", "Q\0\0\0\rSELECT 1\0")]
#[test_case(
    "dns://10.0.0.53",
    "question = \"a.test TXT\"",
    "\0\0\u{1}\0\0\u{1}\0\0\0\0\0\0\u{1}a\u{4}test\0\0\u{10}\0\u{1}"
)]
#[test_case(
    "dns+tcp://10.0.0.53",
    "question = \"a.test\"",
    "\0\u{18}\0\0\u{1}\0\0\u{1}\0\0\0\0\0\0\u{1}a\u{4}test\0\0\u{1}\0\u{1}"
)]
fn each_protocol_has_words_of_its_own(url: &str, entry: &str, expected: &str) {
    assert_eq!(octets(&mixed(url, &format!("[[request]]\n{entry}\n")).unwrap()), [expected]);
}

#[test_case("http://db1", "[[request]]\npath = \"/a\"\nwieght = 3\n", "line 3: unknown field `wieght`"; "a word that is none")]
#[test_case("http://db1", "order = \"random\"\n", "line 1: unknown variant `random`"; "an order that is none")]
#[test_case("http://db1", "", "0 requests, and a list has 1 to 10000"; "nothing")]
#[test_case("http://db1", "[[request]]\nweight = 0\n", "no request has a weight"; "no weight")]
#[test_case("http://db1", "[[request]]\nweight = 1000001\n", "the largest is 1000000"; "a large weight")]
#[test_case("http://db1", "\n\n[[request]]\ncommand = \"GET a\"\n", "line 3: a request of http has no `command`"; "a word of another protocol")]
#[test_case("redis://db1", "[[request]]\n[[request]]\ncommand = \"GET a\"\n", "line 1: a request of redis has a `command`"; "nothing asked")]
#[test_case("redis://db1", "[[request]]\ncommand = \"AUTH secret\"\n", "AUTH contains a password"; "a password")]
#[test_case("redis://db1", "[[request]]\nname = \"\"\ncommand = \"PING\"\n", "a name has 1 to 64 characters"; "no name")]
#[test_case("http://db1", "order = \"sequence\"\n[[request]]\nweight = 2\n", "line 2: in a sequence"; "a weight in a sequence")]
#[test_case("http://db1", "[[request]]\nbody = \"a\"\nbody-file = \"body.json\"\n", "exclude each other"; "two bodies")]
#[test_case("http://db1", "[[request]]\nbody-file = \"nowhere\"\n", "nowhere"; "a body that is not there")]
#[test_case("http://db1", "[[request]]\nheaders = [\"no field\"]\n", "is not a header field"; "a header that is none")]
#[test_case("http://db1", "[[request]]\nexpect = \"ok\"\n", "`ok` is not a status"; "a status that is none")]
#[test_case("dns://10.0.0.53", "[[request]]\nquestion = \"a.test A b\"\n", "a name and a type"; "a question that is none")]
#[test_case("postgres://me@db1", "[[request]]\nquery = \"COPY t FROM STDIN\"\n", "COPY is not supported: it is answered by a stream"; "a stream")]
#[test_case("mqtt://db1", "[[request]]\n", "mqtt is asked one thing over and over (--mix is for http"; "a protocol without")]
fn what_is_no_list_is_said(url: &str, text: &str, expected: &str) {
    let told = mixed(url, text).unwrap_err();
    assert!(told.contains(expected), "{told}");
}

#[test]
fn no_more_is_taken_than_is_believed() {
    let many = |count: usize, entry: fn(usize) -> String| (0..count).map(entry).collect::<String>();
    let told = mixed("redis://db1", &many(10_001, |_| "[[request]]\ncommand = \"PING\"\n".into())).unwrap_err();
    assert!(told.contains("10001 requests"), "{told}");
    let named = |place: usize| format!("[[request]]\nname = \"c{place}\"\ncommand = \"PING\"\n");
    assert_eq!(mixed("redis://db1", &many(64, named)).map(|mix| mix.mix.unwrap().names().len()), Ok(64));
    let told = mixed("redis://db1", &many(65, named)).unwrap_err();
    assert!(told.contains("line 193: c64 is class 65, and 64 are told apart"), "{told}");
}

#[test]
fn it_is_for_programs_at_work_and_replaces_the_request() {
    let told = |options: ApplicationOptions, url: &str| {
        let whom: Whom = url.parse().unwrap();
        options.application(Some(&whom)).map_err(|failure| failure.told.what).unwrap_err()
    };
    let mix = || Some("nowhere.toml".into());
    assert_eq!(told(ApplicationOptions { mix: mix(), ..Default::default() }, "db1"), "--mix is for programs at work");
    let both = ApplicationOptions { mix: mix(), request: Some("HEAD".into()), ..Default::default() };
    assert_eq!(told(both, "http://db1"), "--request and --mix exclude each other");
    assert!(told(ApplicationOptions { mix: mix(), ..Default::default() }, "http://db1").contains("nowhere.toml"));
}
