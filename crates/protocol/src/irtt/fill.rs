//! The filling of packets behind their fields: what was there, chance, or a pattern that goes on from packet to packet.
//!
//! A fill has a name, which a client may ask a server for. A server grants those that fit one of its patterns of names.

use std::fmt;

/// Octets of the usual pattern.
const USUAL: [u8; 4] = *b"irtt";
/// The name of a pattern, in front of its digits.
const PATTERN: &str = "pattern";

/// A kind of filling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Octets as they were: those of the packet, where it is a reply that is filled.
    Kept,
    /// Octets by chance.
    Random,
    /// These octets, at least one, again and again.
    Pattern(Vec<u8>),
}

/// The reason why a name is that of no fill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// Nothing is called so.
    #[error("[NoSuchFiller] no such Filler {0}")]
    NoSuch(String),
    /// The digits of a pattern are none.
    #[error(transparent)]
    Digits(#[from] DigitsError),
}

/// The reason why a text is not octets in hexadecimal digits, in the words of Go's library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigitsError {
    /// Another octet than a digit.
    #[error("encoding/hex: invalid byte: {}", Character(*.0))]
    Octet(u8),
    /// Half an octet.
    #[error("encoding/hex: odd length hex string")]
    Odd,
}

/// A character with its number.
struct Character(u8);

impl fmt::Display for Character {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "U+{:04X}", self.0)?;
        let shown = char::from(self.0);
        if shown.is_control() { Ok(()) } else { write!(f, " '{shown}'") }
    }
}

/// The octets that hexadecimal digits stand for.
///
/// # Errors
/// The first octet that is no digit, or half an octet.
pub fn octets(digits: &str) -> Result<Vec<u8>, DigitsError> {
    let value = |octet: u8| char::from(octet).to_digit(16).map(|value| value as u8).ok_or(DigitsError::Octet(octet));
    let values = digits.bytes().map(value).collect::<Result<Vec<u8>, DigitsError>>()?;
    let pair = |pair: &[u8]| if let [high, low] = pair { Ok(high << 4 | low) } else { Err(DigitsError::Odd) };
    values.chunks(2).map(pair).collect()
}

impl Fill {
    /// The fill of servers and clients where nothing else is said.
    pub fn usual() -> Self {
        Self::Pattern(USUAL.to_vec())
    }

    /// The fill of this name.
    ///
    /// # Errors
    /// A name of none. A pattern of no octets is none either.
    pub fn of(name: &str) -> Result<Self, FillError> {
        let mut parts = name.split(':');
        match (name, parts.next(), parts.next()) {
            ("none", ..) => Ok(Self::Kept),
            ("rand", ..) => Ok(Self::Random),
            (_, Some(PATTERN), None) => Ok(Self::usual()),
            (_, Some(PATTERN), Some(digits)) if !digits.is_empty() => Ok(Self::Pattern(octets(digits)?)),
            _ => Err(FillError::NoSuch(name.to_owned())),
        }
    }
}

/// The whole name.
impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("none"),
            Self::Random => f.write_str("rand"),
            Self::Pattern(octets) => {
                write!(f, "{PATTERN}:")?;
                octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
            }
        }
    }
}

/// A fill, and how far it has come.
#[derive(Clone, Debug)]
pub struct Filler {
    fill: Fill,
    /// Place at which a pattern goes on.
    place: usize,
    /// State of the chance (`SplitMix64`: whoever sees its octets may guess the next ones).
    state: u64,
}

impl Filler {
    /// One that begins; of chance by this seed.
    pub fn new(fill: Fill, seed: u64) -> Self {
        Self { fill, place: 0, state: seed }
    }

    /// Fills octets.
    pub fn fill(&mut self, octets: &mut [u8]) {
        match &self.fill {
            Fill::Kept => {}
            Fill::Random => {
                for piece in octets.chunks_mut(8) {
                    let drawn = draw(&mut self.state).to_le_bytes();
                    piece.copy_from_slice(&drawn[..piece.len()]);
                }
            }
            Fill::Pattern(pattern) => {
                let going_on = pattern.iter().cycle().skip(self.place);
                octets.iter_mut().zip(going_on).for_each(|(octet, next)| *octet = *next);
                self.place = (self.place + octets.len()) % pattern.len().max(1);
            }
        }
    }
}

fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// True where a name fits a pattern, in which each `*` stands for any characters.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
    for part in middle.split('*') {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("none", &Fill::Kept; "kept")]
    #[test_case("rand", &Fill::Random; "chance")]
    #[test_case("pattern", &Fill::usual(); "the usual pattern")]
    #[test_case("pattern:69727474", &Fill::usual(); "the same in digits")]
    #[test_case("pattern:0aFF:x", &Fill::Pattern(vec![10, 255]); "more behind it")]
    fn a_name_is_a_fill(name: &str, expected: &Fill) {
        assert_eq!(Fill::of(name).as_ref(), Ok(expected));
    }

    #[test_case("random", "[NoSuchFiller] no such Filler random"; "another name")]
    #[test_case("", "[NoSuchFiller] no such Filler "; "no name")]
    #[test_case("pattern:", "[NoSuchFiller] no such Filler pattern:"; "a pattern of nothing")]
    #[test_case("pattern:0g", "encoding/hex: invalid byte: U+0067 'g'"; "no digit")]
    #[test_case("pattern:000", "encoding/hex: odd length hex string"; "half an octet")]
    #[test_case("pattern:0\t0", "encoding/hex: invalid byte: U+0009"; "nothing that shows")]
    fn another_name_is_none(name: &str, said: &str) {
        assert_eq!(Fill::of(name).unwrap_err().to_string(), said);
    }

    #[test]
    fn a_pattern_goes_on_where_it_ended() {
        let mut filler = Filler::new(Fill::Pattern(vec![1, 2, 3]), 0);
        let mut fill = |length| {
            let mut octets = vec![9; length];
            filler.fill(&mut octets);
            octets
        };
        assert_eq!((fill(4), fill(0), fill(3)), (vec![1, 2, 3, 1], vec![], vec![2, 3, 1]));
        assert_eq!(fill(1_000), [2, 3, 1].repeat(334)[..1_000]);
    }

    #[test]
    fn chance_differs_by_its_seed_and_from_time_to_time() {
        let filled = |seed, times: usize| {
            let mut filler = Filler::new(Fill::Random, seed);
            let mut octets = [0; 21];
            (0..times).for_each(|_| filler.fill(&mut octets));
            octets
        };
        assert_eq!(filled(1, 1), filled(1, 1));
        assert!(filled(1, 1) != filled(2, 1) && filled(1, 1) != filled(1, 2));
    }

    #[test]
    fn a_fill_is_called_what_it_is_read_from() {
        for fill in [Fill::Kept, Fill::Random, Fill::usual(), Fill::Pattern(vec![0, 171])] {
            assert_eq!(Fill::of(&fill.to_string()), Ok(fill));
        }
        assert_eq!(Fill::usual().to_string(), "pattern:69727474");
        let mut kept = [1, 2];
        Filler::new(Fill::Kept, 0).fill(&mut kept);
        assert_eq!(kept, [1, 2]);
    }

    #[test_case("rand", "rand", true; "the same")]
    #[test_case("rand", "random", false; "the beginning alone")]
    #[test_case("", "", true; "nothing")]
    #[test_case("", "rand", false; "nothing of something")]
    #[test_case("*", "rand", true; "anything")]
    #[test_case("*", "", true; "anything of nothing")]
    #[test_case("pattern:*", "pattern:00", true; "a beginning")]
    #[test_case("pattern:*", "rand", false; "another beginning")]
    #[test_case("*00", "pattern:00", true; "an end")]
    #[test_case("*00", "pattern:01", false; "another end")]
    #[test_case("p*:*0*1", "pattern:00ab1", true; "parts in their order")]
    #[test_case("a*bc*c", "abc", false; "no octet serves twice")]
    #[test_case("p*1*0", "pattern:01", false; "parts in another order")]
    fn a_pattern_of_names(pattern: &str, name: &str, expected: bool) {
        assert_eq!(fits(pattern, name), expected);
    }
}
