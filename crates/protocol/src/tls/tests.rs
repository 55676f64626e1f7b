//! Sessions with rustls' own server, in memory.

use std::io::{Read, Write};
use std::sync::Arc;

use proptest::prelude::*;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, SupportedCipherSuite};
use test_case::test_case;

use super::handshake::Handshake;
use super::record::{Came, Session};
use super::{Terms, TlsError, Trust};

/// A certificate authority, and a server that it vouches for.
struct World {
    authority: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl World {
    /// One whose server is called `name`, and whose certificate is valid in `years`.
    fn new(name: &str, years: (i32, i32)) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        // Each has a name of its own.
        params.distinguished_name.push(DnType::CommonName, format!("{:?}", authority_key.public_key_raw()));
        let authority = params.self_signed(&authority_key).unwrap().der().to_vec();
        let mut server = CertificateParams::new([name.to_owned()]).unwrap();
        server.not_before = date_time_ymd(years.0, 1, 1);
        server.not_after = date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().unwrap();
        let signed = server.signed_by(&key, &Issuer::new(params, authority_key)).unwrap();
        Self { authority, certificate: signed.der().to_vec(), key: key.serialize_der() }
    }

    fn good() -> Self {
        Self::new("db1", (2020, 4000))
    }

    /// One whose server shows a certificate that it signed itself, and that may sign others.
    fn of_itself(name: &str) -> Self {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().to_vec();
        Self { authority: certificate.clone(), certificate, key: key.serialize_der() }
    }

    fn trust(&self) -> Trust {
        Trust::Roots(vec![self.authority.clone()])
    }

    /// A server that offers the suite of this name alone, or all, and speaks `inside`.
    fn server(&self, suite: Option<&str>, inside: &[&str]) -> ServerConnection {
        ServerConnection::new(self.config(suite, inside)).unwrap()
    }

    fn config(&self, suite: Option<&str>, inside: &[&str]) -> Arc<ServerConfig> {
        let mut provider = aws_lc_rs::default_provider();
        provider.cipher_suites.retain(|offered| suite.is_none_or(|suite| name(offered) == suite));
        assert!(!provider.cipher_suites.is_empty(), "{suite:?} is known");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let builder = ServerConfig::builder_with_provider(Arc::new(provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let mut config = builder.with_single_cert(vec![self.certificate.clone().into()], key).unwrap();
        config.alpn_protocols = inside.iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::new(config)
    }
}

fn name(suite: &SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite())
}

/// Takes the octets that the server sends now.
fn said(server: &mut ServerConnection) -> Vec<u8> {
    let mut said = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut said).unwrap();
    }
    said
}

fn hear(server: &mut ServerConnection, mut octets: &[u8]) -> Result<(), rustls::Error> {
    while !octets.is_empty() {
        server.read_tls(&mut octets).unwrap();
        server.process_new_packets()?;
    }
    Ok(())
}

/// A session with `server`, whose octets come in pieces of `piece`; what it said behind the handshake.
fn meet(terms: &Terms, server: &mut ServerConnection, piece: usize) -> Result<(Session, Vec<u8>), TlsError> {
    let mut handshake = Handshake::begin(terms)?;
    let mut out = Vec::new();
    let mut done = handshake.go_on(&[], &mut out)?;
    let mut rest = Vec::new();
    while !done || !out.is_empty() {
        let heard = hear(server, &std::mem::take(&mut out));
        let said = said(server);
        for piece in said.chunks(piece) {
            if done {
                rest.extend_from_slice(piece);
            } else {
                done = handshake.go_on(piece, &mut out)?;
            }
        }
        assert!(heard.is_ok() || done || !said.is_empty(), "{heard:?}");
    }
    let (session, early, mut behind) = handshake.finish()?;
    assert_eq!(early, b"");
    behind.extend(rest);
    Ok((session, behind))
}

/// All data in `octets`, and what the session answers.
fn open(session: &mut Session, octets: &mut [u8]) -> Result<(Vec<u8>, Vec<u8>), TlsError> {
    let (mut begin, mut found, mut answers) = (0, Vec::new(), Vec::new());
    loop {
        match session.open(&mut octets[begin..], &mut answers)? {
            Came::Part if begin == octets.len() => return Ok((found, answers)),
            Came::Part => panic!("a part of a record"),
            Came::Data { octets: length, data } => {
                found.extend_from_slice(&octets[begin + data.start..begin + data.end]);
                begin += length;
            }
            Came::Aside(length) => begin += length,
            Came::End => {
                found.extend_from_slice(b"(end)");
                return Ok((found, answers));
            }
        }
    }
}

/// Hands `data` over both ways.
fn exchange(session: &mut Session, server: &mut ServerConnection, data: &[u8]) {
    let mut out = Vec::new();
    session.seal(data, &mut out);
    for piece in out.chunks(4_000) {
        hear(server, piece).unwrap();
        let mut heard = Vec::new();
        let _all = server.reader().read_to_end(&mut heard);
        server.writer().write_all(&heard).unwrap();
        let mut back = said(server);
        let (found, answers) = open(session, &mut back).unwrap();
        assert_eq!(found, heard);
        hear(server, &answers).unwrap();
    }
}

#[test_case("TLS13_AES_128_GCM_SHA256", "TLS 1.3", "TLS_AES_128_GCM_SHA256")]
#[test_case("TLS13_AES_256_GCM_SHA384", "TLS 1.3", "TLS_AES_256_GCM_SHA384")]
#[test_case("TLS13_CHACHA20_POLY1305_SHA256", "TLS 1.3", "TLS_CHACHA20_POLY1305_SHA256")]
#[test_case("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS 1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")]
#[test_case("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS 1.2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")]
#[test_case(
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS 1.2",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
)]
fn every_suite_carries_data_both_ways(suite: &str, version: &str, registered: &str) {
    let world = World::good();
    let terms = Terms::new("db1", &world.trust(), "").unwrap();
    for piece in [1, 7, 100_000] {
        let mut server = world.server(Some(suite), &[]);
        let (mut session, mut behind) = meet(&terms, &mut server, piece).unwrap();
        let facts = session.facts().clone();
        assert_eq!((facts.version, facts.suite.as_deref(), facts.verified), (version, Some(registered), true));
        assert_eq!(open(&mut session, &mut behind).unwrap().0, b"", "tickets");
        let long: Vec<u8> = (0..40_000_u32).map(|number| number as u8).collect();
        for data in [&b"x"[..], b"", &long] {
            exchange(&mut session, &mut server, data);
        }
        server.send_close_notify();
        assert_eq!(open(&mut session, &mut said(&mut server)).unwrap().0, b"(end)");
        let mut out = Vec::new();
        session.close(&mut out);
        hear(&mut server, &out).unwrap();
        assert_eq!(server.reader().read(&mut [0]).unwrap(), 0, "it knows that nothing more comes");
    }
}

#[test]
fn keys_are_renewed_by_both_ends() {
    let world = World::good();
    let mut server = world.server(Some("TLS13_AES_128_GCM_SHA256"), &[]);
    let (mut session, mut behind) = meet(&Terms::new("db1", &world.trust(), "").unwrap(), &mut server, 9_999).unwrap();
    open(&mut session, &mut behind).unwrap();
    for _ in 0..3 {
        exchange(&mut session, &mut server, b"before");
        server.refresh_traffic_keys().unwrap();
        exchange(&mut session, &mut server, b"the server has new keys, and asks for ours");
        let mut out = Vec::new();
        session.renew_own(&mut out).unwrap();
        hear(&mut server, &out).unwrap();
        exchange(&mut session, &mut server, b"we have too");
    }
}

#[test]
fn every_handshake_is_a_full_one() {
    let world = World::good();
    let terms = Terms::new("db1", &world.trust(), "").unwrap();
    let config = world.config(None, &[]);
    for _ in 0..2 {
        let mut server = ServerConnection::new(Arc::clone(&config)).unwrap();
        let (mut session, mut behind) = meet(&terms, &mut server, 9_999).unwrap();
        open(&mut session, &mut behind).unwrap();
        assert_ne!(server.handshake_kind(), Some(rustls::HandshakeKind::Resumed));
    }
}

fn refused(world: &World, host: &str, trust: &Trust, inside: &str) -> TlsError {
    let terms = match Terms::new(host, trust, inside) {
        Ok(terms) => terms,
        Err(error) => return error,
    };
    meet(&terms, &mut world.server(None, &["http/1.1"]), 9_999).map(|(session, _)| session).unwrap_err()
}

#[test]
fn who_is_not_believed_is_told_why() {
    let good = World::good();
    assert_eq!(refused(&good, "db1", &World::good().trust(), ""), TlsError::Untrusted);
    let misnamed = TlsError::Misnamed { asked: "db2".into(), shown: vec!["db1".into()] };
    assert_eq!(refused(&good, "db2", &good.trust(), ""), misnamed);
    let own = World::of_itself("db1");
    assert!(matches!(refused(&own, "db1", &own.trust(), ""), TlsError::Unbelievable(why) if why.contains("CA:TRUE")));
    let over = World::new("db1", (2000, 2001));
    assert!(
        matches!(refused(&over, "db1", &over.trust(), ""), TlsError::Untimely { early: false, words } if words.contains("days ago"))
    );
    let to_come = World::new("db1", (3990, 4000));
    assert!(
        matches!(refused(&to_come, "db1", &to_come.trust(), ""), TlsError::Untimely { early: true, words } if words.contains("days"))
    );
    assert_eq!(refused(&good, "db1", &good.trust(), "h2"), TlsError::Alert("NoApplicationProtocol".into()));
    assert_eq!(refused(&good, "a b", &good.trust(), ""), TlsError::Unnameable);
    assert_eq!(refused(&good, "db1", &Trust::Roots(Vec::new()), ""), TlsError::NoRoots);
}

#[test]
fn nobody_is_asked_for_a_certificate_where_that_is_wanted() {
    let world = World::new("db1", (2000, 2001));
    for suite in ["TLS13_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"] {
        let terms = Terms::new("other", &Trust::Anybody, "").unwrap();
        let (session, _) = meet(&terms, &mut world.server(Some(suite), &[]), 9_999).unwrap();
        assert!(!session.facts().verified);
    }
}

#[test]
fn certificates_are_read_from_pem() {
    let world = World::good();
    let pem = |body: &[u8]| {
        use base64::Engine;
        let body = base64::engine::general_purpose::STANDARD.encode(body);
        format!("some words\n-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
    };
    let two = pem(&world.authority).repeat(2);
    let Ok(Trust::Roots(found)) = Trust::from_pem(two.as_bytes()) else { panic!("they are certificates") };
    assert_eq!(found, [world.authority.clone(), world.authority.clone()]);
    assert!(matches!(Trust::from_pem(b"nothing"), Ok(Trust::Roots(found)) if found.is_empty()));
    Trust::from_pem(b"-----BEGIN CERTIFICATE-----\n!\n").unwrap_err();
}

#[test]
fn a_changed_octet_is_seen() {
    let world = World::good();
    let terms = Terms::new("db1", &world.trust(), "").unwrap();
    for suite in ["TLS13_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"] {
        let mut server = world.server(Some(suite), &[]);
        let (mut session, mut behind) = meet(&terms, &mut server, 9_999).unwrap();
        open(&mut session, &mut behind).unwrap();
        server.writer().write_all(b"+PONG\r\n").unwrap();
        let mut record = said(&mut server);
        *record.last_mut().unwrap() ^= 1;
        let told = session.open(&mut record, &mut Vec::new()).unwrap_err();
        assert_eq!(told, TlsError::Unsound("a record that was changed on its way".into()));
    }
}

#[test]
fn an_alert_says_its_name() {
    let world = World::good();
    let mut server = world.server(None, &[]);
    let (mut session, mut behind) = meet(&Terms::new("db1", &world.trust(), "").unwrap(), &mut server, 9_999).unwrap();
    open(&mut session, &mut behind).unwrap();
    let mut changed = Vec::new();
    session.seal(b"x", &mut changed);
    changed[7] ^= 1;
    hear(&mut server, &changed).unwrap_err();
    assert_eq!(open(&mut session, &mut said(&mut server)).unwrap_err(), TlsError::Alert("BadRecordMac".into()));
}

#[test]
fn a_port_where_another_program_is_speaks_no_tls() {
    let world = World::good();
    for words in [&b"-ERR unknown command\r\n"[..], b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n"] {
        let mut handshake = Handshake::begin(&Terms::new("db1", &world.trust(), "").unwrap()).unwrap();
        let mut out = Vec::new();
        assert!(!handshake.go_on(&[], &mut out).unwrap());
        assert_eq!(handshake.go_on(words, &mut out).unwrap_err(), TlsError::Foreign);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever comes behind the handshake: no panic, and nothing is read that is not sealed.
    #[test]
    fn no_octets_upset_a_session(octets in prop::collection::vec(any::<u8>(), 0..200), kind in 20_u8..24, length: u16) {
        let world = World::good();
        let terms = Terms::new("db1", &world.trust(), "").unwrap();
        for suite in ["TLS13_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"] {
            let (mut session, _) = meet(&terms, &mut world.server(Some(suite), &[]), 9_999).unwrap();
            let [high, low] = length.to_be_bytes();
            let mut dressed = [&[kind, 3, 3, high, low][..], &octets].concat();
            for octets in [&mut octets.clone(), &mut dressed] {
                prop_assert!(matches!(session.open(octets, &mut Vec::new()), Ok(Came::Part) | Err(_)));
            }
        }
    }

    /// Whatever comes in place of a handshake: no panic, and none comes about.
    #[test]
    fn no_octets_upset_a_handshake(octets in prop::collection::vec(any::<u8>(), 0..400), kind in 20_u8..24, every in 1_usize..50) {
        let terms = Terms::new("db1", &Trust::Anybody, "").unwrap();
        let length = octets.len() as u8;
        let dressed = [&[kind, 3, 3, 0, length][..], &octets].concat();
        for octets in [octets, dressed] {
            let mut handshake = Handshake::begin(&terms).unwrap();
            for piece in octets.chunks(every) {
                match handshake.go_on(piece, &mut Vec::new()) {
                    Ok(done) => prop_assert!(!done),
                    Err(_) => break,
                }
            }
        }
    }

    /// A server's flight with changed octets: no panic, and either it does not matter or there is no session.
    #[test]
    fn a_changed_flight_is_no_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), every in 1_usize..2_000, old: bool) {
        let world = World::good();
        let suite = if old { "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" } else { "TLS13_AES_128_GCM_SHA256" };
        let mut server = world.server(Some(suite), &[]);
        let mut handshake = Handshake::begin(&Terms::new("db1", &world.trust(), "").unwrap()).unwrap();
        let mut out = Vec::new();
        handshake.go_on(&[], &mut out).unwrap();
        hear(&mut server, &out).unwrap();
        let mut flight = said(&mut server);
        for (place, value) in changes {
            let place = place.index(flight.len());
            flight[place] = value;
        }
        for piece in flight.chunks(every) {
            match handshake.go_on(piece, &mut out) {
                Ok(false) => {}
                Ok(true) | Err(_) => break,
            }
        }
    }
}
