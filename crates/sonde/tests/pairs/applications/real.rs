//! Real servers, started by the test as an ordinary user would, on loopback.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use measure::method::Carrier;
use test_case::test_case;
use testbed::process;
use testbed::servers::{Place, Server};

use super::{brief, count, kind, measured, refused};

pub(super) fn redis(more: &[&str]) -> Option<Server> {
    Place::here().redis(more)
}

/// Two hundred requests, some at once: all are answered, each of this kind and length.
pub(super) fn all_answered(url: &str, words: &[&str], protocol: &str, request: &str, name: &str, octets: Option<u64>) {
    let words = [&[url, "-c", "200", "--rate", "2k/s", "--force"], words].concat();
    let (record, code) = measured(&words);
    assert_eq!((count(&record, "answered"), code), (200, Some(0)), "{}", brief(&record));
    assert_eq!(kind(&record, name), 200, "{}", brief(&record));
    let said = &record["method"]["application"];
    assert_eq!((said["protocol"].as_str(), said["request"].as_str()), (Some(protocol), Some(request)));
    assert_eq!(record["peer"]["protocol"].as_str(), Some(protocol));
    if octets.is_some() {
        let replies = &record["outcome"]["replies"];
        assert_eq!((replies["shortest_bytes"].as_u64(), replies["longest_bytes"].as_u64()), (octets, octets));
    }
}

#[test]
fn redis_is_pinged() {
    let Some(server) = redis(&[]) else { return };
    let url = format!("redis://127.0.0.1:{}", server.port);
    all_answered(&url, &[], "redis", "PING", "PONG", Some(14));
    all_answered(&url, &["--window", "16"], "redis", "PING", "PONG", Some(14));
    all_answered(&url, &["--connections", "4"], "redis", "PING", "PONG", Some(14));
}

#[test]
fn redis_without_a_login_answers_that() {
    let Some(server) = redis(&["--requirepass", "not known to us"]) else { return };
    // It drops a client without a login that has more than a kilobyte of answers to take: one request is out at a time.
    let url = format!("redis://127.0.0.1:{}", server.port);
    all_answered(&url, &["--window", "1"], "redis", "PING", "NOAUTH", Some(34));
}

pub(super) fn memcached() -> Option<Server> {
    Place::here().memcached()
}

#[test_case("", "mn", "MN", 4; "nothing")]
#[test_case("/version", "version", "VERSION", 0; "its version")]
fn memcached_is_asked(path: &str, request: &str, name: &str, octets: u64) {
    let Some(server) = memcached() else { return };
    let url = format!("memcached://127.0.0.1:{}{path}", server.port);
    all_answered(&url, &[], "memcached", request, name, Some(octets).filter(|octets| *octets > 0));
}

/// An nginx that listens at its port as `listen` goes on.
pub(super) fn nginx(listen: &str) -> Option<Server> {
    Place::here().nginx(listen, "")
}

#[test]
fn nginx_is_asked_and_its_thousandth_reply_costs_no_request() {
    let Some(server) = nginx("") else { return };
    let url = format!("http://127.0.0.1:{}/health", server.port);
    // One at a time: what is out when a connection ends goes down with it.
    all_answered(&url, &["--window", "1"], "http", "GET /health", "200", None);
    all_answered(&url, &["--window", "1", "--request", "HEAD"], "http", "HEAD /health", "200", None);
    let (record, _) = measured(&[&url, "-c", "3500", "--force", "--warm-up", "0"]);
    assert_eq!((count(&record, "answered"), kind(&record, "200")), (3_500, 3_500), "{}", brief(&record));
    assert_eq!(record["outcome"]["replies"]["renewals"], 3, "{}", brief(&record));
    let (record, code) = measured(&[&format!("http://127.0.0.1:{}/busy", server.port), "-c", "20"]);
    assert_eq!((count(&record, "refused"), kind(&record, "503"), code), (20, 20, Some(1)), "{}", brief(&record));
}

/// An unbound that has `a.test`, with more lines in its section of the server, and waits over `carrier`.
pub(super) fn unbound(carrier: Carrier, more: &str) -> Option<Server> {
    Place::here().unbound(carrier, more)
}

#[test]
fn nginx_is_asked_over_http_2() {
    let Some(server) = nginx(" http2") else { return };
    let at = |scheme: &str, path: &str| format!("{scheme}://127.0.0.1:{}{path}", server.port);
    // One at a time, or fewer than a thousand: what is out when a connection ends goes down with it.
    all_answered(&at("h2c", "/health"), &["--window", "1"], "h2c", "GET /health", "200", None);
    let some_at_once = ["--window", "16", "--warm-up", "0"];
    all_answered(&at("h2c", "/health"), &some_at_once, "h2c", "GET /health", "200", None);
    all_answered(&at("h2ping", ""), &[], "h2ping", "PING", "PING", Some(17));
    let (record, code) = measured(&[&at("h2c", "/busy"), "-c", "20"]);
    assert_eq!((count(&record, "refused"), kind(&record, "503"), code), (20, 20, Some(1)), "{}", brief(&record));
    // Its thousandth reply on a connection is the last, as it says before.
    let (record, _) = measured(&[&at("h2c", "/health"), "-c", "3500", "--force", "--warm-up", "0"]);
    assert_eq!((count(&record, "answered"), kind(&record, "200")), (3_500, 3_500), "{}", brief(&record));
    assert_eq!(record["outcome"]["replies"]["renewals"], 3, "{}", brief(&record));
}

#[test_case("dns"; "over UDP")]
#[test_case("dns+tcp"; "over TCP")]
fn unbound_is_asked(scheme: &str) {
    let Some(server) = unbound(Carrier::Udp, "") else { return };
    let at = format!("{scheme}://127.0.0.1:{}", server.port);
    let octets = if scheme == "dns" { 40 } else { 42 };
    all_answered(&format!("{at}/a.test"), &[], scheme, "A a.test", "NOERROR", Some(octets));
    all_answered(&format!("{at}/b.test"), &[], scheme, "A b.test", "NXDOMAIN", None);
}

pub(super) fn nats() -> Option<Server> {
    Place::here().nats()
}

#[test]
fn caddy_tells_its_versions_of_quic() {
    let Some(server) = Place::here().caddy("127.0.0.1", " tls internal\n") else { return };
    let url = format!("quic://127.0.0.1:{}", server.port);
    all_answered(&url, &[], "quic", "Version Negotiation", "v1+drafts+others", Some(39));
    all_answered(&url, &["--window", "16"], "quic", "Version Negotiation", "v1+drafts+others", Some(39));
    all_answered(&url, &["--connections", "4"], "quic", "Version Negotiation", "v1+drafts+others", Some(39));
}

/// One version a connection: `greeting` and TLS are no parts of it.
#[test]
fn sshd_says_its_version() {
    let Some(server) = Place::here().sshd() else { return };
    let url = format!("ssh://127.0.0.1:{}", server.port);
    let (record, code) = measured(&[&url, "--crr", "-c", "20", "--every", "20ms", "--warm-up", "0"]);
    assert_eq!((count(&record, "answered"), kind(&record, "SSH-2.0"), code), (20, 20, Some(0)), "{}", brief(&record));
    let phases = &record["outcome"]["replies"]["phases"];
    assert_eq!((&phases["connect"]["count"], &phases["wait"]["count"]), (&20.into(), &20.into()), "{phases}");
    assert!(phases["greeting"].is_null() && phases["tls"].is_null(), "{phases}");
    assert!(!server.running.stderr().contains("error:"), "{}", server.running.stderr());
    let told = refused(&[&url]);
    assert!(told.contains("--crr"), "{told}");
}

#[test]
fn nats_is_pinged() {
    let Some(server) = nats() else { return };
    let url = format!("nats://127.0.0.1:{}", server.port);
    all_answered(&url, &[], "nats", "PING", "PONG", Some(6));
    // It pings too, two seconds and more after the connection was made: who does not answer is dropped.
    let (record, _) = measured(&[&url, "-t", "6", "--every", "100ms"]);
    assert_eq!((count(&record, "refused"), count(&record, "lost")), (0, 0), "{}", brief(&record));
    assert_eq!(record["outcome"]["replies"]["renewals"], 0, "{}", brief(&record));
}

/// A mosquitto with more lines for its listener.
pub(super) fn mosquitto(more: &str) -> Option<Server> {
    Place::here().mosquitto(more)
}

#[test]
fn mosquitto_is_pinged() {
    let Some(server) = mosquitto("") else { return };
    all_answered(&format!("mqtt://127.0.0.1:{}", server.port), &[], "mqtt", "PINGREQ", "PINGRESP", Some(2));
}

#[test]
fn chrony_tells_the_time() {
    let Some(server) = Place::here().chrony() else { return };
    all_answered(&format!("ntp://127.0.0.1:{}", server.port), &[], "ntp", "time", "time", Some(48));
}

/// A PostgreSQL of our own with these settings, which trusts one role and asks others for a password; and its user.
pub(super) fn postgres(settings: &[String]) -> Option<(Server, u32)> {
    Place::here().postgres(settings)
}

#[test]
fn postgres_is_synchronised_with_and_a_password_proved() {
    let Some((server, user)) = postgres(&[]) else { return };
    let at = |role: &str| format!("postgres://{role}@127.0.0.1:{}/postgres", server.port);
    all_answered(&at("sonde"), &[], "postgres", "Sync", "ReadyForQuery", Some(6));
    let folder = server.folder.path().display().to_string();
    let mut psql = Command::new("psql");
    psql.args(["-h", &folder, "-p", &server.port.to_string(), "-U", "sonde", "-d", "postgres", "-c"]);
    psql.arg("create role shop login password 'pencil'; create role clear login password 'pencil'").uid(user);
    let made = process::ended(&mut psql, process::LIMIT);
    assert_eq!(made.code, Some(0), "{}", made.told());
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    fs::write(&path, "pencil\n").unwrap();
    all_answered(&at("shop"), &["--password-file", &path], "postgres", "Sync", "ReadyForQuery", Some(6));
    let told = refused(&[&at("clear"), "--password-file", &path]);
    assert!(told.contains("wants the password in clear"), "{told}");
    fs::write(&path, "crayon").unwrap();
    let told = refused(&[&at("shop"), "--password-file", &path]);
    assert!(told.contains("password authentication failed"), "{told}");
    assert!(!told.contains("crayon"), "{told}");
    let told = refused(&[&at("shop")]);
    assert!(told.contains("wants a password"), "{told}");
}

/// A MariaDB of our own with these options, with a user who has a password; and its user of the system.
pub(super) fn mariadb(options: &[String]) -> Option<(Server, u32)> {
    Place::here().mariadb(options)
}

#[test]
fn mariadb_is_pinged_and_a_password_proved() {
    let Some((server, _)) = mariadb(&[]) else { return };
    let at = |user: &str| format!("mysql://{user}@127.0.0.1:{}", server.port);
    all_answered(&at("root"), &[], "mysql", "COM_PING", "OK", Some(11));
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    fs::write(&path, "pencil\n").unwrap();
    all_answered(&at("shop"), &["--password-file", &path], "mysql", "COM_PING", "OK", Some(11));
    let (record, _) = measured(&[&at("shop"), "--password-file", &path, "--crr", "-c", "50"]);
    assert_eq!(count(&record, "answered"), 50, "{}", brief(&record));
    let phases = &record["outcome"]["replies"]["phases"];
    assert_eq!((&phases["greeting"]["count"], &phases["wait"]["count"]), (&50.into(), &50.into()), "{phases}");
    fs::write(&path, "crayon").unwrap();
    let told = refused(&[&at("shop"), "--password-file", &path]);
    assert!(told.contains("ERROR 1045 (28000): Access denied"), "{told}");
    assert!(!told.contains("crayon"), "{told}");
}
