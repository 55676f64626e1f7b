//! The programs, one a row: how its server is started, how it is asked, and where delays have to come out.

use measure::method::Carrier;
use testbed::certificate::Signed;
use testbed::servers::{Place, Server};

use crate::plant::FORWARDED;

/// The parts of a request with a connection of its own, as a record names them.
pub const PHASES: [&str; 5] = ["connect", "tls", "greeting", "wait", "receive"];

/// A program.
pub struct Row {
    /// Its protocol and its server.
    pub name: &'static str,
    /// Starts it. The first is slowed, the last is asked.
    pub start: fn(&Place<'_>, &Signed) -> Option<Vec<Server>>,
    /// The URL, with `HOST` for the host and its port.
    pub url: &'static str,
    /// Further words, with `CA` for the file of certificates that are trusted, and `PASSWORD` for one with a password.
    pub words: &'static [&'static str],
    /// The system calls by which the slowed one answers; absent where they would tell nothing.
    pub calls: Option<&'static str>,
    /// The round trips over the path that each part takes; absent where there are no connections, and of a part where they are not sure.
    pub trips: Option<[Option<u32>; 5]>,
    /// The answers of the slowed program that each part waits for; absent where a tracer tells nothing of it.
    pub answers: [Option<u32>; 5],
    /// True where connections are kept, and not each request has its own.
    pub keeps: bool,
    /// True where a capture shows which packets are requests, and which are their replies.
    pub shows: bool,
}

const TCP: Row = Row {
    name: "",
    start: |_, _| None,
    url: "",
    words: &[],
    calls: None,
    trips: Some(each([1, 0, 0, 1, 0])),
    answers: [Some(0), Some(0), Some(0), Some(1), Some(0)],
    keeps: true,
    shows: true,
};
const UDP: Row = Row { trips: None, ..TCP };

/// All of them.
pub const ROWS: &[Row] = &[
    Row {
        name: "redis, Redis",
        start: |place, _| one(place.redis(&[])),
        url: "redis://HOST",
        calls: Some("write"),
        ..TCP
    },
    Row {
        name: "memcached, memcached",
        start: |place, _| one(place.memcached()),
        url: "memcached://HOST",
        calls: Some("sendmsg"),
        ..TCP
    },
    Row {
        name: "http, nginx",
        start: |place, _| one(place.nginx("", LONG)),
        url: "http://HOST/health",
        calls: Some("writev"),
        ..TCP
    },
    Row {
        name: "http, haproxy before nginx",
        start: |place, _| {
            let behind = place.nginx("", LONG)?;
            let lines = format!(" default_backend b\nbackend b\n server s 127.0.0.1:{}\n", behind.port);
            Some(vec![behind, place.haproxy(&lines)?])
        },
        url: "http://HOST/health",
        calls: Some("writev"),
        ..TCP
    },
    Row {
        name: "https by TLS 1.2, nginx before nginx",
        start: |place, signed| before_another(place, &signed.of_nginx("; ssl_protocols TLSv1.2")),
        url: "https://HOST/behind",
        words: &["--ca", "CA"],
        calls: Some("writev"),
        trips: Some(each([1, 2, 0, 1, 0])),
        ..TCP
    },
    Row {
        name: "https by TLS 1.3, nginx before nginx",
        start: |place, signed| before_another(place, &signed.of_nginx("; ssl_protocols TLSv1.3")),
        url: "https://HOST/behind",
        words: &["--ca", "CA"],
        calls: Some("writev"),
        trips: Some(each([1, 1, 0, 1, 0])),
        ..TCP
    },
    Row {
        name: "h2c, nginx before nginx",
        start: |place, _| before_another(place, " http2"),
        url: "h2c://HOST/behind",
        calls: Some("writev"),
        trips: Some(each([1, 0, 1, 1, 0])),
        ..TCP
    },
    Row {
        name: "h2 by TLS 1.3, nginx before nginx",
        start: |place, signed| {
            before_another(place, &signed.of_nginx("; ssl_protocols TLSv1.3").replacen(" ssl", " ssl http2", 1))
        },
        url: "h2://HOST/behind",
        words: &["--ca", "CA"],
        calls: Some("writev"),
        trips: Some(each([1, 1, 1, 1, 0])),
        ..TCP
    },
    Row {
        name: "h2ping, nginx",
        start: |place, _| one(place.nginx(" http2", LONG)),
        url: "h2ping://HOST",
        calls: Some("writev"),
        trips: Some(each([1, 0, 1, 1, 0])),
        answers: [Some(0), Some(0), None, Some(1), Some(0)],
        ..TCP
    },
    Row {
        name: "rediss, Redis",
        start: |place, signed| {
            let (certificate, key) = (signed.text("server.pem"), signed.text("server.key"));
            let port = testbed::port::free();
            let words = ["--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-auth-clients", "no"];
            one(place.redis(&[&words[..], &["--tls-port", &port.to_string()]].concat()).map(|server| server.at(port)))
        },
        url: "rediss://HOST",
        words: &["--ca", "CA"],
        trips: Some(each([1, 1, 0, 1, 0])),
        ..TCP
    },
    Row {
        name: "rediss, haproxy before Redis",
        start: |place, signed| {
            let (behind, port) = (place.redis(&[])?, testbed::port::free());
            let lines = format!(
                " mode tcp\n bind 0.0.0.0:{port} ssl crt {}\n default_backend b\nbackend b\n mode tcp\n server s 127.0.0.1:{}\n",
                both_files(signed),
                behind.port
            );
            Some(vec![behind, place.haproxy(&lines)?.at(port)])
        },
        url: "rediss://HOST",
        words: &["--ca", "CA"],
        calls: Some("write"),
        trips: Some(each([1, 1, 0, 1, 0])),
        ..TCP
    },
    Row {
        name: "dns, unbound",
        start: |place, _| one(place.unbound(Carrier::Udp, "")),
        url: "dns://HOST/a.test",
        calls: Some("sendto"),
        ..UDP
    },
    Row {
        name: "dns+tcp, unbound",
        start: |place, _| one(place.unbound(Carrier::Tcp, "")),
        url: "dns+tcp://HOST/a.test",
        calls: Some("writev"),
        ..TCP
    },
    Row {
        name: "dns+tls, unbound before unbound",
        start: |place, signed| resolvers(place, signed, "tls-port"),
        url: "dns+tls://HOST/a.behind",
        words: &["--ca", "CA"],
        calls: Some("sendto"),
        // On a connection of its own the reply waits behind a ticket of TLS that our kernel acknowledges 40 ms later (RFC 896,
        // RFC 1122 section 4.2.3.2), in which the other answer hides. Where our side took longer than that over its part of the
        // handshake, as on a busy machine, Linux acknowledges at once: so the wait is not held to a number.
        trips: Some([Some(1), Some(1), Some(0), None, Some(0)]),
        answers: [Some(0), Some(0), Some(0), None, Some(0)],
        ..TCP
    },
    Row {
        name: "dns+https, unbound before unbound",
        start: |place, signed| resolvers(place, signed, "https-port"),
        url: "dns+https://HOST/a.behind",
        words: &["--ca", "CA"],
        calls: Some("sendto"),
        trips: Some(each([1, 1, 1, 1, 0])),
        // Once 2 of 500 exchanges were shorter than on the wire, for a reason that is not established.
        shows: false,
        ..TCP
    },
    Row {
        name: "ntp, chrony",
        start: |place, _| one(place.chrony()),
        url: "ntp://HOST",
        calls: Some("sendmsg"),
        ..UDP
    },
    Row {
        name: "quic, caddy",
        start: |place, _| one(place.caddy(FORWARDED, " tls internal\n")),
        url: "quic://HOST",
        calls: Some("sendto,sendmsg"),
        ..UDP
    },
    Row {
        name: "h3, caddy before nginx",
        start: |place, signed| {
            let behind = place.nginx("", LONG)?;
            let (certificate, key) = (signed.text("server.pem"), signed.text("server.key"));
            let lines = format!(" tls {certificate} {key}\n reverse_proxy 127.0.0.1:{}\n", behind.port);
            Some(vec![behind, place.caddy(FORWARDED, &lines)?])
        },
        url: "h3://HOST/health",
        words: &["--ca", "CA"],
        calls: Some("writev"),
        // Its datagrams have whatever stands to be acknowledged in them.
        shows: false,
        ..TCP
    },
    Row {
        name: "ssh, sshd",
        start: |place, _| one(place.sshd()),
        url: "ssh://HOST",
        // Each connection has a process of its own, which is handed its settings before it says anything: a tracer slows all of that.
        // Its version comes without being asked for, so that our own part hides in the wait for it.
        trips: Some([Some(1), Some(0), Some(0), None, Some(0)]),
        keeps: false,
        shows: false,
        ..TCP
    },
    Row {
        name: "nats, nats-server",
        start: |place, _| one(place.nats()),
        url: "nats://HOST",
        calls: Some("write,writev"),
        trips: Some(each([1, 0, 1, 1, 0])),
        answers: [Some(0), Some(0), Some(1), Some(1), Some(0)],
        ..TCP
    },
    Row {
        name: "mqtt, mosquitto",
        start: |place, _| one(place.mosquitto("log_dest none\n")),
        url: "mqtt://HOST",
        calls: Some("write"),
        trips: Some(each([1, 0, 1, 1, 0])),
        answers: [Some(0), Some(0), Some(1), Some(1), Some(0)],
        ..TCP
    },
    Row {
        name: "postgres, PostgreSQL",
        start: |place, _| one(place.postgres(&[]).map(|(server, _)| server)),
        url: "postgres://sonde@HOST/postgres",
        calls: Some("sendto"),
        trips: Some(each([1, 0, 1, 1, 0])),
        // A process is made for each session, and the tracer slows all that it does.
        answers: [Some(0), Some(0), None, Some(1), Some(0)],
        ..TCP
    },
    Row {
        name: "mysql, MariaDB",
        start: |place, _| one(place.mariadb(&[]).map(|(server, _)| server)),
        url: "mysql://shop@HOST",
        words: &["--password-file", "PASSWORD"],
        calls: Some("sendto"),
        // The greeting comes by itself, and the login is answered.
        trips: Some(each([1, 0, 2, 1, 0])),
        answers: [Some(0), Some(0), Some(2), Some(1), Some(0)],
        ..TCP
    },
];

/// A connection may have any number of requests.
const LONG: &str = "keepalive_requests 1000000000;";

/// Round trips that are sure of every part.
const fn each([connect, tls, greeting, wait, receive]: [u32; 5]) -> [Option<u32>; 5] {
    [Some(connect), Some(tls), Some(greeting), Some(wait), Some(receive)]
}

fn one(server: Option<Server>) -> Option<Vec<Server>> {
    server.map(|server| vec![server])
}

/// A file with certificate and key.
fn both_files(signed: &Signed) -> String {
    let both = signed.path("both.pem");
    let read = |name: &str| std::fs::read_to_string(signed.path(name)).expect("written before");
    std::fs::write(&both, read("server.pem") + &read("server.key")).expect("written");
    both.display().to_string()
}

/// An nginx that listens so, and asks another for what is `/behind`.
fn before_another(place: &Place<'_>, listen: &str) -> Option<Vec<Server>> {
    let behind = place.nginx("", LONG)?;
    let more = format!("{LONG} location /behind {{ proxy_pass http://127.0.0.1:{}/health; }}", behind.port);
    Some(vec![behind, place.nginx(listen, &more)?])
}

/// An unbound within TLS at the port that `setting` says, which remembers nothing and asks another.
fn resolvers(place: &Place<'_>, signed: &Signed, setting: &str) -> Option<Vec<Server>> {
    let behind =
        place.unbound(Carrier::Tcp, " local-zone: \"behind.\" static\n local-data: \"a.behind. A 127.0.0.8\"\n")?;
    let (certificate, key, port) = (signed.text("server.pem"), signed.text("server.key"), testbed::port::free());
    let more = format!(
        " interface: 0.0.0.0@{port}\n {setting}: {port}\n tls-service-pem: \"{certificate}\"\n tls-service-key: \"{key}\"\n \
         module-config: \"iterator\"\n cache-max-ttl: 0\n do-not-query-localhost: no\nforward-zone:\n name: \"behind.\"\n \
         forward-addr: 127.0.0.1@{}\n",
        behind.port
    );
    let asked = place.unbound(Carrier::Tcp, &more)?.at(port);
    Some(vec![behind, asked])
}

/// A file with the password of the user `shop`, beside the certificates.
fn password_file(signed: &Signed) -> String {
    let file = signed.path("password");
    std::fs::write(&file, "pencil\n").expect("written");
    file.display().to_string()
}

impl Row {
    /// The words of a measurement at this host and port.
    pub fn asking(&self, at: &str, signed: &Signed) -> Vec<String> {
        let word = |word: &&str| match *word {
            "CA" => signed.text("ca.pem"),
            "PASSWORD" => password_file(signed),
            word => word.to_owned(),
        };
        std::iter::once(self.url.replace("HOST", at)).chain(self.words.iter().map(word)).collect()
    }
}
