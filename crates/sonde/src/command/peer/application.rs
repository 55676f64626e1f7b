//! Programs at work: what a first look asks the one that it finds at the port that was named.

use measure::reach::Service;
use protocol::application::memcached::{self, Memcached};
use protocol::application::mqtt::{self, Mqtt};
use protocol::application::nats::{self, Nats};
use protocol::application::redis::{self, Redis};
use protocol::application::talk::Talk;
use protocol::application::{Application, Protocol};

use crate::command::peer::{Asked, Peer};

/// Redis, whose PING goes the way of every command.
pub const REDIS: Peer = at_work(Service::Redis, || asked(&redis::PROTOCOL, Talk::Redis(Redis)));
/// memcached: the version, which is as old as the protocol.
pub const MEMCACHED: Peer =
    at_work(Service::Memcached, || asked(&memcached::PROTOCOL, Talk::Memcached(Memcached::Version)));
/// NATS.
pub const NATS: Peer = at_work(Service::Nats, || asked(&nats::PROTOCOL, Talk::Nats(Nats::default())));
/// An MQTT broker.
pub const MQTT: Peer = at_work(Service::Mqtt, || asked(&mqtt::PROTOCOL, Talk::Mqtt(Mqtt::default())));
/// PostgreSQL answers nobody before a session.
pub const POSTGRES: Peer = Peer {
    service: Service::Postgres,
    server: None,
    asked: Asked::Not("it answers in a session alone: sonde rtt postgres://USER@HOST"),
};

const fn at_work(service: Service, asked: fn() -> Application) -> Peer {
    Peer { service, server: None, asked: Asked::Application(asked) }
}

fn asked(protocol: &'static Protocol, talk: Talk) -> Application {
    Application::talk(protocol, talk)
}
