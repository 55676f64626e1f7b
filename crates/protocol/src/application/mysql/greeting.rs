//! The server's greeting (`Protocol::HandshakeV10`) and the login in answer to it (`Protocol::HandshakeResponse41`).

use super::proof::{NONCE, Plugin};
use crate::application::login::Login;

/// Capabilities ("Capabilities Flags" of the documentation).
const LONG_PASSWORD: u32 = 1;
const CONNECT_WITH_DB: u32 = 1 << 3;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;
const CONNECT_ATTRS: u32 = 1 << 20;
/// Those without which no login is known here; every server since 4.1 (2004) has them.
const NEEDED: u32 = PROTOCOL_41 | SECURE_CONNECTION;
/// `LONG_PASSWORD` says to MariaDB that the client is none of its own, and has none of its extensions.
const OURS: u32 = NEEDED | LONG_PASSWORD | TRANSACTIONS;

/// Longest packet that we would take, as every client says it.
const LONGEST_PACKET: u32 = 1 << 24;
/// `utf8_general_ci`, known to every server since 4.1.
const UTF_8: u8 = 33;
const RESERVED: [u8; 23] = [0; 23];
/// One attribute of the connection, each word behind its length, all behind theirs: administrators see who is there.
const ATTRIBUTES: [u8; 20] = *b"\x13\x0cprogram_name\x05sonde";

/// Octets between version and second part of the nonce: thread, first part, filler, capabilities, character set, status, capabilities,
/// length of the nonce, reserved.
const MIDDLE: usize = 31;
const FIRST_PART: usize = 8;

/// A server as it greets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    capabilities: u32,
    nonce: [u8; NONCE],
    plugin: Plugin,
}

/// Reason why a greeting cannot be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswerable {
    /// It is none.
    Foreign,
    /// It is that of a server before 4.1.
    Old,
}

impl Greeting {
    /// Reads the fields behind the version of the protocol.
    ///
    /// # Errors
    /// Octets that are no greeting, or one without the fields that a login takes.
    pub fn read(octets: &[u8]) -> Result<Self, Unanswerable> {
        let version = octets.iter().position(|octet| *octet == 0).ok_or(Unanswerable::Foreign)?;
        let rest = octets.get(version + 1..).ok_or(Unanswerable::Foreign)?;
        let first = rest.get(4..4 + FIRST_PART).ok_or(Unanswerable::Foreign)?;
        let Some([low, high]) = rest.get(13..15) else { return Err(Unanswerable::Old) };
        let low = u32::from(u16::from_le_bytes([*low, *high]));
        if low & NEEDED != NEEDED {
            return Err(Unanswerable::Old);
        }
        let Some([a, b]) = rest.get(18..20) else { return Err(Unanswerable::Foreign) };
        let capabilities = low | u32::from(u16::from_le_bytes([*a, *b])) << 16;
        let length = usize::from(*rest.get(20).ok_or(Unanswerable::Foreign)?);
        let second = rest.get(MIDDLE..MIDDLE + NONCE - FIRST_PART).ok_or(Unanswerable::Foreign)?;
        let mut nonce = [0; NONCE];
        nonce[..FIRST_PART].copy_from_slice(first);
        nonce[FIRST_PART..].copy_from_slice(second);
        // The second part has at least thirteen octets, the last of them 0.
        let name = rest.get(MIDDLE + length.saturating_sub(FIRST_PART).max(13)..).unwrap_or_default();
        let name = name.split(|octet| *octet == 0).next().unwrap_or_default();
        // A server whose usual way is not known here names the user's in an AuthSwitchRequest.
        Ok(Self { capabilities, nonce, plugin: Plugin::named(name).unwrap_or(Plugin::Native) })
    }

    /// The way to log in that the answer takes.
    pub fn plugin(&self) -> Plugin {
        self.plugin
    }

    /// True where the server can go on within TLS.
    pub fn offers_tls(&self) -> bool {
        self.capabilities & SSL != 0
    }

    /// The capabilities of a session by `login`.
    fn agreed(&self, login: &Login, tls: bool) -> u32 {
        let database = if login.database.is_some() { CONNECT_WITH_DB } else { 0 };
        OURS | self.capabilities & (PLUGIN_AUTH | CONNECT_ATTRS) | database | if tls { SSL } else { 0 }
    }

    /// The body of the packet behind which TLS begins (`Protocol::SSLRequest`): the beginning of the one that logs in.
    pub fn tls_request(&self, login: &Login) -> Vec<u8> {
        head(self.agreed(login, true))
    }

    /// The body of the packet that logs in, in clear or within TLS.
    pub fn answer(&self, login: &Login, tls: bool) -> Vec<u8> {
        let capabilities = self.agreed(login, tls);
        let mut body = head(capabilities);
        ended(&mut body, &login.user);
        let proof = self.plugin.prove(login.password.as_ref(), self.nonce);
        body.push(proof.len() as u8);
        body.extend(proof);
        if let Some(database) = &login.database {
            ended(&mut body, database);
        }
        if capabilities & PLUGIN_AUTH != 0 {
            ended(&mut body, self.plugin.name());
        }
        if capabilities & CONNECT_ATTRS != 0 {
            body.extend(ATTRIBUTES);
        }
        body
    }
}

/// The beginning of both packets.
fn head(capabilities: u32) -> Vec<u8> {
    let mut body = [capabilities.to_le_bytes(), LONGEST_PACKET.to_le_bytes()].concat();
    body.push(UTF_8);
    body.extend(RESERVED);
    body
}

/// Adds `word`, whose end is a 0: one within it would end it early.
fn ended(body: &mut Vec<u8>, word: &str) {
    body.extend(word.bytes().filter(|octet| *octet != 0));
    body.push(0);
}
