//! The first octets of every TCP connection to the one port, and the answer to them.
//!
//! Fixed lengths, so that an end that knows only version 1 can still read which versions a newer one speaks. A program that
//! answers with anything else is no peer of ours ([`NotSonde`]). All integers big-endian.
//!
//! | octets | control preamble | answer to it | data preamble |
//! |---|---|---|---|
//! | 0-7 | magic | magic | magic |
//! | 8 | 1 | 0: agreed, else why not | 2 |
//! | 9 | flags: 1 keyed, 2 by identity | the same | 0 |
//! | 10-11 | lowest version | version agreed on, or 0 | version agreed on |
//! | 12-13 | highest version | lowest version | token: 12-27 |
//! | 14-15 | 0 | highest version | |
//! | 28-29 | | | flow number |
//! | 30-31 | | | 0 |
//!
//! A data preamble is answered by one octet, in front of the first reply: [`DataAnswer`]. Octets that must be 0 are not
//! looked at. Not here: the octets behind the answer ([`super::noise`], [`super::frame`]).

use std::fmt;

use measure::authentication::Authentication;

use crate::native::header::Token;
use crate::native::stranger::{NotSonde, Saw};

/// Opens every preamble. The line end makes a line-based server answer at once, the NUL makes it no text.
pub const MAGIC: [u8; 8] = *b"sonde\r\n\0";
/// Length of a control preamble, octets.
pub const CONTROL_LENGTH: usize = 16;
/// Length of the answer to a control preamble, octets.
pub const ANSWER_LENGTH: usize = 16;
/// Length of a data preamble, octets.
pub const DATA_LENGTH: usize = 32;

const KIND: usize = 8;
const KIND_CONTROL: u8 = 1;
const KIND_DATA: u8 = 2;
const FLAG_KEYED: u8 = 1;
/// Means nothing without [`FLAG_KEYED`]. An end that does not know it takes the other for one with a pre-shared key.
const FLAG_IDENTITY: u8 = 2;

/// The session versions an end speaks, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The oldest.
    pub lowest: u16,
    /// The newest.
    pub highest: u16,
}

impl Versions {
    /// Versions that this program speaks.
    pub const OURS: Self = Self { lowest: 1, highest: 1 };

    /// The newest version that both this server's range and `client`'s hold; else which side is behind.
    pub fn agree(self, client: Self) -> Result<u16, Decline> {
        let newest = self.highest.min(client.highest);
        if client.lowest > self.highest {
            Err(Decline::TooNew)
        } else if newest < self.lowest.max(client.lowest) || newest == 0 {
            Err(Decline::TooOld)
        } else {
            Ok(newest)
        }
    }

    /// Returns true where `version` is one of these.
    pub fn hold(self, version: u16) -> bool {
        (self.lowest..=self.highest).contains(&version)
    }
}

/// `version 1`, `versions 1 to 3`.
impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lowest == self.highest {
            write!(f, "version {}", self.lowest)
        } else {
            write!(f, "versions {} to {}", self.lowest, self.highest)
        }
    }
}

/// First octets of a client on a control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The versions it speaks.
    pub versions: Versions,
    /// Kind of proof that it wants to give, and insists on; absent: it has no key.
    pub keyed: Option<Authentication>,
}

impl Control {
    /// Its octets.
    pub fn encode(self) -> [u8; CONTROL_LENGTH] {
        let head = Words { code: KIND_CONTROL, keyed: self.keyed };
        head.encode([self.versions.lowest, self.versions.highest, 0])
    }
}

/// First octets of a client on a data connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The version the session agreed on.
    pub version: u16,
    /// Token of the session.
    pub token: Token,
    /// Number of the connection in the session, from 0.
    pub flow: u16,
}

impl Data {
    /// Its octets.
    pub fn encode(self) -> [u8; DATA_LENGTH] {
        let mut octets = [0; DATA_LENGTH];
        octets[..8].copy_from_slice(&MAGIC);
        octets[KIND] = KIND_DATA;
        octets[10..12].copy_from_slice(&self.version.to_be_bytes());
        octets[12..28].copy_from_slice(&self.token.0);
        octets[28..30].copy_from_slice(&self.flow.to_be_bytes());
        octets
    }
}

/// A preamble as a server reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// A control connection.
    Control(Control),
    /// A data connection.
    Data(Data),
    /// Our magic, and a kind this version does not know.
    Unknown {
        /// The kind, neither 1 nor 2.
        kind: u8,
    },
}

impl Greeting {
    /// Reads the preamble at the front of `bytes` and tells its length; `None` while more octets are needed.
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, NotSonde> {
        check_magic(bytes)?;
        let Some(head) = bytes.first_chunk::<CONTROL_LENGTH>() else { return Ok(None) };
        match head[KIND] {
            KIND_CONTROL => {
                let versions = Versions { lowest: word(head, 10), highest: word(head, 12) };
                Ok(Some((Self::Control(Control { versions, keyed: keyed_by(head[9]) }), CONTROL_LENGTH)))
            }
            KIND_DATA => Ok(read_data(bytes).map(|data| (Self::Data(data), DATA_LENGTH))),
            kind => Ok(Some((Self::Unknown { kind }, CONTROL_LENGTH))),
        }
    }
}

fn read_data(bytes: &[u8]) -> Option<Data> {
    let octets = bytes.first_chunk::<DATA_LENGTH>()?;
    let token = Token(*octets[12..].first_chunk()?);
    Some(Data { version: word(octets, 10), token, flow: word(octets, 28) })
}

/// Answer of a server to a control preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The version agreed on, or the reason why there is none.
    pub verdict: Result<u16, Decline>,
    /// Kind of proof that the client is to give, on which the server insists; absent: it has no key.
    pub keyed: Option<Authentication>,
    /// The versions the server speaks.
    pub versions: Versions,
}

impl Answer {
    /// Makes the answer of a server of these `versions` to `client`, who is let in by one of `accepted`; where that is
    /// empty, without a key.
    pub fn to(client: Control, versions: Versions, accepted: &[Authentication]) -> Self {
        let agreed = client.keyed.filter(|kind| accepted.contains(kind));
        let keyed = agreed.or(accepted.first().copied());
        let verdict = match (keyed, client.keyed) {
            (Some(_), None) => Err(Decline::KeyRequired),
            (None, Some(_)) => Err(Decline::NoKeyHere),
            (keyed, wanted) if keyed != wanted => Err(Decline::NoIdentityHere),
            _ => versions.agree(client.versions),
        };
        Self { verdict, keyed, versions }
    }

    /// Its octets.
    pub fn encode(self) -> [u8; ANSWER_LENGTH] {
        let code = self.verdict.err().map_or(0, Decline::code);
        let head = Words { code, keyed: self.keyed };
        head.encode([self.verdict.unwrap_or(0), self.versions.lowest, self.versions.highest])
    }

    /// Reads the answer at the front of `bytes` and tells its length; `None` while more octets are needed.
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, NotSonde> {
        check_magic(bytes)?;
        let Some(octets) = bytes.first_chunk::<ANSWER_LENGTH>() else { return Ok(None) };
        let verdict = Decline::from_code(octets[KIND]).map_or(Ok(word(octets, 10)), Err);
        let versions = Versions { lowest: word(octets, 12), highest: word(octets, 14) };
        Ok(Some((Self { verdict, keyed: keyed_by(octets[9]), versions }, ANSWER_LENGTH)))
    }
}

/// Reason why a server declines a control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Decline {
    /// The client is older than anything the server still speaks.
    #[error("it no longer speaks a version as old as ours")]
    TooOld,
    /// The client is newer than anything the server speaks yet.
    #[error("it does not yet speak a version as new as ours")]
    TooNew,
    /// The server has a key, the client brought none.
    #[error("it requires a key, and none was given")]
    KeyRequired,
    /// The client insists on a key, the server has none.
    #[error("a key was given, and it has none")]
    NoKeyHere,
    /// The allowed number of connections is open already.
    #[error("it has reached its limit of clients")]
    Busy,
    /// It is going down.
    #[error("it is shutting down")]
    Stopping,
    /// The kind of the preamble is neither control nor data.
    #[error("it does not know this kind of connection")]
    UnknownKind,
    /// The client has an identity, and the server lets clients in by pre-shared keys alone.
    #[error("an identity was given, and it accepts only pre-shared keys")]
    NoIdentityHere,
    /// A reason that a newer server has and we do not know.
    #[error("it declines for a reason unknown to this version (code {0})")]
    Other(u8),
}

impl Decline {
    const KNOWN: [(u8, Self); 8] = [
        (1, Self::TooOld),
        (2, Self::TooNew),
        (3, Self::KeyRequired),
        (4, Self::NoKeyHere),
        (5, Self::Busy),
        (6, Self::Stopping),
        (7, Self::UnknownKind),
        (8, Self::NoIdentityHere),
    ];

    /// Its octet in an answer, never 0.
    pub fn code(self) -> u8 {
        match self {
            Self::Other(code) => code.max(1),
            known => Self::KNOWN.iter().find(|(_, decline)| *decline == known).map_or(u8::MAX, |(code, _)| *code),
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        if code == 0 {
            return None;
        }
        Some(Self::KNOWN.iter().find(|(known, _)| *known == code).map_or(Self::Other(code), |(_, decline)| *decline))
    }
}

/// The one octet that answers a data preamble, in front of the first reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataAnswer {
    /// The connection is part of the session: 1.
    Accepted,
    /// It is not: any other octet.
    Refused(DataRefusal),
}

impl DataAnswer {
    /// Its octet.
    pub fn code(self) -> u8 {
        match self {
            Self::Accepted => 1,
            Self::Refused(refusal) => refusal.code(),
        }
    }

    /// Returns the answer with this code.
    pub fn from_code(code: u8) -> Self {
        if code == 1 {
            return Self::Accepted;
        }
        let known = DataRefusal::KNOWN.iter().find(|(known, _)| *known == code);
        Self::Refused(known.map_or(DataRefusal::Other(code), |(_, refusal)| *refusal))
    }
}

/// Reason why a data connection is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataRefusal {
    /// No session has this token, or it has ended.
    #[error("it has no session with this token")]
    UnknownToken,
    /// The flow number is not below the number of flows agreed on.
    #[error("the flow number is outside the range agreed on")]
    FlowBeyond,
    /// A connection with this flow number is open already.
    #[error("a connection with this flow number is open already")]
    FlowTaken,
    /// The session is about another carrier.
    #[error("the session carries no TCP data")]
    NotTcp,
    /// The version is not the one the session agreed on.
    #[error("the version is not the one agreed on")]
    Version,
    /// The reflector is out of threads or memory.
    #[error("it cannot take another connection now")]
    Busy,
    /// An answer that a newer server has and we do not know, or no answer of ours at all.
    #[error("its answer is unknown to this version (octet {0})")]
    Other(u8),
}

impl DataRefusal {
    const KNOWN: [(u8, Self); 6] = [
        (2, Self::UnknownToken),
        (3, Self::FlowBeyond),
        (4, Self::FlowTaken),
        (5, Self::NotTcp),
        (6, Self::Version),
        (7, Self::Busy),
    ];

    fn code(self) -> u8 {
        match self {
            // 1 would let in a refused client.
            Self::Other(1) => u8::MAX,
            Self::Other(code) => code,
            known => Self::KNOWN.iter().find(|(_, refusal)| *refusal == known).map_or(u8::MAX, |(code, _)| *code),
        }
    }
}

/// The head that control preamble and answer share, and the three words after it.
struct Words {
    code: u8,
    keyed: Option<Authentication>,
}

impl Words {
    fn encode(self, words: [u16; 3]) -> [u8; 16] {
        let mut octets = [0; 16];
        octets[..8].copy_from_slice(&MAGIC);
        octets[KIND] = self.code;
        octets[9] = match self.keyed {
            None => 0,
            Some(Authentication::PreShared) => FLAG_KEYED,
            Some(Authentication::Identity) => FLAG_KEYED | FLAG_IDENTITY,
        };
        for (index, value) in words.into_iter().enumerate() {
            octets[10 + 2 * index..12 + 2 * index].copy_from_slice(&value.to_be_bytes());
        }
        octets
    }
}

/// Reads the authentication in the flags of a control preamble, or of its answer; `None`: no key.
fn keyed_by(flags: u8) -> Option<Authentication> {
    let by_identity = flags & FLAG_IDENTITY != 0;
    let kind = if by_identity { Authentication::Identity } else { Authentication::PreShared };
    (flags & FLAG_KEYED != 0).then_some(kind)
}

fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

fn check_magic(bytes: &[u8]) -> Result<(), NotSonde> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] == MAGIC[..known] { Ok(()) } else { Err(NotSonde { saw: Saw::of(bytes) }) }
}

#[cfg(test)]
mod tests {
    use measure::authentication::Authentication::{Identity, PreShared};
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    const fn versions(lowest: u16, highest: u16) -> Versions {
        Versions { lowest, highest }
    }

    #[test_case(versions(1, 1), versions(1, 1), Ok(1))]
    #[test_case(versions(1, 5), versions(1, 1), Ok(1); "an old client and a newer server")]
    #[test_case(versions(1, 1), versions(1, 5), Ok(1); "a newer client and an old server")]
    #[test_case(versions(2, 4), versions(3, 9), Ok(4))]
    #[test_case(versions(1, 1), versions(2, 9), Err(Decline::TooNew); "a client from the future")]
    #[test_case(versions(3, 4), versions(1, 2), Err(Decline::TooOld); "a client from the past")]
    #[test_case(versions(1, 1), versions(5, 1), Err(Decline::TooNew); "a range from back to front")]
    #[test_case(versions(1, 9), versions(5, 3), Err(Decline::TooOld); "another")]
    #[test_case(versions(0, 1), versions(0, 0), Err(Decline::TooOld); "there is no version 0")]
    fn both_ends_speak_what_is_agreed_on(server: Versions, client: Versions, agreed: Result<u16, Decline>) {
        assert_eq!(server.agree(client), agreed);
    }

    #[test]
    fn the_octets_are_as_described() {
        let control = Control { versions: versions(1, 0x0203), keyed: Some(PreShared) };
        assert_eq!(&control.encode(), b"sonde\r\n\0\x01\x01\x00\x01\x02\x03\x00\x00");
        let answer = Answer { verdict: Ok(1), keyed: None, versions: versions(1, 2) };
        assert_eq!(&answer.encode(), b"sonde\r\n\0\x00\x00\x00\x01\x00\x01\x00\x02");
        let data = Data { version: 1, token: Token(*b"0123456789abcdef"), flow: 0x0405 };
        assert_eq!(&data.encode(), b"sonde\r\n\0\x02\x00\x00\x010123456789abcdef\x04\x05\x00\x00");
    }

    #[test_case(&[PreShared], Some(PreShared), None, 1; "both keyed")]
    #[test_case(&[PreShared, Identity], Some(PreShared), None, 1; "a client of before identities reads what it knows")]
    #[test_case(&[PreShared, Identity], Some(Identity), None, 3; "both have an identity")]
    #[test_case(&[], None, None, 0; "neither keyed")]
    #[test_case(&[PreShared], None, Some(Decline::KeyRequired), 1; "a key is required")]
    #[test_case(&[PreShared, Identity], None, Some(Decline::KeyRequired), 1; "a key or an identity is required")]
    #[test_case(&[], Some(PreShared), Some(Decline::NoKeyHere), 0; "there is no key here")]
    #[test_case(&[], Some(Identity), Some(Decline::NoKeyHere), 0; "there is neither key nor identity here")]
    #[test_case(&[PreShared], Some(Identity), Some(Decline::NoIdentityHere), 1; "there is no identity here")]
    fn a_key_at_one_end_alone_is_declined(
        server: &[Authentication],
        client: Option<Authentication>,
        decline: Option<Decline>,
        flags: u8,
    ) {
        let answer = Answer::to(Control { versions: Versions::OURS, keyed: client }, Versions::OURS, server);
        assert_eq!((answer.verdict.err(), answer.encode()[9]), (decline, flags));
        assert_eq!(Answer::read(&answer.encode()), Ok(Some((answer, ANSWER_LENGTH))));
    }

    #[test]
    fn every_known_code_is_read_as_written_and_none_lets_in() {
        for code in 1..=u8::MAX {
            assert_eq!(Decline::from_code(code).map(Decline::code), Some(code));
            let answer = DataAnswer::from_code(code);
            assert_eq!(answer.code(), code);
            assert_eq!(answer == DataAnswer::Accepted, code == 1);
        }
        assert_eq!(DataAnswer::from_code(0), DataAnswer::Refused(DataRefusal::Other(0)));
        assert_ne!(DataAnswer::Refused(DataRefusal::Other(1)).code(), 1);
        assert_ne!(Decline::Other(0).code(), 0);
    }

    proptest! {
        #[test]
        fn a_preamble_is_read_as_written(lowest: u16, highest: u16, flags: u8, flow: u16, token: [u8; 16]) {
            let control = Control { versions: Versions { lowest, highest }, keyed: keyed_by(flags) };
            prop_assert_eq!(Greeting::read(&control.encode()), Ok(Some((Greeting::Control(control), CONTROL_LENGTH))));
            let data = Data { version: lowest, token: Token(token), flow };
            let octets = data.encode();
            prop_assert_eq!(Greeting::read(&octets), Ok(Some((Greeting::Data(data), DATA_LENGTH))));
            for cut in 0..DATA_LENGTH {
                prop_assert_eq!(Greeting::read(&octets[..cut]), Ok(None));
            }
        }
    }
}
