//! STAMP: a first look at a session-reflector. The one beside ours has options of its own.

use endpoint::rtt::Protocol;
use measure::reach::Service;

use crate::command::peer::{Asked, Peer};

/// Its row.
pub const PEER: Peer = Peer {
    service: Service::Stamp,
    server: None,
    asked: Asked::Exchanged {
        protocol: Protocol::Stamp { key: None, clocks_agree: None, parts: Vec::new() },
        over: &[],
    },
};
