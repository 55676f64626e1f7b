//! The times that packets carry, and how good the clock says it is.

/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;
/// Seconds from 1900, where NTP begins to count, to 1970.
const NTP_OF_1970: u64 = 2_208_988_800;
/// The kernel's word for an error that it does not know, and the most that is told: 16 s.
const UNKNOWN_ERROR: u64 = 16 * SECOND;

/// Format of a time: the Z bit of the error estimate beside it (RFC 8186 section 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Seconds since 1900 and their 2^32nd parts, 32 bits each (RFC 5905 section 6).
    #[default]
    Ntp,
    /// Seconds since 1970 and nanoseconds, 32 bits each: the last 64 bits of IEEE 1588's. Counted by TAI where the clock is
    /// one of PTP, which is 37 s ahead of UTC; nothing in a packet says so.
    Ptp,
}

impl Format {
    /// The eight octets for a time in nanoseconds since 1970.
    pub fn encode(self, at: u64) -> [u8; 8] {
        let (seconds, nanos) = (at / SECOND, at % SECOND);
        let (seconds, part) = match self {
            // Rounded up, so that the same nanosecond is read from it.
            Self::Ntp => (seconds.wrapping_add(NTP_OF_1970), (nanos << 32).div_ceil(SECOND)),
            Self::Ptp => (seconds, nanos),
        };
        (((seconds & 0xffff_ffff) << 32) | part).to_be_bytes()
    }

    /// The time in eight octets, in nanoseconds since 1970, rounded down. Seconds begin again at 0 after 136 years: of all
    /// times that may be meant it is the one next to `near`. `None`: as many nanoseconds are none, or it lies before 1970.
    pub fn decode(self, octets: [u8; 8], near: u64) -> Option<u64> {
        let word = u64::from_be_bytes(octets);
        let (seconds, part) = (word >> 32, word & 0xffff_ffff);
        let (seconds, nanos) = match self {
            Self::Ntp => (seconds.wrapping_sub(NTP_OF_1970) & 0xffff_ffff, (part * SECOND) >> 32),
            Self::Ptp if part < SECOND => (seconds, part),
            Self::Ptp => return None,
        };
        let ahead = (seconds as u32).wrapping_sub((near / SECOND) as u32).cast_signed();
        let whole = (near / SECOND).checked_add_signed(i64::from(ahead))?;
        whole.checked_mul(SECOND)?.checked_add(nanos)
    }
}

/// Quality of a clock as it reports it (RFC 4656 section 4.1.2): synchronisation from outside, format of its times,
/// and largest error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorEstimate {
    /// True where an outside source of UTC keeps it: the S bit.
    pub synchronised: bool,
    /// Format of the times beside it: the Z bit.
    pub format: Format,
    /// The error is `multiplier` times 2^(`scale` - 32) seconds. 0 to 63.
    pub scale: u8,
    /// Never 0: no clock is without error, and a packet that says so has none.
    pub multiplier: u8,
}

impl ErrorEstimate {
    /// That of a clock that may be off by `error` nanoseconds, rounded up; `None`: nobody knows.
    pub fn new(synchronised: bool, format: Format, error: Option<u64>) -> Self {
        let error = u128::from(error.unwrap_or(UNKNOWN_ERROR).min(UNKNOWN_ERROR));
        let mut steps = ((error << 32).div_ceil(u128::from(SECOND))).max(1);
        let mut scale = 0;
        while steps > u128::from(u8::MAX) {
            steps = steps.div_ceil(2);
            scale += 1;
        }
        Self { synchronised, format, scale, multiplier: steps as u8 }
    }

    /// The error in nanoseconds, rounded up; `None` where the multiplier is 0, which is no estimate.
    pub fn error(self) -> Option<u64> {
        let seconds = u128::from(self.multiplier) << self.scale;
        let error = (seconds * u128::from(SECOND)).div_ceil(1 << 32);
        (self.multiplier > 0).then(|| u64::try_from(error).unwrap_or(u64::MAX))
    }

    /// The two octets.
    pub fn encode(self) -> [u8; 2] {
        let bits = u8::from(self.synchronised) << 7 | u8::from(self.format == Format::Ptp) << 6;
        [bits | self.scale & 0x3f, self.multiplier]
    }

    /// Decodes two octets.
    pub fn decode([bits, multiplier]: [u8; 2]) -> Self {
        let format = if bits & 0x40 == 0 { Format::Ntp } else { Format::Ptp };
        Self { synchronised: bits & 0x80 != 0, format, scale: bits & 0x3f, multiplier }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    #[test_case(Format::Ntp, 0, [0x83, 0xaa, 0x7e, 0x80, 0, 0, 0, 0]; "1970 by ntp")]
    #[test_case(Format::Ntp, 500_000_000, [0x83, 0xaa, 0x7e, 0x80, 0x80, 0, 0, 0]; "half a second by ntp")]
    #[test_case(Format::Ntp, 1_700_000_000_000_000_001, [0xe8, 0xfe, 0x6f, 0x80, 0, 0, 0, 5]; "a nanosecond by ntp")]
    #[test_case(Format::Ptp, 1_700_000_000_123_456_789, [0x65, 0x53, 0xf1, 0x00, 0x07, 0x5b, 0xcd, 0x15]; "by ptp")]
    fn times_are_written_as_the_documents_say(format: Format, at: u64, octets: [u8; 8]) {
        assert_eq!(format.encode(at), octets);
        assert_eq!(format.decode(octets, at), Some(at));
    }

    #[test]
    fn ntp_seconds_begin_again_in_2036() {
        let at = 2_100_000_000 * SECOND + 7;
        let octets = Format::Ntp.encode(at);
        assert!(octets[0] < 0x10);
        assert_eq!(Format::Ntp.decode(octets, at - 86_400 * SECOND), Some(at));
    }

    #[test]
    fn more_nanoseconds_than_a_second_has_are_no_time() {
        assert_eq!(Format::Ptp.decode([0, 0, 0, 1, 0x3b, 0x9a, 0xca, 0x00], 0), None);
        assert_eq!(Format::Ptp.decode([0, 0, 0, 1, 0x3b, 0x9a, 0xc9, 0xff], 0), Some(1_999_999_999));
    }

    #[test]
    fn a_time_before_1970_is_none() {
        assert_eq!(Format::Ntp.decode([0x83, 0xaa, 0x7e, 0x7f, 0, 0, 0, 0], 0), None);
    }

    #[test_case(ErrorEstimate::new(true, Format::Ntp, Some(1_000)), [0x80 | 5, 135]; "a microsecond")]
    #[test_case(ErrorEstimate::new(false, Format::Ptp, Some(0)), [0x40, 1]; "none is told as the least")]
    #[test_case(ErrorEstimate::new(false, Format::Ntp, None), [29, 128]; "nobody knows")]
    fn estimates_are_written_as_the_documents_say(estimate: ErrorEstimate, octets: [u8; 2]) {
        assert_eq!(estimate.encode(), octets);
        assert_eq!(ErrorEstimate::decode(octets), estimate);
    }

    #[test]
    fn a_multiplier_of_zero_is_no_estimate() {
        assert_eq!(ErrorEstimate::decode([0x80, 0]).error(), None);
        assert_eq!(ErrorEstimate::decode([0x3f, 255]).error(), Some(u64::MAX));
    }

    proptest! {
        #[test]
        fn a_time_comes_back_to_the_nanosecond(at in 0..u64::MAX / 2, off in 0..1_000_000_000_u64) {
            for format in [Format::Ntp, Format::Ptp] {
                prop_assert_eq!(format.decode(format.encode(at), at.saturating_sub(off)), Some(at));
                prop_assert_eq!(format.decode(format.encode(at), at + off), Some(at));
            }
        }

        #[test]
        fn an_estimate_is_never_less_than_the_error(error in 0..20_000_000_000_u64) {
            let told = ErrorEstimate::new(true, Format::Ntp, Some(error)).error().unwrap();
            prop_assert!(told >= error.min(UNKNOWN_ERROR), "{} of {}", told, error);
            prop_assert!(told <= error + error / 64 + 1, "{} of {}", told, error);
        }

        #[test]
        fn any_octets_are_an_estimate(bits: u8, multiplier: u8) {
            prop_assert_eq!(ErrorEstimate::decode([bits, multiplier]).encode(), [bits, multiplier]);
        }
    }
}
