//! The seal of a keyed control connection, by `snow`: `Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s` with a pre-shared key,
//! `Noise_IK_25519_ChaChaPoly_BLAKE2s` with identities. The client's preamble says which.
//!
//! The prologue is the client's preamble and the server's answer, so that a changed octet in them fails the handshake.
//! Every Noise message travels as a chunk: two octets of length (big-endian), then so many octets. An empty chunk in
//! place of the server's handshake message says that the client's could not be opened: the keys differ; one of the octet 1,
//! that it was opened and comes from an identity that the server does not know. After the handshake the chunks carry the stream of frames, cut wherever a chunk is full.

use measure::authentication::Authentication;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};

use crate::native::error::SessionError;
use crate::native::frame;
use crate::native::identity::{Identity, Public};
use crate::native::key::{Holder, Key, Keyring, Proof, Secret};
use crate::native::preamble::{ANSWER_LENGTH, CONTROL_LENGTH};

const WITH_KEY: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const BY_IDENTITY: &str = "Noise_IK_25519_ChaChaPoly_BLAKE2s";
/// In place of the server's message: it does not know the identity.
const UNKNOWN: [u8; 1] = [1];
/// Longest Noise message (Noise specification section 3).
const LARGEST: usize = 65_535;
/// Octets of authentication behind each message.
const TAG: usize = 16;
const PREFIX: usize = 2;
/// Longest handshake message that is looked at: an ephemeral key and an empty sealed payload are 48 octets, with a
/// sealed public key 96.
const HANDSHAKE_LARGEST: usize = 256;

/// Octets bound into the handshake: the client's preamble, then the server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prologue(pub [u8; CONTROL_LENGTH + ANSWER_LENGTH]);

impl Prologue {
    /// The octets of both, as they went over the wire.
    pub fn new(preamble: [u8; CONTROL_LENGTH], answer: [u8; ANSWER_LENGTH]) -> Self {
        let mut octets = [0; CONTROL_LENGTH + ANSWER_LENGTH];
        octets[..CONTROL_LENGTH].copy_from_slice(&preamble);
        octets[CONTROL_LENGTH..].copy_from_slice(&answer);
        Self(octets)
    }
}

/// Takes chunks out of a stream, one at a time.
#[derive(Debug, Default)]
struct Chunks {
    buffer: Vec<u8>,
    /// Octets at its front that are taken already.
    taken: usize,
}

impl Chunks {
    fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let length = self.announced()?;
        let chunk = self.buffer.get(self.taken + PREFIX..self.taken + PREFIX + length)?.to_vec();
        self.taken += PREFIX + length;
        Some(chunk)
    }

    /// The length announced by the chunk in front.
    fn announced(&self) -> Option<usize> {
        Some(usize::from(u16::from_be_bytes(*self.rest().first_chunk::<PREFIX>()?)))
    }

    /// Returns the octets that came and were not taken.
    fn rest(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }
}

fn write_chunk(message: &[u8], out: &mut Vec<u8>) {
    // A Noise message is at most 65,535 octets, the range of two octets.
    out.extend_from_slice(&(message.len() as u16).to_be_bytes());
    out.extend_from_slice(message);
}

/// A handshake under way.
#[derive(Debug)]
pub struct Handshake {
    stage: Stage,
    chunks: Chunks,
}

#[derive(Debug)]
enum Stage {
    /// The client's message is waited for, which says by which of these keys it was made.
    Sought(Keyring, Authentication, Box<Prologue>),
    /// The server's message is waited for; the identity is the client's own.
    Asked(Box<snow::HandshakeState>, Option<Public>),
    /// Both messages were said, and the other end has this of the server's keys.
    Known(Box<snow::HandshakeState>, usize),
}

impl Handshake {
    /// The client's side: its message is appended to `out`.
    pub fn initiate(secret: &Secret, prologue: &Prologue, out: &mut Vec<u8>) -> Result<Self, SessionError> {
        let builder = builder(secret.proof.kind(), &secret.ephemeral, prologue)?;
        let (builder, own) = match &secret.proof {
            Proof::PreShared(key) => (builder.psk(0, &key.0), None),
            Proof::Identity { own, peer } => (
                builder.local_private_key(own.private()).and_then(|builder| builder.remote_public_key(peer.octets())),
                Some(*own.public()),
            ),
        };
        let mut state = builder.and_then(snow::Builder::build_initiator).map_err(crypto)?;
        write_handshake(&mut state, out)?;
        Ok(Self { stage: Stage::Asked(Box::new(state), own), chunks: Chunks::default() })
    }

    /// The server's side, for a client that gives a proof of this `kind`.
    pub fn respond(keyring: Keyring, kind: Authentication, prologue: &Prologue) -> Self {
        Self { stage: Stage::Sought(keyring, kind, Box::new(*prologue)), chunks: Chunks::default() }
    }

    /// Takes the next piece of the stream; true once the other end's message came and was made by a key that fits. The server's
    /// message is then appended to `out`; where no key fits, the chunk that says so.
    ///
    /// The client's message alone may be a copy of one that somebody else sent: who sends is proved by the first sealed message.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<bool, SessionError> {
        self.chunks.feed(bytes);
        if self.chunks.announced().is_some_and(|length| length > HANDSHAKE_LARGEST) {
            return Err(self.refused(self.mismatch(), out));
        }
        let Some(message) = self.chunks.next() else { return Ok(false) };
        let (mut state, number) = match &mut self.stage {
            Stage::Known(..) => return Ok(true),
            Stage::Asked(_, Some(identity)) if message == UNKNOWN => {
                return Err(SessionError::UnknownIdentity { identity: *identity });
            }
            Stage::Asked(state, _) => {
                if state.read_message(&message, &mut [0; HANDSHAKE_LARGEST]).is_err() {
                    return Err(self.mismatch());
                }
                return Ok(true);
            }
            Stage::Sought(keyring, kind, prologue) => match opened(keyring, *kind, prologue, &message) {
                Ok(found) => found,
                Err(error) => return Err(self.refused(error, out)),
            },
        };
        write_handshake(&mut state, out)?;
        self.stage = Stage::Known(Box::new(state), number);
        Ok(true)
    }

    /// The seal of all later octets, those that have already come, and the number of the key by which the other end's
    /// message was made.
    pub fn finish(self) -> Result<(Transport, Vec<u8>, usize), SessionError> {
        let rest = self.chunks.rest().to_vec();
        let (state, number) = match self.stage {
            Stage::Known(state, number) => (state, number),
            Stage::Asked(state, _) => (state, 0),
            Stage::Sought(..) => return Err(self.mismatch()),
        };
        let state = state.into_transport_mode().map_err(crypto)?;
        Ok((Transport { state: Box::new(state), chunks: Chunks::default() }, rest, number))
    }

    /// The error where the keys do not fit.
    fn mismatch(&self) -> SessionError {
        match &self.stage {
            Stage::Sought(_, Authentication::Identity, _) | Stage::Asked(_, Some(_)) => SessionError::WrongPeer,
            Stage::Sought(..) | Stage::Asked(..) | Stage::Known(..) => SessionError::WrongKey,
        }
    }

    /// The server's error, of which the client hears.
    fn refused(&self, error: SessionError, out: &mut Vec<u8>) -> SessionError {
        if matches!(self.stage, Stage::Sought(..)) {
            let said: &[u8] = if matches!(error, SessionError::UnknownIdentity { .. }) { &UNKNOWN } else { &[] };
            write_chunk(said, out);
        }
        error
    }
}

/// The server's state after the client's message, and the number of the key by which that was made.
fn opened(
    keyring: &Keyring,
    kind: Authentication,
    prologue: &Prologue,
    message: &[u8],
) -> Result<(snow::HandshakeState, usize), SessionError> {
    match (kind, &keyring.identity) {
        (Authentication::PreShared, _) => opened_by_key(keyring, prologue, message),
        (Authentication::Identity, Some(own)) => opened_by_identity(keyring, own, prologue, message),
        (Authentication::Identity, None) => Err(SessionError::WrongPeer),
    }
}

/// No Diffie-Hellman is computed for a key that does not open the message: a key costs a few hashes.
fn opened_by_key(
    keyring: &Keyring,
    prologue: &Prologue,
    message: &[u8],
) -> Result<(snow::HandshakeState, usize), SessionError> {
    for (number, holder) in keyring.holders.iter().enumerate() {
        let Holder::PreShared(Key(key)) = holder else { continue };
        let builder = builder(Authentication::PreShared, &keyring.ephemeral, prologue)?.psk(0, key).map_err(crypto)?;
        let mut state = builder.build_responder().map_err(crypto)?;
        if state.read_message(message, &mut [0; HANDSHAKE_LARGEST]).is_ok() {
            return Ok((state, number));
        }
    }
    Err(SessionError::WrongKey)
}

/// Opens a handshake by identities. A message for another server costs one Diffie-Hellman; one that was made with our public key
/// costs two, however many clients are known.
fn opened_by_identity(
    keyring: &Keyring,
    own: &Identity,
    prologue: &Prologue,
    message: &[u8],
) -> Result<(snow::HandshakeState, usize), SessionError> {
    let builder = builder(Authentication::Identity, &keyring.ephemeral, prologue)?;
    let builder = builder.local_private_key(own.private()).map_err(crypto)?;
    let mut state = builder.build_responder().map_err(crypto)?;
    state.read_message(message, &mut [0; HANDSHAKE_LARGEST]).map_err(|_| SessionError::WrongPeer)?;
    let identity = state.get_remote_static().and_then(|octets| octets.first_chunk()).map(Public::of);
    let identity = identity.ok_or(SessionError::WrongPeer)?;
    let number = keyring.holders.iter().position(|holder| *holder == Holder::Identity(identity));
    number.map(|number| (state, number)).ok_or(SessionError::UnknownIdentity { identity })
}

fn write_handshake(state: &mut snow::HandshakeState, out: &mut Vec<u8>) -> Result<(), SessionError> {
    let mut message = [0; HANDSHAKE_LARGEST];
    let length = state.write_message(&[], &mut message).map_err(crypto)?;
    write_chunk(&message[..length], out);
    Ok(())
}

fn builder<'a>(
    kind: Authentication,
    ephemeral: &[u8; 32],
    prologue: &'a Prologue,
) -> Result<snow::Builder<'a>, SessionError> {
    let pattern = match kind {
        Authentication::PreShared => WITH_KEY,
        Authentication::Identity => BY_IDENTITY,
    };
    let resolver = Box::new(GivenRandom { octets: *ephemeral });
    snow::Builder::with_resolver(pattern.parse().map_err(crypto)?, resolver).prologue(&prologue.0).map_err(crypto)
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn crypto(error: snow::Error) -> SessionError {
    SessionError::Crypto { detail: error.to_string() }
}

/// A finished handshake: seals and opens the stream of frames.
#[derive(Debug)]
pub struct Transport {
    state: Box<snow::TransportState>,
    chunks: Chunks,
}

impl Transport {
    /// Appends `stream`, sealed in as many chunks as it takes, to `out`.
    pub fn seal(&mut self, stream: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        let mut sealed = vec![0; LARGEST.min(stream.len() + TAG)];
        for part in stream.chunks(LARGEST - TAG) {
            let length = self.state.write_message(part, &mut sealed).map_err(crypto)?;
            write_chunk(&sealed[..length], out);
        }
        Ok(())
    }

    /// Takes the next piece of the sealed stream and hands its content to `frames`.
    pub fn open(&mut self, bytes: &[u8], frames: &mut frame::Decoder) -> Result<(), SessionError> {
        self.chunks.feed(bytes);
        while let Some(chunk) = self.chunks.next() {
            let mut plain = vec![0; chunk.len()];
            let length = self.state.read_message(&chunk, &mut plain).map_err(|_| SessionError::Tampered)?;
            frames.feed(&plain[..length]);
        }
        Ok(())
    }
}

/// snow's own primitives, with the caller's random octets in place of the system's.
struct GivenRandom {
    octets: [u8; 32],
}

impl CryptoResolver for GivenRandom {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Once { octets: Some(self.octets) }))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// Hands out its octets once: a second draw would repeat a secret.
struct Once {
    octets: Option<[u8; 32]>,
}

impl Random for Once {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        match self.octets.take() {
            Some(octets) if dest.len() == octets.len() => {
                dest.copy_from_slice(&octets);
                Ok(())
            }
            _ => Err(snow::Error::Rng),
        }
    }
}
