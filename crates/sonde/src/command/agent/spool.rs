//! Beats that nobody has taken yet, in files: whoever is killed and started again tells those of its earlier starts too.
//!
//! Files are only written at their end, each beat by one call, so that what is killed loses no beat that was written. There are so many octets of them at
//! the most: beyond, the oldest file goes, and its beats are counted. Where the disk takes no more they are kept in memory.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use logbook::monitor::talk::Told;
use measure::unit::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Into how many files the room is divided.
const PARTS: u64 = 16;
/// Octets of one of them at the least, and at the most.
const PART: (u64, u64) = (64 << 10, 4 << 20);
/// Octets of beats in memory at the most, all together.
const IN_MEMORY: u64 = 8 << 20;
/// Files at the most: each start of an agent begins one.
const MOST: usize = 1_024;
/// Octets that are read at once.
const AT_ONCE: usize = 128 << 10;
/// Ending of a file's name.
const ENDING: &str = "beats";
/// The file of the count of what was given up.
const GIVEN_UP: &str = "given-up";

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// Start of the agent that these beats are of.
    instance: Uuid,
}

/// All of them, oldest first.
#[derive(Debug)]
pub struct Spool {
    folder: PathBuf,
    most: u64,
    segments: VecDeque<Segment>,
    /// The last file, where it can be written to.
    current: Option<File>,
    next: u64,
    /// Beats that were given up.
    given_up: u64,
}

/// Beats of one start of the agent, one behind the other.
#[derive(Debug)]
struct Segment {
    number: u64,
    instance: Uuid,
    /// The number of its first beat that is not kept elsewhere …
    first: u64,
    /// … and of its last. Where it is less, there is none.
    last: u64,
    length: u64,
    /// Its octets, where they are in no file.
    memory: Option<Vec<u8>>,
}

/// Place up to which a reader has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    segment: u64,
    offset: u64,
}

impl Spool {
    /// Spool in `folder`, which may grow to `most`.
    ///
    /// # Errors
    /// A folder that cannot be had.
    pub fn open(folder: &Path, most: Bytes) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut found: Vec<(u64, PathBuf)> = fs::read_dir(folder)?
            .filter_map(Result::ok)
            .filter_map(|entry| Some((number_of(&entry.path())?, entry.path())))
            .collect();
        found.sort_unstable();
        let next = found.last().map_or(1, |(number, _)| number + 1);
        let given_up = fs::read_to_string(folder.join(GIVEN_UP)).ok().and_then(|text| text.trim().parse().ok());
        let mut spool = Self {
            folder: folder.to_owned(),
            most: most.0,
            segments: VecDeque::new(),
            current: None,
            next,
            given_up: given_up.unwrap_or(0),
        };
        for (number, path) in found {
            match Segment::read(number, &path) {
                Some(segment) => spool.segments.push_back(segment),
                // Nothing in it is a beat.
                None => drop(fs::remove_file(path)),
            }
        }
        spool.bound();
        Ok(spool)
    }

    /// Puts a beat behind the others: its line, with its end.
    pub fn append(&mut self, instance: Uuid, seq: u64, line: &[u8]) {
        let part = (self.most / PARTS).clamp(PART.0, PART.1);
        let fits = |last: &Segment| {
            let most = if last.memory.is_some() { PART.0 } else { part };
            last.instance == instance && last.length < most
        };
        if !self.segments.back().is_some_and(fits) || !self.write(seq, line) {
            self.begin(instance, seq);
            if !self.write(seq, line) {
                // In memory there is room.
                self.begin_in_memory(instance, seq);
                self.write(seq, line);
            }
        }
        self.bound();
    }

    /// Beats of `instance` up to this one are kept elsewhere.
    pub fn kept(&mut self, instance: Uuid, upto: u64) {
        for segment in self.segments.iter_mut().filter(|segment| segment.instance == instance) {
            segment.first = segment.first.max(upto.saturating_add(1));
        }
        // The one that is written to stays while it is short: whoever starts next tells of it again what was kept.
        let newest = self.segments.back().map(|segment| segment.number);
        let is_written = |segment: &Segment| Some(segment.number) == newest && segment.length < PART.0;
        let folder = &self.folder;
        self.segments.retain(|segment| {
            let stays = segment.first <= segment.last || is_written(segment);
            if !stays {
                segment.remove(folder);
            }
            stays
        });
        if self.segments.back().map(|segment| segment.number) != newest {
            self.current = None;
        }
    }

    /// Beats that were given up since the folder was made.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Beats that are left.
    pub fn left(&self) -> u64 {
        self.segments.iter().map(|segment| (segment.last + 1).saturating_sub(segment.first)).sum()
    }

    /// The number of the oldest beat of `instance` that is left.
    pub fn oldest(&self, instance: Uuid) -> Option<u64> {
        let of_it = |segment: &&Segment| segment.instance == instance && segment.first <= segment.last;
        self.segments.iter().find(of_it).map(|segment| segment.first)
    }

    /// The next whole lines behind `cursor`, and whose they are; `None`: there are no more.
    pub fn read(&self, cursor: &mut Cursor) -> Option<(Uuid, Vec<u8>)> {
        let begun = cursor.segment;
        for segment in self.segments.iter().filter(|segment| segment.number >= begun) {
            if segment.number > cursor.segment {
                *cursor = Cursor { segment: segment.number, offset: 0 };
            }
            let lines = segment.lines(&self.folder, cursor.offset);
            // The head is in front of the first.
            let begin = match (cursor.offset, segment.memory.is_some()) {
                (0, false) => lines.iter().position(|octet| *octet == b'\n').map_or(lines.len(), |end| end + 1),
                _ => 0,
            };
            cursor.offset += lines.len() as u64;
            if lines.len() > begin {
                return Some((segment.instance, lines[begin..].to_vec()));
            }
        }
        None
    }

    /// Writes a beat to the last segment; `false`: it cannot be.
    fn write(&mut self, seq: u64, line: &[u8]) -> bool {
        let Some(last) = self.segments.back_mut() else { return false };
        if let Some(memory) = &mut last.memory {
            memory.extend_from_slice(line);
        } else {
            let Some(file) = &mut self.current else { return false };
            if file.write_all(line).is_err() {
                // A beat that is half there is none.
                let _ = file.set_len(last.length);
                self.current = None;
                return false;
            }
        }
        last.length += line.len() as u64;
        last.last = seq;
        true
    }

    fn begin(&mut self, instance: Uuid, first: u64) {
        let (number, path) = (self.next, self.folder.join(format!("{:08}.{ENDING}", self.next)));
        let head = serde_json::to_string(&Head { instance }).unwrap_or_default() + "\n";
        let begun = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
        let Ok(file) = begun.and_then(|mut file| file.write_all(head.as_bytes()).map(|()| file)) else {
            let _ = fs::remove_file(path);
            return self.begin_in_memory(instance, first);
        };
        self.next += 1;
        self.current = Some(file);
        let length = head.len() as u64;
        self.push(Segment { number, instance, first, last: first - 1, length, memory: None });
    }

    fn begin_in_memory(&mut self, instance: Uuid, first: u64) {
        self.current = None;
        let number = self.next;
        self.next += 1;
        self.push(Segment { number, instance, first, last: first - 1, length: 0, memory: Some(Vec::new()) });
    }

    fn push(&mut self, segment: Segment) {
        // A segment whose beats were all kept has none left.
        if let Some(last) = self.segments.pop_back_if(|last| last.first > last.last) {
            last.remove(&self.folder);
        }
        self.segments.push_back(segment);
    }

    /// Gives up the oldest where there are too many.
    fn bound(&mut self) {
        let (of_files, in_memory) = (self.most, IN_MEMORY.min(self.most));
        loop {
            let total = |is_memory: bool| -> u64 {
                let of_it = self.segments.iter().filter(|segment| segment.memory.is_some() == is_memory);
                of_it.map(|segment| segment.length).sum()
            };
            let is_too_much = self.segments.len() > MOST || total(false) + total(true) > of_files;
            let place = if is_too_much {
                Some(0)
            } else if total(true) > in_memory {
                self.segments.iter().position(|segment| segment.memory.is_some())
            } else {
                None
            };
            // The one that is written to stays.
            let Some(place) = place.filter(|place| place + 1 < self.segments.len()) else { return };
            let Some(oldest) = self.segments.remove(place) else { return };
            oldest.remove(&self.folder);
            self.given_up += (oldest.last + 1).saturating_sub(oldest.first);
            // Where it cannot be noted it is told until the next start all the same.
            let _ = fs::write(self.folder.join(GIVEN_UP), format!("{}\n", self.given_up));
        }
    }
}

impl Segment {
    /// Segment in a file; `None`: no beat.
    fn read(number: u64, path: &Path) -> Option<Self> {
        let octets = fs::read(path).ok()?;
        let whole = octets.iter().rposition(|octet| *octet == b'\n')? + 1;
        if whole < octets.len() {
            // The end was half written when its writer was killed.
            OpenOptions::new().write(true).open(path).ok()?.set_len(whole as u64).ok()?;
        }
        let mut lines = octets[..whole].split_inclusive(|octet| *octet == b'\n');
        let Head { instance } = serde_json::from_slice(lines.next()?).ok()?;
        let first = seq_of(lines.next()?)?;
        let last = lines.next_back().map_or(Some(first), seq_of)?;
        Some(Self { number, instance, first, last, length: whole as u64, memory: None })
    }

    /// Whole lines from `offset` on.
    fn lines(&self, folder: &Path, offset: u64) -> Vec<u8> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut size = left.min(AT_ONCE);
        loop {
            let mut octets = match &self.memory {
                Some(memory) => memory.get(offset as usize..).unwrap_or_default()[..size].to_vec(),
                None => self.octets(folder, offset, size),
            };
            let whole = octets.iter().rposition(|octet| *octet == b'\n').map_or(0, |end| end + 1);
            octets.truncate(whole);
            if whole > 0 || size >= left {
                return octets;
            }
            // A line that is longer.
            size = size.saturating_mul(2).min(left);
        }
    }

    fn octets(&self, folder: &Path, offset: u64, size: usize) -> Vec<u8> {
        let mut octets = vec![0; size];
        let read = File::open(self.path(folder)).and_then(|file| file.read_exact_at(&mut octets, offset));
        // A file that somebody took away has no beats any more.
        if read.is_ok() { octets } else { Vec::new() }
    }

    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{:08}.{ENDING}", self.number))
    }

    fn remove(&self, folder: &Path) {
        if self.memory.is_none() {
            // A file that cannot be removed is told again at the next start, and was kept by then.
            let _ = fs::remove_file(self.path(folder));
        }
    }
}

fn number_of(path: &Path) -> Option<u64> {
    path.extension().filter(|ending| *ending == ENDING)?;
    path.file_stem()?.to_str()?.parse().ok()
}

fn seq_of(line: &[u8]) -> Option<u64> {
    match serde_json::from_slice(line).ok()? {
        Told::Beat(beat) => Some(beat.seq),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use logbook::monitor::talk::{Beat, Health};

    use super::*;

    fn line(seq: u64) -> Vec<u8> {
        let beat = Beat { seq, at: 1_000 + seq, own: Health::default(), cells: Vec::new() };
        let mut line = serde_json::to_vec(&Told::Beat(beat)).unwrap();
        line.push(b'\n');
        line
    }

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    /// All beats from the first on: whose, and their numbers.
    fn all(spool: &Spool) -> Vec<(Uuid, u64)> {
        let (mut cursor, mut found) = (Cursor::default(), Vec::new());
        while let Some((instance, lines)) = spool.read(&mut cursor) {
            let lines = lines.split_inclusive(|octet| *octet == b'\n');
            found.extend(lines.map(|line| (instance, seq_of(line).expect("a whole beat"))));
        }
        found
    }

    fn numbers(found: &[(Uuid, u64)]) -> Vec<u64> {
        found.iter().map(|(_, seq)| *seq).collect()
    }

    #[test]
    fn what_was_written_is_told_by_the_next_start_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), Bytes(1 << 20)).unwrap();
        (1..=3).for_each(|seq| spool.append(id(1), seq, &line(seq)));
        drop(spool);
        // Killed in the middle of a beat.
        let file = folder.path().join("00000001.beats");
        OpenOptions::new().append(true).open(&file).unwrap().write_all(&line(4)[..9]).unwrap();
        let mut spool = Spool::open(folder.path(), Bytes(1 << 20)).unwrap();
        spool.append(id(2), 1, &line(1));
        assert_eq!(all(&spool), [(id(1), 1), (id(1), 2), (id(1), 3), (id(2), 1)]);
        assert_eq!((spool.oldest(id(1)), spool.oldest(id(2)), spool.oldest(id(3))), (Some(1), Some(1), None));
        assert_eq!(spool.left(), 4);
        spool.kept(id(1), 2);
        assert_eq!(spool.left(), 2);
        assert_eq!((spool.oldest(id(1)), file.exists()), (Some(3), true));
        spool.kept(id(1), 3);
        assert_eq!((all(&spool), file.exists()), (vec![(id(2), 1)], false));
        spool.kept(id(2), 1);
        spool.append(id(2), 2, &line(2));
        assert_eq!(spool.oldest(id(2)), Some(2));
    }

    #[test]
    fn there_is_never_more_than_the_bound_and_what_went_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), Bytes(200 << 10)).unwrap();
        let octets =
            || -> u64 { folder.path().read_dir().unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum() };
        for seq in 1..=10_000 {
            spool.append(id(1), seq, &line(seq));
            assert!(seq % 500 != 0 || octets() <= 270 << 10, "{}", octets());
        }
        let oldest = spool.oldest(id(1)).unwrap();
        assert_eq!(spool.given_up(), oldest - 1);
        assert!(oldest > 1_000 && numbers(&all(&spool)) == (oldest..=10_000).collect::<Vec<_>>());
        assert_eq!(Spool::open(folder.path(), Bytes(200 << 10)).unwrap().given_up(), oldest - 1);
    }

    #[test]
    fn who_reads_on_has_each_beat_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), Bytes(1 << 20)).unwrap();
        let (mut cursor, mut found) = (Cursor::default(), Vec::new());
        for seq in 1..=3_000 {
            spool.append(id(1), seq, &line(seq));
            if seq % 7 == 0 {
                while let Some((_, lines)) = spool.read(&mut cursor) {
                    found.extend(lines.split_inclusive(|octet| *octet == b'\n').map(|line| seq_of(line).unwrap()));
                }
                spool.kept(id(1), seq - 3);
            }
        }
        assert_eq!(found, (1..=2_996).collect::<Vec<_>>());
    }

    #[test]
    fn without_a_disk_beats_are_kept_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("spool");
        let mut spool = Spool::open(&place, Bytes(1 << 20)).unwrap();
        fs::remove_dir(&place).unwrap();
        (1..=5).for_each(|seq| spool.append(id(1), seq, &line(seq)));
        assert_eq!(numbers(&all(&spool)), [1, 2, 3, 4, 5]);
        spool.kept(id(1), 4);
        assert_eq!(spool.oldest(id(1)), Some(5));
    }

    #[test]
    fn what_is_no_beat_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("00000001.beats", "garbage"), ("00000002.beats", "{}\n{}\n"), ("notes.txt", "mine")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let spool = Spool::open(folder.path(), Bytes(1 << 20)).unwrap();
        assert_eq!(all(&spool), []);
        assert!(folder.path().join("notes.txt").exists() && !folder.path().join("00000001.beats").exists());
    }
}
