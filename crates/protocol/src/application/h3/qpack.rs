//! Fields of HTTP/3 as they are coded (QPACK, RFC 9204): written without a table of their own, read as far as a status goes.
//!
//! Numbers and strings are those of HPACK. The server is told that no dynamic table is kept here, so that a block that refers to one is none.

use crate::application::h2::hpack::{self, Reader, Text};
use crate::application::h2::request;
use crate::application::http::{Request, RequestError};

/// A whole entry of a table.
const INDEXED: u8 = 0x80;
/// The static table, of a whole entry.
const STATIC: u8 = 0x40;
/// A value whose name is that of an entry; the static table of such a one.
const NAMED: u8 = 0x40;
const NAMED_STATIC: u8 = 0x10;
/// A name and a value.
const LITERAL: u8 = 0x20;
/// The bit of those by which nobody on the way keeps them.
const NEVER_LITERAL: u8 = 0x10;

/// Entries of the static table (RFC 9204 appendix A).
const ENTRIES: usize = 99;
/// Those of them that are statuses.
const STATUSES: [(usize, u16); 14] = [
    (24, 103),
    (25, 200),
    (26, 304),
    (27, 404),
    (28, 503),
    (63, 100),
    (64, 204),
    (65, 206),
    (66, 302),
    (67, 400),
    (68, 403),
    (69, 421),
    (70, 425),
    (71, 500),
];
/// Methods that are whole entries.
const METHODS: [(&str, usize); 7] =
    [("CONNECT", 15), ("DELETE", 16), ("GET", 17), ("HEAD", 18), ("OPTIONS", 19), ("POST", 20), ("PUT", 21)];
const AUTHORITY: usize = 0;
const PATH: usize = 1;
const CONTENT_LENGTH: usize = 4;
const METHOD: usize = 15;
const HTTPS: usize = 23;
const USER_AGENT: usize = 95;

const TABLE: &str = "a response refers to a table that the server was told not to have";

fn indexed(out: &mut Vec<u8>, entry: usize) {
    hpack::integer(out, INDEXED | STATIC, 6, entry);
}

fn named(out: &mut Vec<u8>, entry: usize, value: &str) {
    hpack::integer(out, NAMED | NAMED_STATIC, 4, entry);
    hpack::string(out, value);
}

/// Writes a field that stands nowhere. It may be a secret, and nobody on the way keeps it.
fn literal(out: &mut Vec<u8>, name: &str, value: &str) {
    hpack::integer(out, LITERAL | NEVER_LITERAL, 3, name.len());
    out.extend_from_slice(name.as_bytes());
    hpack::string(out, value);
}

/// Encodes the fields of a request: first those of method and target, behind them all others (RFC 9114 section 4.3.1).
///
/// # Errors
/// A field that HTTP/3 does not have.
pub fn fields(request: &Request) -> Result<Vec<u8>, RequestError> {
    // No entry of a dynamic table is needed, and the base is as many.
    let mut block = vec![0, 0];
    match METHODS.iter().find(|(method, _)| *method == request.method) {
        Some((_, entry)) => indexed(&mut block, *entry),
        None => named(&mut block, METHOD, &request.method),
    }
    indexed(&mut block, HTTPS);
    named(&mut block, AUTHORITY, request::host_of(request));
    match request.target.as_str() {
        "/" => indexed(&mut block, PATH),
        target => named(&mut block, PATH, target),
    }
    if !request::has(request, "user-agent") {
        named(&mut block, USER_AGENT, &request.agent);
    }
    for (name, value) in request::others(request)? {
        literal(&mut block, &name, value);
    }
    if request.says_length() {
        named(&mut block, CONTENT_LENGTH, &request.body.len().to_string());
    }
    Ok(block)
}

/// The status of a block of fields, where it has one from 100 to 599.
///
/// # Errors
/// Octets that are no fields, or such as refer to a dynamic table.
pub fn status(block: &[u8]) -> Result<Option<u16>, &'static str> {
    let mut reader = Reader(block);
    // The count of entries of the dynamic table that have to be there, and the base of references to it.
    if reader.integer(8)? != 0 {
        return Err(TABLE);
    }
    reader.integer(7)?;
    let mut status = None;
    while let Some(first) = reader.0.first().copied() {
        if first & INDEXED != 0 {
            let entry = entry(&mut reader, first & STATIC != 0, 6)?;
            status = STATUSES.iter().find(|(place, _)| *place == entry).map_or(status, |(_, found)| Some(*found));
        } else if first & NAMED != 0 {
            let entry = entry(&mut reader, first & NAMED_STATIC != 0, 4)?;
            let value = reader.string()?;
            if STATUSES.iter().any(|(place, _)| *place == entry) {
                status = said(value);
            }
        } else if first & LITERAL != 0 {
            let name = reader.text(3)?;
            let value = reader.string()?;
            if hpack::is_status(name) {
                status = said(value);
            }
        } else {
            // Behind the base there is the dynamic table alone.
            return Err(TABLE);
        }
    }
    Ok(status)
}

fn entry(reader: &mut Reader<'_>, is_static: bool, bits: u32) -> Result<usize, &'static str> {
    let entry = reader.integer(bits)?;
    if is_static && entry < ENTRIES { Ok(entry) } else { Err(TABLE) }
}

fn said(value: Text<'_>) -> Option<u16> {
    hpack::number(value).filter(|status| (100..600).contains(status))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    #[test_case(&[0, 0, 0xD9], Some(200); "a status of the static table")]
    #[test_case(&[0, 0, 0xFF, 0x08], Some(500); "one further behind")]
    #[test_case(&[0, 0, 0xDC, 0xD1], Some(503); "another entry behind it")]
    #[test_case(b"\0\0\x5F\x09\x03418", Some(418); "a literal status")]
    #[test_case(b"\0\0\x7F\x09\x82\x64\x02", Some(302); "a coded one that is never kept")]
    #[test_case(b"\0\0\x27\x00:status\x03429", Some(429); "a literal name")]
    #[test_case(b"\0\0\x2D\xB8\x84\x8D\x36\xA3\x83\x6D\xF7\xFF", Some(599); "a coded name")]
    #[test_case(b"\0\0\x5F\x09\x03099", None; "no status of HTTP")]
    #[test_case(b"\0\0\x23abc\x01x", None; "another field")]
    #[test_case(&[0, 0], None; "nothing")]
    fn blocks_are_read(block: &[u8], expected: Option<u16>) {
        assert_eq!(status(block), Ok(expected));
    }

    #[test_case(&[1, 0, 0xD9]; "an entry that has to be there")]
    #[test_case(&[0, 0, 0x80]; "an entry of the dynamic table")]
    #[test_case(&[0, 0, 0x10]; "an entry behind the base")]
    #[test_case(&[0, 0, 0x00, 0x00]; "a name behind the base")]
    #[test_case(&[0, 0, 0xFF, 0x24]; "an entry behind the static ones")]
    fn no_dynamic_table_is_read(block: &[u8]) {
        assert_eq!(status(block), Err(TABLE));
    }

    #[test_case(&[]; "nothing at all")]
    #[test_case(&[0]; "no base")]
    #[test_case(&[0, 0, 0x5F]; "a number that is cut")]
    #[test_case(&[0, 0, 0x5F, 9, 3, b'2']; "a value that is cut")]
    #[test_case(&[0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]; "a number without an end")]
    fn blocks_that_are_none(block: &[u8]) {
        assert!(status(block).is_err());
    }

    #[test]
    fn a_request_is_written() {
        let request = Request {
            method: "GET".into(),
            host: "db1".into(),
            target: "/health".into(),
            fields: vec![("X-Long-Name".into(), "y".into())],
            body: Vec::new(),
            agent: "sonde/1".into(),
        };
        let expected = b"\0\0\xD1\xD7\x50\x03db1\x51\x07/health\x5F\x50\x07sonde/1\x37\x04x-long-name\x01y";
        assert_eq!(fields(&request).unwrap(), expected);
        let head = Request { method: "PATCH".into(), target: "/".into(), fields: Vec::new(), ..request.clone() };
        let expected = b"\0\0\x5F\x00\x05PATCH\xD7\x50\x03db1\xC1\x5F\x50\x07sonde/1\x54\x010";
        assert_eq!(fields(&head).unwrap(), expected);
        let old = Request { fields: vec![("Upgrade".into(), "x".into())], ..request };
        assert_eq!(fields(&old), Err(RequestError::OldField("Upgrade".into())));
    }

    proptest! {
        #[test]
        fn no_octets_upset_a_reader(block in prop::collection::vec(any::<u8>(), 0..200)) {
            let _either = status(&block);
            let _behind = status(&[&[0, 0], &block[..]].concat());
        }
    }
}
