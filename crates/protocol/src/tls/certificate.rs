//! The end of a certificate's time (RFC 5280, sections 4.1 and 4.1.2.5), as far as a reader of X.509 has to go for it.

/// Tags of DER (X.690).
const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xA0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// The second after 1970 at which the time of the certificate ends; absent where it is none that is understood here, or ends before 1970.
pub fn ends_at(certificate: &[u8]) -> Option<u64> {
    let mut whole = Reader(certificate);
    let mut certificate = Reader(whole.contents(SEQUENCE)?);
    let mut signed = Reader(certificate.contents(SEQUENCE)?);
    if signed.0.first() == Some(&VERSION) {
        signed.contents(VERSION)?;
    }
    // Serial number, algorithm of the signature, issuer.
    signed.contents(INTEGER)?;
    signed.contents(SEQUENCE)?;
    signed.contents(SEQUENCE)?;
    let mut validity = Reader(signed.contents(SEQUENCE)?);
    validity.next()?;
    let (tag, text) = validity.next()?;
    instant(tag, text)
}

/// The rest of some elements.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next element: its tag and its contents.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7F => (usize::from(first), rest),
            // Longer ones stand behind their number of octets; no certificate has more than four.
            0x81..=0x84 => {
                let (octets, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
                (octets.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)), rest)
            }
            _ => return None,
        };
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, contents))
    }

    /// The contents of the next element, which has this tag.
    fn contents(&mut self, wanted: u8) -> Option<&'a [u8]> {
        let (tag, contents) = self.next()?;
        (tag == wanted).then_some(contents)
    }
}

/// `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`, which alone certificates have.
fn instant(tag: u8, text: &[u8]) -> Option<u64> {
    let digits = text.strip_suffix(b"Z")?;
    let number = |from: usize, count: usize| -> Option<u64> {
        let part = digits.get(from..from + count)?;
        part.iter().try_fold(0, |number, octet| octet.is_ascii_digit().then(|| number * 10 + u64::from(octet - b'0')))
    };
    let (year, rest) = match (tag, digits.len()) {
        // Two digits are of 1950 to 2049.
        (UTC_TIME, 12) => (number(0, 2).map(|year| if year < 50 { 2_000 + year } else { 1_900 + year })?, 2),
        (GENERALIZED_TIME, 14) => (number(0, 4)?, 4),
        _ => return None,
    };
    let part = |place: usize| number(rest + 2 * place, 2);
    let (month, day, hour, minute, second) = (part(0)?, part(1)?, part(2)?, part(3)?, part(4)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days(year, month, day)? * DAY + hour * 3_600 + minute * 60 + second)
}

/// Days from the begin of 1970 to this one of the Gregorian calendar; absent before.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    // Years that begin in March have their leap day at their end: then months have 153 days in five.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let of_years = year * 365 + year / 4 - year / 100 + year / 400;
    let of_months = (153 * month + 2) / 5;
    // From the first of March of year 0 to 1970.
    (of_years + of_months + day - 1).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use test_case::test_case;

    use super::*;

    fn made(until: i32) -> Vec<u8> {
        let mut params = CertificateParams::new(["db1".to_owned()]).unwrap();
        params.not_after = date_time_ymd(until, 3, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test_case(2_024, 1_709_251_200; "the day behind a leap day, in two digits")]
    #[test_case(2_049, 2_498_169_600; "the last year of two digits")]
    #[test_case(2_100, 4_107_542_400; "a year without a leap day, in four digits")]
    fn the_end_of_a_certificate_is_read(until: i32, expected: u64) {
        assert_eq!(ends_at(&made(until)), Some(expected));
    }

    #[test_case(UTC_TIME, b"700101000000Z", Some(0); "the first second")]
    #[test_case(UTC_TIME, b"691231235959Z", None; "before it")]
    #[test_case(GENERALIZED_TIME, b"99991231235959Z", Some(253_402_300_799); "no end")]
    #[test_case(UTC_TIME, b"7001010000Z", None; "without seconds")]
    #[test_case(UTC_TIME, b"701301000000Z", None; "a month that is none")]
    #[test_case(UTC_TIME, b"7001010000+0Z", None; "no digits")]
    #[test_case(SEQUENCE, b"700101000000Z", None; "no time")]
    fn times_are_read(tag: u8, text: &[u8], expected: Option<u64>) {
        assert_eq!(instant(tag, text), expected);
    }

    #[test]
    fn a_certificate_that_is_cut_has_no_end() {
        let whole = made(2_030);
        for length in 0..whole.len() {
            assert_eq!(ends_at(&whole[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_octets_upset_a_reader(octets in prop::collection::vec(any::<u8>(), 0..300), place in 0_usize..300, octet: u8) {
            ends_at(&octets);
            let mut certificate = made(2_030);
            let place = place % certificate.len();
            certificate[place] = octet;
            ends_at(&certificate);
        }
    }
}
