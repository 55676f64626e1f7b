//! The echo service (RFC 862): a first look at one.

use endpoint::rtt::Protocol;
use measure::reach::Service;

use crate::command::peer::{Asked, Peer};

/// Its row.
pub const PEER: Peer =
    Peer { service: Service::Echo, server: None, asked: Asked::Exchanged { protocol: Protocol::Echo, over: &[] } };
