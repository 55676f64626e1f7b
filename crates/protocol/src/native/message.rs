//! Messages between the two ends of a control connection: JSON, one message a frame.
//!
//! Fields that a reader does not know are skipped, a message of an unknown type is ignored, and an unknown reason reads
//! as `other`. The capabilities in [`Open`] and [`Opened`] settle which features an end may *use*, so old and new agree.
//! Every key that carries a quantity names its unit. Not here: the order of messages ([`super::client`],
//! [`super::server`]).

use std::collections::BTreeSet;
use std::fmt;

use measure::environment::Environment;
use measure::method::{Batch, Carrier, Pattern, Waiting};
use measure::unit::{Bytes, Nanos, Rate};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::native::header::Token;
use crate::native::limits::Limits;
use crate::native::mac::DatagramKey;
use crate::native::stream::{Ask, HostCpu, Told};

/// Capabilities of an end beyond the ground of version 1, by name; names that the other end does not know are skipped.
pub mod capability {
    /// The reflector puts its own receive and send stamps into replies.
    pub const STAMPS: &str = "stamps";
    /// The reflector can wait with `SO_BUSY_POLL`.
    pub const BUSY_POLL: &str = "busy-poll";
    /// The reflector can pin its threads.
    pub const CPUS: &str = "cpus";
    /// The reflector takes many datagrams in one call where a client sends them so.
    pub const SEGMENTS: &str = "segments";
    /// The reflector takes and sends streams.
    pub const STREAMS: &str = "streams";
    /// Datagrams carry a message authentication code: of a client, that it wants this; of a server, that it can.
    pub const DATAGRAM_AUTH: &str = "datagram-auth";
}

/// From the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FromClient {
    /// Open a session.
    Open(Open),
    /// Asks for the number of requests that came. Also says that the client is alive.
    Progress,
    /// End the session and report.
    Close,
    /// The client gives up.
    Fault(Notice),
    /// Something newer: ignored.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// From the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FromServer {
    /// The session is open.
    Opened(Opened),
    /// It is not.
    Refused(Refused),
    /// Answer to `progress`.
    Received(Received),
    /// Answer to `close`, and the last message.
    Report(Box<Report>),
    /// The server gives up, or ends the session.
    Fault(Notice),
    /// Something newer: ignored.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// Measurement that a client wants, as far as the reflector has a part in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// Name and version of the client's program.
    #[serde(default)]
    pub program: String,
    /// Capabilities of the client beyond version 1.
    #[serde(default)]
    pub capabilities: BTreeSet<String>,
    /// Transport of the requests: `tcp` or `udp`.
    pub carrier: Carrier,
    /// Kind of request.
    pub pattern: Pattern,
    /// Size of a request, octets.
    pub request_bytes: Bytes,
    /// Size of a reply, octets; over UDP at most that of a request.
    pub response_bytes: Bytes,
    /// Every n-th request is answered, by sequence number.
    #[serde(default = "one")]
    pub reply_every: u32,
    /// Wait mode of the reflector, until a request comes; absent: as it was started to.
    #[serde(default)]
    pub waiting: Option<Waiting>,
    /// CPUs the reflector's threads shall run on, in turn; empty: wherever.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Number of connections, or UDP flows.
    pub flows: u32,
    /// True where the reflector shall put its own stamps into replies to stamped requests.
    #[serde(default)]
    pub stamps: bool,
    /// One-way messages of a flow over UDP that may leave the client in one call; absent: each in its own.
    #[serde(default)]
    pub batch: Option<Batch>,
    /// Receive buffer that the reflector's socket of each UDP flow shall have, octets; absent: as its system gives it.
    #[serde(default)]
    pub receive_buffer_bytes: Option<Bytes>,
    /// Settings of the streams; where, and only where, that is the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Box<Ask>>,
    /// Requests of one flow the client means to send, per 1000 seconds; absent: as many as the window allows.
    #[serde(default, rename = "rate_per_flow_per_1000s")]
    pub rate_per_flow: Option<Rate>,
    /// The session will be over after so many nanoseconds; absent: the client cannot tell (it stops by a count).
    #[serde(default)]
    pub duration_ns: Option<Nanos>,
    /// After so many nanoseconds without a word or data the reflector may take the client for dead.
    pub idle_ns: Nanos,
}

fn one() -> u32 {
    1
}

/// The session is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The name of the session: 32 hexadecimal digits.
    pub token: Token,
    /// Name and version of the server's program.
    #[serde(default)]
    pub program: String,
    /// True where the reflector answers UDP, on the same port.
    pub udp: bool,
    /// Capabilities of the server beyond version 1.
    #[serde(default)]
    pub capabilities: BTreeSet<String>,
    /// The server's bounds.
    pub limits: Limits,
    /// Settings in effect, where they may differ from the requested ones.
    pub got: Got,
}

/// Settings of the reflector in effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Got {
    /// Wait mode for requests.
    pub waiting: Waiting,
    /// CPUs its threads are pinned to, in turn; empty: none.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// True where replies to stamped requests carry its stamps.
    #[serde(default)]
    pub stamps: bool,
    /// Messages that it takes in one call; absent: each message in its own, as it does whatever the client's batches where it
    /// does not know of them.
    #[serde(default)]
    pub batch: Option<Batch>,
    /// The secret by which each datagram of the session is authenticated, told over a sealed connection alone; absent: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagram_key: Option<DatagramKey>,
    /// It ends the session after so many nanoseconds.
    pub duration_ns: Nanos,
    /// It ends the session after so many nanoseconds of silence.
    pub idle_ns: Nanos,
}

/// Reason why a session is not opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Bound that was exceeded, or another cause.
    pub reason: Reason,
    /// The same in words, with the requested and the allowed value.
    #[serde(default)]
    pub detail: String,
    /// Advice to the user; absent where there is none.
    #[serde(default)]
    pub hint: Option<String>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() { write!(f, "{:?}", self.reason) } else { f.write_str(&self.detail) }
    }
}

/// Cause of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The allowed number of sessions is open.
    Sessions,
    /// More flows than allowed.
    Flows,
    /// A higher rate than allowed.
    Rate,
    /// Longer than allowed.
    Duration,
    /// More buffer memory than allowed.
    Memory,
    /// A request too long or too short.
    RequestSize,
    /// A reply too long or too short.
    ResponseSize,
    /// No such carrier here.
    Carrier,
    /// No such pattern on this carrier.
    Pattern,
    /// The reflector cannot wait so.
    Waiting,
    /// A CPU that the reflector has not, or may not use.
    Cpus,
    /// The server is going down.
    Stopping,
    /// The message made no sense to the reader.
    NotUnderstood,
    /// A reason newer than the reader.
    #[serde(other)]
    Other,
}

/// Requests that came so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// For each flow, from 0.
    pub received: Vec<u64>,
}

/// Report of the reflector at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Requests received, for each flow from 0; warm-up included.
    pub received: Vec<u64>,
    /// Part of the received requests marked as warm-up, for each flow from 0; `None` where the peer does not report it.
    #[serde(default)]
    pub warm_up: Option<Vec<u64>>,
    /// Requests received, not marked as warm-up, whose number had come before, for each flow from 0: copies that the path
    /// made. `None` where the peer does not report it.
    #[serde(default)]
    pub again: Option<Vec<u64>>,
    /// Replies sent, for each flow from 0.
    pub replied: Vec<u64>,
    /// Part of these replies that answered such copies, likewise.
    #[serde(default)]
    pub replied_again: Option<Vec<u64>>,
    /// Messages for this session that made no sense.
    pub malformed: u64,
    /// Datagrams of this session that came from another address or port than their flow began with, as behind a box on the way that gave the
    /// flow another; warm-up and copies included. They stay unanswered and are in no other count. `None` where the peer does not report it.
    #[serde(default)]
    pub elsewhere: Option<u64>,
    /// Time that its threads waited, one beside the other, because of a bound of the reflector's on rate or bandwidth,
    /// nanoseconds. `None` where the peer does not report it.
    #[serde(default)]
    pub limited_ns: Option<Nanos>,
    /// Arrivals that the reflector's kernel dropped at the sockets of the UDP flows: a receive buffer was full, or a
    /// checksum wrong. All that came in one buffer, as segments may, counts as one. `None` where the peer does not report it.
    #[serde(default)]
    pub dropped: Option<u64>,
    /// Receive buffer of those sockets, octets, as the kernel counts it (Linux doubles the requested size); with several
    /// the smallest. `None` where there was none, or the peer does not report it.
    #[serde(default)]
    pub receive_buffer_bytes: Option<Bytes>,
    /// User CPU time the session's threads took, nanoseconds.
    #[serde(default)]
    pub user_ns: Option<Nanos>,
    /// System CPU time the session's threads took, nanoseconds.
    #[serde(default)]
    pub system_ns: Option<Nanos>,
    /// Results of the reflector's end of each stream, for each flow from 0; absent for other patterns, and where they do not
    /// fit into a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Vec<Told>>,
    /// CPU use of the reflector's machine while the streams went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<HostCpu>,
    /// The reflector's machine.
    #[serde(default)]
    pub environment: Environment,
}

/// Notice by which one end gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Kind of the end.
    pub reason: Ending,
    /// The same in words.
    #[serde(default)]
    pub detail: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() { write!(f, "{:?}", self.reason) } else { f.write_str(&self.detail) }
    }
}

/// End of a session that was not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Nothing was heard for too long.
    Idle,
    /// It lasted longer than agreed on.
    Duration,
    /// The end that says so is going down.
    Stopping,
    /// A message could not be read.
    NotUnderstood,
    /// A message came when it had no place.
    OutOfOrder,
    /// Something broke at the end that says so.
    Internal,
    /// A reason newer than the reader.
    #[serde(other)]
    Other,
}

/// 32 hexadecimal digits.
impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:032x}", u128::from_be_bytes(self.0)))
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let whole = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let value = whole.then(|| u128::from_str_radix(&text, 16).ok()).flatten();
        value
            .map(|value| Self(value.to_be_bytes()))
            .ok_or_else(|| de::Error::custom("a token is 32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::native::frame;
    use crate::native::limits::MOST_FLOWS;

    fn open_json() -> serde_json::Value {
        json!({
            "type": "open", "carrier": "tcp", "pattern": "exchange", "request_bytes": 64, "response_bytes": 64,
            "waiting": {"busy-poll": {"micros": 50}}, "flows": 1, "idle_ns": 5_000_000_000_u64,
        })
    }

    #[test]
    fn what_an_older_end_leaves_out_and_a_newer_one_adds_is_no_fault() {
        let mut value = open_json();
        value["zero_copy"] = json!({"depth": 3});
        let FromClient::Open(open) = serde_json::from_value(value).unwrap() else { panic!("not open") };
        assert_eq!((open.reply_every, open.stamps, open.duration_ns), (1, false, None));
        assert_eq!(open.waiting, Some(Waiting::BusyPoll { micros: 50 }));
    }

    #[test]
    fn a_message_of_an_unknown_type_is_known_as_such() {
        let newer = json!({"type": "hibernate", "until": 7});
        assert_eq!(serde_json::from_value::<FromClient>(newer.clone()).unwrap(), FromClient::Unknown);
        assert_eq!(serde_json::from_value::<FromServer>(newer).unwrap(), FromServer::Unknown);
        assert!(serde_json::from_value::<FromServer>(json!({"until": 7})).is_err(), "without a type it is nothing");
    }

    #[test]
    fn a_newer_reason_is_other() {
        let refused: FromServer = serde_json::from_value(json!({"type": "refused", "reason": "weather"})).unwrap();
        let FromServer::Refused(refused) = refused else { panic!("not refused") };
        assert_eq!((refused.reason, refused.to_string().as_str()), (Reason::Other, "Other"));
        let fault: FromServer = serde_json::from_value(json!({"type": "fault", "reason": "weather"})).unwrap();
        assert_eq!(fault, FromServer::Fault(Notice { reason: Ending::Other, detail: String::new() }));
    }

    #[test]
    fn a_token_is_32_digits_and_nothing_else() {
        let token = Token(*b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\xff");
        assert_eq!(serde_json::to_value(token).unwrap(), json!("000102030405060708090a0b0c0d0eff"));
        assert_eq!(serde_json::from_value::<Token>(json!("000102030405060708090a0b0c0d0eff")).unwrap(), token);
        for wrong in [
            "",
            "+00102030405060708090a0b0c0d0eff",
            "000102030405060708090a0b0c0d0ef",
            "é00102030405060708090a0b0c0d0ef",
        ] {
            assert!(serde_json::from_value::<Token>(json!(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_of_the_most_flows_fit_a_frame() {
        let counts = vec![u64::MAX; MOST_FLOWS as usize];
        let report = Report { received: counts.clone(), replied: counts, malformed: u64::MAX, ..Report::default() };
        let text = serde_json::to_vec(&FromServer::Report(Box::new(report))).unwrap();
        assert!(text.len() < frame::LARGEST * 3 / 4, "{} octets leave no room for the environment", text.len());
    }
}
