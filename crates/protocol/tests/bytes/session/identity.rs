//! Sessions by identities: who is let in, as whom, and what those get who are somebody else.

use measure::authentication::Authentication;
use protocol::native::client::Client;
use protocol::native::error::{SessionError, Step};
use protocol::native::identity::{Identity, Public};
use protocol::native::key::{Holder, Key, Keyring, Proof, Secret};
use protocol::native::noise::{Handshake, Prologue};
use protocol::native::preamble::{Answer, Decline, Versions};
use protocol::native::server::{Server, Terms};
use test_case::test_case;

use super::{NOW, Pair, keyring, open, secret, terms};

const SERVER: u8 = 5;
const ALICE: u8 = 6;
const BOB: u8 = 7;

fn public(who: u8) -> Public {
    *Identity::new([who; 32]).public()
}

/// Secret of `own`, towards `peer`.
fn identified(own: u8, peer: u8) -> Secret {
    let proof = Proof::Identity { own: Identity::new([own; 32]), peer: public(peer) };
    Secret { proof, ephemeral: [3; 32] }
}

/// A pre-shared key, Alice and Bob.
fn both_kinds() -> Keyring {
    let holders = [Key([1; 32]).into(), public(ALICE).into(), public(BOB).into()].into();
    Keyring { holders, identity: Some(Identity::new([SERVER; 32]).into()), ephemeral: [2; 32] }
}

impl Pair {
    /// Alice at the server that she expects.
    pub(super) fn identified() -> Self {
        Self::proved(identified(ALICE, SERVER), both_kinds())
    }

    fn proved(secret: Secret, keyring: Keyring) -> Self {
        Self::new(Client::new(open(), Some(secret), NOW), Terms { keyring: Some(keyring), ..terms() })
    }
}

#[test_case(secret(1, 3), 0; "a pre-shared key beside identities")]
#[test_case(identified(ALICE, SERVER), 1; "alice")]
#[test_case(identified(BOB, SERVER), 2; "bob")]
fn whose_session_it_is_is_known(secret: Secret, holder: usize) {
    let mut pair = Pair::proved(secret, both_kinds());
    pair.opened();
    assert_eq!((pair.client.step(), pair.server.holder()), (Step::Run, Some(holder)));
}

#[test_case(identified(ALICE, BOB), both_kinds(), SessionError::WrongPeer; "a server that is not the one expected")]
#[test_case(identified(8, SERVER), both_kinds(), SessionError::UnknownIdentity { identity: public(8) }; "a stranger who knows the server")]
#[test_case(identified(SERVER, SERVER), both_kinds(), SessionError::UnknownIdentity { identity: public(SERVER) }; "the server itself")]
#[test_case(secret(9, 3), both_kinds(), SessionError::WrongKey; "another pre-shared key")]
#[test_case(secret(6, 3), Keyring { holders: [public(ALICE).into()].into(), ..both_kinds() }, SessionError::WrongKey; "no pre-shared key is known")]
fn who_is_not_let_in_is_told_why_at_both_ends(secret: Secret, keyring: Keyring, error: SessionError) {
    let mut pair = Pair::proved(secret, keyring);
    pair.carry();
    assert_eq!(pair.ends, [Err(error.clone()), Err(error)]);
    assert_eq!(pair.server.holder(), None);
}

/// Alice's first words to the server that she expects: her preamble, and her first message without its length.
fn first_words(peer: u8) -> (Vec<u8>, Vec<u8>) {
    let mut client = Client::new(open(), Some(identified(ALICE, peer)), NOW);
    let preamble = client.outgoing();
    let answer = Answer { verdict: Ok(1), keyed: Some(Authentication::Identity), versions: Versions::OURS };
    client.feed(&answer.encode(), NOW).unwrap();
    (preamble, client.outgoing()[2..].to_vec())
}

#[test]
fn an_observer_does_not_read_who_comes_to_whom() {
    let (_, first) = first_words(SERVER);
    assert_eq!(first.len(), 96);
    for who in [ALICE, SERVER] {
        assert!(!first.windows(8).any(|octets| octets == &public(who).octets()[..8]));
    }
}

#[test]
fn a_client_is_known_by_what_it_seals_and_a_copy_of_its_handshake_is_not_it() {
    let mut pair = Pair::identified();
    // Preamble and answer, both messages of the handshake.
    let mut said = Vec::new();
    for _ in 0..2 {
        let octets = pair.client.outgoing();
        said.extend_from_slice(&octets);
        pair.server.feed(&octets, NOW).unwrap();
        pair.client.feed(&pair.server.outgoing(), NOW).unwrap();
    }
    assert_eq!(pair.server.holder(), None);
    let open = pair.client.outgoing();
    pair.server.feed(&open, NOW).unwrap();
    assert_eq!(pair.server.holder(), Some(1));
    // The same words to a server whose part of the handshake is another.
    let mut again =
        Server::new(Terms { keyring: Some(Keyring { ephemeral: [8; 32], ..both_kinds() }), ..terms() }, NOW);
    again.feed(&said, NOW).unwrap();
    assert_eq!(again.outgoing().len(), 16 + 50, "what a copy is answered");
    assert_eq!(again.feed(&open, NOW), Err(SessionError::Tampered));
    assert_eq!((again.event(), again.holder()), (None, None));
}

#[test_case(Terms { keyring: Some(keyring(1)), ..terms() }; "a server of pre-shared keys alone")]
#[test_case(Terms { keyring: None, ..terms() }; "a server without a key")]
fn a_server_without_an_identity_declines_one(terms: Terms) {
    let decline = if terms.keyring.is_some() { Decline::NoIdentityHere } else { Decline::NoKeyHere };
    let mut pair = Pair::new(Client::new(open(), Some(identified(ALICE, SERVER)), NOW), terms);
    pair.carry();
    let error = Err(SessionError::Declined { decline, ours: Versions::OURS, theirs: Versions::OURS });
    assert_eq!(pair.ends, [error.clone(), error]);
}

/// A server of before identities reads the flag that it knows, and answers by it.
#[test]
fn a_server_of_before_identities_is_told_apart() {
    let mut client = Client::new(open(), Some(identified(ALICE, SERVER)), NOW);
    assert_eq!(client.outgoing()[9], 3);
    let answer = Answer { verdict: Ok(1), keyed: Some(Authentication::PreShared), versions: Versions::OURS };
    let decline = Decline::NoIdentityHere;
    let error = SessionError::Declined { decline, ours: Versions::OURS, theirs: Versions::OURS };
    assert_eq!(client.feed(&answer.encode(), NOW), Err(error));
    assert!(client.outgoing().is_empty(), "nothing of the identity was said");
}

#[test_case(Some(secret(1, 3)), Authentication::Identity; "a key becomes an identity")]
#[test_case(None, Authentication::PreShared; "nothing becomes a key")]
#[test_case(None, Authentication::Identity; "nothing becomes an identity")]
fn what_was_not_asked_for_is_refused(secret: Option<Secret>, answered: Authentication) {
    let mut client = Client::new(open(), secret, NOW);
    let answer = Answer { verdict: Ok(1), keyed: Some(answered), versions: Versions::OURS };
    let error = client.feed(&answer.encode(), NOW).unwrap_err();
    assert!(matches!(error, SessionError::Contradiction { .. }), "{error}");
}

/// The kind of the handshake is bound into it: a key's message is not read as an identity's, nor the other way round.
#[test_case(secret(1, 3), 1, 3)]
#[test_case(identified(ALICE, SERVER), 3, 1)]
fn a_kind_changed_on_the_way_ends_it(secret: Secret, from: u8, to: u8) {
    let mut client = Client::new(open(), Some(secret), NOW);
    let mut server = Server::new(Terms { keyring: Some(both_kinds()), ..terms() }, NOW);
    let mut preamble = client.outgoing();
    assert_eq!(std::mem::replace(&mut preamble[9], to), from);
    server.feed(&preamble, NOW).unwrap();
    let mut answer = server.outgoing();
    assert_eq!(std::mem::replace(&mut answer[9], from), to);
    client.feed(&answer, NOW).unwrap();
    assert!(server.feed(&client.outgoing(), NOW).is_err());
    assert!(client.feed(&server.outgoing(), NOW).is_err());
}

#[test]
fn of_a_handshake_each_octet_counts() {
    let (preamble, first) = first_words(SERVER);
    let answered = |preamble: &[u8], first: &[u8]| {
        let mut server = Server::new(Terms { keyring: Some(both_kinds()), ..terms() }, NOW);
        let chunk = [&(first.len() as u16).to_be_bytes()[..], first].concat();
        server.feed(preamble, NOW).and_then(|()| server.feed(&chunk, NOW))
    };
    assert_eq!(answered(&preamble, &first), Ok(()));
    for bit in 0..8 {
        // The versions alone make another preamble that is agreed on; its handshake fails all the same.
        for at in 0..preamble.len() {
            let mut changed = preamble.clone();
            changed[at] ^= 1 << bit;
            assert!(answered(&changed, &first).is_err(), "octet {at} of the preamble, bit {bit}");
        }
    }
    for at in 0..first.len() {
        // X25519 leaves the highest bit of its last octet out; the handshake's hash does not.
        let mut changed = first.clone();
        changed[at] ^= 0x80;
        assert_eq!(answered(&preamble, &changed), Err(SessionError::WrongPeer), "octet {at}");
    }
    assert_eq!(answered(&preamble, &first[..95]), Err(SessionError::WrongPeer));
    assert_eq!(answered(&preamble, &[&first[..], &[0]].concat()), Err(SessionError::WrongPeer));
    assert_eq!(answered(&preamble, &[]), Err(SessionError::WrongPeer));
}

#[test]
fn a_server_says_in_one_octet_that_it_does_not_know_an_identity() {
    let mut server = Handshake::respond(
        Keyring { holders: [Holder::Identity(public(BOB))].into(), ..both_kinds() },
        Authentication::Identity,
        &Prologue([0; 32]),
    );
    let (mut first, mut said) = (Vec::new(), Vec::new());
    Handshake::initiate(&identified(ALICE, SERVER), &Prologue([0; 32]), &mut first).unwrap();
    let error = SessionError::UnknownIdentity { identity: public(ALICE) };
    assert_eq!((server.feed(&first, &mut said), &said[..]), (Err(error), &[0, 1, 1][..]));
}
