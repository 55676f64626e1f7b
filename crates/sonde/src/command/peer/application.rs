//! Programs at work: the question of a first look to the one that it finds at the port that was named.

use measure::method::Carrier;
use measure::reach::Service;
use protocol::application::dns::{self, OverTcp, Question};
use protocol::application::http;
use protocol::application::memcached::{self, Memcached};
use protocol::application::mqtt::{self, Mqtt};
use protocol::application::nats::{self, Nats};
use protocol::application::redis::{self, Redis};
use protocol::application::talk::Talk;
use protocol::application::{self, Application};
use protocol::inquiry::head_request;
use protocol::tls::{Terms, Trust};

use crate::command::peer::{self, Asked, Peer};
use crate::system::trusted_certificates;

/// Redis, whose PING goes the way of every command.
pub const REDIS: Peer = at_work(Service::Redis, |_, _| Some(Application::talk(&redis::PROTOCOL, Talk::Redis(Redis))));
/// memcached: the version, which is as old as the protocol.
pub const MEMCACHED: Peer = at_work(Service::Memcached, |_, _| {
    Some(Application::talk(&memcached::PROTOCOL, Talk::Memcached(Memcached::Version)))
});
/// NATS.
pub const NATS: Peer =
    at_work(Service::Nats, |_, _| Some(Application::talk(&nats::PROTOCOL, Talk::Nats(Nats::default()))));
/// An MQTT broker.
pub const MQTT: Peer =
    at_work(Service::Mqtt, |_, _| Some(Application::talk(&mqtt::PROTOCOL, Talk::Mqtt(Mqtt::default()))));
/// HTTP: the head of the root, as every check of a web server asks for it.
pub const HTTP: Peer = at_work(Service::Http, |place, _| {
    Some(Application::talk(&http::PROTOCOL, Talk::Http(Box::new(head_request(*place)?))))
});
/// The same within TLS, of a server whose certificate this host trusts.
pub const HTTPS: Peer = at_work(Service::Https, |place, _| {
    let head = Talk::Http(Box::new(head_request(*place)?));
    Some(Application { tls: Some(web_terms(place.host)?), ..Application::talk(&http::SECURE, head) })
});
/// DNS: a header alone, which touches neither a cache nor a zone.
pub const DNS: Peer = at_work(Service::Dns, |_, carrier| Some(status(carrier)));

/// PostgreSQL answers nobody before a session. `HOST` in these words is where it was found.
pub const POSTGRES: Peer =
    unmeasured(Service::Postgres, "it answers only in a session → sonde rtt postgres://USER@HOST");
/// TLS: what is behind it, and for whom its certificate must be, is the user's to say.
pub const TLS: Peer = unmeasured(Service::Tls, "what is behind TLS was not asked → sonde rtt https://HOST/PATH");
/// MySQL answers nobody before a session, and bans whoever goes without one too often.
pub const MYSQL: Peer = unmeasured(Service::Mysql, "it answers only in a session → sonde rtt mysql://USER@HOST");
/// NTP: servers of time shut out whoever asks oftener than a clock does.
pub const NTP: Peer =
    unmeasured(Service::Ntp, "time servers shut out hosts that ask often → sonde rtt ntp://HOST --every 64s");
/// SSH answers nothing before a key exchange.
pub const SSH: Peer =
    unmeasured(Service::Ssh, "it answers only in a session; its version alone → sonde rtt ssh://HOST --crr -c 10");
/// Kafka: a listener that wants a login answers once on a connection.
pub const KAFKA: Peer =
    unmeasured(Service::Kafka, "it may answer only once on a connection → sonde rtt kafka://HOST --crr");

/// SIP: those who guard telephones take many questions for a scan.
pub const SIP: Peer =
    unmeasured(Service::Sip, "telephone systems shut out hosts that ask often → sonde rtt sip://HOST --every 10s");

/// The terms of TLS with a web server that is reached as `host`; `None` where this host trusts nobody, or no certificate can be for it.
pub fn web_terms(host: &str) -> Option<Terms> {
    let name = host.split('%').next().unwrap_or_default();
    let trust = Trust::Roots(trusted_certificates());
    Terms::new(name, &trust, http::SECURE.tls.unwrap_or_default()).ok()
}

const fn at_work(service: Service, question: peer::Question) -> Peer {
    Peer { service, server: None, asked: Asked::Application(question) }
}

const fn unmeasured(service: Service, why: &'static str) -> Peer {
    Peer { service, server: None, asked: Asked::Not(why) }
}

fn status(carrier: Carrier) -> Application {
    let question = Question::status();
    if carrier == Carrier::Tcp {
        // Each connection draws numbers of its own.
        return Application::talk(&dns::OVER_TCP, Talk::Dns(Box::new(OverTcp::new(question, [0; 16]))));
    }
    let words = question.words().to_owned();
    Application { protocol: &dns::PROTOCOL, words, asked: application::Asked::Dns(question), mix: None, tls: None }
}
