//! Records of TLS behind the handshake (RFC 8446, sections 4.6 and 5; RFC 5246, section 6; RFC 5288; RFC 7905).

use std::fmt;
use std::ops::Range;

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::{AlertDescription, ConnectionTrafficSecrets, ExtractedSecrets, ProtocolVersion};

use super::{Facts, TlsError};

/// Octets of a record's header.
pub const HEADER: usize = 5;
/// Most octets of data in one record.
const FRAGMENT: usize = 1 << 14;
/// Most octets of a record behind its header: what TLS 1.2 allows.
pub const LONGEST: usize = FRAGMENT + 2_048;
/// Octets of what authenticates a record.
const TAG: usize = 16;
/// Octets of a nonce that TLS 1.2 sends with AES-GCM.
const EXPLICIT: usize = 8;
/// After so many records the key is renewed: AES-GCM bears some 2^24.5 (RFC 8446, section 5.5).
const RENEWED_AFTER: u64 = 1 << 24;
/// Most octets of messages about the session, such as tickets, before they are whole.
const LONGEST_MESSAGE: usize = 64 << 10;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;

/// The form of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// TLS 1.3: the kind of the contents is hidden.
    Hidden,
    /// TLS 1.2 with AES-GCM: a part of the nonce is sent.
    Explicit,
    /// TLS 1.2 with ChaCha20-Poly1305.
    Implicit,
}

/// Keys of one direction.
struct Half {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    form: Form,
}

impl Half {
    fn new((sequence, secrets): (u64, ConnectionTrafficSecrets), version: ProtocolVersion) -> Result<Self, TlsError> {
        let hidden = version == ProtocolVersion::TLSv1_3;
        let gcm = if hidden { Form::Hidden } else { Form::Explicit };
        let (algorithm, key, iv, form) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&AES_128_GCM, key, iv, gcm),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&AES_256_GCM, key, iv, gcm),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
                (&CHACHA20_POLY1305, key, iv, if hidden { Form::Hidden } else { Form::Implicit })
            }
            _ => return Err(unsound("a cipher that is not known here")),
        };
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(|_| unsound("a key of another length"))?;
        let iv = iv.as_ref().try_into().map_err(|_| unsound("a nonce of another length"))?;
        Ok(Self { key: LessSafeKey::new(key), iv, sequence, form })
    }

    /// The nonce of the next record: of the sequence number, mixed with what the handshake has drawn.
    fn nonce(&self) -> [u8; 12] {
        let mut nonce = self.iv;
        for (octet, of_number) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *octet ^= of_number;
        }
        nonce
    }

    /// Returns the octets that are authenticated beside the contents of a record with `header`, which holds `length`
    /// octets of them.
    fn beside(&self, header: [u8; HEADER], length: usize) -> ([u8; 13], usize) {
        let mut beside = [0; 13];
        if self.form == Form::Hidden {
            beside[..HEADER].copy_from_slice(&header);
            return (beside, HEADER);
        }
        beside[..8].copy_from_slice(&self.sequence.to_be_bytes());
        beside[8..11].copy_from_slice(&header[..3]);
        beside[11..].copy_from_slice(&(length as u16).to_be_bytes());
        (beside, 13)
    }

    /// Adds one record with `contents`, at most [`FRAGMENT`] octets, to `out`. The keys of a session are long enough by construction,
    /// so that sealing does not fail.
    fn seal(&mut self, kind: u8, contents: &[u8], out: &mut Vec<u8>) {
        let nonce = self.nonce();
        let (shown, before, behind) = match self.form {
            Form::Hidden => (DATA, 0, 1),
            Form::Explicit => (kind, EXPLICIT, 0),
            Form::Implicit => (kind, 0, 0),
        };
        let [high, low] = ((before + contents.len() + behind + TAG) as u16).to_be_bytes();
        let header = [shown, 3, 3, high, low];
        let record = out.len();
        out.extend_from_slice(&header);
        out.extend_from_slice(&nonce[12 - before..]);
        let begin = out.len();
        out.extend_from_slice(contents);
        out.extend_from_slice(&[kind][..behind]);
        let (beside, length) = self.beside(header, contents.len());
        let sealed = self.key.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(&beside[..length]),
            &mut out[begin..],
        );
        match sealed {
            Ok(tag) => out.extend_from_slice(tag.as_ref()),
            // Nothing that is not sealed may go.
            Err(_) => out.truncate(record),
        }
        self.sequence += 1;
    }

    /// Opens the record in `octets`; its kind, and where its contents lie.
    fn open(&mut self, octets: &mut [u8]) -> Result<(u8, Range<usize>), TlsError> {
        let (head, body) = octets.split_first_chunk_mut::<HEADER>().ok_or(TlsError::Foreign)?;
        let before = if self.form == Form::Explicit { EXPLICIT } else { 0 };
        let length = body.len().checked_sub(before + TAG).ok_or_else(|| unsound("a record that is too short"))?;
        let (sent, sealed) = body.split_at_mut(before);
        let mut nonce = self.nonce();
        nonce[12 - before..].copy_from_slice(sent);
        let (beside, beside_length) = self.beside(*head, length);
        let opened =
            self.key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(&beside[..beside_length]), sealed);
        let contents = opened.map_err(|_| unsound("a record that was changed on its way"))?;
        self.sequence += 1;
        let begin = HEADER + before;
        if self.form != Form::Hidden {
            return Ok((head[0], begin..begin + length));
        }
        // The kind stands behind the contents, and zeros behind it.
        let end = contents.iter().rposition(|octet| *octet != 0).ok_or_else(|| unsound("a record of no kind"))?;
        Ok((contents[end], begin..begin + end))
    }
}

fn unsound(why: &str) -> TlsError {
    TlsError::Unsound(why.to_owned())
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// A part of a record: more has to come.
    Part,
    /// Data.
    Data {
        /// Octets of the record.
        octets: usize,
        /// Where in them the data lie.
        data: Range<usize>,
    },
    /// Something about the session itself.
    Aside(
        /// Octets of the record.
        usize,
    ),
    /// The end of what the server says.
    End,
}

/// A session behind its handshake.
pub struct Session {
    sends: Half,
    receives: Half,
    kernel: KernelConnection<ClientConnectionData>,
    /// The begin of a message about the session.
    message: Vec<u8>,
    facts: Facts,
}

impl Session {
    pub(super) fn new(
        secrets: ExtractedSecrets,
        kernel: KernelConnection<ClientConnectionData>,
        facts: Facts,
    ) -> Result<Self, TlsError> {
        let version = kernel.protocol_version();
        Ok(Self {
            sends: Half::new(secrets.tx, version)?,
            receives: Half::new(secrets.rx, version)?,
            kernel,
            message: Vec::new(),
            facts,
        })
    }

    /// The outcome of the handshake.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Adds the records that bring `data` to `out`. Where `out` has room, nothing is allocated.
    #[inline]
    pub fn seal(&mut self, data: &[u8], out: &mut Vec<u8>) {
        for fragment in data.chunks(FRAGMENT) {
            self.sends.seal(DATA, fragment, out);
        }
    }

    /// Renews the key between requests, where it has sealed enough. Adds the octets to be sent for that to `out`.
    ///
    /// # Errors
    /// Never in a session of TLS 1.3; one of TLS 1.2 keeps its key.
    pub fn refresh(&mut self, out: &mut Vec<u8>) -> Result<(), TlsError> {
        if self.sends.sequence < RENEWED_AFTER || self.sends.form != Form::Hidden {
            return Ok(());
        }
        self.renew_own(out)
    }

    pub(super) fn renew_own(&mut self, out: &mut Vec<u8>) -> Result<(), TlsError> {
        self.sends.seal(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], out);
        self.sends = Half::new(self.kernel.update_tx_secret()?, ProtocolVersion::TLSv1_3)?;
        Ok(())
    }

    /// Adds what tells the server that nothing more is said.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        self.sends.seal(ALERT, &[1, 0], out);
    }

    /// True where `octets` begin with a whole record.
    pub fn is_whole(octets: &[u8]) -> bool {
        record(octets).is_ok_and(|length| length.is_some_and(|length| octets.len() >= length))
    }

    /// Opens the record that `octets` begin with, in its place. Adds the octets to be sent for it to `out`.
    ///
    /// # Errors
    /// Octets that are no record of this session, an alert. Nothing behind them can be read.
    pub fn open(&mut self, octets: &mut [u8], out: &mut Vec<u8>) -> Result<Came, TlsError> {
        let Some(length) = record(octets)? else { return Ok(Came::Part) };
        let Some(whole) = octets.get_mut(..length) else { return Ok(Came::Part) };
        let (kind, contents) = self.receives.open(whole)?;
        match kind {
            DATA => Ok(Came::Data { octets: length, data: contents }),
            ALERT => match whole[contents] {
                [_, 0] => Ok(Came::End),
                [_, description] => Err(TlsError::Alert(format!("{:?}", AlertDescription::from(description)))),
                _ => Err(unsound("an alert of another length")),
            },
            HANDSHAKE => {
                self.message.extend_from_slice(&whole[contents]);
                self.attend(out)?;
                Ok(Came::Aside(length))
            }
            _ => Err(unsound("a record of an unknown kind")),
        }
    }

    /// Goes through the messages about the session that are whole.
    fn attend(&mut self, out: &mut Vec<u8>) -> Result<(), TlsError> {
        while let [kind, a, b, c, rest @ ..] = self.message.as_slice() {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > LONGEST_MESSAGE {
                return Err(unsound("a message that is too long"));
            }
            let Some(body) = rest.get(..length) else { break };
            match (*kind, body) {
                (NEW_SESSION_TICKET, ticket) => self.kernel.handle_new_session_ticket(ticket)?,
                (KEY_UPDATE, [wants @ (0 | 1)]) if self.receives.form == Form::Hidden => {
                    let answer = *wants == 1;
                    self.receives = Half::new(self.kernel.update_rx_secret()?, ProtocolVersion::TLSv1_3)?;
                    if answer {
                        self.renew_own(out)?;
                    }
                }
                // A server of TLS 1.2 that asks for another handshake need not get one (RFC 5246, section 7.4.1.1).
                (0, []) if self.receives.form != Form::Hidden => {}
                _ => return Err(unsound("a message that does not belong there")),
            }
            self.message.drain(..4 + length);
        }
        Ok(())
    }
}

/// The length of the record that `octets` begin with, as far as they say.
fn record(octets: &[u8]) -> Result<Option<usize>, TlsError> {
    let Some([kind, major, _, high, low]) = octets.first_chunk::<HEADER>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    if !(20..=23).contains(kind) || *major != 3 {
        return Err(TlsError::Foreign);
    }
    if length > LONGEST {
        return Err(unsound("a record that is too long"));
    }
    Ok(Some(HEADER + length))
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("facts", &self.facts).finish_non_exhaustive()
    }
}
