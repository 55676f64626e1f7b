//! A verifier of certificates that remembers its judgement: the machine of QUIC tells a handshake that failed in words alone, and says nothing of
//! one that took up an earlier session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// Asks another verifier. It is of one connection at a time.
#[derive(Debug)]
pub struct Witness {
    judge: Arc<dyn ServerCertVerifier>,
    seen: Mutex<Seen>,
}

/// The judgement of a handshake.
#[derive(Debug, Default)]
struct Seen {
    certified: bool,
    wrong: Option<Error>,
}

impl Witness {
    /// One that asks `judge`.
    pub fn new(judge: Arc<dyn ServerCertVerifier>) -> Self {
        Self { judge, seen: Mutex::default() }
    }

    /// A handshake begins: nothing is remembered of the one before.
    pub fn begin(&self) {
        *self.seen() = Seen::default();
    }

    /// True where the server had to show a certificate, which it has not where an earlier session was taken up.
    pub fn certified(&self) -> bool {
        self.seen().certified
    }

    /// The reason for which the server was not believed.
    pub fn wrong(&self) -> Option<Error> {
        self.seen().wrong.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn noted<T>(&self, judgement: Result<T, Error>) -> Result<T, Error> {
        judgement.inspect_err(|error| self.seen().wrong = Some(error.clone()))
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.seen().certified = true;
        self.noted(self.judge.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.noted(self.judge.verify_tls12_signature(message, cert, dss))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.noted(self.judge.verify_tls13_signature(message, cert, dss))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.judge.supported_verify_schemes()
    }
}
