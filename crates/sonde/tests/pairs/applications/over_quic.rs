//! HTTP/3: a real server over QUIC, with certificates made for the test, and ports where there is none.

use std::fs;
use std::net::UdpSocket;

use serde_json::Value;
use testbed::certificate::Signed;
use testbed::servers::{Place, Server};
use testbed::{port, process};

use super::real::all_answered;
use super::secured::good;
use super::{brief, count, kind, measured, refused};

/// A caddy that shows this certificate, also where a client names nobody.
fn caddy(signed: &Signed, name: &str) -> Option<Server> {
    let (certificate, key) = (signed.text("server.pem"), signed.text("server.key"));
    Place::here().caddy(name, &format!(" tls {certificate} {key}\n respond /busy 503\n respond ok 200\n"))
}

fn phases(record: &Value) -> &Value {
    &record["outcome"]["replies"]["phases"]
}

#[test]
fn caddy_is_asked_over_http_3() {
    let signed = good();
    let Some(server) = caddy(&signed, "127.0.0.1") else { return };
    let (url, ca) = (format!("h3://127.0.0.1:{}/health", server.port), signed.text("ca.pem"));
    let words = ["--ca", &ca];
    // Never more at once than the hundred streams that it allows, however late it is scheduled.
    for more in [&["--window", "1"][..], &["--window", "16"], &["--connections", "4", "--window", "4"]] {
        all_answered(&url, &[&words[..], more].concat(), "h3", "GET /health", "200", None);
    }
    let head = ["--window", "1", "--request", "HEAD"];
    all_answered(&url, &[&words[..], &head].concat(), "h3", "HEAD /health", "200", None);
    let (record, code) = measured(&[&url, "--ca", &ca, "-c", "300", "--force", "--warm-up", "0"]);
    let replies = &record["outcome"]["replies"];
    assert_eq!((count(&record, "answered"), kind(&record, "200"), code), (300, 300, Some(0)), "{}", brief(&record));
    assert_eq!(replies["renewals"], 0, "{replies}");
    assert_eq!(
        (&replies["tls"]["version"], &replies["tls"]["verified"]),
        (&"TLS 1.3".into(), &true.into()),
        "{replies}"
    );
    assert_eq!(replies["tls"]["valid_until_s"], 64_060_588_800_u64, "the begin of the year 4000");
    assert!(replies["connect_ns"].as_u64() > Some(0) && replies["tls_ns"].is_null(), "{replies}");
    assert_eq!(record["method"]["carrier"], "udp");
    let busy = format!("h3://127.0.0.1:{}/busy", server.port);
    let (record, code) = measured(&[&busy, "--ca", &ca, "-c", "20"]);
    assert_eq!((count(&record, "refused"), kind(&record, "503"), code), (20, 20, Some(1)), "{}", brief(&record));
    let (record, code) = measured(&[&busy, "--ca", &ca, "-c", "20", "--expect", "503"]);
    assert_eq!((count(&record, "answered"), code), (20, Some(0)), "{}", brief(&record));
}

/// The handshake of QUIC is a phase; an earlier session is taken up again only where that was asked for. A ticket that comes behind the
/// reply is lost with its connection, so not each needs to be.
/// A list in its order, several requests out at once, and each with a connection of its own.
#[test]
fn caddy_answers_a_list_over_http_3() {
    let signed = good();
    let Some(server) = caddy(&signed, "127.0.0.1") else { return };
    let mix = server.folder.path().join("mix.toml");
    let text = "order = \"sequence\"\n[[request]]\npath = \"/health\"\n[[request]]\nname = \"head\"\nmethod = \"HEAD\"\n\
                [[request]]\nname = \"add\"\npath = \"/items\"\nbody = \"{}\"\n[[request]]\npath = \"/busy\"\n";
    fs::write(&mix, text).unwrap();
    let (url, ca, mix) = (format!("h3://127.0.0.1:{}", server.port), signed.text("ca.pem"), mix.display().to_string());
    for how in [&["--window", "8", "--force"][..], &["--crr", "--force"]] {
        let words = [&[&url[..], "--ca", &ca, "-c", "80", "--warm-up", "0", "--mix", &mix], how].concat();
        let (record, _) = measured(&words);
        let classes =
            record["outcome"]["replies"]["classes"]["each"].as_array().unwrap_or_else(|| panic!("{}", brief(&record)));
        let told: Vec<_> = classes
            .iter()
            .map(|class| (class["name"].as_str(), class["answered"].as_u64(), class["refused"].as_u64()))
            .collect();
        let whole = |name| (Some(name), Some(20), Some(0));
        let expected = [whole("GET /health"), whole("head"), whole("add"), (Some("GET /busy"), Some(0), Some(20))];
        assert_eq!(told, expected, "{}", brief(&record));
    }
}

#[test]
fn a_connection_for_each_request_has_its_handshake() {
    let signed = good();
    let Some(server) = caddy(&signed, "127.0.0.1") else { return };
    let (url, ca) = (format!("h3://127.0.0.1:{}/health", server.port), signed.text("ca.pem"));
    let words = [&url[..], "--crr", "--ca", &ca, "-c", "50", "--warm-up", "0"];
    for (more, expected) in [(&[][..], 0..=0), (&["--resume"][..], 25..=50)] {
        let (record, code) = measured(&[&words, more].concat());
        assert_eq!((count(&record, "answered"), code), (50, Some(0)), "{}", brief(&record));
        let phases = phases(&record);
        let counts = ["connect", "wait", "receive"].map(|phase| phases[phase]["count"].as_u64());
        assert_eq!((counts, phases["tls"].is_null()), ([Some(50); 3], true), "{phases}");
        assert!(phases["resumed"].as_u64().is_some_and(|resumed| expected.contains(&resumed)), "{phases}");
        // At least a signature and its verification; whether a request waits longer is up to what else runs.
        assert!(phases["connect"]["min_ns"].as_u64() > Some(50_000), "{phases}");
    }
}

#[test]
fn who_is_not_believed_is_not_measured_over_http_3() {
    let signed = good();
    let Some(server) = caddy(&signed, "127.0.0.1") else { return };
    let url = format!("h3://127.0.0.1:{}/", server.port);
    let told = refused(&[&url, "--ca", &good().text("ca.pem")]);
    assert!(told.contains("not signed by an authority that this host trusts") && told.contains("--ca FILE"), "{told}");
    let (record, code) = measured(&[&url, "--insecure", "-c", "5"]);
    assert_eq!((count(&record, "answered"), code), (5, Some(0)), "{}", brief(&record));
    assert_eq!(record["outcome"]["replies"]["tls"]["verified"], false);
    let other = Signed::new(&["db1"], 4_000);
    let Some(server) = caddy(&other, "db1") else { return };
    let (url, ca) = (format!("h3://127.0.0.1:{}/", server.port), other.text("ca.pem"));
    let told = refused(&[&url, "--ca", &ca]);
    assert!(told.contains("certificate is not for 127.0.0.1: it is for db1"), "{told}");
    let (record, code) = measured(&[&url, "--ca", &ca, "--tls-name", "db1", "-c", "5"]);
    assert_eq!((count(&record, "answered"), code), (5, Some(0)), "{}", brief(&record));
    let over = Signed::new(&["127.0.0.1"], 2_001);
    let Some(server) = caddy(&over, "127.0.0.1") else { return };
    let told = refused(&[&format!("h3://127.0.0.1:{}/", server.port), "--ca", &over.text("ca.pem")]);
    assert!(told.contains("is not valid now: it ended") && told.contains("days ago"), "{told}");
}

#[test]
fn ports_without_http_3_are_told() {
    let told = refused(&[&format!("h3://127.0.0.1:{}/", port::free()), "--insecure"]);
    assert!(told.contains("refused"), "{told}");
    // Something that does not answer a first packet of QUIC.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let told = refused(&[&format!("h3://{}/", silent.local_addr().unwrap()), "--insecure"]);
    assert!(told.contains("no answer within"), "{told}");
    let told = refused(&["h3://127.0.0.1:1/", "--insecure", "--stamps"]);
    assert!(told.contains("no one datagram"), "{told}");
    let told = refused(&["--udp", "--crr", "127.0.0.1:1"]);
    assert!(!told.is_empty(), "connections over UDP are those of programs alone");
}

/// A server that stops in the middle: what was answered is, and the rest is refused or lost, within bounded time.
#[test]
fn a_server_that_stops_ends_no_run() {
    let signed = good();
    let Some(server) = caddy(&signed, "127.0.0.1") else { return };
    let (url, ca) = (format!("h3://127.0.0.1:{}/", server.port), signed.text("ca.pem"));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sonde"));
    command.args(["rtt", &url, "--ca", &ca, "-t", "4", "--every", "10ms", "--timeout", "100ms", "--json-lines", "-q"]);
    let running = process::started(&mut command);
    running.until("a second of it", |said| said.contains("\"event\":\"second\""));
    drop(server);
    let ended = running.end(process::LIMIT);
    let last = ended.stdout.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
    let record = last.unwrap_or_else(|| panic!("{}", ended.told()))["data"].clone();
    let others = count(&record, "refused") + count(&record, "lost");
    assert!(count(&record, "answered") > 0 && others > 0, "{}", brief(&record));
}
