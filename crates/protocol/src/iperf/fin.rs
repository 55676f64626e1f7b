//! A server's report on a flow of datagrams: its answer to the datagram that ends it.
//!
//! | octets | |
//! |---|---|
//! | 0-15 | zeros, where a datagram has number and stamp |
//! | 16-55 | flags, octets, duration, lost, out of order, datagrams, jitter |
//! | 56-115 | transit times and rate, valid where the flags say so |
//! | 116-127 | high words of lost, out of order, datagrams |
//!
//! Clients take one that ends at octet 56 too. Lost are datagrams that never came: gaps less the late arrivals (seen:
//! 2.1.8 subtracts before it sends, and a client shows the number that comes).

use super::datagram::HEAD;
use super::flag::Flags;
use super::time::Span;
use super::word;

/// Octets of the short form.
pub const SHORT: usize = 56;
/// Octets of the form that 2.1 and 2.2 send.
pub const LONG: usize = 128;

/// A report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFin {
    /// [`Flags::DUAL`] and [`Flags::WIDE`], and [`Flags::EXTENDED`] where [`Rest`] is meant.
    pub flags: Flags,
    /// Octets received, those of the last datagram included.
    pub bytes: u64,
    /// From the first to the last datagram.
    pub duration: Span,
    /// Datagrams that never came, a count.
    pub lost: u64,
    /// Datagrams that came after one with a higher number, a count.
    pub out_of_order: u64,
    /// The highest number, that of the last datagram included: received ones and lost.
    pub datagrams: u64,
    /// RFC 1889's estimate at the end.
    pub jitter: Span,
    /// The long form's rest.
    pub rest: Option<Rest>,
}

/// Transit times and rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// The shortest transit time.
    pub min: Span,
    /// The longest.
    pub max: Span,
    /// All of them together.
    pub sum: Span,
    /// Their mean.
    pub mean: Span,
    /// The sum of squared differences from the mean, in square seconds, times 1e12.
    pub m2: Span,
    /// The mean difference of two in a row.
    pub variation: Span,
    /// Number of transit times.
    pub count: u32,
    /// Datagrams a second, rounded down; times [`Rest::divisor`].
    pub rate: u32,
    /// 1.
    pub divisor: u32,
}

impl AckFin {
    /// The flags of a report of ours; `rest` is true where the fields beyond octet 56 are meant.
    pub fn flags(rest: bool) -> Flags {
        let flags = Flags::DUAL.with(Flags::WIDE);
        if rest { flags.with(Flags::EXTENDED) } else { flags }
    }

    /// Returns true where [`AckFin::rest`] is meant.
    pub fn has_rest(&self) -> bool {
        self.rest.is_some() && self.flags.has(Flags::EXTENDED)
    }

    /// Reads a datagram; `None` where it is none of these.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let [flags, high, low, seconds, micros, lost, order, datagrams, jitter, jitter_us] =
            word::read_all(datagram.get(HEAD..)?)?;
        let flags = Flags(flags);
        if !flags.has(Flags::DUAL) || word::read(datagram, 0) != Some(0) {
            return None;
        }
        let rest = word::read_all(datagram.get(SHORT..)?).map(|words: [u32; 18]| words);
        let beyond = |place: usize| rest.map_or(0, |words| words[place]);
        let joined = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        Some(Self {
            flags,
            bytes: joined(high, low),
            duration: Span::of_words(seconds, micros),
            lost: joined(beyond(15), lost),
            out_of_order: joined(beyond(16), order),
            datagrams: joined(beyond(17), datagrams),
            jitter: Span::of_words(jitter, jitter_us),
            rest: rest.map(Rest::of_words),
        })
    }

    /// As it goes over the wire: the long form where there is a rest.
    pub fn encode(&self) -> Vec<u8> {
        let mut octets = vec![0; if self.rest.is_some() { LONG } else { SHORT }];
        let (high, low) = halves(self.bytes);
        let (lost_high, lost) = halves(self.lost);
        let (order_high, order) = halves(self.out_of_order);
        let (datagrams_high, datagrams) = halves(self.datagrams);
        let ([seconds, micros], [jitter, jitter_us]) = (self.duration.words(), self.jitter.words());
        let words = [self.flags.0, high, low, seconds, micros, lost, order, datagrams, jitter, jitter_us];
        word::write_all(&mut octets, HEAD, &words);
        if let Some(rest) = &self.rest {
            word::write_all(&mut octets, SHORT, &rest.words());
            word::write_all(&mut octets, SHORT + 60, &[lost_high, order_high, datagrams_high]);
        }
        octets
    }
}

fn halves(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}

impl Rest {
    fn of_words(words: [u32; 18]) -> Self {
        let span = |place: usize| Span::of_words(words[place], words[place + 1]);
        Self {
            min: span(0),
            max: span(2),
            sum: span(4),
            mean: span(6),
            m2: span(8),
            variation: span(10),
            count: words[12],
            rate: words[13],
            divisor: words[14],
        }
    }

    fn words(&self) -> [u32; 15] {
        let spans = [self.min, self.max, self.sum, self.mean, self.m2, self.variation].map(Span::words);
        let mut words = [0; 15];
        for (place, [seconds, micros]) in spans.into_iter().enumerate() {
            (words[2 * place], words[2 * place + 1]) = (seconds, micros);
        }
        [words[12], words[13], words[14]] = [self.count, self.rate, self.divisor];
        words
    }
}
