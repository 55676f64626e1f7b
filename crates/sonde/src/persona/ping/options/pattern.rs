//! The octets that fill the payload (`-p`).

use super::complain;
use crate::persona::answer::Answer;

/// The original reads so many, and passes over the rest.
const MOST: usize = 16;

/// Reads pairs of hexadecimal digits; a last one alone is an octet of its own.
pub fn read(word: &str) -> Result<Vec<u8>, Answer> {
    let digits: Option<Vec<u8>> = word.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| !digits.is_empty());
    let digits = digits.ok_or_else(|| complain(2, &format!("patterns must be specified as hex digits: {word}")))?;
    Ok(digits.chunks(2).take(MOST).map(|pair| pair.iter().fold(0, |octet, digit| octet << 4 | digit)).collect())
}
