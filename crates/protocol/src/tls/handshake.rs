//! The handshake of TLS: octets in, octets out, and at its end a session.

use std::fmt;
use std::sync::Arc;

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};
use rustls::{HandshakeKind, ProtocolVersion};

use super::record::Session;
use super::{Facts, Terms, TlsError, certificate};

/// The most that a handshake may bring: long chains of certificates have some 20,000 octets.
const LONGEST: usize = 512 << 10;

/// A handshake under way.
pub struct Handshake {
    connection: UnbufferedClientConnection,
    verified: bool,
    /// Octets that came and are not read yet.
    incoming: Vec<u8>,
    taken: usize,
    /// Data that came with the end of the handshake.
    early: Vec<u8>,
}

impl Handshake {
    /// A new one.
    ///
    /// # Errors
    /// A system without random numbers.
    pub fn begin(terms: &Terms) -> Result<Self, TlsError> {
        let connection = UnbufferedClientConnection::new(Arc::clone(&terms.config), terms.name.clone())?;
        Ok(Self { connection, verified: terms.verified, incoming: Vec::new(), taken: 0, early: Vec::new() })
    }

    /// Takes `octets`, which came next; none at the begin. Adds the octets to be sent to `outgoing`, also beside an
    /// error, whose alert they are. True at the end of the handshake: nothing more is to be given to it then.
    ///
    /// # Errors
    /// A server that is not believed, or that speaks something else.
    pub fn go_on(&mut self, octets: &[u8], outgoing: &mut Vec<u8>) -> Result<bool, TlsError> {
        self.taken += octets.len();
        if self.taken > LONGEST {
            return Err(TlsError::Unsound("a handshake without an end".to_owned()));
        }
        self.incoming.extend_from_slice(octets);
        let result = self.process(outgoing);
        if result.is_err() {
            // The server gets an alert. Its octets must not be read again, so only the alert that stands ready is asked for.
            let status = self.connection.process_tls_records(&mut self.incoming);
            if let Ok(ConnectionState::EncodeTlsData(mut data)) = status.state {
                drop(encode(&mut data, outgoing));
            }
        }
        result
    }

    fn process(&mut self, outgoing: &mut Vec<u8>) -> Result<bool, TlsError> {
        loop {
            let UnbufferedStatus { mut discard, state, .. } = self.connection.process_tls_records(&mut self.incoming);
            let mut ends = None;
            match state? {
                ConnectionState::EncodeTlsData(mut data) => encode(&mut data, outgoing)?,
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        self.early.extend_from_slice(record.payload);
                        discard += record.discard;
                    }
                }
                ConnectionState::BlockedHandshake => ends = Some(Ok(false)),
                ConnectionState::WriteTraffic(_) => ends = Some(Ok(true)),
                _ => ends = Some(Err(TlsError::Closed)),
            }
            self.incoming.drain(..discard.min(self.incoming.len()));
            if let Some(end) = ends {
                return end;
            }
        }
    }

    /// The session, the data that came with the end of the handshake, and records that came behind it.
    ///
    /// # Errors
    /// A handshake that is not at its end.
    pub fn finish(self) -> Result<(Session, Vec<u8>, Vec<u8>), TlsError> {
        let certificates = self.connection.peer_certificates().unwrap_or_default();
        let until = certificates.iter().filter_map(|der| certificate::ends_at(der)).min();
        let resumed = self.connection.handshake_kind() == Some(HandshakeKind::Resumed);
        let (secrets, kernel) = self.connection.dangerous_into_kernel_connection()?;
        let version = match kernel.protocol_version() {
            ProtocolVersion::TLSv1_2 => "TLS 1.2",
            _ => "TLS 1.3",
        };
        let suite = format!("{:?}", kernel.negotiated_cipher_suite().suite()).replacen("TLS13_", "TLS_", 1);
        let facts = Facts { version, suite: Some(suite), verified: self.verified, until, resumed };
        Ok((Session::new(secrets, kernel, facts)?, self.early, self.incoming))
    }
}

/// Adds what the connection has to say to `outgoing`.
fn encode<Data>(data: &mut EncodeTlsData<'_, Data>, outgoing: &mut Vec<u8>) -> Result<(), TlsError> {
    let needed = match data.encode(&mut []) {
        Err(EncodeError::InsufficientSize(wanted)) => wanted.required_size,
        Ok(_) | Err(EncodeError::AlreadyEncoded) => return Ok(()),
    };
    let begin = outgoing.len();
    outgoing.resize(begin + needed, 0);
    let written = data.encode(&mut outgoing[begin..]).map_err(|error| TlsError::Unsound(error.to_string()))?;
    outgoing.truncate(begin + written);
    Ok(())
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake").field("taken", &self.taken).finish_non_exhaustive()
    }
}
