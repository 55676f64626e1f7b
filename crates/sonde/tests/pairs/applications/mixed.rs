//! Requests of several kinds from a file: what each class is told, against what the program counted.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use measure::method::Carrier;
use serde_json::Value;
use testbed::servers::Place;

use super::played::server;
use super::secured::good;
use super::{brief, count, kind, measured, measured_by, real, refused};

/// A file with this list, and its path.
fn list(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mix.toml");
    fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

/// A number of each class, by its name.
fn each(record: &Value, what: &str) -> BTreeMap<String, u64> {
    let classes =
        record["outcome"]["replies"]["classes"]["each"].as_array().unwrap_or_else(|| panic!("{}", brief(record)));
    let of = |class: &Value| Some((class["name"].as_str()?.to_owned(), class[what].as_u64()?));
    classes.iter().filter_map(of).collect()
}

fn counts<const N: usize>(pairs: [(&str, u64); N]) -> BTreeMap<String, u64> {
    pairs.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// No class has more or less than all together have, and the times of a class are those of its answered.
fn assert_whole(record: &Value) {
    for (of_class, of_all) in [("scheduled", "scheduled"), ("answered", "answered"), ("refused", "refused")] {
        assert_eq!(
            each(record, of_class).values().sum::<u64>(),
            count(record, of_all),
            "{of_class}: {}",
            brief(record)
        );
    }
    let classes = &record["outcome"]["replies"]["classes"];
    assert_eq!(classes["untold"], 0, "{}", brief(record));
    for class in classes["each"].as_array().unwrap() {
        assert_eq!(class["times"]["count"], class["answered"], "{class}");
    }
}

const OF_REDIS: &str = r#"
[[request]]
weight = 6
command = "GET user:1"
[[request]]
weight = 3
command = "SET user:1 \"a b\""
[[request]]
name = "wrong"
command = "LPUSH user:1 x"
"#;

/// Commands as the server counted them; the trial asks the first of the list once more.
#[test]
fn redis_counts_as_many_commands_of_each_class() {
    let Some(redis) = real::redis(&[]) else { return };
    let (_folder, mix) = list(OF_REDIS);
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let warm = ["--warm-up", "0", "--seed", "7", "--mix", &mix];
    let (record, code) = measured_by(
        "load",
        &[&[&url, "--rate", "2k/s", "-c", "600", "--connections", "2", "--force"], &warm[..]].concat(),
    );
    assert_eq!((count(&record, "scheduled"), code), (600, Some(0)), "{}", brief(&record));
    assert_whole(&record);
    let asked = each(&record, "scheduled");
    let mut stream = TcpStream::connect(("127.0.0.1", redis.port)).unwrap();
    stream.write_all(b"INFO commandstats\r\nQUIT\r\n").unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    let calls = |name: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{name}:calls="))).unwrap_or("0,");
        line.split(',').next().and_then(|calls| calls.parse::<u64>().ok()).unwrap_or_else(|| panic!("{told}"))
    };
    let counted = counts([("GET", calls("get") - 1), ("SET", calls("set")), ("wrong", calls("lpush"))]);
    assert_eq!(asked, counted);
    assert!(asked["GET"] > asked["SET"] && asked["SET"] > asked["wrong"], "as their weights: {asked:?}");
    // A list was made of no string, until a SET had made one.
    assert_eq!(kind(&record, "WRONGTYPE"), count(&record, "refused"), "{}", brief(&record));
    // The same seed asks the same.
    let (again, _) =
        measured(&[&[&url, "-c", "600", "--connections", "2", "--window", "8", "--force"], &warm[..]].concat());
    assert_eq!(count(&again, "scheduled"), 600);
    assert_whole(&again);
    let (alone, _) = measured(&[&[&url, "-c", "600", "--every", "1ms", "--force"], &warm[..]].concat());
    let (twice, _) = measured(&[&[&url, "-c", "600", "--every", "1ms", "--force"], &warm[..]].concat());
    assert_eq!(each(&alone, "scheduled"), each(&twice, "scheduled"));
}

const OF_HTTP: &str = r#"
order = "sequence"
[[request]]
path = "/health"
[[request]]
method = "HEAD"
path = "/health"
[[request]]
name = "make"
path = "/made"
body = "{}"
expect = "201"
[[request]]
name = "busy"
path = "/busy"
[[request]]
name = "gone"
path = "/nowhere"
expect = "404"
"#;

/// A list in its order, over either version of HTTP, several requests out at once: also replies without a body between those that have
/// one, and replies in another order.
#[test]
fn nginx_answers_a_list_in_order() {
    for (scheme, listen) in [("http", ""), ("h2c", " http2")] {
        let Some(server) = Place::here().nginx(listen, "location /made { return 201 'made'; }") else { return };
        let (_folder, mix) = list(OF_HTTP);
        let url = format!("{scheme}://127.0.0.1:{}", server.port);
        let words = [&url, "-c", "500", "--window", "8", "--force", "--warm-up", "0", "--mix", &mix];
        let (record, _) = measured(&words);
        assert_whole(&record);
        let hundred = |name| (name, 100);
        let asked = counts(["GET /health", "HEAD /health", "make", "busy", "gone"].map(hundred));
        assert_eq!(each(&record, "scheduled"), asked, "{scheme}");
        let refused = counts([("GET /health", 0), ("HEAD /health", 0), ("make", 0), ("busy", 100), ("gone", 0)]);
        assert_eq!(each(&record, "refused"), refused, "{scheme}: {}", brief(&record));
        let kinds = ["200", "201", "404", "503 not expected"].map(|name| kind(&record, name));
        assert_eq!(kinds, [200, 100, 100, 100], "{scheme}: {}", brief(&record));
        let said = &record["method"]["application"];
        assert_eq!((&said["request"], &said["mix"]["order"]), (&"mix of 5 requests".into(), &"sequence".into()));
    }
}

/// Names of other lengths in each datagram, and an answer for each.
#[test]
fn unbound_is_asked_several_names() {
    let text = "[[request]]\nweight = 3\nquestion = \"a.test\"\n[[request]]\nquestion = \"another.name.test AAAA\"\n";
    let signed = good();
    let (certificate, key, ca) = (signed.text("server.pem"), signed.text("server.key"), signed.text("ca.pem"));
    let trust = ["--ca", &ca];
    for (scheme, port) in [("dns", None), ("dns+tcp", None), ("dns+https", Some(testbed::port::free()))] {
        let within_tls = port.map(|port| {
            format!(
                " interface: 127.0.0.1@{port}\n https-port: {port}\n tls-service-pem: \"{certificate}\"\n tls-service-key: \"{key}\"\n"
            )
        });
        let Some(server) = real::unbound(Carrier::Udp, within_tls.as_deref().unwrap_or_default()) else { return };
        let (server, words) = match port {
            Some(port) => (server.at(port), &trust[..]),
            None => (server, &[][..]),
        };
        let (_folder, mix) = list(text);
        let url = format!("{scheme}://127.0.0.1:{}", server.port);
        let usual = [&url, "-c", "400", "--window", "4", "--force", "--warm-up", "0", "--mix", &mix];
        let (record, code) = measured(&[&usual, words].concat());
        assert_eq!((count(&record, "answered"), code), (400, Some(0)), "{}", brief(&record));
        assert_whole(&record);
        let asked = each(&record, "answered");
        assert_eq!(kind(&record, "NOERROR"), asked["A a.test"], "{}", brief(&record));
        assert_eq!(kind(&record, "NXDOMAIN"), asked["AAAA another.name.test"], "{}", brief(&record));
    }
}

/// Queries, of which one fails in each session that goes on; rows are longer than a read.
#[test]
fn postgres_runs_queries() {
    let Some((server, _)) = Place::here().postgres(&[]) else { return };
    let text = r#"
order = "sequence"
[[request]]
query = "SELECT 1"
[[request]]
name = "rows"
query = "SELECT repeat('x', 1000) FROM generate_series(1, 300)"
[[request]]
name = "wrong"
query = "SELECT * FROM nowhere"
"#;
    let (_folder, mix) = list(text);
    let url = format!("postgres://sonde@127.0.0.1:{}/postgres", server.port);
    let (record, _) = measured(&[&url, "-c", "90", "--force", "--window", "3", "--warm-up", "0", "--mix", &mix]);
    assert_whole(&record);
    assert_eq!(each(&record, "answered"), counts([("SELECT", 30), ("rows", 30), ("wrong", 0)]), "{}", brief(&record));
    assert_eq!((kind(&record, "ReadyForQuery"), kind(&record, "ErrorResponse")), (60, 30), "{}", brief(&record));
    assert_eq!(record["outcome"]["replies"]["renewals"], 0, "an error ends no session");
    assert!(record["outcome"]["replies"]["longest_bytes"].as_u64() > Some(300_000), "{}", brief(&record));
}

/// Statements with one row, with rows longer than a read, with none, and one that fails in a session that goes on.
#[test]
fn mariadb_runs_statements() {
    let Some((server, _)) = Place::here().mariadb(&[]) else { return };
    let text = r#"
order = "sequence"
[[request]]
query = "SELECT 1"
[[request]]
name = "rows"
query = "SELECT repeat('x', 1000), table_name FROM information_schema.columns LIMIT 320"
[[request]]
query = "DO 1"
[[request]]
name = "wrong"
query = "SELECT * FROM mysql.nowhere"
"#;
    let (_folder, mix) = list(text);
    let (folder, url) = (tempfile::tempdir().unwrap(), format!("mysql://shop@127.0.0.1:{}", server.port));
    let word = folder.path().join("word");
    fs::write(&word, "pencil").unwrap();
    let word = word.display().to_string();
    let (record, _) =
        measured(&[&url, "-c", "80", "--force", "--warm-up", "0", "--mix", &mix, "--password-file", &word]);
    assert_whole(&record);
    let asked = counts([("SELECT", 20), ("rows", 20), ("DO", 20), ("wrong", 0)]);
    assert_eq!(each(&record, "answered"), asked, "{}", brief(&record));
    assert_eq!((kind(&record, "rows"), kind(&record, "OK")), (40, 20), "{}", brief(&record));
    assert_eq!(record["outcome"]["replies"]["renewals"], 0, "an error ends no session");
    assert!(record["outcome"]["replies"]["longest_bytes"].as_u64() > Some(300_000), "{}", brief(&record));
}

/// Values, misses and errors, each in its class.
#[test]
fn memcached_takes_commands_with_values() {
    let Some(server) = real::memcached() else { return };
    let text = "order = \"sequence\"\n[[request]]\ncommand = \"set a 0 0 5\"\nbody = \"hello\"\n[[request]]\ncommand = \"get a\"\n\
                [[request]]\nname = \"miss\"\ncommand = \"get b\"\n[[request]]\ncommand = \"incr a 1\"\n";
    let (_folder, mix) = list(text);
    let url = format!("memcached://127.0.0.1:{}", server.port);
    let (record, _) = measured(&[&url, "-c", "200", "--force", "--window", "4", "--warm-up", "0", "--mix", &mix]);
    assert_whole(&record);
    assert_eq!(each(&record, "refused"), counts([("set", 0), ("get", 0), ("miss", 0), ("incr", 50)]));
    let kinds = ["STORED", "VALUE", "END", "CLIENT_ERROR"].map(|name| kind(&record, name));
    assert_eq!(kinds, [50; 4], "{}", brief(&record));
}

/// The order on the wire is that of the list, also behind a warm-up, which has the list for itself.
#[test]
fn the_recording_begins_with_the_first_of_the_list() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&seen);
    let (url, _) = server("redis", move |mut stream| {
        let (mut text, mut room) = (String::new(), [0; 4_096]);
        loop {
            let length = stream.read(&mut room)?;
            if length == 0 {
                return Ok(());
            }
            text.push_str(&String::from_utf8_lossy(&room[..length]));
            // Each request is a word of one letter: *1, $1, the letter.
            while let Some(rest) = text.strip_prefix("*1\r\n$1\r\n").filter(|rest| rest.len() >= 3) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(rest[..1].to_owned());
                text = rest[3..].to_owned();
                stream.write_all(b"+OK\r\n")?;
            }
        }
    });
    let entries: String = ["a", "b", "c", "d", "e"].map(|word| format!("[[request]]\ncommand = \"{word}\"\n")).concat();
    let (_folder, mix) = list(&format!("order = \"sequence\"\n{entries}"));
    let (record, _) = measured(&[&url, "-c", "12", "--every", "1ms", "--force", "--mix", &mix]);
    assert_eq!(count(&record, "answered"), 12, "{}", brief(&record));
    assert_whole(&record);
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).concat();
    let recorded = &seen[seen.len() - 12..];
    assert_eq!(recorded, "abcdeabcdeab", "all of them: {seen}");
    let warm = &seen[1..seen.len() - 12];
    assert!("abcde".repeat(seen.len()).starts_with(warm), "the warm-up: {seen}");
    assert_eq!(each(&record, "scheduled"), counts([("A", 3), ("B", 3), ("C", 2), ("D", 2), ("E", 2)]));
}

#[test]
fn a_list_that_is_none_is_said_with_its_line() {
    let (_folder, mix) = list("[[request]]\npath = \"/a\"\nwieght = 3\n");
    let said = refused(&["http://127.0.0.1", "--mix", &mix]);
    assert!(said.contains("line 3: unknown field `wieght`") && said.contains("under [[request]]"), "{said}");
    let (_folder, mix) = list("[[request]]\nquestion = \"a.test\"\n");
    let said = refused(&["dns://127.0.0.1", "--mix", &mix, "--verify"]);
    assert!(said.contains("those of a mix differ"), "{said}");
}
