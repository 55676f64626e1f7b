//! The units of `-f`.

/// Unit of the main result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// 1024³ bytes a second.
    GBytes,
    /// 1024² bytes a second.
    MBytes,
    /// 1024 bytes a second.
    KBytes,
    /// Bytes a second.
    Bytes,
    /// 10⁹ bits a second.
    Gbits,
    /// 10⁶ bits a second.
    #[default]
    Mbits,
    /// 10³ bits a second.
    Kbits,
    /// Bits a second.
    Bits,
    /// Transactions a second.
    Transactions,
    /// Microseconds a byte: the reciprocal of a rate.
    Usec,
}

const LETTERS: [(char, Unit); 10] = [
    ('G', Unit::GBytes),
    ('M', Unit::MBytes),
    ('K', Unit::KBytes),
    ('B', Unit::Bytes),
    ('g', Unit::Gbits),
    ('m', Unit::Mbits),
    ('k', Unit::Kbits),
    ('b', Unit::Bits),
    ('x', Unit::Transactions),
    ('u', Unit::Usec),
];

impl Unit {
    /// The unit of a letter.
    pub fn of_letter(letter: char) -> Option<Self> {
        LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, unit)| *unit)
    }

    /// Name in titles and units, without the `/s` behind it.
    pub fn text(self) -> &'static str {
        match self {
            Self::GBytes => "GBytes",
            Self::MBytes => "MBytes",
            Self::KBytes => "KBytes",
            Self::Bytes => "Bytes",
            Self::Gbits => "10^9bits",
            Self::Mbits => "10^6bits",
            Self::Kbits => "10^3bits",
            Self::Bits => "10^0bits",
            Self::Transactions => "Trans",
            Self::Usec => "Usec",
        }
    }

    /// So many bytes in so many seconds, in this unit. Where the unit is transactions, which bytes do not tell, in
    /// 10⁶ bits a second. 0 where no time passed, or for a reciprocal of nothing.
    pub fn of_bytes(self, bytes: f64, seconds: f64) -> f64 {
        let per_second = |bytes_of_one: f64| quotient(bytes, seconds * bytes_of_one);
        match self {
            Self::GBytes => per_second(1_073_741_824.0),
            Self::MBytes => per_second(1_048_576.0),
            Self::KBytes => per_second(1_024.0),
            Self::Bytes => per_second(1.0),
            Self::Gbits => per_second(125_000_000.0),
            Self::Mbits | Self::Transactions => per_second(125_000.0),
            Self::Kbits => per_second(125.0),
            Self::Bits => per_second(0.125),
            Self::Usec => quotient(seconds * 1e6, bytes),
        }
    }
}

/// A quotient that is 0 rather than infinite or no number.
pub fn quotient(dividend: f64, divisor: f64) -> f64 {
    if divisor > 0.0 { dividend / divisor } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case('G', 1.0; "binary giga")]
    #[test_case('M', 1_024.0; "binary mega")]
    #[test_case('K', 1_048_576.0; "binary kilo")]
    #[test_case('B', 1_073_741_824.0; "bytes")]
    #[test_case('g', 8.589_934_592; "decimal giga")]
    #[test_case('m', 8_589.934_592; "decimal mega")]
    #[test_case('k', 8_589_934.592; "decimal kilo")]
    #[test_case('b', 8_589_934_592.0; "bits, not bytes")]
    #[test_case('x', 8_589.934_592; "bytes are no transactions")]
    fn a_binary_gigabyte_in_one_second_is(letter: char, expected: f64) {
        assert_eq!(Unit::of_letter(letter).unwrap().of_bytes(1_073_741_824.0, 1.0), expected);
    }

    #[test]
    fn microseconds_are_those_of_one_byte() {
        assert_eq!(Unit::Usec.of_bytes(200_000.0, 1.0), 5.0);
    }

    #[test]
    fn nothing_in_no_time_is_nothing() {
        for (_, unit) in LETTERS {
            assert_eq!(unit.of_bytes(0.0, 0.0), 0.0);
        }
    }
}
