//! Bursts of a connection's traffic with `--trip-times`, each with the time at which it was written.
//!
//! | octets | |
//! |---|---|
//! | 0-11 | left over from the header in 2.1.8, 0xA5 in 2.2.1 |
//! | 12-19 | when the burst was begun; of a client at a rate (`-b`), when the test was |
//! | 20-27 | when it was written |
//! | 28-35 | when it was read: the reader's own |
//! | 36-39 | |
//! | 40-43 | period, µs |
//! | 44-47 | number of the burst, from 1 |
//! | 48-51 | octets of the burst, these included |
//! | 52-59 | number of octets before it, low word first |
//! | 60-91 | |

use measure::unit::Nanos;

use super::time::Stamp;
use super::word;

/// Octets of a burst's header, and so of the shortest burst.
pub const HEADER: usize = 92;

const BEGUN: usize = 12;
const WRITTEN: usize = 20;
const NUMBER: usize = 44;
const SIZE: usize = 48;
const SEQUENCE: usize = 52;

/// A burst's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// Beginning of the burst.
    pub begun: Stamp,
    /// Time at which it was written.
    pub written: Stamp,
    /// Its number, from 1.
    pub number: u32,
    /// Octets of the burst, the header included.
    pub size: u32,
    /// A running number of the sender's.
    pub sequence: u64,
}

impl Burst {
    /// Reads the header of a burst; `None` where it is not whole.
    pub fn read(octets: &[u8]) -> Option<Self> {
        let header = octets.first_chunk::<HEADER>()?;
        let at = |place: usize| word::read(header, place);
        let stamp = |place: usize| Some(Stamp { seconds: at(place)?, micros: at(place + 4)? });
        Some(Self {
            begun: stamp(BEGUN)?,
            written: stamp(WRITTEN)?,
            number: at(NUMBER)?,
            size: at(SIZE)?,
            sequence: u64::from(at(SEQUENCE + 4)?) << 32 | u64::from(at(SEQUENCE)?),
        })
    }

    /// Writes the header to the front of `octets`; unused fields stay.
    pub fn write(&self, octets: &mut [u8]) {
        word::write_all(octets, BEGUN, &[self.begun.seconds, self.begun.micros]);
        word::write_all(octets, WRITTEN, &[self.written.seconds, self.written.micros]);
        word::write_all(octets, NUMBER, &[self.number, self.size, self.sequence as u32, (self.sequence >> 32) as u32]);
    }
}

/// Finds the bursts in the octets of a connection, in whatever pieces; only their headers are kept.
#[derive(Clone, Debug)]
pub struct Splitter {
    header: [u8; HEADER],
    held: usize,
    /// The burst that is being read, and its octets that are still to come.
    present: Option<(Burst, usize)>,
    broken: Option<Malformed>,
}

/// A burst that cannot be as short as it says. Nothing after it can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a burst of {size} bytes, but its header alone has {HEADER}")]
pub struct Malformed {
    /// As it says, octets.
    pub size: u32,
}

impl Default for Splitter {
    fn default() -> Self {
        Self { header: [0; HEADER], held: 0, present: None, broken: None }
    }
}

impl Splitter {
    /// Takes octets that came; `each` is handed the bursts that are whole with them. An error is final.
    pub fn feed(&mut self, mut octets: &[u8], mut each: impl FnMut(&Burst)) -> Result<(), Malformed> {
        while self.broken.is_none() && !octets.is_empty() {
            if self.present.is_none() {
                octets = self.begin(octets);
            }
            if let Some((burst, left)) = &mut self.present {
                let taken = octets.len().min(*left);
                *left -= taken;
                octets = &octets[taken..];
                if *left == 0 {
                    each(burst);
                    self.present = None;
                }
            }
        }
        self.broken.map_or(Ok(()), Err)
    }

    /// Returns true where a burst has begun and is not whole.
    pub fn is_amid(&self) -> bool {
        self.held > 0 || self.present.is_some()
    }

    fn begin<'a>(&mut self, octets: &'a [u8]) -> &'a [u8] {
        let taken = octets.len().min(HEADER - self.held);
        self.header[self.held..self.held + taken].copy_from_slice(&octets[..taken]);
        self.held += taken;
        if self.held == HEADER
            && let Some(burst) = Burst::read(&self.header)
        {
            self.held = 0;
            match (burst.size as usize).checked_sub(HEADER) {
                None => self.broken = Some(Malformed { size: burst.size }),
                Some(left) => self.present = Some((burst, left)),
            }
        }
        &octets[taken..]
    }
}

/// The time of a burst from where it was written until all of it was there at `now`, as the originals count. Negative where the clocks disagree.
pub fn latency(burst: &Burst, now: Nanos) -> i64 {
    super::time::difference(now, burst.written.nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(sizes: &[u32]) -> Vec<u8> {
        let mut stream = Vec::new();
        for (number, size) in (1..).zip(sizes) {
            let mut burst = vec![0xA5; (*size as usize).max(HEADER)];
            let begun = Stamp { seconds: number, micros: 5 };
            Burst { begun, written: begun, number, size: *size, sequence: 1 << 40 }.write(&mut burst);
            stream.extend(burst);
        }
        stream
    }

    /// As 2.1.8 and 2.2.1 send them with `-b`.
    #[test]
    fn a_burst_takes_as_long_as_from_its_writing() {
        let (begun, written) = (Stamp { seconds: 100, micros: 0 }, Stamp { seconds: 101, micros: 0 });
        let burst = Burst { begun, written, ..Burst::default() };
        assert_eq!(latency(&burst, Nanos(101_000_250_000)), 250_000);
    }

    #[test]
    fn bursts_are_found_in_any_pieces() {
        let stream = stream(&[92, 93, 1_000, 92]);
        for piece in [1, 7, 91, 92, 93, 4_096] {
            let (mut splitter, mut found) = (Splitter::default(), Vec::new());
            for octets in stream.chunks(piece) {
                splitter.feed(octets, |burst| found.push((burst.number, burst.size, burst.sequence))).unwrap();
            }
            assert_eq!(found, [(1, 92, 1 << 40), (2, 93, 1 << 40), (3, 1_000, 1 << 40), (4, 92, 1 << 40)], "{piece}");
            assert!(!splitter.is_amid());
        }
    }

    #[test]
    fn a_burst_that_is_too_short_is_the_end() {
        let mut splitter = Splitter::default();
        let mut found = 0;
        let stream = stream(&[100, 91, 100]);
        assert_eq!(splitter.feed(&stream, |_| found += 1), Err(Malformed { size: 91 }));
        assert_eq!(splitter.feed(&stream, |_| found += 1), Err(Malformed { size: 91 }));
        assert_eq!(found, 1);
    }
}
