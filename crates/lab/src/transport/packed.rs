//! Octets compressed, in the smallest form that a host can unpack; what took long is kept for those who send the same again.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use lzma_rust2::{EncodeMode, FilterType, LzmaOptions, MfType, XzOptions, XzWriter};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};

/// Forms in which octets are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// As they are.
    #[default]
    Plain,
    /// The form that every system can unpack.
    Gzip,
    /// Four fifths of that.
    Xz,
}

impl Form {
    /// The word that stands for it in scripts: the program that unpacks it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
        }
    }
}

/// All of `octets` by gzip; without a name and a time, so that the same octets come out the same.
pub(super) fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut into = GzEncoder::new(Vec::new(), Compression::default());
    let packed = into.write_all(octets).and_then(|()| into.finish());
    packed.expect("a vector takes everything")
}

/// Octets that are handed over at a time.
const AT_A_TIME: usize = 64 << 10;

/// Most octets for which the smaller form is worth its time: a larger program is a debug build, whose user waits for the next one already.
const HANDED_OUT: usize = 32 << 20;
/// The form of what is handed out: it takes twice the time of the fastest preset and 16 MB of memory for a sixteenth less, and half the time of
/// preset 4, the first of xz's own that looks ahead.
const LOOKS_AHEAD: LzmaOptions = LzmaOptions {
    dict_size: 2 << 20,
    lc: LzmaOptions::LC_DEFAULT,
    lp: LzmaOptions::LP_DEFAULT,
    pb: LzmaOptions::PB_DEFAULT,
    mode: EncodeMode::Normal,
    nice_len: 32,
    mf: MfType::Hc4,
    depth_limit: 4,
    preset_dict: None,
};

/// All of `octets` by xz. Where `is_x86` the addresses in their instructions are made alike first, which saves a twentieth of a program.
pub(super) fn xz(octets: &[u8], is_x86: bool) -> Vec<u8> {
    let mut options = XzOptions::with_preset(1);
    if octets.len() <= HANDED_OUT {
        options.lzma_options = LOOKS_AHEAD;
    }
    if is_x86 {
        options.prepend_pre_filter(FilterType::BcjX86, 0);
    }
    let packed = XzWriter::new(Vec::new(), options).and_then(|mut into| {
        // The filter copies what it is given at a time.
        octets.chunks(AT_A_TIME).try_for_each(|octets| into.write_all(octets))?;
        into.finish()
    });
    packed.expect("a vector takes everything")
}

/// Longest of what is kept, octets: anything longer is none of ours.
const LONGEST: u64 = 64 << 20;
/// The line in front of `packed` where it is kept: the checksum of what was packed, and what tells of damage.
fn first_line(of: &str, packed: &[u8]) -> String {
    let mut crc = Crc::new();
    crc.update(packed);
    format!("{of} {:08x} {}\n", crc.sum(), packed.len())
}

/// The result of `pack`, or what was kept in `file` when octets with the checksum `of` were packed. Where nothing can be kept, or another process
/// is at the file, which may stand still, it is packed anew.
pub(super) fn kept(file: &Path, of: &str, pack: impl Fn() -> Vec<u8>) -> Vec<u8> {
    let locked = || -> io::Result<File> {
        std::fs::create_dir_all(file.parent().unwrap_or(file))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = File::from(open(file, flags, Mode::RUSR | Mode::WUSR)?);
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(file)
    };
    let Ok(mut file) = locked() else { return pack() };
    let packed = packed_before(&file, of).unwrap_or_else(|| {
        let packed = pack();
        // A file that was kept in part is known by its first line, and packed anew.
        let _ = file.rewind().and_then(|()| file.set_len(0)).and_then(|()| {
            file.write_all(first_line(of, &packed).as_bytes())?;
            file.write_all(&packed)
        });
        packed
    });
    // A process that another thread starts holds the file too, until it is another program: closing it alone would not free it at once.
    let _ = flock(&file, FlockOperation::Unlock);
    packed
}

/// The packed form in `file` of octets with the checksum `of`; `None`: none that is whole.
fn packed_before(file: &File, of: &str) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    file.take(LONGEST).read_to_end(&mut all).ok()?;
    let packed = all.split_off(all.iter().position(|octet| *octet == b'\n')? + 1);
    (all == first_line(of, &packed).as_bytes()).then_some(packed)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use flate2::read::GzDecoder;
    use lzma_rust2::XzReader;
    use test_case::test_case;

    use super::*;

    fn octets() -> Vec<u8> {
        (0..100_000u32).map(|n| (n / 1_000) as u8).collect()
    }

    #[test_case(gzip; "gzip")]
    #[test_case(|octets| xz(octets, true); "xz of a program for x86")]
    #[test_case(|octets| xz(octets, false); "xz")]
    fn what_is_packed_is_smaller_and_comes_out_again(pack: fn(&[u8]) -> Vec<u8>) {
        // A program has what the filter alters, and repeats itself less.
        for octets in [octets(), std::fs::read("/proc/self/exe").unwrap()[..1 << 20].to_vec(), Vec::new()] {
            let packed = pack(&octets);
            assert!(packed.len() < octets.len() || octets.is_empty());
            let mut unpacked = Vec::new();
            if packed.starts_with(&[0x1f, 0x8b]) {
                GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
            } else {
                XzReader::new(&packed[..], false).read_to_end(&mut unpacked).unwrap();
            }
            assert!(unpacked == octets);
        }
    }

    #[test]
    fn what_was_packed_once_is_kept_and_what_was_damaged_is_packed_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("not there yet/packed");
        let times = Cell::new(0);
        let get = |of: &str| {
            kept(&file, of, || {
                times.set(times.get() + 1);
                of.as_bytes().to_vec()
            })
        };
        let (one, other) = ("1".repeat(64), "2".repeat(64));
        assert!(get(&one) == one.as_bytes() && get(&one) == one.as_bytes());
        assert_eq!(times.get(), 1);
        // Another program takes its place.
        assert!(get(&other) == other.as_bytes() && get(&one) == one.as_bytes());
        assert_eq!(times.get(), 3);
        let whole = std::fs::read(&file).unwrap();
        for damaged in [&whole[..whole.len() - 1], &[], &[0; 300], &whole[1..], &whole[..10]] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(get(&one), one.as_bytes());
            assert_eq!(std::fs::read(&file).unwrap(), whole);
        }
        assert_eq!(times.get(), 8);
    }

    #[test]
    fn where_nothing_can_be_kept_it_is_packed_each_time_and_no_file_of_another_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (others, link) = (folder.path().join("others"), folder.path().join("link"));
        std::fs::write(&others, "theirs").unwrap();
        symlink(&others, &link).unwrap();
        let held = folder.path().join("held");
        let holder = File::create(&held).unwrap();
        flock(&holder, FlockOperation::LockExclusive).unwrap();
        for file in [&link, &others.join("below a file"), folder.path(), &held] {
            assert_eq!(kept(file, "", || b"packed".to_vec()), b"packed");
        }
        assert_eq!(holder.metadata().unwrap().len(), 0);
        assert_eq!(std::fs::read_to_string(others).unwrap(), "theirs");
    }
}
