//! The bits that describe a test.

/// The first word of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u32);

impl Flags {
    /// `-d` or `-r`: the server is to connect back. Also the mark of a server's report, and in 2.2 of a transfer id.
    pub const DUAL: Self = Self(0x8000_0000);
    /// The extension follows.
    pub const EXTENDED: Self = Self(0x4000_0000);
    /// In datagrams: the upper flags are valid.
    pub const UDP_TESTS: Self = Self(0x2000_0000);
    /// A key follows without which a server may refuse.
    pub const KEY: Self = Self(0x1000_0000);
    /// Numbers of datagrams have 64 bits.
    pub const WIDE: Self = Self(0x0800_0000);
    /// The server acts on the upper flags before data.
    pub const VERSION2: Self = Self(0x0400_0000);
    /// `-X`: the client waits for the acknowledgement.
    pub const PEER_DETECT: Self = Self(0x0200_0000);
    /// Requests and replies; the rest of the word is 0.
    pub const BOUNCE: Self = Self(0x0080_0000);
    /// In datagrams: the short header.
    pub const SHORT: Self = Self(0x0002_0000);
    /// The length of the header stands in this word.
    pub const HAS_LENGTH: Self = Self(0x0001_0000);
    /// `-d`: both at once; else one after the other.
    pub const NOW: Self = Self(0x0000_0001);

    const LENGTH: u32 = 0x0000_01FE;

    /// Returns true where all of `other` is set.
    #[inline]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The length of the whole header, octets; `None` where it is not said.
    pub fn length(self) -> Option<usize> {
        self.has(Self::HAS_LENGTH).then_some(((self.0 & Self::LENGTH) >> 1) as usize)
    }

    /// Adds the length of the whole header, octets, 255 at most.
    #[must_use]
    pub fn with_length(self, octets: usize) -> Self {
        let length = u32::try_from(octets.min(255)).unwrap_or(255) << 1;
        Self(self.0 & !Self::LENGTH | length).with(Self::HAS_LENGTH)
    }

    /// Returns true where it begins a header. Neither zero nor the pattern of traffic does, wherever that begins: no
    /// client sets neither of these two and sends a header.
    pub fn begins_a_header(self) -> bool {
        self.has(Self::EXTENDED) || self.has(Self::DUAL)
    }
}

/// Further bits that describe a test, in the extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Upper(pub u16);

impl Upper {
    /// Isochronous traffic.
    pub const ISOCHRONOUS: Self = Self(0x0001);
    /// No exchange at the end of a test by datagrams.
    pub const NO_FIN: Self = Self(0x0008);
    /// `--trip-times`: the clocks are synchronised.
    pub const TRIP_TIMES: Self = Self(0x0010);
    /// Bursts at fixed times, whose settings follow (`--burst-period`).
    pub const PERIODIC: Self = Self(0x2000);
    /// The rate is in datagrams a second.
    pub const PACKETS: Self = Self(0x0080);
    /// `-R`: the server sends.
    pub const REVERSE: Self = Self(0x0400);
    /// `--full-duplex`: both send, over one connection.
    pub const DUPLEX: Self = Self(0x0800);
    /// The time of the first write is agreed on.
    pub const START: Self = Self(0x1000);
    /// The octets that TCP may hold unsent are given (`--tcp-write-prefetch`).
    pub const PREFETCH: Self = Self(0x4000);
    /// Acknowledge at once (`--tcp-quickack`).
    pub const QUICK: Self = Self(0x8000);

    /// Returns true where all of `other` is set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Further flags of 2.2, in the extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lower(pub u16);

impl Lower {
    /// The name of a congestion control follows.
    pub const CONGESTION: Self = Self(0x8000);

    /// Returns true where all of `other` is set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(0x4001_0078, Some(60))]
    #[test_case(0x4001_0080, Some(64))]
    #[test_case(0xC001_0079, Some(60); "the lowest bit is none of the length")]
    #[test_case(0x4001_01FE, Some(255))]
    #[test_case(0x4000_0078, None)]
    fn a_length_stands_in_the_word(word: u32, length: Option<usize>) {
        assert_eq!(Flags(word).length(), length);
        if let Some(length) = length {
            assert_eq!(Flags(word).with_length(length), Flags(word));
        }
    }

    #[test_case(0x3031_3233 => false; "the pattern")]
    #[test_case(0x3637_3839 => false; "the pattern behind a number and a stamp")]
    #[test_case(0 => false)]
    #[test_case(0x4001_0078 => true)]
    #[test_case(0x8000_0000 => true; "an old client")]
    fn a_word_begins_a_header(word: u32) -> bool {
        Flags(word).begins_a_header()
    }

    #[test]
    fn no_beginning_of_the_pattern_is_a_header() {
        let twice: Vec<u8> = super::super::PATTERN.repeat(2);
        for start in 0..10 {
            let word = super::super::word::read(&twice, start).unwrap();
            assert!(!Flags(word).begins_a_header() && Flags(word) != Flags::BOUNCE, "{word:#x}");
        }
    }
}
