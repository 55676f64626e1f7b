//! Played servers that say far more than anybody wants to hear, or in a coding that nobody reads: it is counted and forgotten, in bounded memory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::Value;
use test_case::test_case;
use testbed::process::{self, Ended};

use super::played::{request, server};
use super::{brief, count, kind, measured};

/// The room of addresses that sonde has here, KiB: its threads, its buffers, and no gigabyte beside them.
const ROOM_KIB: &str = "786432";
/// The length of a large body, octets.
const GIGABYTE: u64 = 1 << 30;
/// The length of a large greeting, octets.
const GREETING: usize = 10_000_000;

/// A sonde that has no more room than that, to its end.
fn bounded(words: &[&str]) -> Ended {
    let mut command = Command::new("sh");
    let script = "ulimit -v \"$0\"; exec \"$@\"";
    command.args(["-c", script, ROOM_KIB, env!("CARGO_BIN_EXE_sonde")]).args(words);
    // A look has a thread for each program that it finds here, those of other tests too, and glibc would reserve 64 MiB for each of them.
    command.env("MALLOC_ARENA_MAX", "1");
    process::ended(&mut command, process::LIMIT)
}

/// Octets without meaning, again and again until there are so many.
fn pour(stream: &mut TcpStream, octets: u64) -> std::io::Result<()> {
    std::io::copy(&mut std::io::repeat(b'x').take(octets), stream).map(|_| ())
}

/// So many octets in chunks, or in one piece behind their length.
#[test_case(false; "with its length")]
#[test_case(true; "in chunks")]
fn a_body_of_a_gigabyte_is_counted_and_forgotten(chunks: bool) {
    let (url, _) = server("http", move |mut stream| {
        while request(&mut stream)? {
            if !chunks {
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {GIGABYTE}\r\n\r\n")?;
                pour(&mut stream, GIGABYTE)?;
                continue;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            for _ in 0..GIGABYTE >> 20 {
                stream.write_all(b"100000\r\n")?;
                pour(&mut stream, 1 << 20)?;
                stream.write_all(b"\r\n")?;
            }
            stream.write_all(b"0\r\n\r\n")?;
        }
        Ok(())
    });
    let ended = bounded(&["rtt", &url, "-c", "1", "--warm-up", "0", "--timeout", "120s", "--json"]);
    let record: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    assert_eq!((count(&record, "answered"), kind(&record, "200")), (1, 1), "{}", brief(&record));
    let longest = record["outcome"]["replies"]["longest_bytes"].as_u64();
    assert!(longest > Some(GIGABYTE) && longest < Some(GIGABYTE + (1 << 16)), "{longest:?}");
}

/// Bodies that are coded are none of ours to read: also rubbish and a bomb are answers by their status, as long as they are on the wire.
#[test_case("gzip", b"\x1f\x8b rubbish"; "rubbish")]
#[test_case("br, zstd", b""; "nothing at all")]
fn a_coded_body_is_an_answer(coding: &'static str, body: &'static [u8]) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n", body.len());
    let length = (head.len() + body.len()) as u64;
    let (url, _) = server("http", move |mut stream| {
        while request(&mut stream)? {
            stream.write_all(&[head.as_bytes(), body].concat())?;
        }
        Ok(())
    });
    let (record, code) = measured(&[&url, "-c", "10", "--warm-up", "0", "--force"]);
    assert_eq!((count(&record, "answered"), kind(&record, "200"), code), (10, 10, Some(0)), "{}", brief(&record));
    assert_eq!(record["outcome"]["replies"]["longest_bytes"], length, "{}", brief(&record));
}

/// The beginnings of greetings that go on for ten million octets.
#[test_case("nats", b"INFO {\"version\":\"", "a line has no end"; "a line")]
#[test_case("mysql", b"\x76\x96\x98\0\x0a", "the reply is none of MySQL"; "a packet")]
#[test_case("postgres", b"R\0\x98\x96\x80\0\0\0\0", "the reply is none of PostgreSQL"; "a message")]
#[test_case("mqtt", b"\x20\xFD\xAC\xE2\x04", "the reply is none of MQTT"; "a word of agreement")]
#[test_case("ws", b"HTTP/1.1 101 Switching Protocols\r\nX: ", "the head of a response has no end"; "a head")]
fn a_greeting_of_ten_megabytes_is_refused_in_words(scheme: &str, begins: &'static [u8], told: &str) {
    let (url, _) = server(scheme, move |mut stream| {
        let mut asked = [0; 4_096];
        if !begins.starts_with(b"INFO") && begins[0] != 0x76 {
            // This one speaks second.
            let _asked = stream.read(&mut asked)?;
        }
        stream.write_all(begins)?;
        pour(&mut stream, GREETING as u64)?;
        // It waits for what is said to it.
        stream.read(&mut asked).map(|_| ())
    });
    let url = if matches!(scheme, "mysql" | "postgres") { url.replace("://", "://me@") } else { url };
    let ended = bounded(&["rtt", &url, "-c", "5"]);
    assert!(ended.code == Some(1) && ended.stderr.contains(told), "{}", ended.told());
}

/// A look at such a port ends as well, and names nobody there.
#[test]
fn a_look_at_a_greeting_without_an_end_ends() {
    let (url, _) = server("nats", |mut stream| {
        stream.write_all(b"INFO {\"version\":\"")?;
        pour(&mut stream, GREETING as u64)?;
        stream.read(&mut [0; 4_096]).map(|_| ())
    });
    let port = url.rsplit(':').next().unwrap();
    let ended = bounded(&["look", "127.0.0.1", "--port", port, "-t", "1", "--json"]);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    assert_eq!(found["look"]["addresses"][0]["ports"][0]["service"]["answer"], "other", "{}", ended.told());
}
