//! The passphrase of `-Z`, or of the file named in its place.

use std::io;
use std::path::Path;

use crate::persona::answer::Answer;
use crate::persona::netperf::options::Passphrase;

/// The longest that a message carries, in bytes.
const LONGEST: usize = 647;

/// The passphrase itself; the file's is its first line.
///
/// # Errors
/// A file that cannot be read; nothing in it; more than a message carries.
pub fn read(asked: &Passphrase, read: impl Fn(&Path) -> io::Result<String>) -> Result<String, Answer> {
    let text = match asked {
        Passphrase::Word(word) => word.clone(),
        Passphrase::File(path) => {
            let option = format!("--passphrase-file {}", path.display());
            let text = read(path).map_err(|error| Answer::refusal("netperf", &option, error))?;
            text.lines().next().unwrap_or_default().to_owned()
        }
    };
    match text.len() {
        1..=LONGEST => Ok(text),
        0 => Err(Answer::refusal("netperf", "-Z", "the passphrase is empty")),
        _ => Err(Answer::refusal("netperf", "-Z", format!("a passphrase has {LONGEST} bytes at most"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_itself_and_a_file_its_first_line() {
        let never = |_: &Path| -> io::Result<String> { panic!("no file was named") };
        assert_eq!(read(&Passphrase::Word("open sesame".into()), never).unwrap(), "open sesame");
        let file = |_: &Path| Ok("secret\nmore\n".to_owned());
        assert_eq!(read(&Passphrase::File("p".into()), file).unwrap(), "secret");
    }

    #[test]
    fn what_is_no_passphrase() {
        let gone = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
        let told = read(&Passphrase::File("p".into()), gone).unwrap_err();
        assert!(told.stderr.starts_with("netperf: --passphrase-file p: "), "{told:?}");
        let empty = |_: &Path| Ok("\n".to_owned());
        assert!(read(&Passphrase::File("p".into()), empty).is_err());
        assert!(read(&Passphrase::Word("x".repeat(648)), empty).is_err());
    }
}
