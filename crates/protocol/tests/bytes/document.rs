//! `docs/protocol/native.md` agrees with the code: its messages are read, its octets are reproduced.

use measure::authentication::Authentication;
use measure::unit::Nanos;
use protocol::bulk::Numbering;
use protocol::native::frame;
use protocol::native::header::{Flags, Header, PeerStamps, STAMPED_LENGTH, Token};
use protocol::native::identity::Identity;
use protocol::native::key::{Key, Keyring, Proof, Secret};
use protocol::native::mac::{DatagramKey, Direction, Mac};
use protocol::native::message::{Ending, FromClient, FromServer, Reason};
use protocol::native::noise::{Handshake, Prologue};
use protocol::native::preamble::{Answer, Control, Data, DataAnswer, DataRefusal, Decline, Versions};
use protocol::native::stream::{self, Numbers};

const DOCUMENT: &str = include_str!("../../../../docs/protocol/native.md");

/// The fenced blocks of this language, in order.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    DOCUMENT.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |text, octet| format!("{text}{octet:02x}"))
}

/// Asserts that the document shows these octets, under this name, in a block of hexadecimal digits.
fn assert_shown(name: &str, octets: &[u8]) {
    let text: String = blocks("hex").concat().split_whitespace().collect();
    let wanted = format!("{name}:{}", hex(octets));
    assert!(text.contains(&wanted), "the document does not show {wanted}");
}

#[test]
fn its_messages_are_read() {
    let mut read = 0;
    for block in blocks("json") {
        let client = serde_json::from_str::<FromClient>(block);
        let server = serde_json::from_str::<FromServer>(block);
        let known = matches!(&client, Ok(message) if *message != FromClient::Unknown)
            || matches!(&server, Ok(message) if *message != FromServer::Unknown);
        assert!(known, "{block}\nas the client's: {client:?}\nas the server's: {server:?}");
        read += 1;
    }
    assert_eq!(read, 11);
}

#[test]
fn its_octets_are_reproduced() {
    let versions = Versions::OURS;
    let preamble = Control { versions, keyed: Some(Authentication::PreShared) }.encode();
    let answer = Answer { verdict: Ok(1), keyed: Some(Authentication::PreShared), versions }.encode();
    assert_shown("preamble", &preamble);
    assert_shown("answer", &answer);
    let token = Token(std::array::from_fn(|index| 0xA0 + index as u8));
    assert_shown("data", &Data { version: 1, token, flow: 3 }.encode());

    let key = Key(std::array::from_fn(|index| index as u8));
    let secret = Secret { proof: key.clone().into(), ephemeral: [0x11; 32] };
    let keyring = Keyring { holders: [key.into()].into(), identity: None, ephemeral: [0x22; 32] };
    let shaken = shaken(&secret, keyring, &Prologue::new(preamble, answer));
    for (name, octets) in ["first", "second", "frame", "sealed"].iter().zip(&shaken) {
        assert_shown(name, octets);
    }
    by_identity();

    let mut message = [0; STAMPED_LENGTH];
    Header { token, seq: 41, flags: Flags::STAMPED, flow: 3, word: 64 }.write(&mut message);
    assert_shown("request", &message[..32]);
    Header { token, seq: 41, flags: Flags::STAMPED, flow: 3, word: 42 }.write(&mut message);
    let received = Some(1_700_000_000_000_000_000);
    let stamps =
        PeerStamps { received, wake_up: Some(5_880), hold: Some(1_030), previous_sched: None, previous_driver: None };
    stamps.write(&mut message);
    assert_shown("reply", &message);

    let mac = Mac::new(&DatagramKey(std::array::from_fn(|index| 0xB0 + index as u8)));
    mac.seal(&mut message, Direction::Back);
    assert_shown("reply-with-code", &message);
    Header { token, seq: 41, flags: Flags::STAMPED, flow: 3, word: 64 }.write(&mut message);
    mac.seal(&mut message, Direction::There);
    assert_shown("request-with-code", &message[..32]);
    let numbers = Numbers::new(&token, 3).authenticated(Some(mac), Direction::There);
    let mut datagram = [0; stream::OCTETS];
    numbers.write(&mut datagram, 258, Nanos::secs(1));
    assert_shown("datagram-with-code", &datagram);

    let numbers = Numbers::new(&token, 3);
    let mut datagram = [0; stream::OCTETS];
    numbers.write(&mut datagram, 258, Nanos::secs(1));
    assert_shown("datagram", &datagram);
    assert_shown("last", &numbers.last(258, Nanos::secs(1)));
}

/// The same with identities.
fn by_identity() {
    let versions = Versions::OURS;
    let keyed = Some(Authentication::Identity);
    let preamble = Control { versions, keyed }.encode();
    let answer = Answer { verdict: Ok(1), keyed, versions }.encode();
    assert_shown("identity-preamble", &preamble);
    assert_shown("identity-answer", &answer);
    let [own, server] = [0x33, 0x44].map(|octet| Identity::new([octet; 32]));
    assert_shown("client-public", own.public().octets());
    assert_shown("server-public", server.public().octets());
    let secret = Secret { proof: Proof::Identity { own: own.clone(), peer: *server.public() }, ephemeral: [0x11; 32] };
    let holders = [(*own.public()).into()].into();
    let keyring = Keyring { holders, identity: Some(server.into()), ephemeral: [0x22; 32] };
    let [first, second, _, sealed] = shaken(&secret, keyring, &Prologue::new(preamble, answer));
    assert_shown("identity-first", &first);
    assert_shown("identity-second", &second);
    assert_shown("identity-sealed", &sealed);
}

/// Both messages of a handshake, and the client's first frame, plain and sealed.
fn shaken(secret: &Secret, keyring: Keyring, prologue: &Prologue) -> [Vec<u8>; 4] {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut client = Handshake::initiate(secret, prologue, &mut first).unwrap();
    let mut server = Handshake::respond(keyring, secret.proof.kind(), prologue);
    assert_eq!(server.feed(&first, &mut second), Ok(true));
    assert_eq!(client.feed(&second, &mut Vec::new()), Ok(true));
    let (mut seal, _, _) = client.finish().unwrap();
    let (mut framed, mut sealed) = (Vec::new(), Vec::new());
    frame::write(br#"{"type":"progress"}"#, &mut framed).unwrap();
    seal.seal(&framed, &mut sealed).unwrap();
    [first, second, framed, sealed]
}

#[test]
fn its_codes_are_all_there_are() {
    let row = |code: u8, words: &str| format!("| {code} | {words} |");
    for decline in [
        Decline::TooOld,
        Decline::TooNew,
        Decline::KeyRequired,
        Decline::NoKeyHere,
        Decline::Busy,
        Decline::Stopping,
        Decline::UnknownKind,
        Decline::NoIdentityHere,
    ] {
        let wanted = row(decline.code(), &decline.to_string());
        assert!(DOCUMENT.contains(&wanted), "{wanted}");
    }
    for refusal in [
        DataRefusal::UnknownToken,
        DataRefusal::FlowBeyond,
        DataRefusal::FlowTaken,
        DataRefusal::NotTcp,
        DataRefusal::Version,
        DataRefusal::Busy,
    ] {
        let wanted = row(DataAnswer::Refused(refusal).code(), &refusal.to_string());
        assert!(DOCUMENT.contains(&wanted), "{wanted}");
    }
}

#[test]
fn its_reasons_are_known() {
    use Ending as E;
    use Reason as R;
    let reasons = [
        R::Sessions,
        R::Flows,
        R::Rate,
        R::Duration,
        R::Memory,
        R::RequestSize,
        R::ResponseSize,
        R::Carrier,
        R::Pattern,
        R::Waiting,
        R::Cpus,
        R::Stopping,
        R::NotUnderstood,
        R::Other,
    ];
    let endings = [E::Idle, E::Duration, E::Stopping, E::NotUnderstood, E::OutOfOrder, E::Internal, E::Other];
    let names = reasons.map(|reason| serde_json::to_string(&reason).unwrap());
    let more = endings.map(|ending| serde_json::to_string(&ending).unwrap());
    for name in names.iter().chain(&more) {
        let wanted = format!("`{}`", name.trim_matches('"'));
        assert!(DOCUMENT.contains(&wanted), "{wanted}");
    }
}
