//! QUIC as a client speaks it (RFC 9000, RFC 9001), without a socket and without a clock: quinn's machine, one connection of it.
//!
//! The path's MTU is not searched, segments are not joined, and no early data go. A connection that is silent is kept by pings.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
pub(super) use std::time::Instant as TheirInstant;

use measure::unit::Instant;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event,
    IdleTimeout, TransportConfig, TransportError, TransportErrorCode, VarInt,
};
use rustls::AlertDescription;
use rustls::pki_types::CertificateDer;

use super::kind;
use crate::application::speech::Words;
use crate::tls::witness::Witness;
use crate::tls::{Facts, Terms, TlsError, certificate};

/// After so long without a word of the server, though it was asked for one, the connection has ended.
const IDLE: Duration = Duration::from_secs(15);
/// After so long without a word it is asked for one.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Streams that a server may open itself: three are usual (RFC 9114 section 6.2).
const THEIR_STREAMS: u32 = 16;

/// Errors of TLS among those of QUIC, whose low octet is the alert (RFC 9001 section 4.8).
const ALERTS: std::ops::Range<u64> = 0x100..0x200;

/// Reason why no connection came about, or why it ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuicError {
    /// The TLS within it.
    #[error(transparent)]
    Tls(TlsError),
    /// The server has other versions.
    #[error("it does not speak QUIC version 1, the only version supported here")]
    Version,
    /// The server's machine has closed it.
    #[error("it closes the QUIC connection: {0}")]
    Closed(
        /// The error, and the server's words.
        Words,
    ),
    /// The server's program has closed it.
    #[error("it closes the HTTP/3 connection: {0}")]
    Ended(
        /// The error, and the server's words.
        Words,
    ),
    /// The server does not know the connection (RFC 9000 section 10.3).
    #[error("it no longer knows the connection (stateless reset)")]
    Reset,
    /// Nothing comes any more.
    #[error("it sends nothing more on the connection")]
    Silent,
    /// Octets that break the rules of the protocol.
    #[error("it violates the protocol: {0}")]
    Unsound(
        /// The fault.
        Words,
    ),
    /// No connection can be begun.
    #[error("cannot start a QUIC connection: {0}")]
    Unmade(
        /// The reason.
        String,
    ),
}

/// The same instant by our clock and by that of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    theirs: TheirInstant,
    ours: Instant,
}

impl Anchor {
    /// Instants of both that are the same.
    pub fn new(theirs: TheirInstant, ours: Instant) -> Self {
        Self { theirs, ours }
    }

    pub(super) fn theirs(self, at: Instant) -> TheirInstant {
        self.theirs + Duration::from_nanos(at.0.saturating_sub(self.ours.0))
    }

    fn ours(self, at: TheirInstant) -> Instant {
        let since = at.saturating_duration_since(self.theirs).as_nanos();
        Instant(self.ours.0.saturating_add(u64::try_from(since).unwrap_or(u64::MAX)))
    }
}

/// Connections to one server, made one after the other.
pub struct Dial {
    config: ClientConfig,
    name: String,
    verified: bool,
    witness: Arc<Witness>,
    anchor: Anchor,
}

impl Dial {
    /// Those on these terms.
    ///
    /// # Errors
    /// Terms that QUIC does not have.
    pub fn new(terms: &Terms, anchor: Anchor) -> Result<Self, QuicError> {
        let (tls, witness) = terms.of_quic();
        let tls = QuicClientConfig::try_from(tls).map_err(|error| QuicError::Unmade(error.to_string()))?;
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(VarInt::from_u32(0))
            .max_concurrent_uni_streams(VarInt::from_u32(THEIR_STREAMS))
            .max_idle_timeout(IdleTimeout::try_from(IDLE).ok())
            .keep_alive_interval(Some(KEEP_ALIVE))
            .mtu_discovery_config(None)
            .datagram_receive_buffer_size(None)
            .enable_segmentation_offload(false);
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(Arc::new(transport));
        Ok(Self { config, name: terms.name(), verified: terms.is_verified(), witness, anchor })
    }

    /// Begins one with the server at `peer`.
    ///
    /// # Errors
    /// An address or a name that there cannot be.
    pub fn begin(&self, peer: SocketAddr, now: Instant) -> Result<Session, QuicError> {
        self.witness.begin();
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false, None);
        let begun = endpoint.connect(self.anchor.theirs(now), self.config.clone(), peer, &self.name);
        let (handle, connection) = begun.map_err(|error| QuicError::Unmade(error.to_string()))?;
        Ok(Session {
            endpoint,
            handle,
            connection,
            peer,
            anchor: self.anchor,
            verified: self.verified,
            witness: Arc::clone(&self.witness),
        })
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dial").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A connection.
pub struct Session {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    /// Its streams.
    pub(super) connection: Connection,
    peer: SocketAddr,
    anchor: Anchor,
    verified: bool,
    witness: Arc<Witness>,
}

impl Session {
    /// Takes a datagram that came at `at`.
    pub fn take(&mut self, at: Instant, datagram: &[u8]) {
        // Answers to datagrams of unknown connections are not sent.
        let mut unsaid = Vec::new();
        let at = self.anchor.theirs(at);
        let event = self.endpoint.handle(at, self.peer, None, None, datagram.into(), &mut unsaid);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            self.connection.handle_event(event);
            self.pass_on();
        }
    }

    /// The instant at which something is to be done without a word of the server.
    pub fn due(&mut self) -> Option<Instant> {
        self.connection.poll_timeout().map(|at| self.anchor.ours(at))
    }

    /// Does that.
    pub fn tick(&mut self, now: Instant) {
        self.connection.handle_timeout(self.anchor.theirs(now));
        self.pass_on();
    }

    /// Writes the next datagram to `out`; false: there is none.
    pub fn next_datagram(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        out.clear();
        self.connection.poll_transmit(self.anchor.theirs(now), 1, out).is_some()
    }

    /// The next that has happened.
    pub fn event(&mut self) -> Option<Event> {
        self.connection.poll()
    }

    /// Ends the connection by this error of HTTP/3.
    pub fn close(&mut self, now: Instant, error: u32) {
        self.connection.close(self.anchor.theirs(now), VarInt::from_u32(error), Vec::new().into());
    }

    /// The outcome of the handshake.
    pub fn facts(&self) -> Facts {
        let identity = self.connection.crypto_session().peer_identity();
        let certificates = identity.and_then(|identity| identity.downcast::<Vec<CertificateDer<'static>>>().ok());
        let until =
            certificates.iter().flat_map(|chain| chain.iter()).filter_map(|der| certificate::ends_at(der)).min();
        Facts { version: "TLS 1.3", suite: None, verified: self.verified, until, resumed: !self.witness.certified() }
    }

    /// The reason for which the connection was lost, as it is told.
    pub fn told(&self, reason: ConnectionError) -> QuicError {
        match reason {
            ConnectionError::VersionMismatch => QuicError::Version,
            ConnectionError::TransportError(error) => self.ours(&error),
            ConnectionError::ConnectionClosed(closed) => match alert(closed.error_code) {
                Some(alert) => QuicError::Tls(TlsError::Alert(format!("{alert:?}"))),
                None => QuicError::Closed(said(&closed.error_code.to_string(), &closed.reason)),
            },
            ConnectionError::ApplicationClosed(closed) => {
                QuicError::Ended(said(&kind::error(closed.error_code.into_inner()), &closed.reason))
            }
            ConnectionError::Reset => QuicError::Reset,
            ConnectionError::TimedOut => QuicError::Silent,
            ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => QuicError::Unmade(reason.to_string()),
        }
    }

    /// An error by which this end has closed it.
    fn ours(&self, error: &TransportError) -> QuicError {
        match (self.witness.wrong(), alert(error.code)) {
            (Some(wrong), Some(_)) => QuicError::Tls(wrong.into()),
            // A server that picks none of the protocols that were named speaks another.
            (None, Some(AlertDescription::NoApplicationProtocol)) => {
                QuicError::Tls(TlsError::Alert("NoApplicationProtocol".to_owned()))
            }
            (None, Some(_)) => QuicError::Tls(TlsError::Unsound(error.reason.clone())),
            (_, None) => QuicError::Unsound(said(&error.code.to_string(), error.reason.as_bytes())),
        }
    }

    /// Hands the events of the connection to its endpoint, and back the answers.
    fn pass_on(&mut self) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(answer);
            }
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("peer", &self.peer).finish_non_exhaustive()
    }
}

fn alert(code: TransportErrorCode) -> Option<AlertDescription> {
    let code = u64::from(code);
    ALERTS.contains(&code).then(|| AlertDescription::from(code as u8))
}

/// An error by its name, and the server's words for it.
fn said(name: &str, reason: &[u8]) -> Words {
    let reason = Words::of(reason);
    Words(if reason.0.is_empty() { name.to_owned() } else { format!("{name}: {reason}") })
}
