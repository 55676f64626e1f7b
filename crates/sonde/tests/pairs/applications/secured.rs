//! The same servers through TLS, with certificates made for the test.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use measure::method::Carrier;
use test_case::test_case;
use testbed::certificate::Signed;
use testbed::servers::Server;

use super::real::{self, all_answered};
use super::{brief, count, kind, measured, refused};

/// For this host, for long.
pub(super) fn good() -> Signed {
    Signed::new(&["127.0.0.1"], 4_000)
}

fn redis_of(signed: &Signed) -> Option<Server> {
    let (certificate, key) = (signed.text("server.pem"), signed.text("server.key"));
    let port = testbed::port::free();
    let words = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-auth-clients", "no"];
    Some(real::redis(&[&words[..], &["--tls-port", &port.to_string()]].concat())?.at(port))
}

#[test_case("TLSv1.2", "TLS 1.2")]
#[test_case("TLSv1.3", "TLS 1.3")]
fn nginx_is_asked(theirs: &str, ours: &str) {
    let signed = good();
    let Some(server) = real::nginx(&signed.of_nginx(&format!("; ssl_protocols {theirs}"))) else { return };
    let (url, ca) = (format!("https://127.0.0.1:{}/health", server.port), signed.text("ca.pem"));
    all_answered(&url, &["--window", "1", "--ca", &ca], "https", "GET /health", "200", None);
    let (record, code) = measured(&[&url, "--ca", &ca, "-c", "1500", "--force", "--warm-up", "0"]);
    let replies = &record["outcome"]["replies"];
    assert_eq!((count(&record, "answered"), code), (1_500, Some(0)), "{}", brief(&record));
    assert_eq!(replies["renewals"], 1, "its thousandth reply costs a connection, and no request");
    assert_eq!((&replies["tls"]["version"], &replies["tls"]["verified"]), (&ours.into(), &true.into()), "{replies}");
    assert!(replies["tls_ns"].as_u64() > Some(0), "{replies}");
    assert_eq!(replies["tls"]["valid_until_s"], 64_060_588_800_u64, "the begin of the year 4000");
}

/// An earlier session is taken up again only where that was asked for, and as often as the server gave tickets for it.
#[test_case("TLSv1.2"; "session tickets of TLS 1_2")]
#[test_case("TLSv1.3"; "tickets of TLS 1_3")]
fn sessions_are_resumed_where_that_is_asked_for(version: &str) {
    let signed = good();
    let Some(server) = real::nginx(&signed.of_nginx(&format!("; ssl_protocols {version}"))) else { return };
    let (url, ca) = (format!("https://127.0.0.1:{}/health", server.port), signed.text("ca.pem"));
    let words = [&url[..], "--crr", "--ca", &ca, "-c", "50", "--warm-up", "0"];
    for (more, expected) in [(&[][..], 0), (&["--resume"][..], 50)] {
        let (record, code) = measured(&[&words, more].concat());
        let phases = &record["outcome"]["replies"]["phases"];
        assert_eq!((count(&record, "answered"), code), (50, Some(0)), "{}", brief(&record));
        // The trial had the first ticket.
        assert_eq!((&phases["resumed"], &phases["tls"]["count"]), (&expected.into(), &50.into()), "{phases}");
    }
}

#[test]
fn nginx_is_asked_over_http_2_alone_where_it_speaks_that() {
    let signed = good();
    let ca = signed.text("ca.pem");
    let Some(server) = real::nginx(&signed.of_nginx("").replacen(" ssl", " ssl http2", 1)) else { return };
    let url = format!("h2://127.0.0.1:{}/health", server.port);
    all_answered(&url, &["--window", "16", "--warm-up", "0", "--ca", &ca], "h2", "GET /health", "200", None);
    let Some(server) = real::nginx(&signed.of_nginx("")) else { return };
    let told = refused(&[&format!("h2://127.0.0.1:{}/health", server.port), "--ca", &ca]);
    assert!(told.contains("ends TLS with the alert NoApplicationProtocol"), "{told}");
}

#[test]
fn redis_is_pinged() {
    let signed = good();
    let Some(server) = redis_of(&signed) else { return };
    let (url, ca) = (format!("rediss://127.0.0.1:{}", server.port), signed.text("ca.pem"));
    all_answered(&url, &["--ca", &ca], "rediss", "PING", "PONG", Some(14));
    all_answered(&url, &["--ca", &ca, "--window", "16"], "rediss", "PING", "PONG", Some(14));
    all_answered(&url, &["--ca", &ca, "--connections", "4"], "rediss", "PING", "PONG", Some(14));
}

#[test]
fn unbound_is_asked() {
    let signed = good();
    let (certificate, key) = (signed.text("server.pem"), signed.text("server.key"));
    let port = testbed::port::free();
    let more = format!(
        " interface: 127.0.0.1@{port}\n tls-port: {port}\n tls-service-pem: \"{certificate}\"\n tls-service-key: \"{key}\"\n"
    );
    let Some(server) = real::unbound(Carrier::Tcp, &more) else { return };
    let _server = server.at(port);
    let url = format!("dns+tls://127.0.0.1:{port}/a.test");
    all_answered(&url, &["--ca", &signed.text("ca.pem")], "dns+tls", "A a.test", "NOERROR", Some(42));
}

#[test]
fn unbound_is_asked_over_https() {
    let signed = good();
    let (certificate, key, ca) = (signed.text("server.pem"), signed.text("server.key"), signed.text("ca.pem"));
    let port = testbed::port::free();
    let more = format!(
        " interface: 127.0.0.1@{port}\n https-port: {port}\n tls-service-pem: \"{certificate}\"\n tls-service-key: \"{key}\"\n"
    );
    let Some(server) = real::unbound(Carrier::Tcp, &more) else { return };
    let _server = server.at(port);
    let at = format!("dns+https://127.0.0.1:{port}");
    all_answered(&format!("{at}/a.test"), &["--ca", &ca], "dns+https", "A a.test", "NOERROR", None);
    all_answered(&format!("{at}/a.test"), &["--ca", &ca, "--window", "16"], "dns+https", "A a.test", "NOERROR", None);
    all_answered(&format!("{at}/b.test"), &["--ca", &ca], "dns+https", "A b.test", "NXDOMAIN", None);
    // A web server without a resolver.
    let Some(server) = real::nginx(&signed.of_nginx("").replacen(" ssl", " ssl http2", 1)) else { return };
    let url = format!("dns+https://127.0.0.1:{}/a.test", server.port);
    let (record, _) = measured(&[&url, "--ca", &ca, "-c", "20"]);
    assert_eq!((count(&record, "refused"), kind(&record, "HTTP 404")), (20, 20), "{}", brief(&record));
}

#[test]
fn mosquitto_is_pinged() {
    let signed = good();
    let (certificate, key) = (signed.text("server.pem"), signed.text("server.key"));
    let Some(server) = real::mosquitto(&format!("certfile {certificate}\nkeyfile {key}\n")) else { return };
    let url = format!("mqtts://127.0.0.1:{}", server.port);
    all_answered(&url, &["--ca", &signed.text("ca.pem")], "mqtts", "PINGREQ", "PINGRESP", Some(2));
}

/// TLS within PostgreSQL begins behind its own words for it, and the session is opened in it.
#[test]
fn postgres_is_synchronised_with_within_tls() {
    let signed = good();
    let (certificate, key, ca) = (signed.text("server.pem"), signed.path("server.key"), signed.text("ca.pem"));
    // It reads a key that is its own alone.
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::chown(&key, Some(testbed::servers::ordinary_user()), None).unwrap();
    let settings =
        ["ssl=on".to_owned(), format!("ssl_cert_file={certificate}"), format!("ssl_key_file={}", key.display())];
    let Some((server, _)) = real::postgres(&settings) else { return };
    let url = format!("postgres+tls://sonde@127.0.0.1:{}/postgres", server.port);
    all_answered(&url, &["--ca", &ca], "postgres+tls", "Sync", "ReadyForQuery", Some(6));
    let (record, code) = measured(&[&url, "--ca", &ca, "--crr", "-c", "20"]);
    assert_eq!((count(&record, "answered"), code), (20, Some(0)), "{}", brief(&record));
    let phases = &record["outcome"]["replies"]["phases"];
    assert_eq!((&phases["tls"]["count"], &phases["greeting"]["count"]), (&20.into(), &20.into()), "{phases}");
    let told = refused(&[&url, "--ca", &good().text("ca.pem")]);
    assert!(told.contains("not signed by an authority that this host trusts"), "{told}");
}

#[test]
fn a_postgres_without_tls_is_told_nothing_in_clear() {
    let Some((server, _)) = real::postgres(&[]) else { return };
    let url = format!("postgres+tls://sonde@127.0.0.1:{}/postgres", server.port);
    let told = refused(&[&url, "--insecure"]);
    assert!(told.contains("offers no TLS") && told.contains("ask in clear"), "{told}");
}

#[test]
fn mariadb_is_pinged_within_tls() {
    let signed = good();
    let ca = signed.text("ca.pem");
    let options =
        [format!("--ssl-cert={}", signed.text("server.pem")), format!("--ssl-key={}", signed.text("server.key"))];
    let Some((server, _)) = real::mariadb(&options) else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    fs::write(&path, "pencil\n").unwrap();
    let url = format!("mysql+tls://shop@127.0.0.1:{}", server.port);
    let words = ["--ca", &ca, "--password-file", &path];
    all_answered(&url, &words, "mysql+tls", "COM_PING", "OK", Some(11));
    let (record, code) = measured(&[&[&url[..], "--crr", "-c", "20"], &words[..]].concat());
    assert_eq!((count(&record, "answered"), code), (20, Some(0)), "{}", brief(&record));
    let phases = &record["outcome"]["replies"]["phases"];
    assert_eq!((&phases["tls"]["count"], &phases["greeting"]["count"]), (&20.into(), &20.into()), "{phases}");
}

#[test]
fn a_mariadb_without_tls_gets_no_password() {
    let Some((server, _)) = real::mariadb(&[]) else { return };
    let told = refused(&[&format!("mysql+tls://root@127.0.0.1:{}", server.port), "--insecure"]);
    assert!(told.contains("offers no TLS"), "{told}");
}

/// A server in whose name somebody speaks on in clear behind its word that TLS begins.
#[test]
fn words_in_clear_behind_the_word_for_tls_are_not_taken() {
    let port = played(b"SR\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", false);
    let told = refused(&[&format!("postgres+tls://me@127.0.0.1:{port}"), "--insecure"]);
    assert!(told.contains("says more in clear where TLS was to begin"), "{told}");
}

#[test]
fn who_is_not_believed_is_not_measured() {
    let signed = good();
    let Some(server) = real::nginx(&signed.of_nginx("")) else { return };
    let url = format!("https://127.0.0.1:{}/health", server.port);
    let told = refused(&[&url, "--ca", &good().text("ca.pem")]);
    assert!(told.contains("not signed by an authority that this host trusts") && told.contains("--ca FILE"), "{told}");
    let told = refused(&[&url, "--ca", &signed.text("ca.pem"), "--tls-name", "db1"]);
    assert!(told.contains("certificate is not for db1: it is for 127.0.0.1"), "{told}");
    let (record, code) = measured(&[&url, "--insecure", "-c", "5"]);
    assert_eq!((count(&record, "answered"), code), (5, Some(0)), "{}", brief(&record));
    assert_eq!(
        record["outcome"]["replies"]["tls"]["verified"], false,
        "the record says that anybody may have answered"
    );
    let over = Signed::new(&["127.0.0.1"], 2_001);
    let Some(server) = real::nginx(&over.of_nginx("")) else { return };
    let told = refused(&[&format!("https://127.0.0.1:{}/", server.port), "--ca", &over.text("ca.pem")]);
    assert!(told.contains("is not valid now: it ended") && told.contains("days ago"), "{told}");
}

/// One connection at a time, to each of which `words` are said once it has said something; then it ends, or stays silent.
fn played(words: &'static [u8], ends: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut heard = [0; 4_096];
            let _begin = stream.read(&mut heard);
            let _sent = stream.write_all(words);
            // A silent one waits until the client goes.
            while !ends && matches!(stream.read(&mut heard), Ok(1..)) {}
        }
    });
    port
}

#[test_case(b"", true, "closes the connection during the TLS handshake"; "it closes")]
#[test_case(b"", false, "no answer within"; "it is silent")]
#[test_case(b"-ERR unknown command\r\n", false, "does not speak TLS"; "it is no TLS")]
#[test_case(b"\x15\x03\x03\x00\x02\x02\x28", true, "ends TLS with the alert HandshakeFailure"; "it refuses")]
#[test_case(b"\x15\x03\x03\x00\x02\x02\x78", true, "ends TLS with the alert NoApplicationProtocol"; "it speaks another protocol")]
#[test_case(b"\x15\x03\x03\x00\x02\x02\x46", true, "let the server speak TLS 1.2"; "it is too old")]
fn a_handshake_that_leads_nowhere_is_told(words: &'static [u8], ends: bool, expected: &str) {
    let told = refused(&[&format!("https://127.0.0.1:{}/", played(words, ends)), "--insecure", "-c", "5"]);
    assert!(told.contains(expected), "{told}");
}

#[test]
fn words_of_tls_are_for_tls() {
    let told = refused(&["http://127.0.0.1:1/", "--insecure"]);
    assert!(told.contains("--insecure is for TLS"), "{told}");
    let told = refused(&["https://127.0.0.1:1/", "--ca", "/nowhere/ca.pem"]);
    assert!(told.contains("--ca /nowhere/ca.pem"), "{told}");
    let empty = tempfile::NamedTempFile::new().unwrap();
    let told = refused(&["https://127.0.0.1:1/", "--ca", &empty.path().display().to_string()]);
    assert!(told.contains("has no certificate in PEM"), "{told}");
}
