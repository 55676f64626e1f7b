//! Real servers, started by the test as an ordinary user would, on loopback.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use measure::method::Carrier;
use test_case::test_case;
use testbed::process::{self, Running};
use testbed::{port, skip, wait};

use super::{brief, count, kind, measured, refused};

/// A server, the folder that it lives in, and its port.
pub(super) struct Server {
    pub(super) port: u16,
    pub(super) running: Running,
    pub(super) folder: tempfile::TempDir,
}

/// Starts what `command` makes of a folder and a port; `None`, said aloud, where `program` is not installed.
pub(super) fn started(program: &str, over: Carrier, command: impl FnOnce(&Path, u16) -> Command) -> Option<Server> {
    let known =
        ["/usr/bin", "/usr/sbin", "/usr/local/bin"].iter().any(|folder| Path::new(folder).join(program).exists());
    if !known {
        skip::aloud(&format!("{program} is not installed: `sonde rtt` was not tried against it"));
        return None;
    }
    let (folder, port) = (tempfile::tempdir().unwrap(), port::free());
    let running = process::started(&mut command(folder.path(), port));
    running.until_listening(over, port);
    Some(Server { port, running, folder })
}

pub(super) fn program(name: &str, words: &[&str]) -> Command {
    let mut command = Command::new(name);
    // Where a daemon of a distribution is, an ordinary user's path need not lead.
    command.env("PATH", "/usr/bin:/usr/sbin:/usr/local/bin:/bin:/sbin").args(words);
    command
}

pub(super) fn redis(more: &[&str]) -> Option<Server> {
    started("redis-server", Carrier::Tcp, |folder, port| {
        let mut command = program("redis-server", &["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.args(["--port", &port.to_string(), "--dir"]).arg(folder).args(more);
        command
    })
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
    started("memcached", Carrier::Tcp, |_, port| {
        program("memcached", &["-p", &port.to_string(), "-U", "0", "-l", "127.0.0.1", "-u", "nobody"])
    })
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
    started("nginx", Carrier::Tcp, |folder, port| {
        let at = folder.display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {at}/{name};"))
            .concat();
        let text = format!(
            "daemon off; pid {at}/pid; error_log {at}/error; worker_processes 1; events {{}} http {{ access_log off; {temporary}
             server {{ listen 127.0.0.1:{port}{listen}; location /health {{ return 200 'ok\\n'; }} location /busy {{ return 503; }} }} }}"
        );
        fs::write(folder.join("conf"), text).unwrap();
        let mut command = program("nginx", &[]);
        command.arg("-c").arg(folder.join("conf")).arg("-e").arg(folder.join("error"));
        command
    })
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
    started("unbound", carrier, |folder, port| {
        let at = folder.display();
        let text = format!(
            "server:\n interface: 127.0.0.1@{port}\n username: \"\"\n chroot: \"\"\n directory: \"{at}\"\n pidfile: \"{at}/pid\"\n use-syslog: no\n \
             do-daemonize: no\n local-zone: \"test.\" static\n local-data: \"a.test. A 127.0.0.7\"\n{more}remote-control:\n control-enable: no\n"
        );
        fs::write(folder.join("conf"), text).unwrap();
        let mut command = program("unbound", &["-d", "-c"]);
        command.arg(folder.join("conf"));
        command
    })
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
    started("nats-server", Carrier::Tcp, |_, port| {
        program("nats-server", &["-a", "127.0.0.1", "-p", &port.to_string()])
    })
}

#[test]
fn caddy_tells_its_versions_of_quic() {
    let server = started("caddy", Carrier::Udp, |folder, port| {
        let text = format!(
            "{{\n auto_https off\n admin off\n skip_install_trust\n}}\nhttps://127.0.0.1:{port} {{\n bind 127.0.0.1\n tls internal\n}}\n"
        );
        fs::write(folder.join("conf"), text).unwrap();
        let mut command = program("caddy", &["run", "--adapter", "caddyfile", "--config"]);
        command.arg(folder.join("conf"));
        for home in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            command.env(home, folder);
        }
        command
    });
    let Some(server) = server else { return };
    let url = format!("quic://127.0.0.1:{}", server.port);
    all_answered(&url, &[], "quic", "Version Negotiation", "v1+drafts+others", Some(39));
    all_answered(&url, &["--window", "16"], "quic", "Version Negotiation", "v1+drafts+others", Some(39));
    all_answered(&url, &["--connections", "4"], "quic", "Version Negotiation", "v1+drafts+others", Some(39));
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
    started("mosquitto", Carrier::Tcp, |folder, port| {
        fs::write(folder.join("conf"), format!("listener {port} 127.0.0.1\nallow_anonymous true\n{more}")).unwrap();
        let mut command = program("mosquitto", &["-c"]);
        command.arg(folder.join("conf"));
        command
    })
}

#[test]
fn mosquitto_is_pinged() {
    let Some(server) = mosquitto("") else { return };
    all_answered(&format!("mqtt://127.0.0.1:{}", server.port), &[], "mqtt", "PINGREQ", "PINGRESP", Some(2));
}

#[test]
fn chrony_tells_the_time() {
    if !rustix::process::geteuid().is_root() {
        return skip::aloud("chronyd wants to be root: `sonde rtt ntp://` was not tried against it");
    }
    let server = started("chronyd", Carrier::Udp, |folder, port| {
        let at = folder.display();
        let text = format!(
            "port {port}\ncmdport 0\nlocal stratum 10\nallow\nbindaddress 127.0.0.1\npidfile {at}/pid\nbindcmdaddress /\n"
        );
        fs::write(folder.join("conf"), text).unwrap();
        let mut command = program("chronyd", &["-d", "-x", "-f"]);
        command.arg(folder.join("conf"));
        command
    });
    let Some(server) = server else { return };
    all_answered(&format!("ntp://127.0.0.1:{}", server.port), &[], "ntp", "time", "time", Some(48));
}

/// The user that a server which will not run as root runs as.
pub(super) fn ordinary_user() -> u32 {
    let own = rustix::process::geteuid();
    if own.is_root() { NOBODY } else { own.as_raw() }
}

/// A PostgreSQL of our own with these settings, which trusts one role and asks another for its password.
pub(super) fn postgres(settings: &[String]) -> Option<(Server, u32)> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let Some(programs) = versions.map(|entry| entry.path().join("bin")).find(|bin| bin.join("initdb").exists()) else {
        skip::aloud("PostgreSQL is not installed: `sonde rtt postgres://` was not tried against it");
        return None;
    };
    let user = ordinary_user();
    let (folder, port) = (tempfile::tempdir().unwrap(), port::free());
    std::os::unix::fs::chown(folder.path(), Some(user), None).unwrap();
    let data = folder.path().join("data");
    let as_user = |name: &str| {
        let mut command = Command::new(programs.join(name));
        command.current_dir(folder.path()).env("LC_ALL", "C").uid(user);
        command
    };
    let mut made = as_user("initdb");
    made.args(["-A", "trust", "-U", "sonde", "-E", "UTF8", "--locale", "C", "-D"]).arg(&data);
    let made = process::ended(&mut made, process::LIMIT);
    assert_eq!(made.code, Some(0), "{}", made.told());
    let rules = "host all sonde 127.0.0.1/32 trust\nhost all shop 127.0.0.1/32 scram-sha-256\nhost all clear 127.0.0.1/32 password\n\
                 local all all trust\n";
    fs::write(data.join("pg_hba.conf"), rules).unwrap();
    let mut command = as_user("postgres");
    command.args([
        "-c",
        "listen_addresses=127.0.0.1",
        "-p",
        &port.to_string(),
        "-k",
        &folder.path().display().to_string(),
        "-D",
    ]);
    command.arg(&data).args(settings.iter().flat_map(|setting| ["-c", setting]));
    let running = process::started(&mut command);
    wait::until("it lets clients in", || running.stderr().contains("ready to accept connections"));
    Some((Server { port, running, folder }, user))
}

/// The user `nobody` of Debian and others.
const NOBODY: u32 = 65_534;

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

/// A MariaDB of our own with these options, with a user who has a password.
pub(super) fn mariadb(options: &[String]) -> Option<(Server, u32)> {
    let installed = Path::new("/usr/sbin/mariadbd").exists() && Path::new("/usr/bin/mariadb-install-db").exists();
    if !installed {
        skip::aloud("MariaDB is not installed: `sonde rtt mysql://` was not tried against it");
        return None;
    }
    let user = ordinary_user();
    let (folder, port) = (tempfile::tempdir().unwrap(), port::free());
    std::os::unix::fs::chown(folder.path(), Some(user), None).unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let as_user = |name: &str, words: &[&str]| {
        let mut command = program(name, words);
        command.current_dir(folder.path()).uid(user);
        command
    };
    let data = format!("--datadir={}", at("data"));
    let words = ["--no-defaults", &data, "--auth-root-authentication-method=normal", "--skip-test-db"];
    let made = process::ended(&mut as_user("mariadb-install-db", &words), process::LIMIT);
    assert_eq!(made.code, Some(0), "{}", made.told());
    let (socket, pid, port_word) =
        (format!("--socket={}", at("s")), format!("--pid-file={}", at("p")), format!("--port={port}"));
    let words = ["--no-defaults", &data, &socket, &pid, &port_word, "--bind-address=127.0.0.1"];
    let running = process::started(as_user("mariadbd", &words).args(options));
    running.until_listening(Carrier::Tcp, port);
    let asked = "create user shop@'%' identified by 'pencil'";
    let words = ["--no-defaults", "-uroot", &socket, "-e", asked];
    let made = process::ended(&mut as_user("mariadb", &words), process::LIMIT);
    assert_eq!(made.code, Some(0), "{}", made.told());
    Some((Server { port, running, folder }, user))
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
