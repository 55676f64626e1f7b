//! Files read whole, of a bounded length: what a person names may be anything, as `/dev/zero`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most of a file that somebody wrote by hand, octets: a plan, a profile, a key.
pub const BY_HAND: u64 = 16 << 20;
/// The most of a record, octets.
pub const RECORD: u64 = 64 << 20;
/// The most of a run with all its records, or of a recording that is played again, octets.
pub const LONGEST: u64 = 512 << 20;
/// The most values of a document in each [`RECORD`] octets that it has begun: ours have one in 11 or more, and a word of a letter takes ten times its
/// octets in memory.
pub const VALUES: u64 = 6_000_000;

/// All of the file at `path`, which has `most` octets at most.
///
/// # Errors
/// Errors of the system; a file that is longer.
pub fn file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    octets(File::open(path)?, most)
}

/// The same as text.
///
/// # Errors
/// As [`file()`], and octets that are no UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    words(file(path, most)?)
}

/// All that comes from `source`, `most` octets at most.
///
/// # Errors
/// Errors of the system; a source that has more.
pub fn octets(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    source.take(most + 1).read_to_end(&mut octets)?;
    check(octets.len() as u64, most).map(|()| octets)
}

/// Refuses what has more octets than `most`.
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`].
pub fn check(octets: u64, most: u64) -> io::Result<()> {
    if octets <= most {
        return Ok(());
    }
    let words = format!("it is longer than {} MiB, which is the most that is read", most >> 20);
    Err(io::Error::new(io::ErrorKind::FileTooLarge, words))
}

/// Octets as text.
///
/// # Errors
/// Octets that are no UTF-8.
pub fn words(octets: Vec<u8>) -> io::Result<String> {
    String::from_utf8(octets).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_much_as_may_be_is_read_and_no_octet_more() {
        assert_eq!(octets(&[7; 10][..], 10).unwrap(), [7; 10]);
        assert_eq!(octets(&[7; 11][..], 10).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = text(Path::new("/dev/zero"), BY_HAND).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 16 MiB, which is the most that is read");
    }

    #[test]
    fn what_is_no_text_is_said() {
        assert_eq!(words(vec![0xff]).unwrap_err().to_string(), "it is no UTF-8 text");
    }
}
