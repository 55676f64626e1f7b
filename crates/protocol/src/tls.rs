//! TLS as a client speaks it (RFC 8446, RFC 5246), without a socket.
//!
//! The handshake is rustls' own ([`handshake`]). Records behind it are sealed and opened here ([`record`]): with the keys of the handshake,
//! in memory that was there before, so that nothing is allocated between a stamp and a socket.

pub(crate) mod certificate;
pub mod handshake;
pub mod record;
#[cfg(test)]
mod tests;
pub(crate) mod witness;

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use thiserror::Error as Told;

use self::witness::Witness;

/// Reason why no TLS came about, or why it ended.
#[derive(Clone, Debug, PartialEq, Eq, Told)]
pub enum TlsError {
    /// Nobody whom we trust says so of the server.
    #[error("its certificate is not signed by an authority that this host trusts")]
    Untrusted,
    /// The certificate's time is over, or has not come.
    #[error("its certificate is not valid now: {words}")]
    Untimely {
        /// True where its time has not come.
        early: bool,
        /// The time, in words.
        words: String,
    },
    /// The certificate is for other names.
    #[error("its certificate is not for {asked}{}", of(.shown))]
    Misnamed {
        /// The name that was asked for.
        asked: String,
        /// Names of the certificate, as far as they can be told.
        shown: Vec<String>,
    },
    /// The certificate is none that can be believed, for another reason.
    #[error("its certificate cannot be trusted: {0}")]
    Unbelievable(
        /// The reason.
        String,
    ),
    /// The server has ended it with an alert (RFC 8446, section 6).
    #[error("it ends TLS with the alert {0}")]
    Alert(
        /// The alert's name or number.
        String,
    ),
    /// The octets are no TLS.
    #[error("it does not speak TLS")]
    Foreign,
    /// The octets are TLS, but break its rules.
    #[error("it violates the TLS protocol: {0}")]
    Unsound(
        /// The fault.
        String,
    ),
    /// The server closed the connection in the middle of the handshake.
    #[error("it closes the connection during the TLS handshake")]
    Closed,
    /// The host's name cannot stand in a certificate.
    #[error("its name cannot be in a certificate")]
    Unnameable,
    /// There is no certificate to believe in.
    #[error("its certificate cannot be verified: this host has no trusted certificates")]
    NoRoots,
}

/// Reason for which a server ended the handshake, as its alert tells it (RFC 8446, section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alerted {
    /// It has no version of TLS in common with this client.
    Version,
    /// It speaks no such protocol within TLS.
    Inside,
    /// It wants a certificate of the client.
    ClientCertificate,
    /// It has no certificate for this name.
    Name,
    /// The alert leaves it open.
    Unclear,
}

impl Alerted {
    /// That of the alert with this name.
    pub fn of(name: &str) -> Self {
        match name {
            "ProtocolVersion" => Self::Version,
            "NoApplicationProtocol" => Self::Inside,
            "CertificateRequired" => Self::ClientCertificate,
            "UnrecognizedName" | "UnrecognisedName" => Self::Name,
            _ => Self::Unclear,
        }
    }
}

fn of(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(": it is for {}", names.join(", ")) }
}

impl From<Error> for TlsError {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(wrong) => of_certificate(wrong),
            Error::AlertReceived(alert) => Self::Alert(format!("{alert:?}")),
            Error::InvalidMessage(_) => Self::Foreign,
            Error::NoApplicationProtocol => Self::Alert("NoApplicationProtocol".to_owned()),
            other => Self::Unsound(other.to_string()),
        }
    }
}

fn of_certificate(wrong: CertificateError) -> TlsError {
    match wrong {
        CertificateError::UnknownIssuer => TlsError::Untrusted,
        CertificateError::Expired => TlsError::Untimely { early: false, words: wrong.to_string() },
        CertificateError::NotValidYet => TlsError::Untimely { early: true, words: wrong.to_string() },
        CertificateError::ExpiredContext { time, not_after } => {
            TlsError::Untimely { early: false, words: format!("it ended {} ago", span(time, not_after)) }
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            TlsError::Untimely { early: true, words: format!("it begins in {}", span(not_before, time)) }
        }
        CertificateError::NotValidForName => TlsError::Misnamed { asked: "the host".to_owned(), shown: Vec::new() },
        CertificateError::NotValidForNameContext { expected, presented } => {
            // Each stands in the words of its kind: `DnsName("db1")`, `IpAddress(127.0.0.1)`.
            let bare = |name: &String| {
                let inner = name.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')')).unwrap_or(name);
                inner.trim_matches('"').to_owned()
            };
            TlsError::Misnamed { asked: expected.to_str().into_owned(), shown: presented.iter().map(bare).collect() }
        }
        // The verifier tells of it by this word alone. `openssl req -x509` makes such certificates unless it is told not to.
        CertificateError::Other(reason) if reason.0.to_string() == "CaUsedAsEndEntity" => {
            TlsError::Unbelievable("it is an authority's, made to sign others (CA:TRUE), and no server's".to_owned())
        }
        other => TlsError::Unbelievable(other.to_string()),
    }
}

/// Time between two instants, in the largest unit that it has two of.
fn span(later: UnixTime, earlier: UnixTime) -> String {
    let seconds = later.as_secs().saturating_sub(earlier.as_secs());
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let unit = units.into_iter().find(|(unit, _)| seconds >= 2 * unit);
    unit.map_or_else(|| format!("{seconds} seconds"), |(unit, name)| format!("{} {name}", seconds / unit))
}

/// Servers whose name we accept.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those whom one of these certificates vouches for, in DER.
    Roots(
        /// The certificates.
        Vec<Vec<u8>>,
    ),
    /// Anybody: who answers is not known.
    Anybody,
}

impl Trust {
    /// The certificates of a file in PEM; what else stands in it is passed over. Empty where there is none.
    ///
    /// # Errors
    /// A text that begins to be PEM and is not.
    pub fn from_pem(text: &[u8]) -> Result<Self, String> {
        let certificates = CertificateDer::pem_slice_iter(text).map(|found| found.map(|der| der.to_vec()));
        certificates.collect::<Result<_, _>>().map(Self::Roots).map_err(|error| error.to_string())
    }
}

/// Most servers whose sessions are remembered.
const SESSIONS: usize = 8;

/// The terms on which connections are made: who is believed, for which name, and the protocol that is spoken inside (ALPN, RFC 7301).
#[derive(Clone)]
pub struct Terms {
    config: Arc<ClientConfig>,
    verifier: Arc<dyn ServerCertVerifier>,
    name: ServerName<'static>,
    verified: bool,
    resumes: bool,
}

impl Terms {
    /// True where the server has to show who it is.
    pub fn is_verified(&self) -> bool {
        self.verified
    }

    /// The same, but that each handshake takes up an earlier session where the server has given a ticket for it (RFC 8446, section 2.2; RFC 5077).
    #[must_use]
    pub fn resuming(self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Self { config: Arc::new(config), resumes: true, ..self }
    }

    /// The same for connections of QUIC, made one after the other: sessions are taken up again among them alone.
    pub(crate) fn of_quic(&self) -> (ClientConfig, Arc<Witness>) {
        let witness = Arc::new(Witness::new(Arc::clone(&self.verifier)));
        let mut config = ClientConfig::clone(&self.config);
        config.dangerous().set_certificate_verifier(Arc::<Witness>::clone(&witness));
        if self.resumes {
            config.resumption = Resumption::in_memory_sessions(SESSIONS);
        }
        (config, witness)
    }

    /// The name that the certificate must be for.
    pub(crate) fn name(&self) -> String {
        self.name.to_str().into_owned()
    }

    /// Terms for the host that is reached as `host`: a name or an address. Empty `inside`: no protocol is named.
    ///
    /// # Errors
    /// A name that no certificate can be for, certificates that are none.
    pub fn new(host: &str, trust: &Trust, inside: &str) -> Result<Self, TlsError> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Unnameable)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder =
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
        let verifier: Arc<dyn ServerCertVerifier> = match trust {
            Trust::Roots(certificates) => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(certificates.iter().map(|der| CertificateDer::from(der.as_slice())));
                if roots.is_empty() {
                    return Err(TlsError::NoRoots);
                }
                let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
                verifier.map_err(|error| TlsError::Unbelievable(error.to_string()))?
            }
            Trust::Anybody => Arc::new(Unverified(provider)),
        };
        let believing = builder.dangerous().with_custom_certificate_verifier(Arc::clone(&verifier));
        let mut config = believing.with_no_client_auth();
        config.enable_secret_extraction = true;
        // Each handshake is a full one unless it is said otherwise, so that their times can be compared.
        config.resumption = Resumption::disabled();
        if !inside.is_empty() {
            config.alpn_protocols.push(inside.as_bytes().to_vec());
        }
        let verified = matches!(trust, Trust::Roots(_));
        Ok(Self { config: Arc::new(config), verifier, name, verified, resumes: false })
    }
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.config, &other.config) && self.name == other.name
    }
}

impl Eq for Terms {}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terms").field("name", &self.name).field("verified", &self.verified).finish_non_exhaustive()
    }
}

/// The outcome of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The version, as `TLS 1.3`.
    pub version: &'static str,
    /// The cipher suite by its registered name; absent where it is not told.
    pub suite: Option<String>,
    /// True where the certificate was verified.
    pub verified: bool,
    /// The second after 1970 at which the first of the server's certificates ends; absent where none is understood.
    pub until: Option<u64>,
    /// True where an earlier session was taken up, without a certificate and its signature.
    pub resumed: bool,
}

/// Believes every certificate, but not a signature that its key has not made.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
