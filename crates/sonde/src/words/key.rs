//! A key that was named for a measurement without a session.

use endpoint::rtt::Protocol;
use measure::method::Method;

/// The reason why a measurement by `method` uses no key.
pub fn unused_key(has_peer: bool, protocol: &Protocol, method: &Method) -> String {
    let why = match protocol {
        _ if !has_peer => "no host is named, and this process answers itself".to_owned(),
        Protocol::Native => {
            format!("the peer's kernel answers {}, and authenticates nothing", method.traffic.carrier())
        }
        Protocol::Netperf { .. } => "a netserver knows no keys".to_owned(),
        Protocol::Stamp { .. } => "a STAMP reflector has keys of its own (--stamp-key)".to_owned(),
        Protocol::Twamp { .. } => "sessions of TWAMP are opened without a key here".to_owned(),
        Protocol::Irtt { .. } => "a server of irtt has keys of its own (--irtt-key)".to_owned(),
        Protocol::Echo => "an echo service knows no keys".to_owned(),
        Protocol::Application(application) => {
            format!("a program that speaks {} knows none of ours", application.protocol.name())
        }
    };
    format!("--key is not used: {why}")
}
