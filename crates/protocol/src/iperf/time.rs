//! Times on the wire: seconds and microseconds.

use measure::unit::Nanos;

const SECOND: u64 = 1_000_000_000;

/// An instant of the wall clock as the wire has it. The values of a peer are kept unchanged, even more than a million
/// microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Seconds since 1970; they end in 2106.
    pub seconds: u32,
    /// Microseconds.
    pub micros: u32,
}

impl Stamp {
    /// Every bit set, as a request of a bounceback has where the server writes.
    pub const UNSET: Self = Self { seconds: u32::MAX, micros: u32::MAX };

    /// `wall` is nanoseconds since 1970; parts of a microsecond are cut off.
    #[inline]
    pub fn of(wall: Nanos) -> Self {
        let seconds = u32::try_from(wall.0 / SECOND).unwrap_or(u32::MAX);
        Self { seconds, micros: (wall.0 % SECOND / 1_000) as u32 }
    }

    /// Nanoseconds since 1970.
    #[inline]
    pub fn nanos(self) -> Nanos {
        Nanos(u64::from(self.seconds) * SECOND + u64::from(self.micros) * 1_000)
    }
}

/// A length of time as the wire has it; both parts are negative where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Seconds.
    pub seconds: i32,
    /// Microseconds.
    pub micros: i32,
}

impl Span {
    /// `nanos` rounded towards zero; bounded by 32 bits of seconds.
    pub fn of(nanos: i64) -> Self {
        let (seconds, rest) = (nanos / SECOND as i64, nanos % SECOND as i64);
        let bounded = seconds.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        Self { seconds: bounded as i32, micros: (rest / 1_000) as i32 }
    }

    /// Nanoseconds.
    pub fn nanos(self) -> i64 {
        i64::from(self.seconds) * SECOND as i64 + i64::from(self.micros) * 1_000
    }

    pub(super) fn words(self) -> [u32; 2] {
        [self.seconds.cast_unsigned(), self.micros.cast_unsigned()]
    }

    pub(super) fn of_words(seconds: u32, micros: u32) -> Self {
        Self { seconds: seconds.cast_signed(), micros: micros.cast_signed() }
    }
}

/// `later` less `earlier` in nanoseconds, two clocks that may disagree by anything: bounded by 64 bits.
#[inline]
pub fn difference(later: Nanos, earlier: Nanos) -> i64 {
    let difference = i128::from(later.0) - i128::from(earlier.0);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_holds_microseconds() {
        let stamp = Stamp::of(Nanos(1_795_223_948_760_386_999));
        assert_eq!(stamp, Stamp { seconds: 0x6b00_f18c, micros: 760_386 });
        assert_eq!(stamp.nanos(), Nanos(1_795_223_948_760_386_000));
    }

    #[test]
    fn nothing_that_a_peer_says_is_too_much() {
        assert_eq!(Stamp::UNSET.nanos().0, 4_294_967_295 * SECOND + 4_294_967_295_000);
        let least = Span { seconds: i32::MIN, micros: i32::MIN };
        assert!(least.nanos() < -2_147_483_648_000_000_000);
        assert_eq!(Span::of(-1_000_001_999), Span { seconds: -1, micros: -1 });
        assert_eq!(Span::of(i64::MIN).seconds, i32::MIN);
        assert_eq!(difference(Nanos::ZERO, Nanos(u64::MAX)), i64::MIN);
        assert_eq!(difference(Nanos(5), Nanos(7)), -2);
    }
}
