//! First looks at ports of programs at work: each is named by one look, and writes no complaint.

use std::fs;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use measure::method::Carrier;
use serde_json::Value;
use testbed::servers::{Place, Server};
use testbed::{process, skip};

use super::{played, real, secured};

/// The document of a first look at a port.
fn looked(port: &str) -> Value {
    looked_trusting(port, None)
}

/// The same of a host that trusts the certificates of this file, and no others. One look after the other: a program has 1.2 s for each answer.
fn looked_trusting(port: &str, trusted: Option<&str>) -> Value {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sonde"));
    command.args(["look", "127.0.0.1", "--port", port, "-t", "2", "--json"]);
    command.envs(trusted.map(|file| ("SSL_CERT_FILE", file)));
    let ended = process::ended(&mut command, process::LIMIT);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.told()))
}

/// The row of a program; `None` where this machine kept it from answering in its time, which the look says and is said here.
fn leg<'a>(found: &'a Value, service: &str) -> Option<&'a Value> {
    let legs = found["look"]["legs"].as_array().expect("rows");
    let leg = legs.iter().find(|leg| leg["who"]["service"] == service);
    let ports = &found["look"]["addresses"][0]["ports"];
    if leg.is_none() && ports[0]["service"]["answer"] == "silent" {
        let asked = &ports[0]["service"]["asked"];
        skip::aloud(&format!("a first look at {service}: the program did not answer {asked} in the time it has"));
        return None;
    }
    Some(leg.unwrap_or_else(|| panic!("a row of {service}: {ports} {}", found["look"]["judgement"])))
}

/// A row that was measured at this port, with nothing lost.
fn is_measured(found: &Value, service: &str, port: u16) {
    let Some(leg) = leg(found, service) else { return };
    assert_eq!((leg["port"].as_u64(), leg["carrier"].as_str()), (Some(port.into()), Some("tcp")));
    let (answered, lost) = (&leg["sums"]["answered"], &leg["sums"]["lost"]);
    assert!(answered.as_u64() > Some(3) && lost == 0, "{answered} {lost}");
    // Its other users would wait.
    assert_eq!(found["look"]["judgement"]["believed"]["stands"], "application");
    assert_eq!(found["look"]["bursts"].as_array().map(Vec::len), Some(0));
}

/// A row that was not, with these words.
fn is_named(found: &Value, service: &str, words: &str) {
    let Some(leg) = leg(found, service) else { return };
    assert!(leg["trouble"].as_str().is_some_and(|why| why.contains(words)), "{leg}");
    assert_eq!(leg["sums"]["due"], 0, "{leg}");
}

/// The number of handshakes that were made in rounds.
fn handshakes(found: &Value) -> u64 {
    let legs = found["look"]["legs"].as_array().expect("rows");
    let handshakes = legs.iter().filter(|leg| leg["carrier"] == "tcp-connect");
    handshakes.map(|leg| leg["sums"]["due"].as_u64().unwrap_or(0)).sum()
}

fn haproxy() -> Option<Server> {
    Place::here().haproxy(" http-request return status 200\n")
}

fn caddy() -> Option<Server> {
    Place::here().started("caddy", Carrier::Tcp, |folder, port| {
        let text = format!("{{\n auto_https off\n admin off\n}}\nhttp://127.0.0.1:{port} {{\n respond ok\n}}\n");
        fs::write(folder.join("conf"), text).unwrap();
        let mut command = Place::here().program("caddy", &["run", "--adapter", "caddyfile", "--config"]);
        command.arg(folder.join("conf")).env("HOME", folder);
        command
    })
}

/// Connections to a MariaDB that were dropped before a login.
fn dropped(server: &Server) -> u64 {
    let socket = format!("--socket={}", server.folder.path().join("s").display());
    let words = ["--no-defaults", "-uroot", &socket, "-N", "-e", "show global status like 'Aborted_connects'"];
    let asked = process::ended(&mut Place::here().program("mariadb", &words), process::LIMIT);
    let number = asked.stdout.split_whitespace().last().and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{}", asked.told()))
}

/// A web server within TLS is measured where its certificate is trusted, named or not, and told as TLS where it is not.
#[test]
fn a_web_server_within_tls_is_measured_where_it_is_trusted() {
    let signed = secured::good();
    let Some(server) = real::nginx(&signed.of_nginx("")) else { return };
    let ca = signed.text("ca.pem");
    for told in ["=https", ""] {
        is_measured(&looked_trusting(&format!("{}{told}", server.port), Some(&ca)), "https", server.port);
    }
    let found = looked(&format!("{}=https", server.port));
    is_named(&found, "tls", "certificate not trusted: what is behind TLS was not asked");
    let Some(clear) = real::nginx("") else { return };
    is_measured(&looked(&format!("{}=https", clear.port)), "http", clear.port);
}

/// A head that is longer than most: a web server with many words about itself.
#[test]
fn a_long_head_is_one_of_http() {
    let (url, _) = played::server("http", |mut stream| {
        while played::request(&mut stream)? {
            let field = format!("Content-Security-Policy: {}\r\n", "default-src 'self'; ".repeat(300));
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{field}Content-Length: 0\r\n\r\n").as_bytes())?;
        }
        Ok(())
    });
    let port: u16 = url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap();
    is_measured(&looked(&format!("{port}=http")), "http", port);
}

/// A program that greets is told by its greeting where another was expected, and is met no second time where strangers are counted.
#[test]
fn a_greeting_is_believed_more_than_the_user() {
    let mariadb = real::mariadb(&[]).map(|(server, _)| server);
    let servers =
        [("ssh", "only in a session", Place::here().sshd()), ("mysql", "sonde rtt mysql://USER@127.0.0.1:", mariadb)];
    thread::scope(|scope| {
        for (service, words, server) in &servers {
            let Some(server) = server else { continue };
            for told in ["redis", "http", "dns"] {
                scope.spawn(move || {
                    let found = looked(&format!("{}={told}", server.port));
                    is_named(&found, service, words);
                    assert_eq!(handshakes(&found), 0, "{service} where {told} is expected");
                });
            }
        }
    });
}

/// A mail server at a port where nobody expects it speaks first: it is told as another program, and hears nothing of us.
#[test]
fn a_mail_server_hears_nothing() {
    let heard = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&heard);
    let (url, had) = played::server("smtp", move |mut stream| {
        stream.write_all(b"220 mail.example.org ESMTP\r\n")?;
        let mut room = [0; 512];
        loop {
            match stream.read(&mut room)? {
                0 => return Ok(()),
                count => counted.fetch_add(count, Ordering::SeqCst),
            };
        }
    });
    let found = looked(url.rsplit(':').next().unwrap());
    let named = |leg: &&Value| leg["who"]["service"].is_string();
    assert_eq!(found["look"]["legs"].as_array().unwrap().iter().find(named), None, "{}", found["look"]["legs"]);
    assert!(had.load(Ordering::SeqCst) > 0 && heard.load(Ordering::SeqCst) == 0, "it heard octets");
}

/// One OPTIONS, and no series of them.
#[test]
fn a_telephone_is_asked_once() {
    let (port, asked) = played::telephone();
    let found = looked(&format!("{port}=sip"));
    is_named(&found, "sip", "sonde rtt sip://127.0.0.1:");
    assert!(leg(&found, "sip").is_none_or(|leg| leg["carrier"] == "udp"), "{found}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// Twelve programs at once, each looked at on a port that nobody expects it at. Those that neither speak first nor answer a line are named.
#[test]
fn a_look_at_its_port_names_each_program() {
    let signed = secured::good();
    let (mariadb, postgres) =
        (real::mariadb(&[]).map(|(server, _)| server), real::postgres(&[]).map(|(server, _)| server));
    let measured = [
        ("redis", "", real::redis(&[])),
        ("memcached", "", real::memcached()),
        ("http", "", real::nginx("")),
        ("http", "", haproxy()),
        ("http", "", caddy()),
        ("nats", "", real::nats()),
        ("mqtt", "=mqtt", real::mosquitto("")),
        ("dns", "=dns", real::unbound(Carrier::Tcp, "")),
    ];
    let named = [
        ("tls", "", "sonde rtt https://127.0.0.1:", real::nginx(&signed.of_nginx(""))),
        ("ssh", "", "only in a session", Place::here().sshd()),
        ("mysql", "", "sonde rtt mysql://USER@127.0.0.1:", mariadb),
        ("postgres", "=postgres", "sonde rtt postgres://USER@127.0.0.1:", postgres),
    ];
    let [_, (_, _, _, ssh), (_, _, _, mariadb), _] = &named;
    let dropped_before = mariadb.as_ref().map(dropped);
    thread::scope(|scope| {
        for (service, told, server) in &measured {
            let Some(server) = server else { continue };
            scope.spawn(move || is_measured(&looked(&format!("{}{told}", server.port)), service, server.port));
        }
        for (service, told, words, server) in &named {
            let Some(server) = server else { continue };
            scope.spawn(move || {
                let found = looked(&format!("{}{told}", server.port));
                is_named(&found, service, words);
                // A service that counts them is asked once.
                assert!(["tls", "postgres"].contains(service) || handshakes(&found) == 0, "{service}");
            });
        }
    });
    if let [(_, _, Some(redis)), _, (_, _, Some(nginx)), ..] = &measured {
        let log = redis.running.stdout();
        let after = log.split_once("Ready to accept connections").map(|(_, after)| after.trim());
        assert_eq!(after, Some(""), "Redis says nothing of it");
        let log = fs::read_to_string(nginx.folder.path().join("error")).unwrap();
        assert_eq!(log, "", "nor does nginx");
    }
    if let Some(ssh) = ssh {
        let log = ssh.running.stderr();
        assert!(!log.contains("error") && !log.contains("kex_exchange"), "{log}");
    }
    if let (Some(mariadb), Some(before)) = (mariadb, dropped_before) {
        assert_eq!(dropped(mariadb), before + 1, "the one connection that heard the greeting");
    }
}
