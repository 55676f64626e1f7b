//! Payload of sockperf's messages behind their header: the C library's random numbers, the same in every message of a
//! run and the same in every run. Nobody reads it but a client that checks data integrity.
//!
//! Each byte is the lowest one of a number, in their order. A client draws more of them than it sends: with the longest
//! message of `n` bytes the payload begins after `n + 15`. Seen with sockperf 3.7 and 3.10, at 20 to 1,048,575 bytes, in
//! all subcommands.

use crate::sockperf::message::HEADER;

/// Numbers that are drawn before the payload, beyond one for each byte of the longest message.
const BEFORE: u64 = 15;

/// The longest message that a client of the `playback` subcommand fills, bytes: its payload is the same whatever the
/// file says.
pub const PLAYBACK_LONGEST: u32 = 65_506;

/// The seed where nothing else is said: the C library's own.
pub const SEED: u32 = 1;

/// Writes the payload behind the header of `message`, for a client whose longest message has `longest` bytes (`-m`, also
/// where sizes vary; [`PLAYBACK_LONGEST`] for playback). A message of one size begins as one of any smaller one.
pub fn fill(message: &mut [u8], longest: u32, seed: u32) {
    let mut numbers = Numbers::new(seed);
    for _ in 0..u64::from(longest) + BEFORE {
        numbers.draw();
    }
    for octet in message.iter_mut().skip(HEADER) {
        [.., *octet] = numbers.draw().to_be_bytes();
    }
}

/// The seed that the environment variable `SEED` holds: a decimal number as C's `atoi` reads it. Any other text is
/// 0, which the C library takes for 1. Characters behind the digits are not looked at.
pub fn seed(text: &str) -> u32 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0B', '\x0C']);
    let (negative, digits) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let value = digits.iter().take_while(|octet| octet.is_ascii_digit()).fold(0_i64, |value, octet| {
        let digit = i64::from(octet - b'0');
        let value = value.saturating_mul(10);
        if negative { value.saturating_sub(digit) } else { value.saturating_add(digit) }
    });
    // As on Linux the C library cuts a long down to an int.
    (value & i64::from(u32::MAX)) as u32
}

/// The C library's `rand()`: each number is the sum of those 31 and 3 places before, without its lowest bit. Source: the
/// GNU C library's documented additive feedback generator, its numbers for seed 1 among the tests.
#[derive(Clone, Debug)]
struct Numbers {
    state: [u32; DEGREE],
    /// Where the number of [`DEGREE`] places before stands, which the next one replaces.
    oldest: usize,
}

const DEGREE: usize = 31;
const SEPARATION: usize = 3;
/// Numbers that are drawn and thrown away at first.
const WARM_UP: usize = 10 * DEGREE;

impl Numbers {
    fn new(seed: u32) -> Self {
        let mut state = [0; DEGREE];
        let mut word = if seed == 0 { 1 } else { i64::from(seed.cast_signed()) };
        for place in &mut state {
            // All but a negative seed itself is within 0 and 2^31 - 2.
            *place = (word & i64::from(u32::MAX)) as u32;
            word = next_of_state(word);
        }
        let mut numbers = Self { state, oldest: SEPARATION };
        for _ in 0..WARM_UP {
            numbers.draw();
        }
        numbers
    }

    /// The next number, below 2^31.
    #[inline]
    fn draw(&mut self) -> u32 {
        let recent = (self.oldest + DEGREE - SEPARATION) % DEGREE;
        let sum = self.state[self.oldest].wrapping_add(self.state[recent]);
        self.state[self.oldest] = sum;
        self.oldest = (self.oldest + 1) % DEGREE;
        sum >> 1
    }
}

/// The minimal standard generator, 16807 w mod 2^31 - 1, which fills the state; of a negative `word` as C divides.
fn next_of_state(word: i64) -> i64 {
    let next = (16_807 * word) % i64::from(i32::MAX);
    if next < 0 { next + i64::from(i32::MAX) } else { next }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn drawn(seed: u32, count: usize) -> Vec<u32> {
        let mut numbers = Numbers::new(seed);
        (0..count).map(|_| numbers.draw()).collect()
    }

    fn payload(length: usize, longest: u32, seed: u32) -> Vec<u8> {
        let mut message = vec![0xEE; length];
        fill(&mut message, longest, seed);
        assert_eq!(message[..HEADER.min(length)], [0xEE; HEADER][..HEADER.min(length)], "the header stays");
        message.split_off(HEADER.min(length))
    }

    // As the GNU C library 2.36 draws them.
    #[test_case(1, [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915])]
    #[test_case(0, [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915]; "0 is 1")]
    fn numbers_are_the_c_librarys(seed: u32, expected: [u32; 4]) {
        assert_eq!(drawn(seed, 4), expected);
    }

    // First bytes as sockperf 3.7 and 3.10 sent them.
    #[test_case(20, 20, 1, &[0xB7, 0x31, 0x58, 0xA3, 0x5A, 0x25]; "small")]
    #[test_case(20, 20, 5, &[0x79, 0xBC, 0x67, 0x12, 0x7D, 0x95]; "another seed")]
    #[test_case(20, 20, -3_i32 as u32, &[0xF8, 0x6A, 0x1C, 0x2E, 0xE3, 0x21]; "a negative seed")]
    #[test_case(30, 30, 1, &[0xE9, 0x5E, 0xD4, 0xAB, 0xB2, 0xCD, 0xC6, 0x9B]; "thirty")]
    #[test_case(75, 100, 1, &[0x61, 0x89, 0xF9, 0x5C, 0xBB, 0xA8, 0x99, 0x0F]; "of a varying size")]
    #[test_case(65_507, 65_507, 1, &[0xF5, 0x7E, 0xAB, 0x53, 0x15, 0xEC, 0x97, 0xE3]; "the largest datagram")]
    #[test_case(150_000, 150_000, 1, &[0xFC, 0x83, 0x79, 0x8B, 0xAC, 0xBE, 0x93, 0x1D]; "a stream's")]
    #[test_case(1_048_575, 1_048_575, 1, &[0xF9, 0x0B, 0x6F, 0x43, 0xD6, 0x89, 0x97, 0x4E]; "the largest of all")]
    #[test_case(1000, PLAYBACK_LONGEST, 1, &[0x1B, 0xF5, 0x7E, 0xAB, 0x53, 0x15, 0xEC, 0x97]; "playback")]
    fn payload_is_as_sockperf_sends_it(length: usize, longest: u32, seed: u32, begins: &[u8]) {
        let payload = payload(length, longest, seed);
        assert_eq!(payload.len(), length - HEADER);
        assert_eq!(payload[..begins.len()], *begins);
    }

    #[test]
    fn a_message_without_room_carries_nothing() {
        assert_eq!((payload(14, 14, 1), payload(3, 14, 1)), (vec![], vec![]));
    }

    #[test_case("5", 5)]
    #[test_case(" \t7 8", 7; "the first number")]
    #[test_case("-3", -3_i32 as u32; "negative")]
    #[test_case("+12x", 12; "text behind it")]
    #[test_case("010", 10; "no octal")]
    #[test_case("0x10", 0; "no hexadecimal")]
    #[test_case("abc", 0; "no number")]
    #[test_case("", 0; "nothing")]
    #[test_case("99999999999", 1_215_752_191; "cut to an int")]
    #[test_case("99999999999999999999999", u32::MAX; "the longest long")]
    fn a_seed_is_read_as_c_reads_it(text: &str, expected: u32) {
        assert_eq!(seed(text), expected);
    }
}
