//! The classic form of pcap: a header of 24 bytes, then packets with a header of 16 bytes each.
//!
//! Source: pcap-savefile(5) of libpcap, and the IETF draft that describes it (draft-ietf-opsawg-pcap). The magic number
//! tells the byte order of the writer and whether parts of a second are micro- or nanoseconds.

use measure::unit::Nanos;

use crate::capture::error::CaptureError;

/// Microseconds.
const MICROS: u32 = 0xa1b2_c3d4;
/// Nanoseconds.
const NANOS: u32 = 0xa1b2_3c4d;
/// A patched libpcap of long ago, with 8 more bytes in each packet's header.
const MODIFIED: u32 = 0xa1b2_cd34;
/// The block that opens a pcapng, the same in both byte orders.
const PCAPNG: u32 = 0x0a0d_0d0a;

const FILE_HEADER: usize = 24;
/// Where in it the kind of link stands.
const LINK_AT: usize = 20;
const PACKET_HEADER: usize = 16;
/// No packet of any link is kept longer: libpcap's own bound is 256 KiB, and some links have more.
const LONGEST: u32 = 16 << 20;

/// The kinds of link that are read, by the header before the packet of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// BSD loopback: the address family in four bytes, in one of both byte orders.
    Null,
    /// Ethernet.
    Ethernet,
    /// None: IPv4 or IPv6, as its first half byte says.
    Raw,
    /// Linux "cooked" capture, as of the interface `any`.
    Cooked,
    /// Its second form.
    Cooked2,
}

impl Link {
    /// By the number in the file's header. The other bits there tell of a frame check sequence, which is behind the packet.
    fn of(number: u32) -> Result<Self, CaptureError> {
        match number & 0xffff {
            0 | 108 => Ok(Self::Null),
            1 => Ok(Self::Ethernet),
            12 | 14 | 101 | 228 | 229 => Ok(Self::Raw),
            113 => Ok(Self::Cooked),
            276 => Ok(Self::Cooked2),
            link => Err(CaptureError::Link { link }),
        }
    }
}

/// Returns true where these bytes are a capture of whatever form, or compressed: no schedule in text starts so.
pub fn is_capture(bytes: &[u8]) -> bool {
    !matches!(File::open(bytes), Err(CaptureError::NotACapture))
}

/// Returns the program that unpacks these bytes; `None` where they are not compressed.
fn compressed(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 4] =
        [(b"\x1f\x8b", "gunzip"), (b"\x28\xb5\x2f\xfd", "unzstd"), (b"\xfd7zXZ", "unxz"), (b"BZh", "bunzip2")];
    KINDS.iter().find(|(start, _)| bytes.starts_with(start)).map(|&(_, by)| by)
}

/// A capture, its header read.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    order: Order,
    /// Length of a part of a second, nanoseconds.
    part: u64,
    link: Link,
    packets: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Little,
    Big,
}

impl Order {
    /// The word at `at`; `None` beyond the end.
    fn word(self, bytes: &[u8], at: usize) -> Option<u32> {
        let word = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(word),
            Self::Big => u32::from_be_bytes(word),
        })
    }
}

impl<'a> File<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// Fails where it is no capture, or none of a form or link that is read here.
    pub fn open(bytes: &'a [u8]) -> Result<Self, CaptureError> {
        if let Some(by) = compressed(bytes) {
            return Err(CaptureError::Compressed { by });
        }
        let magic = |order: Order| order.word(bytes, 0).ok_or(CaptureError::NotACapture);
        let (order, part) = match (magic(Order::Little)?, magic(Order::Big)?) {
            (MICROS, _) => (Order::Little, 1_000),
            (NANOS, _) => (Order::Little, 1),
            (_, MICROS) => (Order::Big, 1_000),
            (_, NANOS) => (Order::Big, 1),
            (PCAPNG, _) => return Err(CaptureError::Pcapng),
            (MODIFIED, _) | (_, MODIFIED) => return Err(CaptureError::Modified),
            _ => return Err(CaptureError::NotACapture),
        };
        let packets = bytes.get(FILE_HEADER..).ok_or(CaptureError::NoHeader)?;
        let link = Link::of(order.word(bytes, LINK_AT).ok_or(CaptureError::NoHeader)?)?;
        Ok(Self { order, part, link, packets })
    }

    /// Returns the kind of link on which it was captured.
    pub fn link(&self) -> Link {
        self.link
    }

    /// The packets, in the order of the file. Ends after the first error.
    pub fn records(&self) -> Records<'a> {
        Records { file: *self, rest: self.packets, number: 0 }
    }
}

/// A packet as it was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Time of its passage, since 1970.
    pub at: Nanos,
    /// Its length as it passed, bytes, with the header of the link.
    pub length: u32,
    /// The part of it that was kept.
    pub kept: &'a [u8],
}

/// The packets of a [`File`].
#[derive(Clone, Debug)]
pub struct Records<'a> {
    file: File<'a>,
    rest: &'a [u8],
    number: u64,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let record = self.record();
        if record.is_err() {
            self.rest = &[];
        }
        Some(record)
    }
}

impl<'a> Records<'a> {
    fn record(&mut self) -> Result<Record<'a>, CaptureError> {
        let broken_off = CaptureError::BrokenOff { packet: self.number };
        let damaged = |what| CaptureError::Damaged { packet: self.number, what };
        let word = |index: usize| self.file.order.word(self.rest, 4 * index).ok_or(broken_off.clone());
        let (seconds, parts, kept, length) = (word(0)?, word(1)?, word(2)?, word(3)?);
        let within = u64::from(parts) * self.file.part;
        if within >= 1_000_000_000 {
            return Err(damaged("the part of a second in its time is a second or more"));
        }
        if kept > LONGEST || kept > length {
            return Err(damaged("more of it was kept than there can be"));
        }
        let end = PACKET_HEADER + kept as usize;
        let bytes = self.rest.get(PACKET_HEADER..end).ok_or(broken_off.clone())?;
        self.rest = &self.rest[end..];
        let at = Nanos(u64::from(seconds) * 1_000_000_000 + within);
        Ok(Record { number: self.number, at, length, kept: bytes })
    }
}
