//! Fields of HTTP/2 as they are coded (HPACK, RFC 7541): written without a table of their own, read as far as a status goes.
//!
//! The server is told to keep no dynamic table (`SETTINGS_HEADER_TABLE_SIZE` 0), so that each header block is read without those before it.
//! Huffman's code is decoded for digits alone: a name is compared as it is coded, which can be done in one way alone.

/// A reference to a whole entry of the static table.
const INDEXED: u8 = 0x80;
/// A literal that the server adds to its table.
const ADDED: u8 = 0x40;
/// Another size of the server's table.
const SIZE: u8 = 0x20;
/// A literal that nobody on the way may put into a table: it may be a secret (RFC 7541 section 7.1.3).
const NEVER_INDEXED: u8 = 0x10;

/// Entries of the static table (RFC 7541 appendix A).
const STATIC: usize = 61;
/// Statuses of the static table, from entry 8 on.
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
const FIRST_STATUS: usize = 8;

const STATUS: &[u8] = b":status";
const GRPC_STATUS: &[u8] = b"grpc-status";
/// `:status` by Huffman's code (RFC 7541 appendix B).
const STATUS_CODED: &[u8] = &[0xB8, 0x84, 0x8D, 0x36, 0xA3];
/// `grpc-status` by the same.
const GRPC_STATUS_CODED: &[u8] = &[0x9A, 0xCA, 0xC8, 0xB2, 0x12, 0x34, 0xDA, 0x8F];

/// Longest number that is believed, octets behind its first: 2^28 is beyond all that comes.
const LONGEST_INTEGER: u32 = 4;

/// Writes a field that stands in the static table as it is.
pub fn indexed(out: &mut Vec<u8>, entry: u8) {
    out.push(INDEXED | entry);
}

/// Writes a field whose name is that of an entry of the static table.
pub fn named(out: &mut Vec<u8>, entry: u8, value: &str) {
    integer(out, 0, 4, usize::from(entry));
    string(out, value);
}

/// Writes a field that stands nowhere. It may be a secret, and nobody on the way keeps it.
pub fn literal(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(NEVER_INDEXED);
    string(out, name);
    string(out, value);
}

/// Writes a string as it is.
pub fn string(out: &mut Vec<u8>, text: &str) {
    integer(out, 0, 7, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// Writes a number behind a pattern, in the low `bits` of its first octet and as many octets more as it takes (RFC 7541 section 5.1).
pub fn integer(out: &mut Vec<u8>, pattern: u8, bits: u32, number: usize) {
    let most = (1 << bits) - 1;
    if number < most {
        out.push(pattern | number as u8);
        return;
    }
    out.push(pattern | most as u8);
    let mut rest = number - most;
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7F) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The fields of a header block that a measurement reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// `:status`, from 100 to 599.
    pub status: Option<u16>,
    /// `grpc-status`.
    pub grpc_status: Option<u16>,
}

/// The name of a field, as far as it is told apart.
#[derive(Clone, Copy)]
enum Name {
    Status,
    GrpcStatus,
    Other,
}

/// Reads a whole header block.
///
/// # Errors
/// Octets that are no fields, or such as refer to a table that the server was told not to have.
pub fn read(block: &[u8]) -> Result<Fields, &'static str> {
    let (mut reader, mut fields) = (Reader(block), Fields::default());
    while let Some(first) = reader.0.first().copied() {
        if first & INDEXED != 0 {
            let entry = reader.entry(7)?;
            if let Some(status) = entry.checked_sub(FIRST_STATUS).and_then(|place| STATUSES.get(place)) {
                fields.status = Some(*status);
            } else if entry == 0 {
                return Err(UNREADABLE);
            }
        } else if first & ADDED == 0 && first & SIZE != 0 {
            // Any size: a reference to such a table would be seen.
            reader.integer(5)?;
        } else {
            let entry = reader.entry(if first & ADDED != 0 { 6 } else { 4 })?;
            let name = if entry == 0 { name(reader.string()?) } else { name_of(entry) };
            let value = reader.string()?;
            match name {
                Name::Status => fields.status = number(value).filter(|status| (100..600).contains(status)),
                Name::GrpcStatus => fields.grpc_status = Some(number(value).ok_or("a grpc-status is no number")?),
                Name::Other => {}
            }
        }
    }
    Ok(fields)
}

const UNREADABLE: &str = "the fields of a response cannot be read";

/// Octets of a string, and whether they are coded by Huffman.
pub type Text<'a> = (bool, &'a [u8]);

/// True of the name `:status`.
pub fn is_status(text: Text<'_>) -> bool {
    matches!(name(text), Name::Status)
}

fn name((coded, octets): Text<'_>) -> Name {
    match (coded, octets) {
        (false, STATUS) | (true, STATUS_CODED) => Name::Status,
        (false, GRPC_STATUS) | (true, GRPC_STATUS_CODED) => Name::GrpcStatus,
        _ => Name::Other,
    }
}

fn name_of(entry: usize) -> Name {
    let is_status = (FIRST_STATUS..FIRST_STATUS + STATUSES.len()).contains(&entry);
    if is_status { Name::Status } else { Name::Other }
}

/// The number that a string says, of at most three digits.
pub fn number((coded, octets): Text<'_>) -> Option<u16> {
    let digits = |digit: Option<u16>, number: u16| Some(number * 10 + digit?);
    if coded {
        return coded_number(octets);
    }
    let plain = (1..=3).contains(&octets.len()) && octets.iter().all(u8::is_ascii_digit);
    plain.then(|| octets.iter().try_fold(0, |number, octet| digits(Some(u16::from(octet - b'0')), number))).flatten()
}

/// The same coded by Huffman: 0 to 2 have five bits, which are the digit, and 3 to 9 have six, which are 22 more than it (RFC 7541 appendix B).
/// Ones fill the last octet.
fn coded_number(octets: &[u8]) -> Option<u16> {
    // Three digits have at most 18 bits.
    if !(1..=3).contains(&octets.len()) {
        return None;
    }
    let mut bits = octets.iter().fold(0_u32, |bits, octet| bits << 8 | u32::from(*octet));
    let mut left = 8 * octets.len() as u32;
    let (mut number, mut count) = (0_u16, 0);
    bits <<= u32::BITS - left;
    while left >= 5 {
        let (digit, length) = match (bits >> 27, bits >> 26) {
            (digit @ 0..=2, _) => (digit, 5),
            (_, digit @ 25..=31) if left >= 6 => (digit - 22, 6),
            _ => break,
        };
        (number, count) = (number.checked_mul(10)?.checked_add(digit as u16)?, count + 1);
        (bits, left) = (bits << length, left - length);
    }
    let filled = left < 8 && bits.leading_ones() >= left;
    (filled && (1..=3).contains(&count)).then_some(number)
}

/// The rest of a header block.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn octet(&mut self) -> Result<u8, &'static str> {
        let (first, rest) = self.0.split_first().ok_or(UNREADABLE)?;
        self.0 = rest;
        Ok(*first)
    }

    /// The number in the low `bits` of the next octet and behind it.
    pub fn integer(&mut self, bits: u32) -> Result<usize, &'static str> {
        let most = (1 << bits) - 1;
        let mut number = usize::from(self.octet()?) & most;
        if number < most {
            return Ok(number);
        }
        for place in 0..LONGEST_INTEGER {
            let octet = self.octet()?;
            number += usize::from(octet & 0x7F) << (7 * place);
            if octet & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(UNREADABLE)
    }

    /// A place in the static table, or 0.
    fn entry(&mut self, bits: u32) -> Result<usize, &'static str> {
        let entry = self.integer(bits)?;
        if entry > STATIC {
            Err("a response refers to a table that the server was told not to have")
        } else {
            Ok(entry)
        }
    }

    /// The next string.
    pub fn string(&mut self) -> Result<Text<'a>, &'static str> {
        self.text(7)
    }

    /// The next string, whose length begins in the low `bits` of an octet, below the bit that says whether it is coded.
    pub fn text(&mut self, bits: u32) -> Result<Text<'a>, &'static str> {
        let coded = self.0.first().is_some_and(|first| first >> bits & 1 == 1);
        let length = self.integer(bits)?;
        let (octets, rest) = self.0.split_at_checked(length).ok_or(UNREADABLE)?;
        self.0 = rest;
        Ok((coded, octets))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    fn status(status: u16) -> Fields {
        Fields { status: Some(status), grpc_status: None }
    }

    #[test_case(&[0x88], status(200); "a status of the static table")]
    #[test_case(&[0x20, 0x8E], status(500); "a size of the table before it")]
    #[test_case(&[0x3F, 0xE1, 0x1F, 0x8D], status(404); "a large size of the table")]
    #[test_case(b"\x48\x03302", status(302); "a literal status")]
    #[test_case(b"\x08\x03418", status(418); "one that is not added")]
    #[test_case(b"\x18\x03503", status(503); "one that is never added")]
    #[test_case(b"\x00\x07:status\x03429", status(429); "a literal name")]
    // RFC 7541 appendix C.6.1 and C.6.2.
    #[test_case(&[0x48, 0x82, 0x64, 0x02], status(302); "a coded status")]
    #[test_case(&[0x48, 0x83, 0x64, 0x0E, 0xFF], status(307); "a coded status with padding")]
    #[test_case(b"\x40\x85\xB8\x84\x8D\x36\xA3\x83\x6D\xF7\xFF", status(599); "a coded name")]
    #[test_case(b"\x00\x0bgrpc-status\x0212", Fields { status: None, grpc_status: Some(12) }; "a status of gRPC")]
    #[test_case(b"\x40\x88\x9A\xCA\xC8\xB2\x12\x34\xDA\x8F\x81\x07", Fields { status: None, grpc_status: Some(0) }; "a coded one")]
    #[test_case(b"\x40\x88\x9A\xCA\xC8\xB2\x12\x34\xDA\x8F\x82\x08\xBF", Fields { status: None, grpc_status: Some(12) }; "a coded one of two digits")]
    #[test_case(b"\x08\x03099", Fields::default(); "no status of HTTP")]
    #[test_case(b"\x08\x042000", Fields::default(); "too many digits")]
    #[test_case(b"\x08\x83\xFF\xFF\xFF", Fields::default(); "no digits")]
    #[test_case(b"", Fields::default(); "nothing")]
    fn blocks_are_read(block: &[u8], expected: Fields) {
        assert_eq!(read(block), Ok(expected));
    }

    #[test_case(&[0x80], UNREADABLE; "entry 0")]
    #[test_case(&[0xBE], "a response refers to a table that the server was told not to have"; "an entry behind the static ones")]
    #[test_case(&[0x7F, 0x00, 0x01, b'x'], "a response refers to a table that the server was told not to have"; "a name behind the static ones")]
    #[test_case(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], UNREADABLE; "a number without an end")]
    #[test_case(&[0x08, 0x03, b'2'], UNREADABLE; "a string that is cut")]
    #[test_case(&[0x08], UNREADABLE; "a field without a value")]
    #[test_case(b"\x00\x0bgrpc-status\x01x", "a grpc-status is no number"; "a word for a status")]
    fn blocks_that_are_none(block: &[u8], why: &str) {
        assert_eq!(read(block), Err(why));
    }

    #[test]
    fn fields_are_written_as_the_specification_shows() {
        let mut out = Vec::new();
        indexed(&mut out, 2);
        // RFC 7541 appendix C.2.2.
        named(&mut out, 4, "/sample/path");
        literal(&mut out, "te", "trailers");
        assert_eq!(out, b"\x82\x04\x0c/sample/path\x10\x02te\x08trailers");
        // RFC 7541 appendix C.1.1 and C.1.2.
        for (number, expected) in [(10, &[10][..]), (1337, &[0x1F, 0x9A, 0x0A])] {
            out.clear();
            integer(&mut out, 0, 5, number);
            assert_eq!(out, expected);
            assert_eq!(Reader(&out).integer(5), Ok(number));
        }
    }

    /// Digits by Huffman's code, by the table of RFC 7541 appendix B.
    fn coded(digits: &str) -> Vec<u8> {
        let table = [(0, 5), (1, 5), (2, 5), (25, 6), (26, 6), (27, 6), (28, 6), (29, 6), (30, 6), (31, 6)];
        let mut bits = String::new();
        for digit in digits.bytes() {
            let (code, length) = table[usize::from(digit - b'0')];
            bits.push_str(&format!("{code:032b}")[32 - length..]);
        }
        while !bits.len().is_multiple_of(8) {
            bits.push('1');
        }
        bits.as_bytes()
            .chunks(8)
            .map(|octet| u8::from_str_radix(std::str::from_utf8(octet).unwrap(), 2).unwrap())
            .collect()
    }

    #[test]
    fn every_number_is_known_in_huffmans_code() {
        for expected in 0..1_000 {
            let digits = expected.to_string();
            assert_eq!(number((true, &coded(&digits))), Some(expected));
            assert_eq!(number((false, digits.as_bytes())), Some(expected));
        }
        // More digits; a whole octet of padding; padding of zeroes.
        for wrong in [&coded("1000")[..], &[0x07, 0xFF], &[0x00, 0x00, 0x00], &[0x64], &[]] {
            assert_eq!(number((true, wrong)), None, "{wrong:x?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in "[ -~]{0,300}", code in 0_u16..1_000) {
            let mut block = Vec::new();
            literal(&mut block, "a", &value);
            named(&mut block, 8, "204");
            literal(&mut block, "grpc-status", &code.to_string());
            prop_assert_eq!(read(&block), Ok(Fields { status: Some(204), grpc_status: Some(code) }));
        }

        #[test]
        fn no_octets_upset_a_reader(block in prop::collection::vec(any::<u8>(), 0..200)) {
            let _either = read(&block);
        }
    }
}
