//! Identities over sockets: no client opens a session as another, no host plays the server, and copies of earlier
//! messages open nothing.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use endpoint::control::{Control as Connection, Credential};
use endpoint::error::Side;
use endpoint::reflector::Settings;
use endpoint::reflector::permit::{Permit, Permits};
use endpoint::serve::book::{Book, Entry, Tell};
use endpoint::stop::Stop;
use measure::authentication::Authentication;
use measure::method::{Carrier, SocketOptions};
use measure::unit::Instant;
use protocol::native::client::{Client, ClientEvent};
use protocol::native::error::SessionError;
use protocol::native::identity::{Identity, Public};
use protocol::native::key::{Holder, Key, Proof, Secret};
use protocol::native::limits::Limits;
use protocol::native::preamble::{ANSWER_LENGTH, Control, Versions};
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use test_case::test_case;
use testbed::client::{Session, connect, open};

use crate::reflector::{settings, with_settings};

const SERVER: [u8; 32] = [5; 32];
const ALICE: [u8; 32] = [6; 32];
const BOB: [u8; 32] = [7; 32];

fn public(private: [u8; 32]) -> Public {
    *Identity::new(private).public()
}

fn as_identity(own: [u8; 32], peer: [u8; 32]) -> Proof {
    Proof::Identity { own: Identity::new(own), peer: public(peer) }
}

/// Log of a reflector, an entry each.
type Lines = Arc<Mutex<Vec<String>>>;

/// Settings of a server with this identity, for Alice, Bob and the holders of a pre-shared key; its log is kept.
fn server(own: [u8; 32]) -> (Settings, Lines) {
    let named = |name: &str| Permit { name: Some(name.to_owned()), ..Permit::within(Limits::default()) };
    let holders: Vec<(Holder, Permit)> = vec![
        (public(ALICE).into(), named("alice")),
        (public(BOB).into(), named("bob")),
        (Key([1; 32]).into(), named("team")),
    ];
    let told = Lines::default();
    let lines = Arc::clone(&told);
    let tell = Tell(Arc::new(move |entry: &Entry<'_>| {
        let line = match entry {
            Entry::Began { of, .. } => format!("opened {:?}", of.client.key),
            Entry::Ended { of, .. } => format!("ended {:?}", of.client.key),
            Entry::Refused { client, why, .. } => format!("refused {:?} {why}", client.and_then(|client| client.key)),
        };
        lines.lock().unwrap().push(line);
    }));
    let permits = Permits::identified(holders, Identity::new(own));
    (Settings { permits, book: Book::new("sonde", Some(tell)), ..settings() }, told)
}

/// Log of a reflector with the server's identity after `body`.
fn told(body: impl FnOnce(SocketAddr)) -> Vec<String> {
    let (settings, book) = server(SERVER);
    with_settings(settings, |address, _| body(address));
    std::mem::take(&mut *book.lock().unwrap())
}

#[test_case(as_identity(ALICE, SERVER), "alice")]
#[test_case(as_identity(BOB, SERVER), "bob")]
#[test_case(Key([1; 32]).into(), "team"; "a pre-shared key beside identities")]
fn whose_session_it_is_is_told(proof: Proof, name: &str) {
    let lines = told(|address| {
        let session = Session::proved(address, open(Carrier::Tcp), Some(proof)).unwrap();
        session.close();
    });
    assert_eq!(lines, [format!("opened Some({name:?})"), format!("ended Some({name:?})")]);
}

/// The one way by which a measurement comes to a server: what is agreed on, and the error of a server that is another.
#[test]
fn a_client_says_by_what_it_came_and_hears_of_another_server() {
    let (settings, _) = server(SERVER);
    with_settings(settings, |address, _| {
        let by = |proof: Proof| {
            let credential = Credential::from(proof);
            Connection::open(
                address,
                open(Carrier::Udp),
                Some(&credential),
                &SocketOptions::default(),
                &Stop::default(),
            )
        };
        let control = by(as_identity(ALICE, SERVER)).unwrap();
        assert_eq!((control.authentication, control.authenticated), (Some(Authentication::Identity), Some(true)));
        control.close(&Stop::default()).unwrap();
        let control = by(Key([1; 32]).into()).unwrap();
        assert_eq!(control.authentication, Some(Authentication::PreShared));
        control.close(&Stop::default()).unwrap();
        let error = by(as_identity(ALICE, BOB)).unwrap_err();
        assert_eq!(error.side, Side::Path);
        assert!(error.to_string().contains("the server's identity is not the one"), "{error}");
        let error = by(as_identity([9; 32], SERVER)).unwrap_err();
        assert_eq!(error.side, Side::Theirs);
        assert!(error.to_string().contains(&public([9; 32]).to_string()), "{error}");
    });
}

/// A key pair that shows another's public part where it shows its own.
struct Impostor {
    pair: Box<dyn Dh>,
    shown: [u8; 32],
    is_static: bool,
}

impl Dh for Impostor {
    fn name(&self) -> &'static str {
        self.pair.name()
    }

    fn pub_len(&self) -> usize {
        self.pair.pub_len()
    }

    fn priv_len(&self) -> usize {
        self.pair.priv_len()
    }

    fn set(&mut self, private: &[u8]) {
        self.is_static = true;
        self.pair.set(private);
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), snow::Error> {
        self.pair.generate(random)
    }

    fn pubkey(&self) -> &[u8] {
        if self.is_static { &self.shown } else { self.pair.pubkey() }
    }

    fn privkey(&self) -> &[u8] {
        self.pair.privkey()
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), snow::Error> {
        self.pair.dh(public, out)
    }
}

/// snow's primitives, with the key pairs of an [`Impostor`].
struct Primitives {
    shown: [u8; 32],
}

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        DefaultResolver.resolve_rng()
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        let pair = DefaultResolver.resolve_dh(choice)?;
        Some(Box::new(Impostor { pair, shown: self.shown, is_static: false }))
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// Runs the handshake of a client that has `private`, and shows `shown` as its public part. Returns the server's
/// answers to the handshake, and to a message sealed as if it were done.
fn heard_of_impostor(address: SocketAddr, private: [u8; 32], shown: Public) -> (Vec<u8>, Vec<u8>) {
    let preamble = Control { versions: Versions::OURS, keyed: Some(Authentication::Identity) }.encode();
    let mut stream = connect(address);
    stream.write_all(&preamble).unwrap();
    let mut answer = [0; ANSWER_LENGTH];
    stream.read_exact(&mut answer).unwrap();
    let prologue = [preamble, answer].concat();
    let server = public(SERVER);
    let primitives = Box::new(Primitives { shown: *shown.octets() });
    let mut state = snow::Builder::with_resolver("Noise_IK_25519_ChaChaPoly_BLAKE2s".parse().unwrap(), primitives)
        .local_private_key(&private)
        .and_then(|builder| builder.remote_public_key(server.octets()))
        .and_then(|builder| builder.prologue(&prologue))
        .and_then(snow::Builder::build_initiator)
        .unwrap();
    let mut message = [0; 256];
    let length = state.write_message(&[], &mut message).unwrap();
    let chunk = [&(length as u16).to_be_bytes()[..], &message[..length]].concat();
    stream.write_all(&chunk).unwrap();
    let mut prefix = [0; 2];
    stream.read_exact(&mut prefix).unwrap();
    let mut second = vec![0; usize::from(u16::from_be_bytes(prefix))];
    stream.read_exact(&mut second).unwrap();
    let read = state.read_message(&second, &mut message).is_ok();
    let mut sealed = Vec::new();
    if read {
        let mut transport = state.into_transport_mode().unwrap();
        let open = serde_json::to_vec(&protocol::native::message::FromClient::Open(open(Carrier::Tcp))).unwrap();
        let frame = [&(open.len() as u32).to_be_bytes()[..], &open].concat();
        let mut message = vec![0; frame.len() + 16];
        let length = transport.write_message(&frame, &mut message).unwrap();
        stream.write_all(&[&(length as u16).to_be_bytes()[..], &message[..length]].concat()).unwrap();
        stream.read_exact(&mut prefix).unwrap();
        sealed = prefix.to_vec();
    } else {
        assert_eq!(stream.read(&mut prefix).unwrap(), 0, "and the connection is closed");
    }
    (second, sealed)
}

#[test]
fn a_keyholder_opens_no_session_as_another() {
    let lines = told(|address| {
        // As himself he comes through by the same words: it is the private part that stops him.
        let (second, sealed) = heard_of_impostor(address, BOB, public(BOB));
        assert_eq!((second.len(), sealed.len()), (48, 2));
        let (second, _) = heard_of_impostor(address, BOB, public(ALICE));
        assert_eq!(second, [0; 0], "bob is not alice");
    });
    let [opened, rest @ ..] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(opened, "opened Some(\"bob\")");
    assert!(rest.iter().any(|line| line.starts_with("refused None the server's identity")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("alice")), "{lines:?}");
}

/// Bob is in Alice's server's list, and so is she in his: neither makes him the server that she expects.
#[test]
fn a_keyholder_does_not_play_the_server() {
    let (settings, book) = server(BOB);
    with_settings(settings, |address, _| {
        let error = Session::proved(address, open(Carrier::Tcp), Some(as_identity(ALICE, SERVER))).unwrap_err();
        assert_eq!(error, SessionError::WrongPeer);
    });
    let lines = book.lock().unwrap();
    assert!(lines.iter().all(|line| line.starts_with("refused None")), "{lines:?}");
}

/// Messages of a client until its session is open.
fn words_of(address: SocketAddr, proof: Proof) -> Vec<Vec<u8>> {
    let now = Instant(0);
    let mut stream = connect(address);
    let mut machine = Client::new(open(Carrier::Tcp), Some(Secret { proof, ephemeral: [0x11; 32] }), now);
    let (mut words, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let said = machine.outgoing();
        if !said.is_empty() {
            stream.write_all(&said).unwrap();
            words.push(said);
        }
        let count = stream.read(&mut buffer).unwrap();
        machine.feed(&buffer[..count], now).unwrap();
        if let Some(event) = machine.event() {
            assert!(matches!(event, ClientEvent::Opened(_)));
            return words;
        }
    }
}

/// All messages that an observer heard, sent again: they open nothing, and are logged without a name.
#[test_case(as_identity(ALICE, SERVER), "alice", 50)]
#[test_case(Key([1; 32]).into(), "team", 50; "a pre-shared key")]
fn words_said_again_open_nothing(proof: Proof, name: &str, answered: usize) {
    let lines = told(|address| {
        let words = words_of(address, proof);
        assert_eq!(words.len(), 3, "preamble, handshake, open");
        let mut stream = connect(address);
        stream.write_all(&words.concat()).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        assert_eq!(heard.len(), ANSWER_LENGTH + answered, "what a copy is answered");
    });
    let opened: Vec<&String> = lines.iter().filter(|line| line.starts_with("opened")).collect();
    assert_eq!(opened, [&format!("opened Some({name:?})")], "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("refused Some")), "{lines:?}");
    assert!(
        lines.iter().any(|line| line.starts_with("refused None a sealed message could not be opened")),
        "{lines:?}"
    );
}
