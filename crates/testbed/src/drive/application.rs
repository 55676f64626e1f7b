//! Answers of programs at work: the readers of replies, cut anywhere, and those of datagrams.

use std::sync::Arc;

use protocol::application::dns::{OverTcp, OverUdp, Question};
use protocol::application::h2::H2;
use protocol::application::h3::H3;
use protocol::application::http::{Expected, Http, Request};
use protocol::application::kafka::Kafka;
use protocol::application::login::{Login, Password};
use protocol::application::memcached::{Commands as MemcachedCommands, Memcached};
use protocol::application::mix::Item;
use protocol::application::mqtt::Mqtt;
use protocol::application::mysql::Mysql;
use protocol::application::nats::Nats;
use protocol::application::ntp::Ntp;
use protocol::application::packet::Packet;
use protocol::application::postgres::Postgres;
use protocol::application::quic::Quic;
use protocol::application::redis::{Commands as RedisCommands, Redis};
use protocol::application::sip::{Options, Sip};
use protocol::application::ssh::Ssh;
use protocol::application::talk::{Asking, Digest, Talk};
use protocol::application::tally::Tally;
use protocol::application::websocket::{Upgrade, WebSocket};
use protocol::application::{Came, Speech};
use protocol::native::header::Flags;
use protocol::wire::{Reading, Wire};

/// A draw of the numbers of DNS.
const DRAW: [u8; 16] = *b"sixteen octets !";

/// The first octet says which protocol is read, the second after how many octets the rest is cut, again and again. However it is cut, the
/// same is said of it, nothing is taken that is not there, and replies that were read can be handed on.
///
/// # Panics
/// Where that does not hold.
pub fn application(data: &[u8]) {
    let [which, every, octets @ ..] = data else { return };
    let talks = talks();
    if let Some(talk) = talks.get(usize::from(*which) % (talks.len() + 2)) {
        let whole = hear(&mut talk.clone(), octets, octets.len());
        let cut = hear(&mut talk.clone(), octets, usize::from(*every) + 1);
        assert_eq!(whole, cut, "{talk:?}");
        let mut asking = Asking::new(talk.clone(), Arc::new(Tally::default()));
        // All that a reply may be to was asked.
        asking.prepare(&mut talk.request(), u64::MAX / 2, Flags::NONE);
        for came in whole {
            if let Came::Reply(reply) = came {
                let digest = Digest { reply, octets: octets.len() as u64 };
                let reading = asking.identify(&digest.encode(), u64::from(*every) << 28);
                assert_eq!(reply.sound, matches!(reading, Reading::Reply(_)));
                assert!(!talk.kind(reply.kind).is_empty());
            }
        }
    } else {
        for mut packet in packets() {
            let mut request = vec![0; packet.length()];
            packet.open(&mut request);
            packet.prepare(&mut request, u64::from(*every), Flags::NONE);
            packet.identify(octets, u64::from(*every));
        }
        response(octets, usize::from(*every) + 1);
    }
}

/// A stream of a response over HTTP/3, and its end.
fn response(octets: &[u8], every: usize) {
    let Ok(mut whole) = H3::new(&request(), Expected::Any) else { return };
    let mut cut = whole.clone();
    assert_eq!(hear(&mut whole, octets, octets.len()), hear(&mut cut, octets, every), "{cut:?}");
    assert_eq!(whole.closed(), cut.closed(), "{cut:?}");
}

fn request() -> Request {
    Request {
        method: "GET".into(),
        host: "db1".into(),
        target: "/".into(),
        fields: Vec::new(),
        body: Vec::new(),
        agent: "sonde".into(),
    }
}

fn talks() -> Vec<Talk> {
    let request = request();
    let head = Request { method: "HEAD".into(), ..request.clone() };
    let http = |request| Http::new(request, Expected::Any).ok().map(|http| Talk::Http(Box::new(http)));
    let (mut nats, mut mqtt) = (Nats::default(), Mqtt::default());
    nats.take(b"INFO {}\r\n");
    mqtt.take(&[0x20, 2, 0, 0]);
    let password = Some(Password::new("pencil".into()));
    let login = Login { user: "me".into(), database: None, password };
    let mysql = Mysql::new(login.clone());
    let postgres = Postgres::new(login, DRAW);
    let mut ready = postgres.clone();
    ready.take(&[b'Z', 0, 0, 0, 5, b'I']);
    let dns = question().map(|question| Talk::Dns(Box::new(OverTcp::new(question, DRAW))));
    let others = [
        Talk::Redis(Redis),
        Talk::Memcached(Memcached::NoOperation),
        Talk::Nats(Nats::default()),
        Talk::Nats(nats),
        Talk::Mqtt(Mqtt::default()),
        Talk::Mqtt(mqtt),
        Talk::Mysql(Box::new(mysql)),
        Talk::Kafka(Kafka),
    ];
    let asking = ready.clone().asking("SELECT 1").ok();
    let postgres = [postgres, ready].map(|postgres| Talk::Postgres(Box::new(postgres)));
    let upgrade = Upgrade {
        host: "db1".into(),
        target: "/".into(),
        subprotocol: None,
        fields: Vec::new(),
        agent: "sonde".into(),
    };
    let socket = WebSocket::new(&upgrade, DRAW).ok().map(|socket| Talk::WebSocket(Box::new(socket)));
    let https = http(&request).into_iter().chain(http(&head));
    let h2 = H2::new(&request, Expected::Any, false).into_iter().chain(H2::health("db1", "", false));
    let doh = question().and_then(|question| H2::dns(question, "db1", "sonde").ok());
    let h2 = h2.chain(doh).chain([H2::ping()]).flat_map(|h2| {
        let mut open = h2.clone();
        open.take(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
        [h2, open].map(|h2| Talk::H2(Box::new(h2)))
    });
    let asking = asking.map(|postgres| Talk::Postgres(Box::new(postgres)));
    others
        .into_iter()
        .chain(https)
        .chain(h2)
        .chain(dns)
        .chain(postgres)
        .chain(socket)
        .chain(asking)
        .chain(of_lists())
        .collect()
}

/// Readers of the replies to requests of a list.
fn of_lists() -> Vec<Talk> {
    let redis = RedisCommands::new("GET a").ok().map(Talk::RedisCommands);
    let memcached = MemcachedCommands::new("get a", None).ok().map(Talk::MemcachedCommands);
    let http = Http::new(&request(), Expected::Any).ok().map(|http| Talk::Http(Box::new(http.mixed())));
    let dns = question().map(|question| {
        let octets = [&[0, 24], question.message()].concat();
        let items = [Item { octets, weight: 1, class: 0, expected: None }];
        Talk::Dns(Box::new(OverTcp::new(question, DRAW).mixed(&items)))
    });
    let ssh = Some(Talk::Ssh(Ssh::default()));
    [redis, memcached, http, dns, asking(), ssh].into_iter().flatten().collect()
}

/// A session of MySQL that was let in, and asks a statement.
fn asking() -> Option<Talk> {
    let login = Login { user: "me".into(), database: None, password: None };
    let mut mysql = Mysql::new(login).asking("SELECT 1").ok()?;
    // Version, thread, nonce, capabilities, character set, status, capabilities, length of the nonce, and its rest.
    let body = [&b"\x0a8\0\0\0\0\0aaaaaaaa\0\0\x82\x21\x02\0\0\0\x15"[..], &[0; 10], b"bbbbbbbbbbbb\0"].concat();
    mysql.take(&[&[body.len() as u8, 0, 0, 0], &body[..]].concat());
    mysql.take(b"\x07\0\0\x02\0\0\0\x02\0\0\0");
    mysql.is_open().then(|| Talk::Mysql(Box::new(mysql)))
}

fn question() -> Option<Question> {
    Question::new("a.test", "A").ok()
}

fn packets() -> Vec<Packet> {
    let ntp = Packet::Ntp(Box::new(Ntp::new(7, Arc::default())));
    let quic = Packet::Quic(Box::new(Quic::new(DRAW, Arc::default())));
    let sip = Options::new("db1", Some("me"), "sonde").ok();
    let sip = sip.map(|options| Packet::Sip(Box::new(Sip::new(&options, DRAW, Arc::default()))));
    let dns = question().map(|question| Packet::Dns(Box::new(OverUdp::new(question, DRAW, Arc::default()))));
    [ntp, quic].into_iter().chain(dns).chain(sip).collect()
}

/// All that is said of `octets`, given in pieces of `every`, until it is not understood any more.
fn hear<S: Speech>(talk: &mut S, octets: &[u8], every: usize) -> Vec<Came> {
    let (mut came, mut from, mut end) = (Vec::new(), 0, 0);
    while end < octets.len() {
        end = (end + every.max(1)).min(octets.len());
        while from < end {
            let taken = talk.take(&octets[from..end]);
            assert!(taken.octets <= end - from, "more was taken than there is");
            from += taken.octets;
            match taken.came {
                Came::Part if taken.octets == 0 => break,
                Came::Part => {}
                Came::Unsound(why) => {
                    came.push(Came::Unsound(why));
                    return came;
                }
                other => came.push(other),
            }
        }
    }
    came
}
